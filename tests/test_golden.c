/* SPDX-License-Identifier: Apache-2.0
 *
 * Logits, loss and every gradient against what Hugging Face Transformers computes in f64 on tiny
 * random models (tools/golden.py makes the files).  Each model runs on each device, in one piece
 * and streamed in small chunks, under every stash policy.
 *
 * Tolerances, in 2-norms, per tensor of the file: on ref 1e-9 |g*|; on cpu 1e-5 |g*| + 1e-8 of all
 * gradients together.  The streamed head never shows its logits, only log-probabilities of targets:
 * some of the classes are asked for at every token.  Decoding shows all logits. */
#include "generate/decode.h"
#include "support/golden_models.h"
#include "support/model_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct golden_tolerance {
  const model_case_device *device;
  double relative, of_all; /* relative |g*| + of_all |all| */
} golden_tolerance;

typedef struct golden_case {
  const char *model;
  const golden_tolerance *tolerance;
  const model_case_settings *settings;
} golden_case;

typedef struct golden_model {
  model_case model;
  weir_safetensors *file; /* the expected values */
  int32_t *ids;
  model_case_row row;
} golden_model;

static void golden_open(golden_model *golden, const golden_case *test) {
  char directory[512], path[600];
  snprintf(directory, sizeof directory, "%s/golden/%s", WEIR_TEST_DIR, test->model);
  model_case_open(&golden->model, directory, test->tolerance->device, test->settings);
  snprintf(path, sizeof path, "%s/golden.safetensors", directory);
  assert_int_equal(weir_safetensors_open(path, &golden->file), WEIR_OK);
  int64_t n_ids;
  snprintf(path, sizeof path, "%s/ids.json", directory);
  golden->ids = model_case_ids(path, &n_ids);
  model_case_row_init(&golden->row, golden->ids, n_ids, NULL, 1, 0);
}

static void golden_close(golden_model *golden) {
  model_case_row_deinit(&golden->row);
  free(golden->ids);
  weir_safetensors_close(golden->file);
  model_case_close(&golden->model);
}

static const double *expected(const golden_model *golden, const char *name, uint64_t n) {
  const weir_safetensors_entry *entry = weir_safetensors_find(golden->file, name);
  assert_non_null(entry);
  assert_string_equal(entry->dtype, "F64");
  assert_int_equal(entry->size_bytes, n * sizeof(double));
  return weir_safetensors_data(golden->file, entry);
}

static void require_close(const char *what, double error, double tolerance) {
  if (!isfinite(error) || !(error <= tolerance))
    fail_msg("%s: off by %.3g, allowed %.3g", what, error, tolerance);
}

static bool is_gradient(const weir_safetensors_entry *entry) {
  return strcmp(entry->name, "logits") != 0 && strcmp(entry->name, "loss") != 0;
}

static double norm_of_all(const golden_model *golden) {
  double sum = 0.0;
  for (size_t i = 0; i < weir_safetensors_count(golden->file); i++) {
    const weir_safetensors_entry *entry = weir_safetensors_at(golden->file, i);
    if (!is_gradient(entry)) continue;
    double norm = model_case_norm(weir_safetensors_data(golden->file, entry),
                                  (int64_t)(entry->size_bytes / sizeof(double)));
    sum += norm * norm;
  }
  return sqrt(sum);
}

/* One tensor of the file: several parameters where they are fused there. */
static void compare_gradient(golden_model *golden, const weir_safetensors_entry *entry,
                             const golden_case *test, double all) {
  model_case *model = &golden->model;
  uint64_t n_compared = 0;
  double error = 0.0, norm = 0.0;
  for (int64_t i = 0; i < model->table.n_parameters; i++) {
    const weir_parameter *parameter = &model->table.parameters[i];
    if (strcmp(parameter->file_name, entry->name) != 0) continue;
    int64_t n = parameter->rows * parameter->cols;
    double *want = calloc((size_t)n, sizeof *want), *got = calloc((size_t)n, sizeof *got);
    assert_true(want && got);
    model_case_file_values(golden->file, parameter, want);
    model_case_read(model, model->run.gradients[i], got);
    error = hypot(error, model_case_distance(got, want, n));
    norm = hypot(norm, model_case_norm(want, n));
    n_compared += (uint64_t)n;
    free(want);
    free(got);
  }
  assert_int_equal(n_compared * sizeof(double), entry->size_bytes);
  assert_true(norm > 0.0);
  require_close(entry->name, error,
                test->tolerance->relative * norm + test->tolerance->of_all * all);
}

static void test_gradients(void **state) {
  const golden_case *test = *state;
  golden_model golden;
  golden_open(&golden, test);
  weir_step_result result;
  weir_step_gradients(&golden.model.run, &golden.row.micro_batch, 1, &result);

  double loss = *expected(&golden, "loss", 1), all = norm_of_all(&golden);
  require_close("loss", fabs(result.loss - loss), test->tolerance->relative * loss);
  require_close("grad_norm", fabs(result.grad_norm - all), test->tolerance->relative * all);
  size_t n_compared = 0;
  for (size_t i = 0; i < weir_safetensors_count(golden.file); i++) {
    const weir_safetensors_entry *entry = weir_safetensors_at(golden.file, i);
    if (!is_gradient(entry)) continue;
    compare_gradient(&golden, entry, test, all);
    n_compared++;
  }
  assert_int_equal(n_compared, weir_safetensors_count(golden.model.file));
  golden_close(&golden);
}

