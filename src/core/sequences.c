/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sequences.h"

/* Index of the sequence that holds `token`: the last offset not beyond it. */
static int64_t sequence_of(const weir_sequences *sequences, int64_t token) {
  int64_t low = 0, high = sequences->n_sequences;
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    if (sequences->offsets[middle] <= token)
      low = middle;
    else
      high = middle;
  }
  return low;
}

int64_t weir_sequences_begin(const weir_sequences *sequences, int64_t token) {
  return sequences->offsets[sequence_of(sequences, token)];
}

int64_t weir_sequences_end(const weir_sequences *sequences, int64_t token) {
  return sequences->offsets[sequence_of(sequences, token) + 1];
}

int64_t weir_sequences_first_key(const weir_sequences *sequences, int64_t token, int64_t window) {
  int64_t first = weir_sequences_begin(sequences, token);
  return window > 0 && token - window + 1 > first ? token - window + 1 : first;
}

/* The sum of 1 .. n. */
static int64_t triangle(int64_t n) {
  return n * (n + 1) / 2;
}

/* Pairs of the first n queries of a sequence: query i sees i + 1 keys, or `window` of them. */
static int64_t prefix_pairs(int64_t n, int64_t window) {
  if (window == 0 || n <= window) return triangle(n);
  return triangle(window) + (n - window) * window;
}

int64_t weir_sequences_pairs(const weir_sequences *sequences, int64_t begin, int64_t end,
                             int64_t window) {
  int64_t pairs = 0;
  for (int64_t i = sequence_of(sequences, begin); begin < end; i++) {
    int64_t first = sequences->offsets[i], next = sequences->offsets[i + 1];
    int64_t stop = next < end ? next : end;
    pairs += prefix_pairs(stop - first, window) - prefix_pairs(begin - first, window);
    begin = stop;
  }
  return pairs;
}
