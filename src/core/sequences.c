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

int64_t weir_sequences_pairs(const weir_sequences *sequences, int64_t begin, int64_t end) {
  int64_t pairs = 0;
  for (int64_t i = sequence_of(sequences, begin); begin < end; i++) {
    int64_t first = sequences->offsets[i], next = sequences->offsets[i + 1];
    int64_t stop = next < end ? next : end;
    /* Query r of a sequence sees r - first + 1 keys: an arithmetic series from `begin` to `stop`.
     */
    pairs += (stop - begin) * ((begin - first + 1) + (stop - first)) / 2;
    begin = stop;
  }
  return pairs;
}
