/* SPDX-License-Identifier: Apache-2.0
 *
 * Philox against the known answers of Random123, and the numbers made of it. */
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_known_answers(void **state) {
  (void)state;
  static const struct {
    uint32_t counter[4], key[2], block[4];
  } cases[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint32_t block[4];
    weir_philox(cases[i].counter, cases[i].key, block);
    assert_memory_equal(block, cases[i].block, sizeof block);
  }
}

static void test_moments(void **state) {
  (void)state;
  enum { N = 100000 };
  double uniform = 0, normal = 0, squares = 0;
  for (uint64_t i = 0; i < N; i++) {
    double u = weir_random_uniform(42, 1, i), z = weir_random_normal(42, 2, i);
    assert_true(u >= 0 && u < 1 && isfinite(z));
    uniform += u / N;
    normal += z / N;
    squares += z * z / N;
  }
  assert_true(fabs(uniform - 0.5) <= 0.005);
  assert_true(fabs(normal) <= 0.01);
  assert_true(fabs(squares - 1) <= 0.02);
  assert_true(weir_random_u64(42, 1, 0) != weir_random_u64(43, 1, 0));
  assert_true(weir_random_u64(42, 1, 0) != weir_random_u64(42, 2, 0));
}

static void test_permutations(void **state) {
  (void)state;
  enum { N = 6, DRAWS = 60000 };
  static int counts[N][N]; /* element, place */
  for (uint64_t stream = 0; stream < DRAWS; stream++) {
    int64_t order[N];
    int seen = 0;
    weir_random_permutation(7, stream, N, order);
    for (int i = 0; i < N; i++) {
      assert_in_range(order[i], 0, N - 1);
      seen |= 1 << order[i];
      counts[order[i]][i]++;
    }
    assert_int_equal(seen, (1 << N) - 1);
  }
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      assert_true(fabs(counts[i][j] - (double)DRAWS / N) <= 500); /* 5 sigma */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_known_answers),
      cmocka_unit_test(test_moments),
      cmocka_unit_test(test_permutations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
