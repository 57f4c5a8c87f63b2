/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening, closing and asking; encoding as a walk through the parts. */
#include "formats/tokenizer.h"

#include "base/files.h"
#include "formats/documents.h"
#include "formats/tokenizer_parts.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* The file's own checksum. */
static weir_status take_fingerprint(const char *file, weir_tokenizer *tokenizer) {
  weir_mapping mapping;
  WEIR_TRY(weir_mapping_open(file, &mapping));
  tokenizer->fingerprint = XXH3_64bits(mapping.bytes, (size_t)mapping.size_bytes);
  weir_mapping_close(&mapping);
  return WEIR_OK;
}

static weir_status open_file(const char *file, weir_tokenizer *tokenizer) {
  WEIR_TRY(weir_tokenizer_read(file, tokenizer));
  return take_fingerprint(file, tokenizer);
}

static weir_status open_directory(const char *directory, weir_tokenizer *tokenizer) {
  char *file = weir_path_join(directory, "tokenizer.json");
  if (!file) return weir_fail(WEIR_FAILED, "out of memory");
  weir_status status = open_file(file, tokenizer);
  free(file);
  return status == WEIR_OK ? weir_tokenizer_read_special(directory, tokenizer) : status;
}

weir_status weir_tokenizer_open(const char *path, weir_tokenizer **tokenizer) {
  *tokenizer = NULL;
  weir_tokenizer *opened = calloc(1, sizeof *opened);
  if (!opened) return weir_fail(WEIR_FAILED, "out of memory");
  opened->bos_id = opened->eos_id = opened->prefix_id = opened->suffix_id = -1;
  weir_status status =
      weir_path_is_directory(path) ? open_directory(path, opened) : open_file(path, opened);
  if (status != WEIR_OK) {
    weir_tokenizer_close(opened);
    return status;
  }
  *tokenizer = opened;
  return WEIR_OK;
}

void weir_tokenizer_close(weir_tokenizer *tokenizer) {
  if (!tokenizer) return;
  weir_added_tokens_deinit(&tokenizer->raw_added);
  weir_added_tokens_deinit(&tokenizer->normalized_added);
  weir_normalizer_deinit(&tokenizer->normalizer);
  weir_pretokenizer_deinit(&tokenizer->pretokenizer);
  weir_bpe_deinit(&tokenizer->bpe);
  weir_bytes_deinit(&tokenizer->decoded);
  free(tokenizer->decoded_ends);
  free(tokenizer->is_added);
  free(tokenizer->begins_text);
  free(tokenizer);
}

int32_t weir_tokenizer_vocab_size(const weir_tokenizer *tokenizer) {
  return (int32_t)tokenizer->bpe.vocabulary.count;
}

uint64_t weir_tokenizer_fingerprint(const weir_tokenizer *tokenizer) {
  const int32_t around[] = {tokenizer->prefix_id, tokenizer->suffix_id};
  return XXH3_64bits_withSeed(around, sizeof around, tokenizer->fingerprint);
}

int32_t weir_tokenizer_bos_id(const weir_tokenizer *tokenizer) {
  return tokenizer->bos_id;
}

int32_t weir_tokenizer_eos_id(const weir_tokenizer *tokenizer) {
  return tokenizer->eos_id;
}

const char *weir_tokenizer_token_text(const weir_tokenizer *tokenizer, int32_t id,
                                      size_t *n_bytes) {
  WEIR_ASSERT(id, >=, 0);
  WEIR_ASSERT(id, <, weir_tokenizer_vocab_size(tokenizer));
  return weir_string_table_at(&tokenizer->bpe.vocabulary, (size_t)id, n_bytes);
}

int32_t weir_tokenizer_token_id(const weir_tokenizer *tokenizer, const char *text) {
  return (int32_t)weir_string_table_find(&tokenizer->bpe.vocabulary, text, strlen(text));
}

/* --- encoding ---------------------------------------------------------------------------- */

typedef struct encoding {
  const weir_tokenizer *tokenizer;
  weir_bpe_scratch scratch;
  weir_bytes normalized, replaced;
  weir_ids *ids;
  bool is_start; /* nothing of the text is encoded yet */
  bool goes_on;  /* the text goes on from another one */
} encoding;

