/* SPDX-License-Identifier: Apache-2.0
 *
 * A model as a Hugging Face directory: config.json, generation_config.json, weights and
 * the tokenizer's files, each replaced atomically. */
#ifndef WEIR_TRAIN_MODEL_DIRECTORY_H
#define WEIR_TRAIN_MODEL_DIRECTORY_H

#include "stream/run.h"

/* Writes the run's weights, in `dtype` and in files of at most `max_shard_bytes`
 * (weir_weights_save_directory), into an existing directory.  Tokenizer and generation
 * settings are copied from `source`, which may be the same directory; a source without
 * generation_config.json gets one with the begin and end tokens of the config. */
weir_status weir_model_directory_save(const char *directory, const char *source,
                                      const weir_run *run, weir_dtype dtype,
                                      uint64_t max_shard_bytes);

/* Bytes the directory will take, within a few kilobytes. */
uint64_t weir_model_directory_bytes(const char *source, const weir_parameter_table *table,
                                    weir_dtype dtype);

#endif
