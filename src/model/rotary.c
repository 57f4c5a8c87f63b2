/* SPDX-License-Identifier: Apache-2.0 */
#include "model/rotary.h"

#include <math.h>

static double llama3(const weir_rope_scaling *scaling, double frequency) {
  double turns = scaling->original_max_position_embeddings * frequency / (2 * M_PI); /* P / w */
  double low = scaling->low_freq_factor, high = scaling->high_freq_factor;
  double kept = fmin(1, fmax(0, (turns - low) / (high - low)));
  return (1 - kept) * frequency / scaling->factor + kept * frequency;
}

void weir_rotary_frequencies(double theta, const weir_rope_scaling *scaling, int64_t head_size,
                             double *frequencies) {
  for (int64_t j = 0; j < head_size / 2; j++) {
    double frequency = pow(theta, -(double)(2 * j) / (double)head_size);
    switch (scaling->kind) {
    case WEIR_ROPE_DEFAULT:
      break;
    case WEIR_ROPE_LINEAR:
      frequency /= scaling->factor;
      break;
    case WEIR_ROPE_LLAMA3:
      frequency = llama3(scaling, frequency);
      break;
    }
    frequencies[j] = frequency;
  }
}
