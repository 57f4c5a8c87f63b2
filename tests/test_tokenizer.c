/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokenizers that other programs made, against ids that other programs computed.  Needs the
 * fixtures; what needs none is in test_tokenizer_small.c. */
#include "base/read_file.h"
#include "formats/tokenizer.h"
#include "support/fixture.h"

#include <jansson.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

static const char *fixture(const char *name) {
  static char path[FIXTURE_PATH_BYTES];
  fixture_path(path, name);
  return path;
}

static void must(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s", weir_status_message());
}

static weir_tokenizer *open_fixture(const char *name) {
  weir_tokenizer *tokenizer;
  must(weir_tokenizer_open(fixture(name), &tokenizer));
  return tokenizer;
}

static weir_file_bytes read_fixture(const char *name) {
  weir_file_bytes file;
  must(weir_file_read(fixture(name), INT32_MAX, &file));
  return file;
}

static void assert_round_trip(const weir_tokenizer *tokenizer, const char *text, size_t n_bytes) {
  weir_ids ids = {0};
  weir_bytes decoded = {0};
  must(weir_tokenizer_encode(tokenizer, text, n_bytes, true, &ids));
  must(weir_tokenizer_decode(tokenizer, ids.data, ids.count, true, &decoded));
  assert_int_equal(decoded.count, n_bytes);
  if (n_bytes) assert_memory_equal(decoded.data, text, n_bytes);
  weir_bytes_deinit(&decoded);
  weir_ids_deinit(&ids);
}

static void assert_ids(const weir_tokenizer *tokenizer, const char *text, size_t n_bytes,
                       const weir_ids *expected) {
  weir_ids ids = {0};
  must(weir_tokenizer_encode(tokenizer, text, n_bytes, true, &ids));
  if (ids.count != expected->count) print_error("in \"%.*s\"\n", (int)n_bytes, text);
  assert_int_equal(ids.count, expected->count);
  for (size_t i = 0; i < ids.count; i++)
    assert_int_equal(ids.data[i], expected->data[i]);
  weir_ids_deinit(&ids);
}

/* Cases are separated by lines __ggml_vocab_test__; line i of the other file has the ids of i. */
static void check_separated_cases(const char *folder) {
  static const char separator[] = "\n__ggml_vocab_test__\n";
  char name[128];
  weir_tokenizer *tokenizer = open_fixture(folder);
  snprintf(name, sizeof name, "%s/llama-cpp.inp", folder);
  weir_file_bytes texts = read_fixture(name);
  snprintf(name, sizeof name, "%s/llama-cpp.out", folder);
  weir_file_bytes lines = read_fixture(name);
  int n_cases = 0;
  char *line = lines.bytes;
  for (char *text = texts.bytes, *end; text; text = end ? end + sizeof separator - 1 : NULL) {
    end = strstr(text, separator);
    size_t n_bytes = end ? (size_t)(end - text) : strlen(text);
    weir_ids expected = {0};
    for (; *line && *line != '\n'; line += strspn(line, " "))
      must(weir_ids_append(&expected, (int32_t)strtol(line, &line, 10)));
    line += *line == '\n';
    assert_ids(tokenizer, text, n_bytes, &expected);
    assert_round_trip(tokenizer, text, n_bytes);
    weir_ids_deinit(&expected);
    n_cases++;
  }
  assert_int_equal(n_cases, 47);
  assert_int_equal(*line, 0);
  free(texts.bytes);
  free(lines.bytes);
  weir_tokenizer_close(tokenizer);
}

static void gpt2_ids_are_those_of_llama_cpp(void **state) {
  (void)state;
  check_separated_cases("tokenizers/gpt2");
}

static void qwen3_ids_are_those_of_llama_cpp(void **state) {
  (void)state;
  check_separated_cases("tokenizers/qwen3");
}

