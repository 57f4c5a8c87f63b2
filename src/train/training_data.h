/* SPDX-License-Identifier: Apache-2.0
 *
 * The data of a run: what to train on, what to evaluate on, both packed and ready to be loaded. */
#ifndef WEIR_TRAIN_TRAINING_DATA_H
#define WEIR_TRAIN_TRAINING_DATA_H

#include "train/batches.h"
#include "train/settings.h"

/* One corpus with its rows and steps. */
typedef struct weir_data_part {
  weir_corpus corpus;
  weir_rows rows;
  weir_batches batches; /* points into this struct, which must not move */
} weir_data_part;

/* Packs a corpus that was read. */
weir_status weir_data_part_pack(weir_data_part *part, int64_t max_length,
                                const weir_batch_settings *settings);
/* Harmless on a zeroed part. */
void weir_data_part_deinit(weir_data_part *part);
/* Host memory of all of it once `extent` is reserved. */
uint64_t weir_data_part_bytes(const weir_data_part *part, const weir_batch_extent *extent);
/* Documents, tokens, rows, and what was cut, left out or appended: one line for people. */
void weir_data_part_log(const weir_data_part *part, const char *what, int64_t max_length);

/* What the user says of the data. */
typedef struct weir_data_request {
  weir_corpus_settings corpus;
  const char *const *train_files;
  size_t n_train_files;
  const char *validation_file; /* or NULL */
  double validation_split;     /* or 0 */
} weir_data_request;

typedef struct weir_training_data {
  weir_data_part train, validation;
  bool has_validation;
} weir_training_data;

/* Reads, splits and packs; fails where there is nothing to learn. */
weir_status weir_training_data_read(weir_training_data *data, const weir_data_request *request,
                                    const weir_training_settings *settings);
/* Host memory so far: tokens and rows, without the tables of steps. */
uint64_t weir_training_data_bytes(const weir_training_data *data);
void weir_training_data_log(const weir_training_data *data, int64_t max_length);
/* Harmless on zeroed data. */
void weir_training_data_deinit(weir_training_data *data);

#endif
