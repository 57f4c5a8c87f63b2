/* SPDX-License-Identifier: Apache-2.0 */
#include "model/initialize.h"

#include "base/rng.h"

#include <math.h>

/* Keeps these numbers apart from others that are drawn with the same seed. */
static const uint64_t stream_base = (uint64_t)0x77656967687473 << 8; /* "weights" */

static bool is_norm_weight(weir_role role) {
  switch (role) {
  case WEIR_ROLE_ATTENTION_NORM:
  case WEIR_ROLE_Q_NORM:
  case WEIR_ROLE_K_NORM:
  case WEIR_ROLE_ATTENTION_POST_NORM:
  case WEIR_ROLE_MLP_NORM:
  case WEIR_ROLE_MLP_POST_NORM:
  case WEIR_ROLE_FINAL_NORM:
    return true;
  default:
    return false;
  }
}

static double deviation_of(const weir_model_config *config, weir_role role) {
  bool residual = role == WEIR_ROLE_O || role == WEIR_ROLE_DOWN;
  if (config->architecture == WEIR_ARCHITECTURE_GPT2 && residual)
    return config->initializer_range / sqrt(2.0 * (double)config->num_hidden_layers);
  return config->initializer_range;
}

static void set(weir_tensor tensor, int64_t i, double value) {
  if (tensor.dtype == WEIR_DTYPE_F32)
    ((float *)weir_tensor_data(tensor))[i] = (float)value;
  else
    ((double *)weir_tensor_data(tensor))[i] = value;
}

void weir_weights_initialize(const weir_model_config *config, const weir_parameter_table *table,
                             const weir_tensor *weights, uint64_t seed, int n_threads) {
  double norm_weight = config->norm == WEIR_NORM_RMS_PLUS_ONE ? 0 : 1;
  for (int64_t i = 0; i < table->n_parameters; i++) {
    const weir_parameter *parameter = &table->parameters[i];
    weir_tensor tensor = weights[i];
    WEIR_ASSERT(tensor.dtype <= WEIR_DTYPE_F64, ==, true);
    double constant = is_norm_weight(parameter->role) ? norm_weight : 0;
    double deviation = deviation_of(config, parameter->role);
#pragma omp parallel for schedule(static) num_threads(n_threads)
    for (int64_t j = 0; j < weir_tensor_count(tensor); j++)
      set(tensor, j,
          parameter->is_vector
              ? constant
              : deviation * weir_random_normal(seed, stream_base + (uint64_t)i, (uint64_t)j));
  }
}
