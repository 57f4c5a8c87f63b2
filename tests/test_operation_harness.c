/* SPDX-License-Identifier: Apache-2.0
 *
 * The tests of the tests: whatever breaks an operation, the harness must say so.  Each breakage
 * stands for a broken device: it runs the true operation and then spoils one output, or does not
 * run it at all. */
#include "device/ref/ref.h"
#include "support/operation_cases.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

typedef enum breakage {
  BREAKAGE_NONE,
  BREAKAGE_FLIPPED_SIGN, /* of the largest element */
  BREAKAGE_NAN,          /* in the last element */
  BREAKAGE_INFINITY,     /* in the first element */
  BREAKAGE_SCALED,       /* everything 1.001 times too large; in bf16, where that is lost, 1.02 */
  BREAKAGE_SKIPPED,      /* the operation does nothing */
  BREAKAGE_COUNT,
} breakage;

static operation_bench device_bench, ref_bench;
static const operation_spec *true_operation;
static breakage what;
static int i_spoiled; /* the operand */
static bool has_effect;

static void spoil(double *values, int64_t n, double scale) {
  int64_t largest = 0;
  for (int64_t i = 0; i < n; i++)
    if (fabs(values[i]) > fabs(values[largest])) largest = i;
  has_effect = fabs(values[largest]) > true_operation->floor / 10;
  switch (what) {
  case BREAKAGE_FLIPPED_SIGN:
    values[largest] = -values[largest];
    break;
  case BREAKAGE_NAN:
    values[n - 1] = NAN;
    has_effect = true;
    break;
  case BREAKAGE_INFINITY:
    values[0] = INFINITY;
    has_effect = true;
    break;
  case BREAKAGE_SCALED:
    for (int64_t i = 0; i < n; i++)
      values[i] *= scale;
    break;
  default:
    break;
  }
}

static void run_broken(weir_device *device, const operation_case *c, const weir_tensor *t) {
  bool is_broken = device == device_bench.device;
  if (is_broken && what == BREAKAGE_SKIPPED) return;
  true_operation->run(device, c, t);
  if (!is_broken || what == BREAKAGE_NONE) return;
  int64_t n = weir_tensor_count(t[i_spoiled]);
  double *values = malloc((size_t)n * sizeof *values);
  operation_load(device, values, t[i_spoiled]);
  spoil(values, n, t[i_spoiled].dtype == WEIR_DTYPE_BF16 ? 1.02 : 1.001);
  operation_store(device, t[i_spoiled], values);
  free(values);
}

/* Whether the harness accepts the case as broken now. */
static bool accepts(const operation_case *c) {
  true_operation = c->operation;
  operation_spec broken = *c->operation;
  broken.run = run_broken;
  operation_case twisted = *c;
  twisted.operation = &broken;
  double worst = 0;
  has_effect = true;
  return operation_check(&twisted, &device_bench, &ref_bench, &worst);
}

static bool is_identity(const operation_case *c) {
  /* Position 0 does not turn; nothing has a target. */
  return c->n_rows <= 1;
}

static void test_broken(void **state) {
  const operation_spec *operation = *state;
  int n_cases, n_caught[BREAKAGE_COUNT] = {0};
  const operation_case *all = operation_cases(&n_cases);
  for (const operation_case *c = all; c < all + n_cases; c++) {
    if (c->operation != operation || c->n_rows > 64) continue;
    what = BREAKAGE_NONE;
    assert_true(accepts(c));
    for (i_spoiled = 0; i_spoiled < c->n_operands; i_spoiled++) {
      if (!c->operands[i_spoiled].name || !c->operands[i_spoiled].output) continue;
      for (what = BREAKAGE_FLIPPED_SIGN; what < BREAKAGE_COUNT; what++) {
        bool accepted = accepts(c);
        bool may_pass = !has_effect || (what == BREAKAGE_SKIPPED && is_identity(c));
        if (accepted && !may_pass) fail_msg("[%s]: breakage %d passed", c->name, (int)what);
        n_caught[what] += !accepted;
      }
    }
  }
  for (int i = BREAKAGE_FLIPPED_SIGN; i < BREAKAGE_COUNT; i++)
    if (n_caught[i] == 0 && operation->run != operations[0].run) fail_msg("breakage %d unseen", i);
}

