/* SPDX-License-Identifier: Apache-2.0
 *
 * The output directory of a training run: one writer at a time, and complete checkpoints only.
 *
 *   checkpoint-<step>/             complete: it got its name by a rename
 *   .checkpoint-<step>.partial/    being written, or on its way out; left by a crash, swept later
 */
#ifndef WEIR_TRAIN_RUN_FOLDER_H
#define WEIR_TRAIN_RUN_FOLDER_H

#include "base/directory.h"

typedef enum weir_run_folder_use {
  WEIR_RUN_FOLDER_NEW,       /* must be empty */
  WEIR_RUN_FOLDER_RESUME,    /* holds a run that goes on */
  WEIR_RUN_FOLDER_OVERWRITE, /* may hold anything; clear() removes an older run's files */
} weir_run_folder_use;

typedef struct weir_run_folder {
  const char *path; /* borrowed */
  weir_directory_lock lock;
} weir_run_folder;

/* Makes the directory where there is none, and holds it until close. */
weir_status weir_run_folder_open(weir_run_folder *folder, const char *path,
                                 weir_run_folder_use use);
/* Harmless on a zeroed folder. */
void weir_run_folder_close(weir_run_folder *folder);

/* Removes what a crash left half written. */
weir_status weir_run_folder_sweep(const char *path);
/* Removes checkpoints and reports of an older run; a model in the directory stays until the new
 * one replaces it. */
weir_status weir_run_folder_clear(const char *path);

/* Step of the newest checkpoint, -1 where there is none. */
weir_status weir_run_folder_latest(const char *path, int64_t *step);
/* Removes all checkpoints but the newest `n_kept`. */
weir_status weir_run_folder_prune(const char *path, int64_t n_kept);

enum { WEIR_PATH_BYTES = 4096 };
/* "<path>/<name>"; fails where it is too long. */
weir_status weir_run_folder_name(char name[WEIR_PATH_BYTES], const char *path, const char *format,
                                 ...) __attribute__((format(printf, 3, 4)));

/* A checkpoint is written into the directory `begin` names, and `commit` makes it the complete
 * checkpoint of that step, in place of an older one: at every moment the name is absent or leads
 * to a whole checkpoint, and no other is touched. */
weir_status weir_run_folder_begin_checkpoint(const char *path, int64_t step,
                                             char partial[WEIR_PATH_BYTES]);
weir_status weir_run_folder_commit_checkpoint(const char *path, int64_t step, const char *partial);

#endif
