/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights between files and memory.
 *
 * Reading: f32, f64, bf16 and f16 are converted on the way, transposed and fused tensors put into
 * their places as the parameter table says, and the file's pages given back as soon as they are
 * read, so that the model is never in memory twice.  Writing is the same in the other direction,
 * through a buffer of a few megabytes.
 *
 * Files of GPT-2 come with and without the prefix "transformer.".  Reading makes the table's names
 * those of the file, so what is written later goes under the names that were read. */
#ifndef WEIR_MODEL_WEIGHTS_H
#define WEIR_MODEL_WEIGHTS_H

#include "core/tensor.h"
#include "model/parameter.h"

/* Reads headers only: every parameter is there with the right shape in a dtype that can be read,
 * and nothing else is, but what is known to be harmless.  Call it before reserving memory. */
weir_status weir_weights_check(const char *directory, const weir_model_config *config,
                               weir_parameter_table *table);

/* Checks as above, then fills `weights` [n_parameters], whose memory is the host's. */
weir_status weir_weights_load(const char *directory, const weir_model_config *config,
                              weir_parameter_table *table, const weir_tensor *weights);

/* Writes `tensors` [n_parameters] (weights, or their gradients), atomically, under the table's
 * names and in the file's shapes: fused ones joined, transposed ones turned back. */
weir_status weir_weights_save(const char *path, const weir_parameter_table *table,
                              const weir_tensor *tensors, weir_dtype dtype);
/* The same of the tensors whose first part is one of the parameters [begin, end). */
weir_status weir_weights_save_range(const char *path, const weir_parameter_table *table,
                                    const weir_tensor *tensors, weir_dtype dtype, int64_t begin,
                                    int64_t end);

/* Writes the weights of a model directory: model.safetensors where that holds at most
 * `max_shard_bytes` of tensors, else model-00001-of-0000N.safetensors and so on with
 * model.safetensors.index.json.  A tensor is never divided.  At every moment the directory holds
 * the old weights, the new ones, or (between two sharded sets) none that opens, never a mixture;
 * what it held before is removed last. */
weir_status weir_weights_save_directory(const char *directory, const weir_parameter_table *table,
                                        const weir_tensor *tensors, weir_dtype dtype,
                                        uint64_t max_shard_bytes);

#endif
