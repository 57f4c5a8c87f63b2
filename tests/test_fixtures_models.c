/* SPDX-License-Identifier: Apache-2.0
 *
 * Two real models against what other programs computed for them: stories260K, a trained Llama
 * (log-probabilities by a C program in f64, greedy text by llama2.c), and a random GPT-2 (logits
 * and greedy ids by ONNX Runtime). */
#include "formats/tokenizer.h"
#include "generate/decode.h"
#include "generate/generate.h"
#include "support/fixture.h"
#include "support/model_case.h"
#include "support/program.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#define STORIES   "models/stories260K"
#define GPT2      "models/tiny-random-gpt2"
#define TOLERANCE 1e-5 /* absolute */

static json_t *load_json(const char *name) {
  char path[FIXTURE_PATH_BYTES];
  fixture_path(path, name);
  json_error_t error;
  json_t *json = json_load_file(path, 0, &error);
  if (!json) fail_msg("%s: %s", path, error.text);
  return json;
}

static json_t *member(const json_t *object, const char *key) {
  json_t *value = json_object_get(object, key);
  if (!value) fail_msg("no key %s", key);
  return value;
}

static double number(const json_t *array, size_t i) {
  json_t *value = json_array_get(array, i);
  assert_true(json_is_number(value));
  return json_number_value(value);
}

static int32_t *ids_of(const json_t *array, int64_t *n_ids) {
  *n_ids = (int64_t)json_array_size(array);
  assert_true(*n_ids > 0);
  int32_t *ids = calloc((size_t)*n_ids, sizeof *ids);
  assert_non_null(ids);
  for (int64_t i = 0; i < *n_ids; i++)
    ids[i] = (int32_t)number(array, (size_t)i);
  return ids;
}

static void require_close(const char *what, size_t i, double found, double expected) {
  double error = fabs(found - expected);
  if (!isfinite(error) || !(error <= TOLERANCE))
    fail_msg("%s, token %zu: %.9g, expected %.9g", what, i, found, expected);
}

static void compare_sequence(model_case *model, const json_t *sequence) {
  const char *name = json_string_value(member(sequence, "name"));
  const json_t *losses = member(sequence, "per_token_nll");
  int64_t n_ids;
  int32_t *ids = ids_of(member(sequence, "ids"), &n_ids);
  double *logprobs = calloc((size_t)n_ids, sizeof *logprobs);
  assert_non_null(logprobs);
  model_case_row row;
  model_case_row_init(&row, ids, n_ids, NULL, 1, 0);
  weir_step_result result;
  weir_step_evaluate(&model->run, &row.micro_batch, &result, logprobs);
  assert_int_equal(json_array_size(losses), n_ids - 1);
  for (int64_t i = 0; i + 1 < n_ids; i++)
    require_close(name, (size_t)i, -logprobs[i], number(losses, (size_t)i));
  require_close(name, 0, result.loss, json_number_value(member(sequence, "mean_nll")));
  model_case_row_deinit(&row);
  free(logprobs);
  free(ids);
}

static void open_model(model_case *model, const char *name, const model_case_device *device) {
  const model_case_settings settings = {.chunk_rows = 20, .head_rows = 30, .head_columns = 200};
  char directory[FIXTURE_PATH_BYTES];
  fixture_path(directory, name);
  model_case_open(model, directory, device, &settings);
}

static void test_stories_loss(void **state) {
  json_t *reference = load_json(STORIES "/reference_forward.json");
  const json_t *sequences = member(reference, "sequences");
  model_case model;
  open_model(&model, STORIES, *state);
  assert_true(json_array_size(sequences) > 0);
  for (size_t i = 0; i < json_array_size(sequences); i++)
    compare_sequence(&model, json_array_get(sequences, i));
  model_case_close(&model);
  json_decref(reference);
}

