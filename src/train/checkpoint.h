/* SPDX-License-Identifier: Apache-2.0
 *
 * Checkpoints: everything a run needs to go on as if it had never stopped, bit for bit.
 *
 *   checkpoint-<step>/
 *     config.json model.safetensors ...   a whole model directory, to use or to train further
 *     optimizer.safetensors               exp_avg and exp_avg_sq of every parameter, and its f32
 *                                         master weight where the model is saved in less
 *     trainer_state.json                  what Hugging Face tools read: step, epoch, log history
 *     weir_state.json                     format version, progress, recipe, fingerprints, machine,
 *                                         and a checksum of each other file and of itself
 *
 * The directory is written under another name, synced, and renamed (train/run_folder.h), so that a
 * crash at any moment leaves whole checkpoints only.  Reading checks every byte before using one.
 * Random numbers and the data order have no state: they are functions of seed and step. */
#ifndef WEIR_TRAIN_CHECKPOINT_H
#define WEIR_TRAIN_CHECKPOINT_H

#include "stream/run.h"

#include <jansson.h>

enum { WEIR_CHECKPOINT_FORMAT_VERSION = 1 };

/* What the loop carries from step to step beside tensors. */
typedef struct weir_progress {
  int64_t step;         /* optimizer steps done */
  int64_t n_tokens;     /* seen, over all steps */
  int64_t n_supervised; /* of these */
  double loss_sum;      /* of all steps */
  double seconds;       /* spent in steps */
  int64_t n_skipped;    /* of the steps: their gradient was not finite */
  /* since the last line of metrics */
  int64_t interval_steps, interval_rows, interval_correct;
  double interval_loss, interval_entropy; /* sums over steps, and over rows */
  /* the lowest validation loss so far; step -1 before the first */
  int64_t best_step;
  double best_eval_loss;
} weir_progress;

/* What has to be the same for a run to go on.  JSON objects are borrowed. */
typedef struct weir_run_identity {
  const json_t *recipe;  /* every setting that changes numbers; a difference is an error */
  const json_t *machine; /* instruction set and library versions; a difference is a warning */
  uint64_t data_fingerprint, model_fingerprint;
} weir_run_identity;

uint64_t weir_model_fingerprint(const weir_model_config *config, const weir_parameter_table *table);

/* Writes checkpoint-<progress->step> of the run in `folder`; `source` is where the tokenizer comes
 * from. */
weir_status weir_checkpoint_save(const char *folder, const char *source, const weir_run *run,
                                 weir_dtype dtype, uint64_t max_shard_bytes,
                                 const weir_progress *progress, const weir_run_identity *identity,
                                 const json_t *trainer_state);
/* Bytes one checkpoint will take, within a few kilobytes; states are held in `real`. */
uint64_t weir_checkpoint_bytes(const char *source, const weir_parameter_table *table,
                               weir_dtype real, weir_dtype dtype);

/* Checks every file against its checksum and the identity against the run's, naming what differs;
 * then reads the progress and the log history (a new reference). */
weir_status weir_checkpoint_open(const char *directory, const weir_run_identity *identity,
                                 weir_progress *progress, json_t **log_history);
/* Fills the weights and moments of a reserved run. */
weir_status weir_checkpoint_load(const char *directory, weir_parameter_table *table,
                                 const weir_run *run);

#endif
