/* SPDX-License-Identifier: Apache-2.0
 *
 * Supervised fine-tuning: predict the next token, mean over the supervised tokens of the step.
 *
 * An objective turns tokens into a target and a weight, d loss / d logprob, for each token; it
 * never sees logits.  Here the weight is -1/N at a token whose successor is supervised and 0
 * elsewhere, where N counts the supervised tokens of the *whole optimizer step*: neither packing
 * nor accumulation changes the loss (I5).  What is supervised is said by position, never by id. */
#ifndef WEIR_OBJECTIVE_SFT_H
#define WEIR_OBJECTIVE_SFT_H

#include "core/sequences.h"

#include <stdint.h>

/* Supervised tokens of one row.  mask [T] is 1 at tokens to be learnt, else 0; NULL: all.  The
 * first token of a sequence has nothing before it and never counts. */
int64_t weir_sft_count(const weir_sequences *sequences, const uint8_t *mask);

/* targets [T], out: the next token, -1 at the last of each sequence.  weights [T], out.
 * `n_supervised` is N; with N = 0 every weight is 0. */
void weir_sft_fill(const weir_sequences *sequences, const int32_t *ids, const uint8_t *mask,
                   int64_t n_supervised, int32_t *targets, double *weights);

#endif
