/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights are laid out here from the parameter table alone, element by element: a second opinion on
 * the program's own loader, which the tests of the commands exercise. */
#include "support/model_case.h"

#include "core/convert.h"
#include "device/cpu/cpu.h"
#include "device/ref/ref.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

enum { RUN_ARENA_BYTES = 16 << 20, STEP_ARENA_BYTES = 8 << 20 };

static weir_status create_cpu(weir_device **device) {
  return weir_cpu_create(2, NULL, device);
}

const model_case_device model_case_ref = {"ref", weir_ref_create, weir_ref_destroy};
const model_case_device model_case_cpu = {"cpu", create_cpu, weir_cpu_destroy};

static void require(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s", weir_status_message());
}

static void *take(size_t count, size_t bytes) {
  void *memory = calloc(count ? count : 1, bytes);
  assert_non_null(memory);
  return memory;
}

static int64_t count(const weir_parameter *parameter) {
  return parameter->rows * parameter->cols;
}

static void load_weights(model_case *model) {
  for (int64_t i = 0; i < model->table.n_parameters; i++) {
    const weir_parameter *parameter = &model->table.parameters[i];
    double *values = take((size_t)count(parameter), sizeof *values);
    model_case_file_values(model->file, parameter, values);
    model_case_write(model, model->run.weights[i], values);
    free(values);
  }
}

void model_case_open(model_case *model, const char *directory, const model_case_device *kind,
                     const model_case_settings *settings) {
  char path[4096];
  snprintf(path, sizeof path, "%s/model.safetensors", directory);
  *model = (model_case){.kind = kind};
  require(weir_model_config_read(directory, &model->config));
  require(weir_parameter_table_create(&model->config, &model->table));
  require(weir_safetensors_open(path, &model->file));
  require(weir_arena_init(&model->run_arena, "run", RUN_ARENA_BYTES));
  require(weir_arena_init(&model->step_arena, "step", STEP_ARENA_BYTES));
  require(kind->create(&model->device));

  int64_t n_layers = model->config.num_hidden_layers;
  model->stash = take((size_t)n_layers, sizeof *model->stash);
  for (int64_t i = 0; i < n_layers; i++)
    model->stash[i] = settings->stash;
  weir_stream_settings stream = {
      .chunk_rows = settings->chunk_rows ? settings->chunk_rows : WEIR_DEFAULT_CHUNK_ROWS,
      .head_rows = settings->head_rows ? settings->head_rows : WEIR_DEFAULT_HEAD_ROWS,
      .head_columns = settings->head_columns ? settings->head_columns : WEIR_DEFAULT_HEAD_COLUMNS,
      .stash = model->stash,
      .precision = settings->precision,
  };
  require(weir_run_create(&model->run, model->device, &model->run_arena, &model->step_arena,
                          &model->config, &model->table, &stream, WEIR_RUN_GRADIENTS));
  load_weights(model);
}

void model_case_close(model_case *model) {
  weir_run_destroy(&model->run);
  model->kind->destroy(model->device);
  weir_arena_deinit(&model->step_arena);
  weir_arena_deinit(&model->run_arena);
  weir_safetensors_close(model->file);
  weir_parameter_table_destroy(&model->table);
  free(model->stash);
}

static weir_dtype file_dtype(const weir_safetensors_entry *entry) {
  if (strcmp(entry->dtype, "F64") == 0) return WEIR_DTYPE_F64;
  if (strcmp(entry->dtype, "BF16") == 0) return WEIR_DTYPE_BF16;
  assert_string_equal(entry->dtype, "F32");
  return WEIR_DTYPE_F32;
}

