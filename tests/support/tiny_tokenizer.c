/* SPDX-License-Identifier: Apache-2.0 */
#include "support/tiny_tokenizer.h"

#include "formats/byte_level.h"
#include "formats/documents.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

const char *tiny_tokenizer_path(void) {
  static char path[64];
  snprintf(path, sizeof path, "/tmp/weir-tiny-tokenizer-%ld.json", (long)getpid());
  return path;
}

static json_t *parse(const char *text) {
  json_error_t error;
  json_t *value = json_loads(text, 0, &error);
  if (!value) fail_msg("%s", error.text);
  return value;
}

/* The merges' results become tokens, in order, after those of the vocabulary. */
static void add_merges(json_t *model, const char *const *merges, size_t n_merges) {
  json_t *vocab = json_object_get(model, "vocab"), *list = json_array();
  for (size_t i = 0; i < n_merges; i++) {
    char whole[64];
    size_t n = strcspn(merges[i], " ");
    snprintf(whole, sizeof whole, "%.*s%s", (int)n, merges[i], merges[i] + n + 1);
    json_object_set_new(vocab, whole, json_integer((json_int_t)json_object_size(vocab)));
    json_array_append_new(list, json_string(merges[i]));
  }
  json_object_set_new(model, "merges", list);
}

json_t *tiny_byte_level(void) {
  static const char *const merges[] = {"t h", "h e",   "th e",   "Ġ the",
                                       "l l", "he ll", "hell o", "Ġ hello"};
  json_t *file = parse(
      "{\"version\": \"1.0\", \"truncation\": null, \"padding\": null, \"added_tokens\": [],"
      " \"normalizer\": {\"type\": \"NFC\"},"
      " \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": ["
      "  {\"type\": \"Split\", \"behavior\": \"Isolated\", \"invert\": false, \"pattern\": "
      "{\"Regex\":"
      "   \"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}|"
      " ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"}},"
      "  {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": false,"
      "   \"use_regex\": false}]},"
      " \"post_processor\": null,"
      " \"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": "
      "false,"
      "  \"use_regex\": false},"
      " \"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": null,"
      "  \"continuing_subword_prefix\": \"\", \"end_of_word_suffix\": \"\", \"fuse_unk\": false,"
      "  \"byte_fallback\": false, \"ignore_merges\": false, \"vocab\": {}}}");
  json_t *model = json_object_get(file, "model"), *vocab = json_object_get(model, "vocab");
  for (int byte = 0; byte < 256; byte++) {
    weir_bytes text = {0};
    weir_byte_level_spell(&(char){(char)byte}, 1, &text);
    weir_bytes_append(&text, "", 1);
    json_object_set_new(vocab, text.data, json_integer(byte));
    weir_bytes_deinit(&text);
  }
  add_merges(model, merges, sizeof merges / sizeof *merges);
  tiny_tokenizer_add(file, "<|end|>", "");
  tiny_tokenizer_add(file, "<|pad|>", "");
  return file;
}

json_t *tiny_llama(void) {
  static const char *const merges[] = {"t h", "h e", "th e", "▁ the"};
  json_t *file = parse(
      "{\"version\": \"1.0\", \"truncation\": null, \"padding\": null, \"added_tokens\": [],"
      " \"normalizer\": {\"type\": \"Sequence\", \"normalizers\": ["
      "  {\"type\": \"Prepend\", \"prepend\": \"▁\"},"
      "  {\"type\": \"Replace\", \"pattern\": {\"String\": \" \"}, \"content\": \"▁\"}]},"
      " \"pre_tokenizer\": null,"
      " \"post_processor\": {\"type\": \"TemplateProcessing\","
      "  \"single\": [{\"SpecialToken\": {\"id\": \"<s>\", \"type_id\": 0}},"
      "   {\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}],"
      "  \"pair\": [{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}},"
      "   {\"Sequence\": {\"id\": \"B\", \"type_id\": 1}}],"
      "  \"special_tokens\": {\"<s>\": {\"id\": \"<s>\", \"ids\": [1], \"tokens\": [\"<s>\"]}}},"
      " \"decoder\": {\"type\": \"Sequence\", \"decoders\": ["
      "  {\"type\": \"Replace\", \"pattern\": {\"String\": \"▁\"}, \"content\": \" \"},"
      "  {\"type\": \"ByteFallback\"}, {\"type\": \"Fuse\"},"
      "  {\"type\": \"Strip\", \"content\": \" \", \"start\": 1, \"stop\": 0}]},"
      " \"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": \"<unk>\","
      "  \"continuing_subword_prefix\": null, \"end_of_word_suffix\": null, \"fuse_unk\": true,"
      "  \"byte_fallback\": true, \"vocab\": {\"<unk>\": 0, \"<s>\": 1, \"</s>\": 2}}}");
  json_t *model = json_object_get(file, "model"), *vocab = json_object_get(model, "vocab");
  for (int byte = 0; byte < 256; byte++) {
    char text[8];
    snprintf(text, sizeof text, "<0x%02X>", (unsigned)byte);
    json_object_set_new(vocab, text, json_integer(3 + byte));
  }
  json_object_set_new(vocab, "▁", json_integer(259));
  for (int c = 'a'; c <= 'z'; c++)
    json_object_set_new(vocab, (char[]){(char)c, 0}, json_integer(260 + c - 'a'));
  add_merges(model, merges, sizeof merges / sizeof *merges);
  tiny_tokenizer_add(file, "<unk>", "");
  tiny_tokenizer_add(file, "<s>", "");
  tiny_tokenizer_add(file, "</s>", "");
  return file;
}

