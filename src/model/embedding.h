/* SPDX-License-Identifier: Apache-2.0
 *
 * The layers' first input: rows of the embedding, scaled by sqrt(D) where the model does so, and
 * learned positions where it has them. */
#ifndef WEIR_MODEL_EMBEDDING_H
#define WEIR_MODEL_EMBEDDING_H

#include "core/device.h"
#include "formats/model_config.h"

/* x [C,D] out; ids [1,C], tokens first_row .. of `sequences`; weights [WEIR_ROLE_COUNT].
 * bf16_weights: what the embedding holds is rounded to bf16 first. */
void weir_embedding_run(weir_device *device, const weir_model_config *config,
                        const weir_tensor *weights, bool bf16_weights, weir_tensor x,
                        weir_tensor ids, const weir_sequences *sequences, int64_t first_row);

/* Adds to the gradients [WEIR_ROLE_COUNT]; dx [T,D], the gradient of x of the whole row, is used
 * up. */
void weir_embedding_gradient(weir_device *device, const weir_model_config *config,
                             const weir_tensor *gradients, weir_tensor dx, weir_tensor ids,
                             const weir_sequences *sequences);

#endif
