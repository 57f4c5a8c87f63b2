/* SPDX-License-Identifier: Apache-2.0
 *
 * tokenizer.json files that are damaged, or ask for what is not supported: refused with the file's
 * name, or, where the damage leaves a meaning, usable.  Never a crash; run it under sanitizers. */
#include "support/tiny_tokenizer.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

/* Refused with a message that begins with the file and holds `words`. */
static void assert_refused(weir_status status, const char *words) {
  assert_int_equal(status, WEIR_BAD_INPUT);
  const char *message = weir_status_message(), *path = tiny_tokenizer_path();
  if (strncmp(message, path, strlen(path)) != 0 || !strstr(message, words))
    fail_msg("\"%s\" does not name %s and %s", message, path, words);
}

/* Whatever opens must work, or say why not. */
static void use(weir_tokenizer *tokenizer) {
  static const char text[] = "the hello <s> é <|end|> \xF0\x9F\xA6\x99";
  weir_ids ids = {0};
  weir_bytes decoded = {0};
  if (weir_tokenizer_encode(tokenizer, text, sizeof text - 1, true, &ids) == WEIR_OK)
    assert_int_equal(weir_tokenizer_decode(tokenizer, ids.data, ids.count, true, &decoded),
                     WEIR_OK);
  weir_ids_deinit(&ids);
  weir_bytes_deinit(&decoded);
  weir_tokenizer_close(tokenizer);
}

static int try_damaged(const json_t *file) {
  weir_tokenizer *tokenizer;
  weir_status status = tiny_tokenizer_try(file, &tokenizer);
  if (status != WEIR_OK) {
    assert_refused(status, "");
    return 0;
  }
  use(tokenizer);
  return 1;
}

/* The i-th value of an object or array: its key (NULL in arrays), borrowed. */
static json_t *value_at(json_t *part, size_t i, const char **key) {
  *key = NULL;
  if (json_is_array(part)) return json_array_get(part, i);
  void *at = json_object_iter(part);
  for (size_t k = 0; k < i; k++)
    at = json_object_iter_next(part, at);
  *key = json_object_iter_key(at);
  return json_object_iter_value(at);
}

/* Takes over `value`; NULL removes. */
static void set_value(json_t *part, size_t i, const char *key, json_t *value) {
  if (key)
    value ? json_object_set_new(part, key, value) : json_object_del(part, key);
  else
    value ? json_array_set_new(part, i, value) : json_array_remove(part, i);
}

typedef struct damage {
  const json_t *file; /* as it was */
  size_t path[16];    /* which value of which value ... */
  int n_tried, n_opened;
} damage;

static json_t *follow(json_t *file, const size_t *path, size_t depth) {
  const char *key;
  for (size_t i = 0; i < depth; i++)
    file = value_at(file, path[i], &key);
  return file;
}

/* Every value is removed, and replaced by one of each type, in turn; of long lists the first few.
 */
static void damage_values(damage *d, size_t depth) {
  static const char *const wrong[] = {NULL,    "null", "true", "7",  "-1",           "0.5",
                                      "\"x\"", "\"\"", "[]",   "{}", "1099511627776"};
  json_t *part = follow((json_t *)d->file, d->path, depth);
  size_t n = json_is_object(part) ? json_object_size(part) : json_array_size(part);
  for (size_t i = 0; i < n && i < 8; i++) {
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
      json_t *copy = json_deep_copy(d->file), *damaged = follow(copy, d->path, depth);
      const char *key;
      value_at(damaged, i, &key);
      set_value(damaged, i, key, wrong[k] ? json_loads(wrong[k], JSON_DECODE_ANY, NULL) : NULL);
      d->n_opened += try_damaged(copy);
      d->n_tried++;
      json_decref(copy);
    }
    d->path[depth] = i;
    damage_values(d, depth + 1);
  }
}

static void every_value_removed_or_of_another_type(void **state) {
  (void)state;
  json_t *files[] = {tiny_byte_level(), tiny_llama()};
  for (size_t i = 0; i < 2; i++) {
    damage d = {.file = files[i]};
    damage_values(&d, 0);
    print_message("%d damaged files, %d still open\n", d.n_tried, d.n_opened);
    assert_true(d.n_tried > 400);
    assert_true(d.n_opened < d.n_tried / 4);
    json_decref(files[i]);
  }
}

static void cut_off_anywhere(void **state) {
  (void)state;
  json_t *file = tiny_llama();
  char *text = json_dumps(file, 0);
  assert_non_null(text);
  size_t n_bytes = strlen(text);
  for (size_t n = 0; n < n_bytes; n += n < 64 ? 1 : 23) {
    weir_tokenizer *tokenizer;
    assert_refused(tiny_tokenizer_try_text(text, n, &tokenizer), "not JSON");
    assert_null(tokenizer);
  }
  free(text);
  json_decref(file);
}

static void bytes_changed_at_random(void **state) {
  (void)state;
  json_t *file = tiny_byte_level();
  char *text = json_dumps(file, 0);
  assert_non_null(text);
  size_t n_bytes = strlen(text);
  unsigned random = 1;
  for (int i = 0; i < 1500; i++) {
    random = random * 1103515245u + 12345u;
    size_t at = (random >> 4) % n_bytes;
    char before = text[at];
    text[at] = (char)(random >> 23);
    weir_tokenizer *tokenizer;
    weir_status status = tiny_tokenizer_try_text(text, n_bytes, &tokenizer);
    if (status == WEIR_OK)
      use(tokenizer);
    else
      assert_refused(status, "");
    text[at] = before;
  }
  free(text);
  json_decref(file);
}

/* Replaces the value at "a.b.c" by the JSON given (NULL: removes it), opens, expects a refusal that
 * holds `words`. */