int tiny_tokenizer_add(json_t *file, const char *content, const char *flags) {
  json_t *vocab = json_object_get(json_object_get(file, "model"), "vocab");
  json_t *list = json_object_get(file, "added_tokens"), *item;
  int id = (int)json_object_size(vocab);
  size_t i;
  json_array_foreach(list, i, item) {
    id += !json_object_get(vocab, json_string_value(json_object_get(item, "content")));
  }
  const json_t *known = json_object_get(vocab, content);
  if (known) id = (int)json_integer_value(known);
  json_array_append_new(list,
                        json_pack("{si ss sb sb sb sb sb}", "id", id, "content", content,
                                  "single_word", strchr(flags, 'w') != NULL, "lstrip",
                                  strchr(flags, 'l') != NULL, "rstrip", strchr(flags, 'r') != NULL,
                                  "normalized", strchr(flags, 'n') != NULL, "special", 1));
  return id;
}

weir_status tiny_tokenizer_try_text(const char *text, size_t n_bytes, weir_tokenizer **tokenizer) {
  FILE *file = fopen(tiny_tokenizer_path(), "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, n_bytes, file), n_bytes);
  assert_int_equal(fclose(file), 0);
  weir_status status = weir_tokenizer_open(tiny_tokenizer_path(), tokenizer);
  unlink(tiny_tokenizer_path());
  return status;
}

weir_status tiny_tokenizer_try(const json_t *file, weir_tokenizer **tokenizer) {
  char *text = json_dumps(file, JSON_ENCODE_ANY);
  assert_non_null(text);
  weir_status status = tiny_tokenizer_try_text(text, strlen(text), tokenizer);
  free(text);
  return status;
}

weir_tokenizer *tiny_tokenizer_open(const json_t *file) {
  weir_tokenizer *tokenizer;
  if (tiny_tokenizer_try(file, &tokenizer) != WEIR_OK) fail_msg("%s", weir_status_message());
  return tokenizer;
}

void assert_tokens(const weir_tokenizer *tokenizer, const char *text, const char *expected) {
  weir_ids ids = {0};
  weir_bytes line = {0};
  assert_int_equal(weir_tokenizer_encode(tokenizer, text, strlen(text), true, &ids), WEIR_OK);
  for (size_t i = 0; i < ids.count; i++) {
    size_t n_bytes;
    const char *token = weir_tokenizer_token_text(tokenizer, ids.data[i], &n_bytes);
    if (i) weir_bytes_append(&line, "|", 1);
    weir_bytes_append(&line, token, n_bytes);
  }
  weir_bytes_append(&line, "", 1);
  assert_string_equal(line.data, expected);
  weir_bytes_deinit(&line);
  weir_ids_deinit(&ids);
}

void assert_round_trip(const weir_tokenizer *tokenizer, const char *text, size_t n_bytes) {
  weir_ids ids = {0};
  weir_bytes whole = {0}, streamed = {0};
  assert_int_equal(weir_tokenizer_encode(tokenizer, text, n_bytes, true, &ids), WEIR_OK);
  assert_int_equal(weir_tokenizer_decode(tokenizer, ids.data, ids.count, true, &whole), WEIR_OK);
  assert_int_equal(whole.count, n_bytes);
  if (n_bytes) assert_memory_equal(whole.data, text, n_bytes);

  weir_token_stream stream;
  weir_token_stream_init(&stream, tokenizer, true);
  for (size_t i = 0, before; i < ids.count; i++) {
    before = streamed.count;
    assert_int_equal(weir_token_stream_feed(&stream, ids.data[i], &streamed), WEIR_OK);
    size_t n_new = streamed.count - before;
    if (n_new && weir_utf8_valid_bytes(streamed.data + before, n_new) != n_new)
      fail_msg("half a character after id %zu", i);
  }
  assert_int_equal(weir_token_stream_finish(&stream, &streamed), WEIR_OK);
  assert_int_equal(streamed.count, n_bytes);
  if (n_bytes) assert_memory_equal(streamed.data, text, n_bytes);
  weir_bytes_deinit(&streamed);
  weir_bytes_deinit(&whole);
  weir_ids_deinit(&ids);
}
