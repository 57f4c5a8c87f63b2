/* SPDX-License-Identifier: Apache-2.0
 *
 * From packed rows to the micro-batches of each optimizer step.
 *
 * A micro-batch is `rows_per_micro_batch` rows, their sequences one after the other (I5); a step is
 * `micro_batches_per_step` of them.  The last micro-batch and the last step of an epoch may be
 * smaller, as in Transformers' Trainer: every row is seen once an epoch.  The order of the rows is
 * a function of (seed, epoch) alone, so any step can be loaded without those before it.
 *
 * Everything a step needs is reserved once, before the first (I3). */
#ifndef WEIR_TRAIN_BATCHES_H
#define WEIR_TRAIN_BATCHES_H

#include "stream/step.h"
#include "train/packing.h"

typedef struct weir_batch_settings {
  int64_t rows_per_micro_batch, micro_batches_per_step;
  uint64_t seed;
  /* Rows stay in order, and the loss is divided by the supervised tokens of the epoch, not of the
   * step: the losses of all steps add up to the mean. */
  bool evaluate;
} weir_batch_settings;

/* The largest that steps need.  The first micro-batch of a step counts apart: only later ones hold
 * gradients of their own beside the step's. */
typedef struct weir_batch_extent {
  int64_t first_tokens, later_tokens, n_sequences;
} weir_batch_extent;

typedef struct weir_batches {
  const weir_corpus *corpus; /* borrowed */
  const weir_rows *rows;     /* borrowed */
  weir_batch_settings settings;
  int64_t steps_per_epoch;
  int64_t n_supervised_epoch;
  int64_t *order; /* [n_rows], of epoch `order_epoch` */
  int64_t order_epoch;
  weir_batch_extent reserved;
  weir_micro_batch *micro_batches; /* [micro_batches_per_step] */
  uint8_t **is_learnt;             /* [micro_batches_per_step][tokens]; NULL each: all are */
  /* the step that was loaded last */
  int64_t n_micro_batches, n_supervised, n_tokens;
} weir_batches;

weir_status weir_batches_create(weir_batches *batches, const weir_corpus *corpus,
                                const weir_rows *rows, const weir_batch_settings *settings);
/* Harmless on zeroed batches. */
void weir_batches_destroy(weir_batches *batches);

/* What steps [first_step, end_step), counted through all epochs, need. */
weir_batch_extent weir_batches_survey(weir_batches *batches, int64_t first_step, int64_t end_step);
/* Host memory of the tables: those there are, and those that `extent` will take. */
uint64_t weir_batches_bytes(const weir_batches *batches, const weir_batch_extent *extent);
weir_status weir_batches_reserve(weir_batches *batches, const weir_batch_extent *extent);

/* Fills micro_batches [0, n_micro_batches) and the numbers beside them.  The step lies within what
 * was reserved. */
void weir_batches_load(weir_batches *batches, int64_t step);

#endif
