/* SPDX-License-Identifier: Apache-2.0
 *
 * The gradient of a whole step against differences of its own loss, on ref in f64.
 *
 * For every parameter alone, and for all of them together, the loss is taken at four points along a
 * random direction d; the five-point central difference must equal <g, d>, sign included, within
 * 1e-8 |g| |d|.  The step is the hard one: two micro-batches of packed, unequal sequences, small
 * chunks, everything rebuilt. */
#include "support/golden_models.h"
#include "support/model_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N_MICRO_BATCHES = 2, N_DIRECTIONS_TOGETHER = 3 };

#define TOLERANCE 1e-8
#define STEP      1e-3 /* of the direction's length; the error of a five-point difference is STEP^4 */

static const int64_t offsets_first[] = {0, 11, 12, 31, 43}; /* one sequence has no pair to learn */
static const int64_t offsets_second[] = {0, 24, 43};
enum { N_PAIRS = (43 - 4) + (43 - 2) };

typedef struct difference_test {
  model_case model;
  int32_t *ids;
  model_case_row rows[N_MICRO_BATCHES];
  weir_micro_batch micro_batches[N_MICRO_BATCHES];
  double **weights, **gradients, **direction; /* one array per parameter */
  uint64_t random;
} difference_test;

static int64_t n_elements(const difference_test *test, int64_t i) {
  return weir_tensor_count(test->model.run.weights[i]);
}

/* Sum of uniform numbers: close enough to normal.  The generator is SplitMix64. */
static double random_value(difference_test *test) {
  double sum = 0.0;
  for (int i = 0; i < 4; i++) {
    uint64_t z = test->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    sum += (double)((z ^ (z >> 31)) >> 11) * 0x1p-53 - 0.5;
  }
  return sum;
}

static double **arrays_create(const difference_test *test) {
  double **arrays = calloc((size_t)test->model.table.n_parameters, sizeof *arrays);
  assert_non_null(arrays);
  for (int64_t i = 0; i < test->model.table.n_parameters; i++) {
    arrays[i] = calloc((size_t)n_elements(test, i), sizeof **arrays);
    assert_non_null(arrays[i]);
  }
  return arrays;
}

static void arrays_destroy(const difference_test *test, double **arrays) {
  for (int64_t i = 0; i < test->model.table.n_parameters; i++)
    free(arrays[i]);
  free(arrays);
}

static void open_test(difference_test *test, const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/golden/%s", WEIR_TEST_DIR, name);
  const model_case_settings settings = {
      .chunk_rows = 9, .head_rows = 10, .head_columns = 30, .stash = WEIR_STASH_INPUT};
  *test = (difference_test){.random = 42};
  model_case_open(&test->model, path, &model_case_ref, &settings);
  int64_t n_ids;
  snprintf(path, sizeof path, "%s/golden/%s/ids.json", WEIR_TEST_DIR, name);
  test->ids = model_case_ids(path, &n_ids);
  model_case_row_init(&test->rows[0], test->ids, n_ids, offsets_first, 4, N_PAIRS);
  model_case_row_init(&test->rows[1], test->ids, n_ids, offsets_second, 2, N_PAIRS);
  for (int i = 0; i < N_MICRO_BATCHES; i++)
    test->micro_batches[i] = test->rows[i].micro_batch;

  test->weights = arrays_create(test);
  test->gradients = arrays_create(test);
  test->direction = arrays_create(test);
  weir_step_result result;
  weir_step_gradients(&test->model.run, test->micro_batches, N_MICRO_BATCHES, &result);
  for (int64_t i = 0; i < test->model.table.n_parameters; i++) {
    model_case_read(&test->model, test->model.run.weights[i], test->weights[i]);
    model_case_read(&test->model, test->model.run.gradients[i], test->gradients[i]);
  }
}

static void close_test(difference_test *test) {
  arrays_destroy(test, test->direction);
  arrays_destroy(test, test->gradients);
  arrays_destroy(test, test->weights);
  for (int i = 0; i < N_MICRO_BATCHES; i++)
    model_case_row_deinit(&test->rows[i]);
  free(test->ids);
  model_case_close(&test->model);
}

