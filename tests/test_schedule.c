/* SPDX-License-Identifier: Apache-2.0
 *
 * Learning rates against values worked out from Transformers' formulas by hand, and against a
 * PyTorch schedule; SFT's targets and weights. */
#include "objective/sft.h"
#include "optim/schedule.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_near(double value, double expected, double tolerance) {
  assert_true(isfinite(value));
  if (!(fabs(value - expected) <= tolerance)) fail_msg("%.17g is not %.17g", value, expected);
}

static void test_every_kind(void **state) {
  (void)state;
  static const struct {
    weir_schedule_kind kind;
    double expected[9]; /* updates 0 .. 8 of a run of 8 with 2 warm-up steps, at a peak of 1 */
  } cases[] = {
      {WEIR_SCHEDULE_CONSTANT, {1, 1, 1, 1, 1, 1, 1, 1, 1}},
      {WEIR_SCHEDULE_CONSTANT_WITH_WARMUP, {0, 0.5, 1, 1, 1, 1, 1, 1, 1}},
      {WEIR_SCHEDULE_LINEAR, {0, 0.5, 1, 5.0 / 6, 4.0 / 6, 3.0 / 6, 2.0 / 6, 1.0 / 6, 0}},
      {WEIR_SCHEDULE_COSINE,
       {0, 0.5, 1, 0.9330127018922193, 0.75, 0.5, 0.25, 0.0669872981077807, 0}},
      {WEIR_SCHEDULE_COSINE_WITH_MIN_LR,
       {0, 0.5, 1, 0.9464101615137754, 0.8, 0.6, 0.4, 0.25358983848622456, 0.2}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    weir_schedule schedule = {
        .kind = cases[i].kind, .learning_rate = 3, .warmup_steps = 2, .n_steps = 8};
    if (schedule.kind == WEIR_SCHEDULE_COSINE_WITH_MIN_LR) schedule.min_lr_rate = 0.2;
    if (schedule.kind == WEIR_SCHEDULE_CONSTANT) schedule.warmup_steps = 0;
    assert_int_equal(weir_schedule_check(&schedule), WEIR_OK);
    for (int64_t step = 0; step < 9; step++)
      assert_near(weir_schedule_learning_rate(&schedule, step), 3 * cases[i].expected[step], 1e-15);

    weir_schedule_kind parsed;
    assert_true(weir_schedule_kind_parse(weir_schedule_kind_name(schedule.kind), &parsed));
    assert_int_equal(parsed, schedule.kind);
  }
}

static void test_warmup(void **state) {
  (void)state;
  assert_int_equal(weir_schedule_warmup_steps(7, 0.5, 100), 7);
  assert_int_equal(weir_schedule_warmup_steps(0, 0.03, 101), 4);
  assert_int_equal(weir_schedule_warmup_steps(0, 0, 100), 0);

  weir_schedule schedule = {.kind = WEIR_SCHEDULE_LINEAR, .learning_rate = 1, .n_steps = 3};
  assert_near(weir_schedule_learning_rate(&schedule, 0), 1, 0);
  schedule.warmup_steps = 3; /* all of the run */
  assert_int_equal(weir_schedule_check(&schedule), WEIR_OK);
  assert_near(weir_schedule_learning_rate(&schedule, 2), 2.0 / 3, 1e-15);
}

static void test_nothing_is_ignored(void **state) {
  (void)state;
  weir_schedule_kind kind;
  assert_false(weir_schedule_kind_parse("polynomial", &kind));
  weir_schedule warm = {.kind = WEIR_SCHEDULE_CONSTANT, .warmup_steps = 1, .n_steps = 5};
  assert_int_equal(weir_schedule_check(&warm), WEIR_BAD_INPUT);
  weir_schedule minimum = {.kind = WEIR_SCHEDULE_COSINE, .min_lr_rate = 0.1, .n_steps = 5};
  assert_int_equal(weir_schedule_check(&minimum), WEIR_BAD_INPUT);
  weir_schedule endless = {.kind = WEIR_SCHEDULE_LINEAR, .warmup_steps = 6, .n_steps = 5};
  assert_int_equal(weir_schedule_check(&endless), WEIR_BAD_INPUT);
}

static void test_pytorch_vectors(void **state) {
  (void)state;
  const char *fixtures = getenv("WEIR_FIXTURES");
  if (!fixtures) {
    print_message("skipped: pytorch_vectors (WEIR_FIXTURES is unset)\n");
    skip();
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/vectors/pytorch-operations.json", fixtures);
  json_t *root = json_load_file(path, 0, NULL);
  assert_non_null(root);
  json_t *vector = json_object_get(json_object_get(root, "vectors"), "cosine_lr_schedule");
  json_t *inputs = json_object_get(vector, "inputs");
  json_t *iterations = json_object_get(inputs, "iters");
  json_t *expected = json_object_get(json_object_get(vector, "expected"), "lr");
  double peak = json_number_value(json_object_get(inputs, "max_lr"));
  weir_schedule schedule = {
      .kind = WEIR_SCHEDULE_COSINE_WITH_MIN_LR,
      .learning_rate = peak,
      .min_lr_rate = json_number_value(json_object_get(inputs, "min_lr")) / peak,
      .warmup_steps = json_integer_value(json_object_get(inputs, "warmup")),
      .n_steps = json_integer_value(json_object_get(inputs, "cycle")),
  };
  assert_true(json_array_size(iterations) > 20);
  assert_int_equal(json_array_size(iterations), json_array_size(expected));
  for (size_t i = 0; i < json_array_size(iterations); i++)
    assert_near(
        weir_schedule_learning_rate(&schedule, json_integer_value(json_array_get(iterations, i))),
        json_number_value(json_array_get(expected, i)), 1e-12);
  json_decref(root);
}

static void test_sft(void **state) {
  (void)state;
  static const int64_t offsets[] = {0, 3, 4, 8};
  static const int32_t ids[] = {10, 11, 12, 20, 30, 31, 32, 33};
  static const int32_t next[] = {11, 12, -1, -1, 31, 32, 33, -1};
  static const uint8_t mask[] = {1, 0, 1, 1, 1, 0, 1, 1};
  const weir_sequences sequences = {.n_tokens = 8, .n_sequences = 3, .offsets = offsets};
  int32_t targets[8];
  double weights[8];

  assert_int_equal(weir_sft_count(&sequences, NULL), 5);
  weir_sft_fill(&sequences, ids, NULL, 5, targets, weights);
  assert_memory_equal(targets, next, sizeof next);
  static const double all[] = {-0.2, -0.2, 0, 0, -0.2, -0.2, -0.2, 0};
  for (int t = 0; t < 8; t++)
    assert_near(weights[t], all[t], 0);

  assert_int_equal(weir_sft_count(&sequences, mask), 3);
  weir_sft_fill(&sequences, ids, mask, 4, targets, weights); /* one more elsewhere in the step */
  assert_memory_equal(targets, next, sizeof next);
  static const double some[] = {0, -0.25, 0, 0, 0, -0.25, -0.25, 0};
  for (int t = 0; t < 8; t++)
    assert_near(weights[t], some[t], 0);

  weir_sft_fill(&sequences, ids, mask, 0, targets, weights);
  for (int t = 0; t < 8; t++)
    assert_near(weights[t], 0, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_kind),
      cmocka_unit_test(test_warmup),
      cmocka_unit_test(test_nothing_is_ignored),
      cmocka_unit_test(test_pytorch_vectors),
      cmocka_unit_test(test_sft),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
