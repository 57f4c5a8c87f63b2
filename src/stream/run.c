/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/run.h"

#include "model/rotary.h"

#include <stdlib.h>

static void allocate_parameters(const weir_run *run, weir_tensor *tensors, weir_memory_kind kind,
                                weir_dtype dtype) {
  for (int64_t i = 0; i < run->table->n_parameters; i++)
    tensors[i] = weir_tensor_allocate(run->run_arena, kind, dtype, run->table->parameters[i].rows,
                                      run->table->parameters[i].cols);
}

static void zero_all(const weir_run *run, const weir_tensor *tensors) {
  for (int64_t i = 0; i < run->table->n_parameters; i++)
    run->device->operations->zero(run->device, tensors[i]);
}

static weir_tensor allocate_scalars(const weir_run *run, int64_t n) {
  return weir_tensor_allocate(run->run_arena, WEIR_MEMORY_VECTORS, WEIR_DTYPE_F64, 1, n);
}

static void take_tensors(weir_run *run, weir_run_purpose purpose) {
  weir_device *device = run->device;
  int64_t workspace_bytes = (int64_t)device->n_threads * WEIR_WORKSPACE_BYTES_PER_THREAD;
  device->workspace = weir_tensor_allocate(run->run_arena, WEIR_MEMORY_WORKSPACE, WEIR_DTYPE_F32, 1,
                                           workspace_bytes / 4);
  run->sums = allocate_scalars(run, WEIR_SUM_COUNT);
  run->squares = allocate_scalars(run, 1);
  run->clip = allocate_scalars(run, 1);
  allocate_parameters(
      run, run->weights, WEIR_MEMORY_WEIGHTS,
      weir_precision_weights(&run->settings.precision, device->real, purpose == WEIR_RUN_TRAIN));
  if (purpose >= WEIR_RUN_GRADIENTS)
    allocate_parameters(run, run->gradients, WEIR_MEMORY_GRADIENTS, device->real);
  if (purpose < WEIR_RUN_TRAIN) return;
  allocate_parameters(run, run->first_moments, WEIR_MEMORY_OPTIMIZER, device->real);
  allocate_parameters(run, run->second_moments, WEIR_MEMORY_OPTIMIZER, device->real);
  zero_all(run, run->first_moments);
  zero_all(run, run->second_moments);
}

static void fill_ropes(weir_run *run) {
  static const weir_rope_scaling none = {0};
  const weir_model_config *config = run->config;
  for (int windowed = 0; windowed < 2; windowed++) {
    double *frequencies = run->inverse_frequencies + windowed * (config->head_dim / 2);
    bool local = windowed && config->rope_local_base_freq > 0;
    weir_rotary_frequencies(local ? config->rope_local_base_freq : config->rope_theta,
                            local ? &none : &config->rope_scaling, config->head_dim, frequencies);
    run->ropes[windowed] = (weir_rope){.inverse_frequencies = frequencies, .scale = 1.0};
  }
}

weir_status weir_run_create(weir_run *run, weir_device *device, weir_arena *run_arena,
                            weir_arena *step_arena, const weir_model_config *config,
                            const weir_parameter_table *table, const weir_stream_settings *settings,
                            weir_run_purpose purpose) {
  size_t n_parameters = (size_t)table->n_parameters, n_layers = (size_t)config->num_hidden_layers;
  *run = (weir_run){
      .device = device,
      .run_arena = run_arena,
      .step_arena = step_arena,
      .config = config,
      .table = table,
      .settings = *settings,
      .weights = calloc(n_parameters, sizeof *run->weights),
      .gradients = calloc(n_parameters, sizeof *run->gradients),
      .first_moments = calloc(n_parameters, sizeof *run->first_moments),
      .second_moments = calloc(n_parameters, sizeof *run->second_moments),
      .slots = calloc(n_layers, sizeof *run->slots),
      .marks = calloc(n_layers, sizeof *run->marks),
      .inverse_frequencies = calloc((size_t)config->head_dim + 1, sizeof(double)),
  };
  if (!run->weights || !run->gradients || !run->first_moments || !run->second_moments ||
      !run->slots || !run->marks || !run->inverse_frequencies) {
    weir_run_destroy(run);
    return weir_fail(WEIR_FAILED, "no memory for the tables of the run");
  }
  take_tensors(run, purpose);
  fill_ropes(run);
  return WEIR_OK;
}

void weir_run_destroy(weir_run *run) {
  free(run->weights);
  free(run->gradients);
  free(run->first_moments);
  free(run->second_moments);
  free(run->slots);
  free(run->marks);
  free(run->inverse_frequencies);
  *run = (weir_run){0};
}
