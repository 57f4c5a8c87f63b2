/* SPDX-License-Identifier: Apache-2.0
 *
 * A training run in JSON: lines of metrics, trainer_state.json, result.json.  Names of metrics are
 * those of Transformers and TRL; each function returns a new reference, NULL for want of memory. */
#ifndef WEIR_TRAIN_REPORT_H
#define WEIR_TRAIN_REPORT_H

#include "train/loop.h"

/* The step that was just run. */
typedef struct weir_step_report {
  weir_step_result result;
  double learning_rate, seconds;
  int64_t n_tokens;
  int64_t steps_here; /* in this process, with it */
} weir_step_report;

/* Epochs done, in steps. */
double weir_training_epoch(const weir_training *training);

/* loss, mean_token_accuracy and entropy over the steps since the last line; the rest of this one.
 */
json_t *weir_step_metrics(const weir_training *training, const weir_step_report *report);
json_t *weir_evaluation_metrics(const weir_training *training, double seconds);
json_t *weir_trainer_state(const weir_training *training);

/* result.json, in the run's folder. */
weir_status weir_training_write_result(const weir_training *training);

#endif
