/* SPDX-License-Identifier: Apache-2.0
 *
 * The step: the one function that trains on a real device and counts on a dry one.
 *
 * Layers outside, chunks inside (StreamBP, Luo et al. 2025, arXiv:2506.03077).  What runs, in which
 * order and sizes, is a function of the settings and of facts the host knows: the number of tokens
 * and the sequences' boundaries (I8).  Nothing here allocates outside the arenas (I3). */
#ifndef WEIR_STREAM_STEP_H
#define WEIR_STREAM_STEP_H

#include "stream/run.h"

/* One row of tokens.  Host memory, borrowed for the step; on a dry device only `sequences` is read
 * and the rest may be NULL. */
typedef struct weir_micro_batch {
  weir_sequences sequences;
  const int32_t *ids;     /* [T] */
  const int32_t *targets; /* [T]; -1 where a row has no target */
  const double *weights;  /* [T]; d loss / d logprob: -1/N at supervised rows for SFT, else 0 */
} weir_micro_batch;

typedef struct weir_step_result {
  double loss;      /* sum of weight * logprob over the step */
  double n_rows;    /* rows with a weight */
  double n_correct; /* of these, rows whose arg-max was the target */
  double entropy;   /* mean over these */
  double grad_norm; /* before clipping; 0 without gradients */
} weir_step_result;

/* Forward only.  logprobs [T] of the targets, read back as f64; NULL where not wanted. */
void weir_step_evaluate(weir_run *run, const weir_micro_batch *micro_batch,
                        weir_step_result *result, double *logprobs);

/* Forward and backward of all micro-batches; run->gradients then hold their sum, each micro-batch
 * folded from zero and added in order (I4f). */
void weir_step_gradients(weir_run *run, const weir_micro_batch *micro_batches,
                         int64_t n_micro_batches, weir_step_result *result);

/* weir_step_gradients, clipping by the global norm (none where max_grad_norm <= 0), AdamW.
 * Where the gradient is not finite, weights and moments stay as they were. */
void weir_step_train(weir_run *run, const weir_micro_batch *micro_batches, int64_t n_micro_batches,
                     const weir_adamw *adamw, double max_grad_norm, weir_step_result *result);

/* After a step whose gradient is not finite (nothing was updated then), where that began: the
 * parameter, in `table`, that holds something not finite itself, else the first one that backward
 * gave such a gradient; -1 where there is none. */
typedef struct weir_nonfinite {
  int64_t i_parameter;
  bool is_weight; /* the weight itself, not its gradient */
} weir_nonfinite;

weir_nonfinite weir_step_find_nonfinite(weir_run *run);

#endif
