/* SPDX-License-Identifier: Apache-2.0
 *
 * The cpu device against ref, with every instruction set this processor has; and its bits, which
 * neither repetition, nor the number of threads, nor chunks of whole blocks may change (I4). */
#include "device/cpu/cpu.h"
#include "device/ref/ref.h"
#include "support/operation_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static operation_bench ref, one_thread, two_threads;

/* Every case of the operation within its tolerance. */
static void test_values(void **state) {
  const operation_spec *operation = *state;
  int n_cases, n_checked = 0, n_failed = 0;
  double worst = 0;
  const operation_case *all = operation_cases(&n_cases);
  for (const operation_case *c = all; c < all + n_cases; c++) {
    if (c->operation != operation) continue;
    n_failed += !operation_check(c, &two_threads, &ref, &worst);
    n_checked++;
  }
  printf("%s: %d cases, at worst %.2g of what is allowed\n", operation->name, n_checked, worst);
  assert_true(n_checked > 0);
  assert_int_equal(n_failed, 0);
}

static void test_bits(void **state) {
  const operation_spec *operation = *state;
  const operation_way ways[] = {{&one_thread, 0},
                                {&two_threads, 0},
                                {&two_threads, 0},
                                {&two_threads, WEIR_BLOCK_ROWS},
                                {&one_thread, 2 * WEIR_BLOCK_ROWS}};
  int n_cases, n_checked = 0, n_failed = 0;
  const operation_case *all = operation_cases(&n_cases);
  for (const operation_case *c = all; c < all + n_cases; c++) {
    if (c->operation != operation) continue;
    n_failed += !operation_check_bits(c, &ref, ways, c->n_rows > WEIR_BLOCK_ROWS ? 5 : 3);
    n_checked++;
  }
  assert_true(n_checked > 0);
  assert_int_equal(n_failed, 0);
}

static void test_missing_isa(void **state) {
  printf("this processor has no %s\n", (const char *)*state);
  skip();
}

static int skip_isa(const char *isa) {
  char name[64];
  snprintf(name, sizeof name, "%s_operations", isa);
  struct CMUnitTest test = {name, test_missing_isa, NULL, NULL, (void *)isa};
  return _cmocka_run_group_tests(isa, &test, 1, NULL, NULL);
}

/* Returns the number of failed tests. */
static int test_isa(const char *isa) {
  weir_device *one, *two;
  if (weir_cpu_create(1, isa, &one) != WEIR_OK) return skip_isa(isa);
  if (weir_cpu_create(2, isa, &two) != WEIR_OK) return 1;
  operation_bench_init(&one_thread, one);
  operation_bench_init(&two_threads, two);

  struct CMUnitTest tests[2 * OPERATION_COUNT];
  char names[2 * OPERATION_COUNT][80];
  for (int i = 0; i < 2 * OPERATION_COUNT; i++) {
    const operation_spec *operation = &operations[i / 2];
    snprintf(names[i], sizeof names[i], "%s_%s_%s", isa, operation->name,
             i % 2 ? "bits" : "values");
    tests[i] = (struct CMUnitTest){names[i], i % 2 ? test_bits : test_values, NULL, NULL,
                                   (void *)operation};
  }
  int n_failed = _cmocka_run_group_tests(isa, tests, 2 * OPERATION_COUNT, NULL, NULL);

  operation_bench_deinit(&one_thread);
  operation_bench_deinit(&two_threads);
  weir_cpu_destroy(one);
  weir_cpu_destroy(two);
  return n_failed;
}

int main(void) {
  static const char *const isas[] = {"avx512", "avx2", "portable"};
  weir_device *device;
  if (weir_ref_create(&device) != WEIR_OK) return 1;
  operation_bench_init(&ref, device);
  int n_failed = 0;
  for (int i = 0; i < 3; i++)
    n_failed += test_isa(isas[i]);
  operation_bench_deinit(&ref);
  weir_ref_destroy(device);
  return n_failed;
}