void model_case_file_values(const weir_safetensors *file, const weir_parameter *parameter,
                            double *values) {
  const weir_safetensors_entry *entry = weir_safetensors_find(file, parameter->file_name);
  if (!entry) fail_msg("no tensor %s in %s", parameter->file_name, weir_safetensors_path(file));
  const weir_dtype dtype = file_dtype(entry);
  const uint64_t element_bytes = weir_dtype_bytes(dtype);
  const uint8_t *data = weir_safetensors_data(file, entry);
  for (int64_t row = 0; row < parameter->rows; row++)
    for (int64_t col = 0; col < parameter->cols; col++) {
      int64_t i;
      if (parameter->is_vector)
        i = parameter->file_row + col;
      else if (parameter->file_transposed)
        i = col * parameter->file_rows + parameter->file_row + row;
      else
        i = (parameter->file_row + row) * parameter->cols + col;
      assert_true((uint64_t)(i + 1) * element_bytes <= entry->size_bytes);
      weir_convert(values++, WEIR_DTYPE_F64, data + (uint64_t)i * element_bytes, dtype, 1);
    }
}

void model_case_write(model_case *model, weir_tensor tensor, const double *values) {
  int64_t n = weir_tensor_count(tensor);
  void *host = take((size_t)n, sizeof *values);
  weir_convert(host, tensor.dtype, values, WEIR_DTYPE_F64, n);
  model->device->operations->write(model->device, tensor, host);
  free(host);
}

void model_case_read(model_case *model, weir_tensor tensor, double *values) {
  int64_t n = weir_tensor_count(tensor);
  if (tensor.dtype == WEIR_DTYPE_F64) {
    model->device->operations->read(model->device, values, tensor);
    return;
  }
  float *narrow = take((size_t)n, sizeof *narrow);
  model->device->operations->read(model->device, narrow, tensor);
  for (int64_t i = 0; i < n; i++)
    values[i] = (double)narrow[i];
  free(narrow);
}

int32_t *model_case_ids(const char *path, int64_t *n_ids) {
  json_error_t error;
  json_t *array = json_load_file(path, 0, &error);
  if (!array) fail_msg("%s: %s", path, error.text);
  *n_ids = (int64_t)json_array_size(array);
  assert_true(*n_ids > 1);
  int32_t *ids = take((size_t)*n_ids, sizeof *ids);
  for (int64_t i = 0; i < *n_ids; i++)
    ids[i] = (int32_t)json_integer_value(json_array_get(array, (size_t)i));
  json_decref(array);
  return ids;
}

void model_case_row_init(model_case_row *row, const int32_t *ids, int64_t n_ids,
                         const int64_t *offsets, int64_t n_sequences, int64_t n_pairs) {
  if (!offsets) n_sequences = 1;
  if (n_pairs == 0) n_pairs = n_ids - n_sequences;
  row->offsets = take((size_t)n_sequences + 1, sizeof *row->offsets);
  row->targets = take((size_t)n_ids, sizeof *row->targets);
  row->weights = take((size_t)n_ids, sizeof *row->weights);
  for (int64_t i = 0; i < n_sequences; i++) {
    row->offsets[i] = offsets ? offsets[i] : 0;
    row->offsets[i + 1] = offsets ? offsets[i + 1] : n_ids;
    for (int64_t t = row->offsets[i]; t < row->offsets[i + 1]; t++) {
      bool last = t + 1 == row->offsets[i + 1];
      row->targets[t] = last ? -1 : ids[t + 1];
      row->weights[t] = last ? 0.0 : -1.0 / (double)n_pairs;
    }
  }
  assert_int_equal(row->offsets[n_sequences], n_ids);
  row->micro_batch = (weir_micro_batch){
      .sequences = {.n_tokens = n_ids, .n_sequences = n_sequences, .offsets = row->offsets},
      .ids = ids,
      .targets = row->targets,
      .weights = row->weights,
  };
}

void model_case_row_deinit(model_case_row *row) {
  free(row->offsets);
  free(row->targets);
  free(row->weights);
}

double model_case_norm(const double *x, int64_t n) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++)
    sum += x[i] * x[i];
  return sqrt(sum);
}

double model_case_distance(const double *x, const double *y, int64_t n) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++)
    sum += (x[i] - y[i]) * (x[i] - y[i]);
  return sqrt(sum);
}
