/* SPDX-License-Identifier: Apache-2.0
 *
 * Sampling against probabilities worked out here the long way: sort, cut, count. */
#include "generate/sample.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N_CLASSES = 9, N_DRAWS = 20000 };

/* Two pairs of equals, and one that is hardly ever drawn. */
static const double logits[N_CLASSES] = {0.5, 2.0, -1.0, 2.0, 1.25, -9.0, 0.0, 1.25, 1.5};

static int32_t sample(const weir_sampling *sampling, int64_t position) {
  weir_candidate candidates[N_CLASSES];
  int32_t id = -1;
  assert_int_equal(weir_sample(sampling, logits, N_CLASSES, position, candidates, &id), WEIR_OK);
  assert_in_range(id, 0, N_CLASSES - 1);
  return id;
}

/* Ids from likeliest to least. */
static void rank(int32_t order[N_CLASSES]) {
  for (int32_t i = 0; i < N_CLASSES; i++) {
    int32_t at = i;
    for (; at > 0 && logits[order[at - 1]] < logits[i]; at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
}

static void expected_probabilities(const weir_sampling *sampling, double p[N_CLASSES]) {
  int32_t order[N_CLASSES];
  rank(order);
  int n = sampling->top_k > 0 && sampling->top_k < N_CLASSES ? (int)sampling->top_k : N_CLASSES;
  double total = 0, mass = 0;
  for (int i = 0; i < N_CLASSES; i++)
    p[i] = 0;
  for (int i = 0; i < n; i++)
    total += exp(logits[order[i]] / sampling->temperature);
  for (int i = 0; i < n && (i == 0 || mass < sampling->top_p); i++) {
    p[order[i]] = exp(logits[order[i]] / sampling->temperature) / total;
    mass += p[order[i]];
  }
  for (int i = 0; i < N_CLASSES; i++)
    p[i] /= mass;
}

static void frequencies_are_the_probabilities(void **state) {
  (void)state;
  static const weir_sampling cases[] = {
      {1.0, 0, 1.0, 42},  {0.5, 0, 1.0, 42}, {3.0, 0, 1.0, 7},    {1.0, 3, 1.0, 42},
      {1.0, 100, 1.0, 1}, {1.0, 0, 0.8, 42}, {2.0, 6, 0.7, 42},   {1.0, 9, 0.999, 5},
      {1.0, 1, 1.0, 42},  {1.0, 0, 0.2, 42}, {1.0, 0, 1e-12, 42},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double p[N_CLASSES];
    int count[N_CLASSES] = {0};
    expected_probabilities(&cases[i], p);
    for (int64_t position = 0; position < N_DRAWS; position++)
      count[sample(&cases[i], position)]++;
    for (int id = 0; id < N_CLASSES; id++) {
      double error = fabs(count[id] - N_DRAWS * p[id]);
      /* Four and a half standard deviations of a count; none where the class was cut off. */
      double allowed = p[id] == 0 ? 0 : 4.5 * sqrt(N_DRAWS * p[id] * (1 - p[id])) + 1;
      if (!(error <= allowed))
        fail_msg("case %zu: token %d drawn %d times, expected %g", i, id, count[id],
                 N_DRAWS * p[id]);
    }
  }
}

static void greedy_takes_the_lowest_of_equals(void **state) {
  (void)state;
  weir_sampling greedy = {.top_p = 1.0};
  for (int64_t position = 0; position < 10; position++)
    assert_int_equal(sample(&greedy, position), 1);
}

static void cold_is_nearly_greedy(void **state) {
  (void)state;
  weir_sampling cold = {1e-300, 0, 1.0, 42};
  for (int64_t position = 0; position < 100; position++) {
    int32_t id = sample(&cold, position);
    assert_true(id == 1 || id == 3);
  }
}

static void seed_and_position_decide(void **state) {
  (void)state;
  weir_sampling a = {1.0, 0, 1.0, 42}, b = {1.0, 0, 1.0, 43};
  int n_same_position = 0, n_same_seed = 0;
  for (int64_t position = 0; position < 1000; position++) {
    assert_int_equal(sample(&a, position), sample(&a, position));
    n_same_seed += sample(&a, position) == sample(&b, position);
    n_same_position += sample(&a, position) == sample(&a, position + 1);
  }
  assert_in_range(n_same_seed, 50, 500);
  assert_in_range(n_same_position, 50, 500);
}

static void what_is_not_finite_is_refused(void **state) {
  (void)state;
  static const double bad[] = {NAN, INFINITY, -INFINITY};
  weir_candidate candidates[N_CLASSES];
  weir_sampling samplings[] = {{.top_p = 1.0}, {1.0, 0, 1.0, 42}};
  for (int i = 0; i < 6; i++) {
    double damaged[N_CLASSES];
    for (int j = 0; j < N_CLASSES; j++)
      damaged[j] = j == 5 ? bad[i / 2] : logits[j];
    int32_t id;
    assert_int_equal(weir_sample(&samplings[i % 2], damaged, N_CLASSES, 0, candidates, &id),
                     WEIR_FAILED);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(frequencies_are_the_probabilities),
      cmocka_unit_test(greedy_takes_the_lowest_of_equals),
      cmocka_unit_test(cold_is_nearly_greedy),
      cmocka_unit_test(seed_and_position_decide),
      cmocka_unit_test(what_is_not_finite_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
