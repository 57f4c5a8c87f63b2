/* SPDX-License-Identifier: Apache-2.0
 *
 * Two real models against what other programs computed for them: stories260K, a trained Llama
 * (log-probabilities by a C program in f64, greedy text by llama2.c), and a random GPT-2 (logits
 * and greedy ids by ONNX Runtime). */
#include "support/fixture.h"
#include "support/model_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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

static void test_stories_loss(void **state) {
  char directory[FIXTURE_PATH_BYTES];
  fixture_path(directory, STORIES);
  json_t *reference = load_json(STORIES "/reference_forward.json");
  const json_t *sequences = member(reference, "sequences");
  const model_case_settings settings = {.chunk_rows = 20, .head_rows = 30, .head_columns = 200};
  model_case model;
  model_case_open(&model, directory, *state, &settings);
  assert_true(json_array_size(sequences) > 0);
  for (size_t i = 0; i < json_array_size(sequences); i++)
    compare_sequence(&model, json_array_get(sequences, i));
  model_case_close(&model);
  json_decref(reference);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      {"per-token loss of stories260K on ref", test_stories_loss, NULL, NULL,
       (void *)&model_case_ref},
      {"per-token loss of stories260K on cpu", test_stories_loss, NULL, NULL,
       (void *)&model_case_cpu},
  };
  return cmocka_run_group_tests_name("models of others", tests, NULL, NULL);
}
