/* SPDX-License-Identifier: Apache-2.0
 *
 * What attention sees, counted pair by pair. */
#include "core/sequences.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

static const int64_t offsets[] = {0, 1, 9, 10, 30, 31};
static const weir_sequences sequences = {31, 5, offsets};
static const int64_t windows[] = {0, 1, 2, 7, 8, 9, 20, 31, 1000};
enum { N_WINDOWS = sizeof windows / sizeof *windows };

/* One sequence, not in the future, and fewer than `window` tokens back. */
static bool sees(int64_t query, int64_t key, int64_t window) {
  return key <= query &&
         weir_sequences_begin(&sequences, key) == weir_sequences_begin(&sequences, query) &&
         (window == 0 || query - key < window);
}

static void first_keys_are_the_first_seen(void **state) {
  (void)state;
  for (int i = 0; i < N_WINDOWS; i++)
    for (int64_t query = 0; query < 31; query++) {
      int64_t key = 0;
      while (!sees(query, key, windows[i]))
        key++;
      assert_int_equal(weir_sequences_first_key(&sequences, query, windows[i]), key);
    }
}

static void pairs_are_those_seen(void **state) {
  (void)state;
  for (int i = 0; i < N_WINDOWS; i++)
    for (int64_t begin = 0; begin < 31; begin++)
      for (int64_t end = begin + 1; end <= 31; end++) {
        int64_t n = 0;
        for (int64_t query = begin; query < end; query++)
          for (int64_t key = 0; key < 31; key++)
            n += sees(query, key, windows[i]);
        assert_int_equal(weir_sequences_pairs(&sequences, begin, end, windows[i]), n);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(first_keys_are_the_first_seen),
      cmocka_unit_test(pairs_are_those_seen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
