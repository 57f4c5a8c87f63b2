/* SPDX-License-Identifier: Apache-2.0
 *
 * The loss of a model on rows of text: mean over all predicted tokens, no gradients. */
#ifndef WEIR_TRAIN_EVALUATE_H
#define WEIR_TRAIN_EVALUATE_H

#include "train/batches.h"

typedef struct weir_evaluation {
  double loss, entropy;
  double mean_token_accuracy;
  int64_t n_supervised; /* tokens predicted */
} weir_evaluation;

/* The longest row, for the plan, and the tables of all rows reserved.  `batches` were made with
 * `evaluate` set. */
weir_status weir_evaluate_reserve(weir_batches *batches, int64_t *longest_tokens);

/* Runs every row.  token_losses [tokens of the corpus], by the place of the token that is predicted
 * and NaN for one that is not; NULL where not wanted.  Stops with the interrupt's status where a
 * signal asks. */
weir_status weir_evaluate(weir_run *run, weir_batches *batches, weir_evaluation *evaluation,
                          double *token_losses);

#endif
