/* SPDX-License-Identifier: Apache-2.0
 *
 * Which token comes next.
 *
 * At temperature 0 the likeliest, the lowest id among equals.  Otherwise one drawn from
 * softmax(logits / temperature), after the less likely have been cut off in the order of Hugging
 * Face: first all but the top_k likeliest, then all but the likeliest that together hold top_p of
 * what remains (Holtzman et al. 2020, arXiv:1904.09751).  The random number is a function of the
 * seed and the token's position: whoever continues a text draws what an uninterrupted run would. */
#ifndef WEIR_GENERATE_SAMPLE_H
#define WEIR_GENERATE_SAMPLE_H

#include "base/status.h"

#include <stdint.h>

typedef struct weir_sampling {
  double temperature; /* 0: no randomness */
  int64_t top_k;      /* 0: all */
  double top_p;       /* in (0, 1] */
  uint64_t seed;
} weir_sampling;

typedef struct weir_candidate {
  double weight; /* its probability times a constant */
  int32_t id;
} weir_candidate;

/* logits [n_classes]; `candidates` [n_classes] is scratch.  Fails on a logit that is not finite. */
weir_status weir_sample(const weir_sampling *sampling, const double *logits, int64_t n_classes,
                        int64_t position, weir_candidate *candidates, int32_t *id);

#endif