static void refuse(json_t *(*make)(void), const char *path, const char *json, const char *words) {
  json_t *file = make(), *part = file;
  char key[64];
  for (size_t n; n = strcspn(path, "."), path[n]; path += n + 1) {
    snprintf(key, sizeof key, "%.*s", (int)n, path);
    part = json_is_array(part) ? json_array_get(part, strtoul(key, NULL, 10))
                               : json_object_get(part, key);
    assert_non_null(part);
  }
  json_t *value = json ? json_loads(json, JSON_DECODE_ANY, NULL) : NULL;
  if (json) assert_non_null(value);
  set_value(part, strtoul(path, NULL, 10), json_is_array(part) ? NULL : path, value);
  weir_tokenizer *tokenizer = NULL;
  assert_refused(tiny_tokenizer_try(file, &tokenizer), words);
  json_decref(file);
}

static void what_is_not_supported_is_named(void **state) {
  (void)state;
  static const struct {
    const char *path, *json, *words;
  } cases[] = {
      {"version", "\"2.0\"", "version \"2.0\""},
      {"version", NULL, "\"version\" is missing"},
      {"truncation", "{\"max_length\": 5}", "truncation"},
      {"padding", "{\"direction\": \"Right\"}", "padding"},
      {"extra", "1", "\"extra\""},
      {"normalizer", "{\"type\": \"Lowercase\"}", "normalizer: type \"Lowercase\""},
      {"normalizer.strip", "true", "\"strip\""},
      {"pre_tokenizer", "{\"type\": \"Whitespace\"}", "pre_tokenizer: type \"Whitespace\""},
      {"pre_tokenizer", "null", "ByteLevel"},
      {"pre_tokenizer.pretokenizers.0.behavior", "\"Sideways\"", "pretokenizers[0]"},
      {"pre_tokenizer.pretokenizers.0.pattern.Regex", "\"\\\\w+\"", "escape"},
      {"pre_tokenizer.pretokenizers.0.pattern.Regex", "\"a(\"", "a("},
      {"pre_tokenizer.pretokenizers.0.pattern.Regex", "\"a*\"", "can match nothing"},
      {"pre_tokenizer.pretokenizers.1.add_prefix_space", "true", "add_prefix_space"},
      {"post_processor", "{\"type\": \"BertProcessing\"}", "BertProcessing"},
      {"decoder", "{\"type\": \"WordPiece\"}", "decoder: type \"WordPiece\""},
      {"decoder", "null", "without a decoder"},
      {"model.type", "\"Unigram\"", "model: type \"Unigram\""},
      {"model.dropout", "0.1", "dropout"},
      {"model.continuing_subword_prefix", "\"##\"", "continuing_subword_prefix"},
      {"model.vocab", NULL, "\"vocab\" is missing"},
      {"model.vocab", "{}", "0 tokens"},
      {"model.vocab.the", NULL, "without holes"},
      {"model.vocab.the", "5", "same id 5"},
      {"model.vocab.the", "-1", "without holes"},
      {"model.vocab.the", "1e3", "not an integer"},
      {"model.merges.0", "\"q zz\"", "merges[0]: \"zz\" is not in the vocabulary"},
      {"model.merges.0", "\"t q\"", "\"tq\" is not in the vocabulary"},
      {"model.merges.0", "[\"t\", \"h\", \"e\"]", "merges[0]"},
      {"model.merges.0", "\"t h e\"", "merges[0]"},
      {"added_tokens.0.id", "3", "expected 264"},
      {"added_tokens.1.id", "300", "expected 265"},
      {"added_tokens.1.content", "\"<|end|>\"", "expected 264"},
      {"added_tokens.1.content", "\"\"", "content is empty"},
      {"added_tokens.0.lstrip", NULL, "\"lstrip\" is missing"},
      {"added_tokens.0.lstrip", "\"yes\"", "expected a boolean, found a string"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    refuse(tiny_byte_level, cases[i].path, cases[i].json, cases[i].words);
  refuse(tiny_llama, "post_processor.special_tokens.<s>.ids.0", "100000", "beyond");
  refuse(tiny_llama, "post_processor.special_tokens.<s>.ids", "[1, 1]", "more than one");
  refuse(tiny_llama, "post_processor.single.1.Sequence.id", "\"B\"", "sequence A");
  refuse(tiny_llama, "decoder.decoders.0", "{\"type\": \"Fuse\"}", "decoders[1]: \"ByteFallback\"");
  refuse(tiny_llama, "decoder.decoders.3.stop", "1", "stop 0");
  refuse(tiny_llama, "normalizer.normalizers.1.pattern", "{\"Regex\": \" \"}", "\"Regex\"");
  refuse(tiny_llama, "added_tokens.1.content", "\"</s>\"", "has id 1, expected 2");
}

static void no_file_and_no_object(void **state) {
  (void)state;
  weir_tokenizer *tokenizer;
  assert_int_not_equal(weir_tokenizer_open("/nonexistent/tokenizer.json", &tokenizer), WEIR_OK);
  assert_non_null(strstr(weir_status_message(), "/nonexistent/tokenizer.json"));
  assert_null(tokenizer);
  assert_refused(tiny_tokenizer_try_text("[]", 2, &tokenizer), "expected an object");
  assert_refused(tiny_tokenizer_try_text("{\"a\": 1, \"a\": 2}", 16, &tokenizer), "duplicate");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_value_removed_or_of_another_type),
      cmocka_unit_test(cut_off_anywhere),
      cmocka_unit_test(bytes_changed_at_random),
      cmocka_unit_test(what_is_not_supported_is_named),
      cmocka_unit_test(no_file_and_no_object),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