/* The loss at weights + h * direction, over parameters [begin, end). */
static double loss_at(difference_test *test, int64_t begin, int64_t end, double h) {
  for (int64_t i = begin; i < end; i++) {
    double *moved = calloc((size_t)n_elements(test, i), sizeof *moved);
    assert_non_null(moved);
    for (int64_t j = 0; j < n_elements(test, i); j++)
      moved[j] = test->weights[i][j] + h * test->direction[i][j];
    model_case_write(&test->model, test->model.run.weights[i], moved);
    free(moved);
  }
  double loss = 0.0;
  for (int i = 0; i < N_MICRO_BATCHES; i++) {
    weir_step_result result;
    weir_step_evaluate(&test->model.run, &test->micro_batches[i], &result, NULL);
    loss += result.loss;
  }
  return loss;
}

/* Relative disagreement of <sign * g, d> with the difference along a fresh random direction of
 * parameters [begin, end). */
static double disagreement(difference_test *test, int64_t begin, int64_t end, double sign) {
  double slope = 0.0, g2 = 0.0, d2 = 0.0;
  for (int64_t i = begin; i < end; i++)
    for (int64_t j = 0; j < n_elements(test, i); j++) {
      double d = random_value(test), g = test->gradients[i][j];
      test->direction[i][j] = d;
      slope += sign * g * d;
      g2 += g * g;
      d2 += d * d;
    }
  double h = STEP / sqrt(d2);
  double near = loss_at(test, begin, end, h) - loss_at(test, begin, end, -h);
  double far = loss_at(test, begin, end, 2.0 * h) - loss_at(test, begin, end, -2.0 * h);
  loss_at(test, begin, end, 0.0);
  return fabs((8.0 * near - far) / (12.0 * h) - slope) / sqrt(g2 * d2);
}

/* NaN and infinity do not agree with anything. */
static bool agrees(double error) {
  return isfinite(error) && error <= TOLERANCE;
}

static void test_each_parameter(void **state) {
  difference_test test;
  open_test(&test, *state);
  int64_t n_parameters = test.model.table.n_parameters;
  assert_true(n_parameters > 0);
  for (int64_t i = 0; i < n_parameters; i++) {
    const weir_parameter *parameter = &test.model.table.parameters[i];
    /* The softmax takes no notice of what all keys share: without RoPE to turn it, the gradient of
     * the keys' bias is zero and has no direction. */
    if (parameter->role == WEIR_ROLE_K_BIAS && test.model.config.learned_positions) {
      assert_true(model_case_norm(test.gradients[i], n_elements(&test, i)) < 1e-14);
      continue;
    }
    double error = disagreement(&test, i, i + 1, 1.0);
    if (!agrees(error))
      fail_msg("%s: gradient and differences disagree by %.3g", parameter->file_name, error);
  }
  close_test(&test);
}

static void test_all_together(void **state) {
  difference_test test;
  open_test(&test, *state);
  for (int i = 0; i < N_DIRECTIONS_TOGETHER; i++) {
    double error = disagreement(&test, 0, test.model.table.n_parameters, 1.0);
    if (!agrees(error)) fail_msg("gradient and differences disagree by %.3g", error);
  }
  close_test(&test);
}

/* What these tests are worth: a flipped sign, a NaN, nothing to compare. */
static void test_of_the_test(void **state) {
  difference_test test;
  open_test(&test, *state);
  int64_t n_parameters = test.model.table.n_parameters;
  assert_false(agrees(disagreement(&test, 0, n_parameters, -1.0)));
  assert_false(agrees(disagreement(&test, 0, 1, -1.0)));
  assert_false(agrees(disagreement(&test, 0, 0, 1.0)));
  test.gradients[n_parameters - 1][0] = NAN;
  assert_false(agrees(disagreement(&test, 0, n_parameters, 1.0)));
  close_test(&test);
}

int main(void) {
  struct CMUnitTest tests[2 * N_GOLDEN_MODELS + 1];
  char names[2 * N_GOLDEN_MODELS][64];
  for (int i = 0; i < N_GOLDEN_MODELS; i++) {
    char *each = names[2 * i], *together = names[2 * i + 1], *model = (char *)golden_models[i];
    snprintf(each, sizeof *names, "test_each_parameter of %s", model);
    snprintf(together, sizeof *names, "test_all_together of %s", model);
    tests[2 * i] = (struct CMUnitTest){each, test_each_parameter, NULL, NULL, model};
    tests[2 * i + 1] = (struct CMUnitTest){together, test_all_together, NULL, NULL, model};
  }
  tests[2 * N_GOLDEN_MODELS] =
      (struct CMUnitTest){"test_of_the_test", test_of_the_test, NULL, NULL, "llama"};
  return cmocka_run_group_tests_name("gradients on ref", tests, NULL, NULL);
}