static void gpt2_ids_of_many_languages(void **state) {
  (void)state;
  weir_tokenizer *tokenizer = open_fixture("tokenizers/gpt2/tokenizer.json");
  json_t *cases = json_load_file(fixture("tokenizers/gpt2/multilingual-vectors.json"), 0, NULL);
  assert_true(json_array_size(cases) > 10);
  for (size_t i = 0; i < json_array_size(cases); i++) {
    const json_t *entry = json_array_get(cases, i),
                 *token_ids = json_object_get(entry, "token_ids");
    const char *text = json_string_value(json_object_get(entry, "text"));
    assert_non_null(text);
    weir_ids expected = {0};
    for (size_t k = 0; k < json_array_size(token_ids); k++)
      must(weir_ids_append(&expected, (int32_t)json_integer_value(json_array_get(token_ids, k))));
    assert_ids(tokenizer, text, strlen(text), &expected);
    assert_round_trip(tokenizer, text, strlen(text));
    weir_ids_deinit(&expected);
  }
  json_decref(cases);
  weir_tokenizer_close(tokenizer);
}

static void stories260k_golden_text_both_ways(void **state) {
  (void)state;
  weir_tokenizer *tokenizer = open_fixture("models/stories260K");
  json_t *golden = json_load_file(fixture("models/stories260K/golden_greedy.json"), 0, NULL);
  const json_t *expected_ids = json_object_get(golden, "expected_ids");
  const char *text = json_string_value(json_object_get(golden, "expected_text"));
  assert_non_null(text);
  weir_ids expected = {0};
  for (size_t i = 0; i < json_array_size(expected_ids); i++)
    must(weir_ids_append(&expected, (int32_t)json_integer_value(json_array_get(expected_ids, i))));
  assert_int_equal(expected.count, 201);
  assert_ids(tokenizer, text, strlen(text), &expected);
  assert_round_trip(tokenizer, text, strlen(text));
  assert_int_equal(weir_tokenizer_bos_id(tokenizer), 1);
  assert_int_equal(weir_tokenizer_eos_id(tokenizer), 2);
  assert_int_equal(weir_tokenizer_vocab_size(tokenizer), 512);
  weir_ids_deinit(&expected);
  json_decref(golden);
  weir_tokenizer_close(tokenizer);
}

static void a_whole_novel_comes_back(void **state) {
  (void)state;
  static const char *const folders[] = {"tokenizers/gpt2", "tokenizers/qwen3",
                                        "models/stories260K"};
  weir_file_bytes novel = read_fixture("text/war-and-peace.txt");
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    weir_tokenizer *tokenizer = open_fixture(folders[i]);
    assert_round_trip(tokenizer, novel.bytes, novel.size_bytes);
    weir_tokenizer_close(tokenizer);
  }
  free(novel.bytes);
}

static void number_of_tokens_of_tinyshakespeare(void **state) {
  (void)state;
  static const struct {
    const char *folder;
    size_t n_tokens;
  } counts[] = {{"tokenizers/gpt2", 338025}, {"tokenizers/qwen3", 301829}};
  weir_file_bytes text = read_fixture("text/tinyshakespeare.txt");
  for (size_t i = 0; i < 2; i++) {
    weir_tokenizer *tokenizer = open_fixture(counts[i].folder);
    weir_ids ids = {0};
    must(weir_tokenizer_encode(tokenizer, text.bytes, text.size_bytes, true, &ids));
    assert_int_equal(ids.count, counts[i].n_tokens);
    weir_ids_deinit(&ids);
    weir_tokenizer_close(tokenizer);
  }
  free(text.bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gpt2_ids_are_those_of_llama_cpp),
      cmocka_unit_test(qwen3_ids_are_those_of_llama_cpp),
      cmocka_unit_test(gpt2_ids_of_many_languages),
      cmocka_unit_test(stories260k_golden_text_both_ways),
      cmocka_unit_test(a_whole_novel_comes_back),
      cmocka_unit_test(number_of_tokens_of_tinyshakespeare),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
