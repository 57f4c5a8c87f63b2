/* SPDX-License-Identifier: Apache-2.0
 *
 * Three rows of the distance matrix suffice; words longer than a row are never near. */
#include "base/nearest.h"

#include <string.h>

enum { LONGEST_WORD = 64 };

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

static size_t measure_distance(const char *a, size_t n_a, const char *b, size_t n_b) {
  size_t rows[3][LONGEST_WORD + 1];
  for (size_t j = 0; j <= n_b; j++)
    rows[0][j] = j;
  for (size_t i = 1; i <= n_a; i++) {
    size_t *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
    now[0] = i;
    for (size_t j = 1; j <= n_b; j++) {
      now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = least(now[j], before[j - 2] + 1);
    }
  }
  return rows[n_a % 3][n_b];
}

weir_nearest weir_nearest_begin(const char *wanted) {
  return (weir_nearest){.wanted = wanted, .distance = strlen(wanted) / 3 + 2};
}

void weir_nearest_offer(weir_nearest *nearest, const char *word) {
  size_t n_wanted = strlen(nearest->wanted), n_word = strlen(word);
  if (n_wanted > LONGEST_WORD || n_word > LONGEST_WORD) return;
  size_t distance = measure_distance(nearest->wanted, n_wanted, word, n_word);
  if (distance >= nearest->distance) return;
  nearest->best = word;
  nearest->distance = distance;
}