/* The logits after each sequence, fed in two parts. */
static void test_stories_logits(void **state) {
  json_t *reference = load_json(STORIES "/reference_forward.json");
  const json_t *sequences = member(reference, "sequences");
  model_case model;
  open_model(&model, STORIES, *state);
  int64_t n_classes = model.config.vocab_size;
  double *logits = calloc((size_t)n_classes, sizeof *logits);
  assert_non_null(logits);
  assert_true(json_array_size(sequences) > 0);
  for (size_t i = 0; i < json_array_size(sequences); i++) {
    const json_t *expected = member(json_array_get(sequences, i), "last_logits");
    int64_t n_ids;
    int32_t *ids = ids_of(member(json_array_get(sequences, i), "ids"), &n_ids);
    weir_decoder decoder;
    weir_decoder_open(&decoder, &model.run, n_ids);
    weir_decoder_feed(&decoder, ids, n_ids / 2);
    weir_decoder_feed(&decoder, ids + n_ids / 2, n_ids - n_ids / 2);
    weir_decoder_read_logits(&decoder, logits);
    weir_decoder_close(&decoder);
    assert_int_equal(json_array_size(expected), n_classes);
    for (size_t j = 0; j < (size_t)n_classes; j++)
      require_close("logits", j, logits[j], number(expected, j));
    free(ids);
  }
  free(logits);
  model_case_close(&model);
  json_decref(reference);
}

/* ONNX Runtime's logits of every 200th class, after each token. */
static void test_gpt2_logits(void **state) {
  enum { EVERY = 200, N_KEPT = 5 };
  json_t *golden = load_json(GPT2 "/golden_ort.json");
  const json_t *logits = member(golden, "prompt_logits");
  const json_t *rows = member(logits, "input_ids"), *values = member(logits, "values");
  model_case model;
  open_model(&model, GPT2, *state);
  double *found = calloc((size_t)model.config.vocab_size, sizeof *found);
  assert_non_null(found);
  size_t n_compared = 0;
  for (size_t i = 0; i < json_array_size(rows); i++) {
    int64_t n_ids;
    int32_t *ids = ids_of(json_array_get(rows, i), &n_ids);
    weir_decoder decoder;
    weir_decoder_open(&decoder, &model.run, n_ids);
    for (int64_t t = 0; t < n_ids; t++) {
      weir_decoder_feed(&decoder, ids + t, 1);
      weir_decoder_read_logits(&decoder, found);
      for (size_t j = 0; j < N_KEPT; j++, n_compared++)
        require_close("logits", n_compared, found[j * EVERY], number(values, n_compared));
    }
    weir_decoder_close(&decoder);
    free(ids);
  }
  assert_true(n_compared > 0 && n_compared == json_array_size(values));
  free(found);
  model_case_close(&model);
  json_decref(golden);
}

typedef struct expected_ids {
  int32_t *ids;
  int64_t n_ids, n_seen;
} expected_ids;

static bool compare_id(void *context, int32_t id, bool ends_text) {
  assert_false(ends_text);
  expected_ids *expected = context;
  assert_true(expected->n_seen < expected->n_ids);
  assert_int_equal(id, expected->ids[expected->n_seen]);
  expected->n_seen++;
  return true;
}

/* `ids` begins with the prompt of n_prompt tokens. */
static void compare_greedy(model_case *model, const json_t *ids, size_t n_prompt) {
  expected_ids expected = {.n_seen = (int64_t)n_prompt};
  expected.ids = ids_of(ids, &expected.n_ids);
  assert_true(0 < expected.n_seen && expected.n_seen < expected.n_ids);
  const weir_generation generation = {
      .prompt = expected.ids,
      .n_prompt = expected.n_seen,
      .max_new_tokens = expected.n_ids - expected.n_seen,
      .sampling = {.temperature = 0.0, .top_p = 1.0},
  };
  assert_int_equal(weir_generate(&model->run, &generation, compare_id, &expected), WEIR_OK);
  assert_int_equal(expected.n_seen, expected.n_ids);
  free(expected.ids);
}

static void test_gpt2_greedy(void **state) {
  json_t *golden = load_json(GPT2 "/golden_ort.json");
  const json_t *cases = member(golden, "greedy");
  model_case model;
  open_model(&model, GPT2, *state);
  assert_true(json_array_size(cases) > 0);
  for (size_t i = 0; i < json_array_size(cases); i++) {
    const json_t *one = json_array_get(cases, i);
    compare_greedy(&model, member(one, "ids"), json_array_size(member(one, "prompt")));
  }
  model_case_close(&model);
  json_decref(golden);
}

