/* SPDX-License-Identifier: Apache-2.0
 *
 * Random weights, as Hugging Face Transformers makes them: matrices normal with the standard
 * deviation `initializer_range`, norms 1, biases 0; GPT-2's products into the residual stream have
 * it divided by sqrt(2 L) (Radford et al. 2019).
 *
 * A weight is a function of (seed, its parameter's place in the table, its place in the matrix). */
#ifndef WEIR_MODEL_INITIALIZE_H
#define WEIR_MODEL_INITIALIZE_H

#include "core/tensor.h"
#include "model/parameter.h"

/* Fills `weights` [n_parameters], f32 or f64, in the host's memory.  Any number of threads gives
 * the same bits. */
void weir_weights_initialize(const weir_model_config *config, const weir_parameter_table *table,
                             const weir_tensor *weights, uint64_t seed, int n_threads);

#endif
