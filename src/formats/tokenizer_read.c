/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading tokenizer.json: the model (vocabulary and merges) and the added tokens, and from both
 * the bytes of every token.
 * https://huggingface.co/docs/tokenizers (the format has no description but its implementation).
 *
 * Invariants of what is accepted: the model's ids are 0 .. n - 1, each once; added tokens have the
 * id of the model's token of that text or the next free one, in the order of the file; both halves
 * and the result of every merge are tokens of the model. */
#include "formats/byte_level.h"
#include "formats/tokenizer_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- model
 * ----------------------------------------------------------------------------------------- */

static weir_status order_by_id(const weir_json_node *vocab, const char **texts) {
  size_t n = json_object_size(vocab->value);
  for (void *i = json_object_iter((json_t *)vocab->value); i;
       i = json_object_iter_next((json_t *)vocab->value, i)) {
    const char *text = json_object_iter_key(i);
    const json_t *value = json_object_iter_value(i);
    json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
    if (id < 0 || (size_t)id >= n)
      return weir_json_fail(vocab,
                            "the id of token \"%s\" is not an integer in [0, %zu): expected "
                            "every id from 0 on, without holes",
                            text, n);
    if (texts[id])
      return weir_json_fail(vocab, "\"%s\" and \"%s\" have the same id %lld", texts[id], text,
                            (long long)id);
    texts[id] = text;
  }
  return WEIR_OK;
}