static void test_stories_greedy(void **state) {
  json_t *reference = load_json(STORIES "/reference_forward.json");
  const json_t *cases = member(reference, "greedy");
  model_case model;
  open_model(&model, STORIES, *state);
  assert_true(json_array_size(cases) > 0);
  for (size_t i = 0; i < json_array_size(cases); i++) {
    const json_t *one = json_array_get(cases, i);
    compare_greedy(&model, member(one, "ids"), json_array_size(member(one, "prompt_ids")));
  }
  model_case_close(&model);
  json_decref(reference);
}

static bool append_id(void *context, int32_t id, bool ends_text) {
  assert_false(ends_text);
  assert_int_equal(weir_ids_append(context, id), WEIR_OK);
  return true;
}

/* From BOS to llama2.c's text: generation and the tokenizer together. */
static void test_stories_text(void **state) {
  json_t *golden = load_json(STORIES "/golden_greedy.json");
  model_case model;
  open_model(&model, STORIES, *state);
  char directory[FIXTURE_PATH_BYTES];
  fixture_path(directory, STORIES);
  weir_tokenizer *tokenizer;
  assert_int_equal(weir_tokenizer_open(directory, &tokenizer), WEIR_OK);

  const int32_t bos = weir_tokenizer_bos_id(tokenizer);
  const weir_generation generation = {
      .prompt = &bos,
      .n_prompt = 1,
      .max_new_tokens = json_integer_value(member(golden, "steps")),
      .sampling = {.temperature = 0.0, .top_p = 1.0},
  };
  weir_ids ids = {0};
  assert_int_equal(weir_ids_append(&ids, bos), WEIR_OK);
  assert_int_equal(weir_generate(&model.run, &generation, append_id, &ids), WEIR_OK);
  weir_bytes text = {0};
  assert_int_equal(weir_tokenizer_decode(tokenizer, ids.data, ids.count, true, &text), WEIR_OK);
  const char *expected = json_string_value(member(golden, "expected_text"));
  assert_int_equal(text.count, strlen(expected));
  assert_memory_equal(text.data, expected, text.count);

  weir_bytes_deinit(&text);
  weir_ids_deinit(&ids);
  weir_tokenizer_close(tokenizer);
  model_case_close(&model);
  json_decref(golden);
}

/* The same text from the program, which adds the BOS to an empty prompt, and one newline. */
static void test_stories_program(void **state) {
  (void)state;
  json_t *golden = load_json(STORIES "/golden_greedy.json");
  char directory[FIXTURE_PATH_BYTES], output[4096], expected[4096];
  fixture_path(directory, STORIES);
  assert_int_equal(program_run(output, sizeof output,
                               "generate --quiet --model '%s' --prompt '' --max-new-tokens %lld",
                               directory, (long long)json_integer_value(member(golden, "steps"))),
                   0);
  snprintf(expected, sizeof expected, "%s\n", json_string_value(member(golden, "expected_text")));
  assert_string_equal(output, expected);
  json_decref(golden);
}

#define ON_BOTH(name, test)                                                                        \
  {name " on ref", test, NULL, NULL, (void *)&model_case_ref}, {                                   \
    name " on cpu", test, NULL, NULL, (void *)&model_case_cpu                                      \
  }

int main(void) {
  const struct CMUnitTest tests[] = {
      ON_BOTH("per-token loss of stories260K", test_stories_loss),
      ON_BOTH("logits of stories260K", test_stories_logits),
      ON_BOTH("greedy ids of stories260K", test_stories_greedy),
      ON_BOTH("greedy text of stories260K", test_stories_text),
      {"greedy text of stories260K from the program", test_stories_program, NULL, NULL, NULL},
      ON_BOTH("logits of tiny-random-gpt2", test_gpt2_logits),
      ON_BOTH("greedy ids of tiny-random-gpt2", test_gpt2_greedy),
  };
  return cmocka_run_group_tests_name("models of others", tests, NULL, NULL);
}
