/* SPDX-License-Identifier: Apache-2.0
 *
 * What the user asks of a training run.  Names as in Transformers' TrainingArguments. */
#ifndef WEIR_TRAIN_SETTINGS_H
#define WEIR_TRAIN_SETTINGS_H

#include "core/device.h"
#include "core/precision.h"
#include "optim/schedule.h"

#include <jansson.h>

typedef struct weir_training_settings {
  int64_t max_length, per_device_train_batch_size, gradient_accumulation_steps;
  double num_train_epochs;
  int64_t max_steps; /* -1: as num_train_epochs says */
  double warmup_ratio;
  weir_schedule schedule; /* n_steps and warmup_steps are settled by settle() */
  weir_adamw adamw;       /* learning_rate and step are those of each step */
  double max_grad_norm;
  uint64_t seed;
  bool
      skips_nonfinite; /* steps whose gradient is not finite: counted and left out, else an error */
  int64_t logging_steps;
  int64_t eval_steps, save_steps; /* 0: only at the end */
  bool eval_on_start;             /* before the first step, as step 0 */
  int64_t save_total_limit;       /* 0: none */
  uint64_t max_shard_bytes;       /* of a file of weights */
} weir_training_settings;

/* Number of steps and of warm-up steps, now that the steps of an epoch are known: as Transformers,
 * max_steps where it is positive, else num_train_epochs rounded up to whole steps. */
weir_status weir_training_settings_settle(weir_training_settings *settings,
                                          int64_t steps_per_epoch);

/* Every setting that changes numbers, and no other: what a resumed run has to repeat.  The number
 * of steps is one only where the schedule depends on it.  New reference. */
json_t *weir_training_settings_recipe(const weir_training_settings *settings,
                                      const weir_precision *precision, weir_dtype real);

#endif