static void test_comparison(void **state) {
  (void)state;
  double one[] = {1, 2}, other[] = {1, 2.001}, nan[] = {1, NAN}, zero[] = {0, 0}, error;
  assert_true(operation_values_agree(one, one, 2, 0, 0, &error));
  assert_false(operation_values_agree(one, other, 2, 1e-4, 0, &error));
  assert_true(operation_values_agree(one, other, 2, 1e-3, 0, &error));
  assert_false(operation_values_agree(nan, one, 2, 1, 1, &error));
  assert_false(operation_values_agree(one, nan, 2, 1, 1, &error));
  assert_false(operation_values_agree(nan, nan, 2, 1, 1, &error));
  assert_false(operation_values_agree(one, zero, 2, 1e-3, 0, &error));
  assert_false(operation_values_agree(one, one, 0, 1, 1, &error));
}

/* A case without outputs compares nothing, and fails. */
static void test_empty_case(void **state) {
  (void)state;
  int n_cases;
  operation_case c = operation_cases(&n_cases)[0];
  for (int i = 0; i < c.n_operands; i++)
    c.operands[i].output = false;
  double values[4096] = {0}, worst = 0;
  assert_false(operation_outputs_agree(&c, values, values, 1, &worst));
}

static void write_to_source(weir_device *device, const operation_case *c, const weir_tensor *t) {
  (void)c;
  device->operations->copy(device, t[0], t[1]);
  device->operations->zero(device, t[1]);
}

static void write_beyond(weir_device *device, const operation_case *c, const weir_tensor *t) {
  (void)c;
  device->operations->copy(device, t[0], t[1]);
  weir_tensor longer = t[0];
  longer.rows++;
  device->operations->zero(device, longer);
  device->operations->copy(device, t[0], t[1]);
}

static void test_stray_writes(void **state) {
  (void)state;
  static void (*const runs[])(weir_device *, const operation_case *,
                              const weir_tensor *) = {write_to_source, write_beyond};
  operation_spec stray = {.name = "stray copy"};
  operation_case c = {.operation = &stray, .name = "3 x 5", .n_operands = 2};
  c.operands[0] = (operation_operand){.name = "dst", .rows = 3, .cols = 5, .output = true};
  c.operands[1] = (operation_operand){.name = "src", .rows = 3, .cols = 5};
  for (int i = 0; i < 2; i++) {
    stray.run = runs[i];
    double *values = operation_values_create(&c, &ref_bench, true);
    assert_null(operation_run(&device_bench, &c, values, 0));
    free(values);
  }
}

int main(void) {
  struct CMUnitTest tests[OPERATION_COUNT + 3];
  char names[OPERATION_COUNT][64];
  int n = 0;
  for (int i = 0; i < OPERATION_COUNT; i++) {
    snprintf(names[i], sizeof names[i], "%s_broken_is_caught", operations[i].name);
    tests[n++] = (struct CMUnitTest){names[i], test_broken, NULL, NULL, (void *)&operations[i]};
  }
  tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_comparison);
  tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_empty_case);
  tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_stray_writes);

  weir_device *device, *ref;
  if (weir_ref_create(&device) != WEIR_OK || weir_ref_create(&ref) != WEIR_OK) return 1;
  operation_bench_init(&device_bench, device);
  operation_bench_init(&ref_bench, ref);
  int n_failed = _cmocka_run_group_tests("operation harness", tests, (size_t)n, NULL, NULL);
  operation_bench_deinit(&device_bench);
  operation_bench_deinit(&ref_bench);
  weir_ref_destroy(device);
  weir_ref_destroy(ref);
  return n_failed;
}
