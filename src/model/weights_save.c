/* SPDX-License-Identifier: Apache-2.0
 *
 * A tensor of the file is written when its first part comes by in the table; the parts of a fused
 * tensor (GPT-2's c_attn) are found by its name among the parameters that follow in the unit. */
#include "core/convert.h"
#include "formats/safetensors.h"
#include "model/weights.h"

#include <stdlib.h>
#include <string.h>

enum { STRIPE = 1 << 17 /* elements of a plain tensor */, TILE_COLS = 32 };

typedef struct saver {
  int64_t begin, end; /* tensors whose first part is one of these parameters */
  weir_safetensors_writer *writer;
  const weir_parameter_table *table;
  const weir_tensor *tensors;
  weir_dtype dtype;
  uint8_t *values, *bytes; /* as they are in memory, as they go to the file */
} saver;

static const char *file_dtype(weir_dtype dtype) {
  switch (dtype) {
  case WEIR_DTYPE_F64:
    return "F64";
  case WEIR_DTYPE_BF16:
    return "BF16";
  case WEIR_DTYPE_F16:
    return "F16";
  default:
    return "F32";
  }
}

/* The next part of parameter i's tensor in the file, or -1. */
static int64_t next_part(const weir_parameter_table *table, int64_t i) {
  const weir_parameter *parameter = &table->parameters[i];
  if (parameter->file_row + (parameter->is_vector ? parameter->cols : parameter->rows) ==
      parameter->file_rows)
    return -1;
  while (++i < table->n_parameters)
    if (strcmp(table->parameters[i].file_name, parameter->file_name) == 0) return i;
  return -1;
}

static weir_status append(const saver *save, const void *values, weir_dtype dtype, int64_t n) {
  weir_convert(save->bytes, save->dtype, values, dtype, n);
  return weir_safetensors_writer_append(save->writer, save->bytes,
                                        (uint64_t)n * weir_dtype_bytes(save->dtype));
}

static weir_status save_contiguous(const saver *save, int64_t i) {
  for (; i >= 0; i = next_part(save->table, i)) {
    weir_tensor tensor = save->tensors[i];
    const uint8_t *src = weir_tensor_data(tensor);
    for (int64_t j = 0, count = weir_tensor_count(tensor); j < count; j += STRIPE)
      WEIR_TRY(append(save, src + (uint64_t)j * weir_dtype_bytes(tensor.dtype), tensor.dtype,
                      count - j < STRIPE ? count - j : STRIPE));
  }
  return WEIR_OK;
}

/* Our columns are the file's rows: a few of them at a time, from every part. */
static weir_status save_transposed(const saver *save, int64_t first) {
  int64_t file_rows = save->table->parameters[first].file_rows;
  weir_tensor whole = save->tensors[first];
  uint64_t real_bytes = weir_dtype_bytes(whole.dtype);
  for (int64_t col = 0; col < whole.cols; col += TILE_COLS) {
    int64_t n_cols = whole.cols - col < TILE_COLS ? whole.cols - col : TILE_COLS;
    for (int64_t i = first; i >= 0; i = next_part(save->table, i)) {
      weir_tensor tensor = save->tensors[i];
      const uint8_t *src = weir_tensor_data(tensor);
      weir_transpose(save->values + (uint64_t)save->table->parameters[i].file_row * real_bytes,
                     file_rows, src + (uint64_t)col * real_bytes, tensor.cols, tensor.rows, n_cols,
                     tensor.dtype);
    }
    WEIR_TRY(append(save, save->values, whole.dtype, n_cols * file_rows));
  }
  return WEIR_OK;
}

static weir_status write_tensors(const saver *save) {
  const weir_parameter_table *table = save->table;
  for (int64_t i = save->begin; i < save->end; i++) {
    const weir_parameter *parameter = &table->parameters[i];
    if (parameter->file_row > 0) continue; /* written with the first part */
    int64_t shape[2];
    int n_dims = weir_parameter_file_shape(parameter, shape);
    WEIR_TRY(weir_safetensors_writer_declare(save->writer, parameter->file_name,
                                             file_dtype(save->dtype), shape, n_dims));
  }
  WEIR_TRY(weir_safetensors_writer_metadata(save->writer, "format", "pt"));
  WEIR_TRY(weir_safetensors_writer_begin(save->writer));
  for (int64_t i = save->begin; i < save->end; i++) {
    if (table->parameters[i].file_row > 0) continue;
    WEIR_TRY(table->parameters[i].file_transposed ? save_transposed(save, i)
                                                  : save_contiguous(save, i));
  }
  return WEIR_OK;
}

/* Elements of the largest piece that is converted at once. */
static size_t buffer_elements(const weir_parameter_table *table) {
  int64_t n = STRIPE;
  for (int64_t i = 0; i < table->n_parameters; i++) {
    int64_t tile = table->parameters[i].file_rows * TILE_COLS;
    if (table->parameters[i].file_transposed && tile > n) n = tile;
  }
  return (size_t)n;
}

weir_status weir_weights_save(const char *path, const weir_parameter_table *table,
                              const weir_tensor *tensors, weir_dtype dtype) {
  return weir_weights_save_range(path, table, tensors, dtype, 0, table->n_parameters);
}

weir_status weir_weights_save_range(const char *path, const weir_parameter_table *table,
                                    const weir_tensor *tensors, weir_dtype dtype, int64_t begin,
                                    int64_t end) {
  saver save = {.begin = begin, .end = end, .table = table, .tensors = tensors, .dtype = dtype};
  WEIR_TRY(weir_safetensors_writer_create(path, &save.writer));
  size_t buffer_bytes = buffer_elements(table) * sizeof(double);
  save.values = malloc(buffer_bytes);
  save.bytes = malloc(buffer_bytes);
  weir_status status = save.values && save.bytes
                           ? write_tensors(&save)
                           : weir_fail(WEIR_FAILED, "%s: no memory to write it", path);
  free(save.values);
  free(save.bytes);
  if (status == WEIR_OK) return weir_safetensors_writer_finish(save.writer);
  weir_safetensors_writer_abandon(save.writer);
  return status;
}
