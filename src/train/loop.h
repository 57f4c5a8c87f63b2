/* SPDX-License-Identifier: Apache-2.0
 *
 * The training loop: steps, metrics, evaluations, checkpoints, and the end of the run.
 *
 * It knows a run and batches that are ready, and no device, option or file format.  After each
 * step it looks for a signal; one makes it save and stop. */
#ifndef WEIR_TRAIN_LOOP_H
#define WEIR_TRAIN_LOOP_H

#include "plan/plan.h"
#include "train/checkpoint.h"
#include "train/evaluate.h"
#include "train/journal.h"
#include "train/settings.h"
#include "train/spikes.h"

typedef struct weir_training {
  const weir_training_settings *settings; /* settled */
  const weir_run_identity *identity;
  const weir_plan *plan;
  const char *folder; /* where everything is written */
  const char *source; /* the model directory that the tokenizer comes from */
  weir_dtype save_dtype;
  weir_run *run;            /* weights and moments loaded */
  weir_batches *batches;    /* reserved for the steps to come */
  weir_batches *validation; /* reserved, or NULL */
  weir_journal *journal;
  weir_progress progress;               /* zero but for best_step -1, or a checkpoint's */
  weir_spikes loss_spikes, norm_spikes; /* zero */
  /* out */
  double seconds_per_step;
  bool has_evaluation;
  weir_evaluation evaluation; /* the last one */
} weir_training;

/* Checkpoints there will be at once, at the most, of a run that goes on after `step`. */
int64_t weir_training_n_checkpoints(const weir_training_settings *settings, int64_t step);

/* Fails where the file system that holds the folder, or would, has no room for what the run will
 * keep.  Needs no run yet: what it saves follows from the table and the dtype of its states. */
weir_status weir_training_check_space(const weir_training *training,
                                      const weir_parameter_table *table, weir_dtype real);

/* From progress.step to the last step; then the model directory and result.json. */
weir_status weir_training_run(weir_training *training);

#endif