static weir_status read_vocabulary(const weir_json_node *model, weir_bpe *bpe) {
  weir_json_node vocab;
  WEIR_TRY(weir_json_member(model, "vocab", JSON_OBJECT, &vocab));
  size_t n = json_object_size(vocab.value);
  if (n == 0 || n > INT32_MAX / 2) return weir_json_fail(&vocab, "%zu tokens", n);
  const char **texts = calloc(n, sizeof *texts);
  if (!texts) return weir_fail(WEIR_FAILED, "out of memory for %zu tokens", n);
  weir_status status = order_by_id(&vocab, texts);
  uint32_t number;
  for (size_t i = 0; i < n && status == WEIR_OK; i++)
    /* n different ids below n leave no text out.
     * NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
    status = weir_string_table_add(&bpe->vocabulary, texts[i], strlen(texts[i]), &number);
  free(texts);
  bpe->n_model_tokens = n;
  return status;
}

/* Both halves of a merge, "a b" or ["a", "b"]; `length` is the left one's. */
static weir_status read_halves(const weir_json_node *item, const char **left, size_t *length,
                               const char **right) {
  const json_t *value = item->value;
  if (json_is_string(value)) {
    *left = json_string_value(value);
    const char *space = strchr(*left, ' ');
    if (space && !strchr(space + 1, ' ')) {
      *length = (size_t)(space - *left);
      *right = space + 1;
      return WEIR_OK;
    }
  } else if (json_array_size(value) == 2 && json_is_string(json_array_get(value, 0)) &&
             json_is_string(json_array_get(value, 1))) {
    *left = json_string_value(json_array_get(value, 0));
    *length = strlen(*left);
    *right = json_string_value(json_array_get(value, 1));
    return WEIR_OK;
  }
  return weir_json_fail(item, "expected \"left right\" or [\"left\", \"right\"]");
}

static weir_status read_merge(const weir_json_node *item, uint32_t rank, weir_bpe *bpe,
                              weir_bytes *whole) {
  const char *left = NULL, *right = NULL;
  size_t n_left = 0;
  WEIR_TRY(read_halves(item, &left, &n_left, &right));
  whole->count = 0;
  WEIR_TRY(weir_bytes_append(whole, left, n_left));
  WEIR_TRY(weir_bytes_append(whole, right, strlen(right)));
  int32_t left_id = weir_bpe_token_id(bpe, left, n_left);
  int32_t right_id = weir_bpe_token_id(bpe, right, strlen(right));
  int32_t merged_id = weir_bpe_token_id(bpe, whole->data, whole->count);
  if (left_id < 0 || right_id < 0 || merged_id < 0)
    return weir_json_fail(item, "\"%.*s\" is not in the vocabulary",
                          left_id < 0    ? (int)n_left
                          : right_id < 0 ? (int)strlen(right)
                                         : (int)whole->count,
                          left_id < 0    ? left
                          : right_id < 0 ? right
                                         : whole->data);
  WEIR_TRY(weir_pair_map_put(&bpe->ranks, left_id, right_id, rank));
  return weir_ids_append(&bpe->merged, merged_id);
}

static weir_status read_merges(const weir_json_node *model, weir_bpe *bpe) {
  weir_json_node merges, item;
  WEIR_TRY(weir_json_member(model, "merges", JSON_ARRAY, &merges));
  weir_bytes whole = {0};
  weir_status status = WEIR_OK;
  for (size_t i = 0; i < json_array_size(merges.value) && status == WEIR_OK; i++) {
    const json_t *value = json_array_get(merges.value, i);
    status = weir_json_item(&merges, i, json_typeof(value), &item);
    if (status == WEIR_OK) status = read_merge(&item, (uint32_t)i, bpe, &whole);
  }
  weir_bytes_deinit(&whole);
  return status;
}

static weir_status require_empty(const weir_json_node *model, const char *key) {
  const char *text = "";
  if (weir_json_has(model, key)) WEIR_TRY(weir_json_string(model, key, &text));
  return *text ? weir_json_fail(model, "%s \"%s\" is not supported", key, text) : WEIR_OK;
}

/* Byte tokens: one character of the byte-level alphabet, or <0xNN>. */
static void find_byte_tokens(weir_bpe *bpe) {
  for (int byte = 0; byte < 256; byte++) {
    char text[8];
    snprintf(text, sizeof text, "<0x%02X>", (unsigned)byte);
    bpe->byte_ids[byte] = bpe->byte_level ? -1 : weir_bpe_token_id(bpe, text, strlen(text));
  }
  for (size_t id = 0; id < bpe->n_model_tokens && bpe->byte_level; id++) {
    size_t n_bytes;
    const char *text = weir_string_table_at(&bpe->vocabulary, id, &n_bytes);
    int32_t character;
    if (weir_utf8_next(text, n_bytes, &character) != n_bytes || n_bytes == 0) continue;
    int byte = weir_byte_level_byte(character);
    if (byte >= 0) bpe->byte_ids[byte] = (int32_t)id;
  }
}

static weir_status check_options(const weir_json_node *model, weir_bpe *bpe) {
  const char *type;
  WEIR_TRY(weir_json_string(model, "type", &type));
  if (strcmp(type, "BPE") != 0)
    return weir_json_fail(model, "type \"%s\" is not supported (only BPE)", type);
  WEIR_TRY(weir_json_only(model, "type, dropout, unk_token, continuing_subword_prefix, "
                                 "end_of_word_suffix, fuse_unk, byte_fallback, ignore_merges, "
                                 "vocab, merges"));
  const json_t *dropout = json_object_get(model->value, "dropout");
  if (dropout && !json_is_null(dropout) &&
      !(json_is_number(dropout) && !(json_number_value(dropout) != 0)))
    return weir_json_fail(model, "dropout is not supported: encoding would be random");
  WEIR_TRY(require_empty(model, "continuing_subword_prefix"));
  WEIR_TRY(require_empty(model, "end_of_word_suffix"));
  WEIR_TRY(weir_json_boolean_or(model, "fuse_unk", false, &bpe->fuse_unk));
  WEIR_TRY(weir_json_boolean_or(model, "byte_fallback", false, &bpe->byte_fallback));
  return weir_json_boolean_or(model, "ignore_merges", false, &bpe->ignore_merges);
}

static weir_status read_model(const weir_json_node *root, weir_bpe *bpe) {
  weir_json_node model;
  WEIR_TRY(weir_json_member(root, "model", JSON_OBJECT, &model));
  WEIR_TRY(check_options(&model, bpe));
  WEIR_TRY(read_vocabulary(&model, bpe));
  WEIR_TRY(read_merges(&model, bpe));
  find_byte_tokens(bpe);
  bpe->unk_id = -1;
  if (weir_json_has(&model, "unk_token")) {
    const char *unk;
    WEIR_TRY(weir_json_string(&model, "unk_token", &unk));
    bpe->unk_id = weir_bpe_token_id(bpe, unk, strlen(unk));
  }
  bool every_byte = bpe->byte_level || bpe->byte_fallback;
  for (int byte = 0; byte < 256 && every_byte; byte++)
    every_byte = bpe->byte_ids[byte] >= 0;
  if (bpe->byte_level && bpe->byte_fallback && !every_byte)
    return weir_json_fail(&model, "byte_fallback and ByteLevel, but not a token for every byte");
  if (every_byte) bpe->unk_id = -1;                /* nothing is unknown */
  if (bpe->byte_level) bpe->byte_fallback = false; /* nothing to fall back from */
  return WEIR_OK;
}

/* --- added tokens
 * ------------------------------------------------------------------------------------ */

/* The content's id: the model's, or the next free one. */
static weir_status number_added_token(const weir_json_node *item, const char *content,
                                      weir_tokenizer *tokenizer, int32_t *id) {
  int given;
  uint32_t number;
  WEIR_TRY(weir_json_int32(item, "id", &given));
  WEIR_TRY(weir_string_table_add(&tokenizer->bpe.vocabulary, content, strlen(content), &number));
  if (number != (uint32_t)given)
    return weir_json_fail(item,
                          "\"%s\" has id %d, expected %u: the id it has in the vocabulary, or "
                          "the next after the tokens before it",
                          content, given, number);
  if (tokenizer->is_added[number]) return weir_json_fail(item, "\"%s\" is added twice", content);
  tokenizer->is_added[number] = true;
  *id = (int32_t)number;
  return WEIR_OK;
}

static weir_status read_added_token(const weir_json_node *item, weir_tokenizer *tokenizer) {
  weir_added_token token = {0};
  const char *content;
  bool normalized, special;
  WEIR_TRY(weir_json_only(item, "id, content, single_word, lstrip, rstrip, normalized, special"));
  WEIR_TRY(weir_json_string(item, "content", &content));
  if (!*content) return weir_json_fail(item, "content is empty");
  WEIR_TRY(weir_json_boolean(item, "single_word", &token.single_word));
  WEIR_TRY(weir_json_boolean(item, "lstrip", &token.lstrip));
  WEIR_TRY(weir_json_boolean(item, "rstrip", &token.rstrip));
  WEIR_TRY(weir_json_boolean(item, "normalized", &normalized));
  WEIR_TRY(weir_json_boolean(item, "special", &special));
  WEIR_TRY(number_added_token(item, content, tokenizer, &token.id));
  weir_status status = normalized ? weir_normalizer_apply(&tokenizer->normalizer, content,
                                                          strlen(content), false, &token.spelling)
                                  : weir_bytes_append(&token.spelling, content, strlen(content));
  if (status == WEIR_OK && token.spelling.count == 0)
    status = weir_json_fail(item, "nothing is left of \"%s\" when normalized", content);
  if (status != WEIR_OK) {
    weir_bytes_deinit(&token.spelling);
    return status;
  }
  if (tokenizer->metaspace.prepend == WEIR_METASPACE_ALWAYS && token.id != tokenizer->bpe.unk_id)
    tokenizer->begins_text[token.id] = true;
  bool stands_in_text = !normalized && token.id != tokenizer->bpe.unk_id;
  for (size_t i = 0; i < tokenizer->normalizer.count && stands_in_text; i++)
    if (tokenizer->normalizer.steps[i].kind == WEIR_NORMALIZER_PREPEND)
      tokenizer->begins_text[token.id] = true;
  return weir_added_tokens_add(normalized ? &tokenizer->normalized_added : &tokenizer->raw_added,
                               token);
}

static weir_status read_added_tokens(const weir_json_node *root, weir_tokenizer *tokenizer) {
  weir_json_node list, item;
  WEIR_TRY(weir_json_member(root, "added_tokens", JSON_ARRAY, &list));
  size_t most = tokenizer->bpe.n_model_tokens + json_array_size(list.value);
  tokenizer->is_added = calloc(most, sizeof(bool));
  tokenizer->begins_text = calloc(most, sizeof(bool));
  if (!tokenizer->is_added || !tokenizer->begins_text)
    return weir_fail(WEIR_FAILED, "out of memory for %zu tokens", most);
  for (size_t i = 0; i < json_array_size(list.value); i++) {
    WEIR_TRY(weir_json_item(&list, i, JSON_OBJECT, &item));
    WEIR_TRY(read_added_token(&item, tokenizer));
  }
  weir_added_tokens_sort(&tokenizer->raw_added);
  weir_added_tokens_sort(&tokenizer->normalized_added);
  return WEIR_OK;
}

/* --- bytes of tokens
 * ---------------------------------------------------------------------------------- */

/* False, with nothing appended, where a character is not of the byte-level alphabet. */
static weir_status append_byte_level(const char *text, size_t n_bytes, weir_bytes *bytes,
                                     bool *appended) {
  size_t begin = bytes->count;
  *appended = true;
  for (size_t at = 0; at < n_bytes && *appended;) {
    int32_t character;
    at += weir_utf8_next(text + at, n_bytes - at, &character);
    int byte = weir_byte_level_byte(character);
    *appended = byte >= 0;
    if (*appended) WEIR_TRY(weir_bytes_append(bytes, &(char){(char)byte}, 1));
  }
  if (!*appended) bytes->count = begin;
  return WEIR_OK;
}

/* <0xNN> as a byte, or -1. */
static int byte_of(const char *text, size_t n_bytes) {
  if (n_bytes != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>') return -1;
  char digits[3] = {text[3], text[4], 0};
  return strspn(digits, "0123456789abcdefABCDEF") == 2 ? (int)strtol(digits, NULL, 16) : -1;
}

static weir_status append_token_bytes(const weir_tokenizer *tokenizer, const weir_decoder *decoder,
                                      size_t id, weir_bytes *scratch, weir_bytes *bytes) {
  size_t n_bytes;
  const char *text = weir_string_table_at(&tokenizer->bpe.vocabulary, id, &n_bytes);
  if (tokenizer->is_added[id]) return weir_bytes_append(bytes, text, n_bytes);
  if (decoder->byte_level) {
    bool appended;
    WEIR_TRY(append_byte_level(text, n_bytes, bytes, &appended));
    return appended ? WEIR_OK : weir_bytes_append(bytes, text, n_bytes);
  }
  WEIR_TRY(weir_normalizer_apply(&decoder->replacements, text, n_bytes, false, scratch));
  int byte = decoder->byte_fallback ? byte_of(scratch->data, scratch->count) : -1;
  if (byte >= 0) return weir_bytes_append(bytes, &(char){(char)byte}, 1);
  return weir_bytes_append(bytes, scratch->data, scratch->count);
}

static weir_status make_token_bytes(weir_tokenizer *tokenizer, const weir_decoder *decoder) {
  size_t n = tokenizer->bpe.vocabulary.count;
  tokenizer->decoded_ends = calloc(n, sizeof(size_t));
  if (!tokenizer->decoded_ends) return weir_fail(WEIR_FAILED, "out of memory for %zu tokens", n);
  weir_bytes scratch = {0};
  weir_status status = WEIR_OK;
  for (size_t id = 0; id < n && status == WEIR_OK; id++) {
    status = append_token_bytes(tokenizer, decoder, id, &scratch, &tokenizer->decoded);
    tokenizer->decoded_ends[id] = tokenizer->decoded.count;
  }
  weir_bytes_deinit(&scratch);
  return status;
}

/* --- the file
 * ----------------------------------------------------------------------------------------- */

static weir_status read_parts(const weir_json_node *root, weir_tokenizer *tokenizer,
                              weir_decoder *decoder) {
  const char *version;
  WEIR_TRY(weir_json_only(root, "version, truncation, padding, added_tokens, normalizer, "
                                "pre_tokenizer, post_processor, decoder, model"));
  WEIR_TRY(weir_json_string(root, "version", &version));
  if (strcmp(version, "1.0") != 0)
    return weir_json_fail(root, "version \"%s\" is not supported (only 1.0)", version);
  if (weir_json_has(root, "truncation") || weir_json_has(root, "padding"))
    return weir_json_fail(root, "truncation and padding are not supported: make them null");
  WEIR_TRY(weir_tokenizer_read_normalizer(root, &tokenizer->normalizer));
  WEIR_TRY(weir_tokenizer_read_pretokenizer(root, tokenizer));
  WEIR_TRY(weir_tokenizer_read_postprocessor(root, tokenizer));
  WEIR_TRY(weir_tokenizer_read_decoder(root, decoder, tokenizer));
  WEIR_TRY(read_model(root, &tokenizer->bpe));
  WEIR_TRY(read_added_tokens(root, tokenizer));
  int32_t n = weir_tokenizer_vocab_size(tokenizer);
  if (tokenizer->prefix_id >= n || tokenizer->suffix_id >= n)
    return weir_json_fail(root, "post_processor adds an id beyond the %d tokens", (int)n);
  return make_token_bytes(tokenizer, decoder);
}

weir_status weir_tokenizer_read(const char *file, weir_tokenizer *tokenizer) {
  weir_json_node root;
  weir_decoder decoder = {0};
  WEIR_TRY(weir_json_read(file, &root));
  weir_status status = json_is_object(root.value) ? read_parts(&root, tokenizer, &decoder)
                                                  : weir_json_fail(&root, "expected an object");
  weir_normalizer_deinit(&decoder.replacements);
  json_decref((json_t *)root.value);
  return status;
}