static double log_probability(const double *logits, int64_t n, int64_t i) {
  double top = logits[0], sum = 0.0;
  for (int64_t j = 1; j < n; j++)
    if (logits[j] > top) top = logits[j];
  for (int64_t j = 0; j < n; j++)
    sum += exp(logits[j] - top);
  return logits[i] - top - log(sum);
}

/* A pass sees one class at each token; passes shift it through the vocabulary. */
static void test_log_probabilities(void **state) {
  enum { N_PASSES = 12 };
  const golden_case *test = *state;
  golden_model golden;
  golden_open(&golden, test);
  weir_micro_batch batch = golden.row.micro_batch;
  int64_t n_tokens = batch.sequences.n_tokens, n_classes = golden.model.config.vocab_size;
  const double *logits = expected(&golden, "logits", (uint64_t)(n_tokens * n_classes));
  double *found = calloc((size_t)n_tokens, sizeof *found);
  double *want = calloc((size_t)n_tokens, sizeof *want);
  assert_true(found && want);
  for (int64_t pass = 0; pass < N_PASSES; pass++) {
    for (int64_t t = 0; t < n_tokens; t++) {
      int64_t target = (t + pass * n_classes / N_PASSES) % n_classes;
      golden.row.targets[t] = (int32_t)target;
      want[t] = log_probability(logits + t * n_classes, n_classes, target);
    }
    weir_step_result result;
    weir_step_evaluate(&golden.model.run, &batch, &result, found);
    require_close("log-probabilities", model_case_distance(found, want, n_tokens),
                  test->tolerance->relative * model_case_norm(want, n_tokens));
  }
  free(found);
  free(want);
  golden_close(&golden);
}

/* A prompt, then token by token against the KV cache: the logits themselves. */
static void test_decoding(void **state) {
  const golden_case *test = *state;
  golden_model golden;
  golden_open(&golden, test);
  int64_t n_tokens = golden.row.micro_batch.sequences.n_tokens;
  int64_t n_classes = golden.model.config.vocab_size, n_fed = 12;
  const double *logits = expected(&golden, "logits", (uint64_t)(n_tokens * n_classes));
  double *found = calloc((size_t)n_classes, sizeof *found);
  assert_non_null(found);
  assert_true(n_fed < n_tokens);
  weir_decoder decoder;
  weir_decoder_open(&decoder, &golden.model.run, n_tokens);
  weir_decoder_feed(&decoder, golden.ids, n_fed);
  for (;; n_fed++) {
    const double *want = logits + (n_fed - 1) * n_classes;
    weir_decoder_read_logits(&decoder, found);
    require_close("logits", model_case_distance(found, want, n_classes),
                  test->tolerance->relative * model_case_norm(want, n_classes));
    if (n_fed == n_tokens) break;
    weir_decoder_feed(&decoder, golden.ids + n_fed, 1);
  }
  weir_decoder_close(&decoder);
  free(found);
  golden_close(&golden);
}

static const golden_tolerance tolerances[] = {{&model_case_ref, 1e-9, 0.0},
                                              {&model_case_cpu, 1e-5, 1e-8}};

static const model_case_settings settings[] = {
    {.stash = WEIR_STASH_ALL},
    {.chunk_rows = 16, .head_rows = 8, .head_columns = 40, .stash = WEIR_STASH_ALL},
    {.chunk_rows = 7, .head_rows = 43, .head_columns = 10, .stash = WEIR_STASH_ATTN},
    {.chunk_rows = 5, .head_rows = 3, .head_columns = 96, .stash = WEIR_STASH_INPUT},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))
enum { N_CASES = N_GOLDEN_MODELS * COUNT(tolerances) * COUNT(settings) };

static golden_case cases[N_CASES];
static char names[3 * N_CASES][128];
static struct CMUnitTest tests[3 * N_CASES];
static size_t n_tests;

static void add(golden_case *test, const char *what, CMUnitTestFunction function) {
  snprintf(names[n_tests], sizeof *names, "%s of %s on %s, stash %s, chunks of %lld", what,
           test->model, test->tolerance->device->name,
           weir_stash_policy_name(test->settings->stash), (long long)test->settings->chunk_rows);
  tests[n_tests] =
      (struct CMUnitTest){.name = names[n_tests], .test_func = function, .initial_state = test};
  n_tests++;
}

int main(void) {
  golden_case *next = cases;
  for (size_t i = 0; i < N_GOLDEN_MODELS; i++)
    for (size_t j = 0; j < COUNT(tolerances); j++)
      for (size_t k = 0; k < COUNT(settings); k++) {
        *next = (golden_case){golden_models[i], &tolerances[j], &settings[k]};
        add(next, "gradients", test_gradients);
        add(next, "log-probabilities", test_log_probabilities);
        add(next, "decoding", test_decoding);
        next++;
      }
  return _cmocka_run_group_tests("golden", tests, n_tests, NULL, NULL);
}
