/* SPDX-License-Identifier: Apache-2.0
 *
 * Units: parameters acquired before use and committed when their gradient is finished.
 *
 * This seam is where gathering, de-quantising and fetching will happen, and where the optimizer may
 * be fed during backward.  Each unit passes it once per pass over the row, however many chunks
 * there are.  Today weights are in place, or are rounded or widened into the step arena; a commit
 * adds the micro-batch's sum. */
#ifndef WEIR_STREAM_UNIT_H
#define WEIR_STREAM_UNIT_H

#include "stream/run.h"

typedef struct weir_unit {
  int64_t index;
  weir_tensor weights[WEIR_ROLE_COUNT];
  weir_tensor gradients[WEIR_ROLE_COUNT];
} weir_unit;

/* The weights of unit `index`; where embeddings are tied, the head's unit holds the embedding's
 * tensor as its HEAD.  Where weights compute in bf16 all but EMBEDDING and HEAD, which come as they
 * are held, lie on the step arena: whoever acquires releases it. */
void weir_unit_acquire(const weir_run *run, int64_t index, weir_unit *unit);

/* Gradient tensors, zero, to fold one micro-batch into (I4f): the first micro-batch's are the
 * run's own (zeroed by the step), later ones' are taken from the step arena. */
void weir_unit_acquire_gradients(const weir_run *run, int64_t i_micro_batch, weir_unit *unit);

/* The micro-batch's gradients are finished. */
void weir_unit_commit(const weir_run *run, int64_t i_micro_batch, const weir_unit *unit);

#endif