static weir_status encode_word(void *context, const char *word, size_t n_bytes) {
  encoding *e = context;
  return weir_bpe_encode(&e->tokenizer->bpe, &e->scratch, word, n_bytes, e->ids);
}

static weir_status encode_normalized_piece(encoding *e, const char *text, size_t n_bytes) {
  const weir_tokenizer *t = e->tokenizer;
  const bool is_start = e->is_start;
  e->is_start = false;
  if (!*t->metaspace.replacement)
    return weir_pretokenizer_run(&t->pretokenizer, text, n_bytes, encode_word, e);
  WEIR_TRY(weir_metaspace_apply(&t->metaspace, text, n_bytes, is_start, is_start && e->goes_on,
                                &e->replaced));
  return weir_pretokenizer_run(&t->pretokenizer, e->replaced.data, e->replaced.count, encode_word,
                               e);
}

typedef weir_status encode_piece(encoding *e, const char *text, size_t n_bytes);

/* Added tokens become their ids; what lies between them goes on to `encode_rest`. */
static weir_status encode_between(encoding *e, const weir_added_tokens *added,
                                  encode_piece *encode_rest, const char *text, size_t n_bytes) {
  size_t taken = 0, from = 0;
  for (weir_added_match match; weir_added_tokens_find(added, text, n_bytes, from, taken, &match);) {
    if (taken < match.begin_bytes)
      WEIR_TRY(encode_rest(e, text + taken, match.begin_bytes - taken));
    WEIR_TRY(weir_ids_append(e->ids, match.id));
    e->is_start = false;
    taken = match.end_bytes;
    from = match.resume_bytes;
  }
  return taken < n_bytes ? encode_rest(e, text + taken, n_bytes - taken) : WEIR_OK;
}

static weir_status encode_raw_piece(encoding *e, const char *text, size_t n_bytes) {
  const weir_tokenizer *t = e->tokenizer;
  if (t->normalizer.count == 0)
    return encode_between(e, &t->normalized_added, encode_normalized_piece, text, n_bytes);
  WEIR_TRY(weir_normalizer_apply(&t->normalizer, text, n_bytes, e->is_start && e->goes_on,
                                 &e->normalized));
  return encode_between(e, &t->normalized_added, encode_normalized_piece, e->normalized.data,
                        e->normalized.count);
}

weir_status weir_tokenizer_encode_part(const weir_tokenizer *tokenizer, const char *text,
                                       size_t n_bytes, weir_text_part part, weir_ids *ids) {
  uint64_t n_valid_bytes = weir_utf8_valid_bytes(text, n_bytes);
  if (n_valid_bytes < n_bytes)
    return weir_fail(WEIR_BAD_INPUT, "byte %llu (0x%02X) of the text is not valid UTF-8",
                     (unsigned long long)n_valid_bytes, (unsigned char)text[n_valid_bytes]);
  encoding e = {.tokenizer = tokenizer, .ids = ids, .is_start = true, .goes_on = part.goes_on};
  weir_status status = WEIR_OK;
  if (part.add_prefix && tokenizer->prefix_id >= 0)
    status = weir_ids_append(ids, tokenizer->prefix_id);
  if (status == WEIR_OK)
    status = encode_between(&e, &tokenizer->raw_added, encode_raw_piece, text, n_bytes);
  if (status == WEIR_OK && part.add_suffix && tokenizer->suffix_id >= 0)
    status = weir_ids_append(ids, tokenizer->suffix_id);
  weir_bpe_scratch_deinit(&e.scratch);
  weir_bytes_deinit(&e.normalized);
  weir_bytes_deinit(&e.replaced);
  return status;
}

weir_status weir_tokenizer_encode(const weir_tokenizer *tokenizer, const char *text, size_t n_bytes,
                                  bool add_special_tokens, weir_ids *ids) {
  const weir_text_part whole = {add_special_tokens, add_special_tokens, false};
  return weir_tokenizer_encode_part(tokenizer, text, n_bytes, whole, ids);
}
