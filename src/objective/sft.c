/* SPDX-License-Identifier: Apache-2.0 */
#include "objective/sft.h"

int64_t weir_sft_count(const weir_sequences *sequences, const uint8_t *mask) {
  if (!mask) return sequences->n_tokens - sequences->n_sequences;
  int64_t n = 0;
  for (int64_t i = 0; i < sequences->n_sequences; i++)
    for (int64_t t = sequences->offsets[i] + 1; t < sequences->offsets[i + 1]; t++)
      n += mask[t] != 0;
  return n;
}

void weir_sft_fill(const weir_sequences *sequences, const int32_t *ids, const uint8_t *mask,
                   int64_t n_supervised, int32_t *targets, double *weights) {
  const double weight = n_supervised > 0 ? -1.0 / (double)n_supervised : 0;
  for (int64_t i = 0; i < sequences->n_sequences; i++) {
    const int64_t last = sequences->offsets[i + 1] - 1;
    for (int64_t t = sequences->offsets[i]; t < last; t++) {
      targets[t] = ids[t + 1];
      weights[t] = !mask || mask[t + 1] ? weight : 0;
    }
    targets[last] = -1;
    weights[last] = 0;
  }
}
