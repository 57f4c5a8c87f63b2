/* SPDX-License-Identifier: Apache-2.0 */
#include "model/weights.h"

#include "core/convert.h"
#include "formats/weight_files.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  weir_dtype dtype;
} readable_dtypes[] = {
    {"F32", WEIR_DTYPE_F32},
    {"F64", WEIR_DTYPE_F64},
    {"BF16", WEIR_DTYPE_BF16},
    {"F16", WEIR_DTYPE_F16},
};

static bool is_gpt2(const weir_model_config *config) {
  return config->architecture == WEIR_ARCHITECTURE_GPT2;
}

static bool is_rotary(const weir_model_config *config) {
  return !config->learned_positions;
}

static bool is_tied(const weir_model_config *config) {
  return config->tie_word_embeddings;
}

/* Tensors that files carry beside the parameters and that may be left unread. */
static const struct {
  const char *pattern;
  bool (*applies)(const weir_model_config *config);
} harmless[] = {
    {"h.*.attn.bias", is_gpt2}, /* the causal mask */
    {"h.*.attn.masked_bias", is_gpt2},
    {"transformer.h.*.attn.bias", is_gpt2},
    {"transformer.h.*.attn.masked_bias", is_gpt2},
    {"*.rotary_emb.inv_freq", is_rotary}, /* follows from rope_theta */
    {"lm_head.weight", is_tied},          /* compared with the embedding */
};

static bool is_harmless(const weir_model_config *config, const char *name) {
  for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
    if (harmless[i].applies(config) && fnmatch(harmless[i].pattern, name, 0) == 0) return true;
  return false;
}

/* False where the tensor's dtype cannot become a weight. */
static bool find_dtype(const weir_safetensors_entry *entry, weir_dtype *dtype) {
  for (size_t i = 0; i < sizeof readable_dtypes / sizeof *readable_dtypes; i++)
    if (strcmp(readable_dtypes[i].name, entry->dtype) == 0) {
      *dtype = readable_dtypes[i].dtype;
      return true;
    }
  return false;
}

/* The tensor that holds the parameter, with GPT-2's prefix or without; the table takes over the
 * spelling of the file. */
static weir_weight find_weight(const weir_weight_files *files, weir_parameter *parameter) {
  static const char prefix[] = "transformer.";
  enum { PREFIX_LENGTH = sizeof prefix - 1 };
  weir_weight found = weir_weight_files_find(files, parameter->file_name);
  if (found.entry) return found;
  bool has_prefix = strncmp(parameter->file_name, prefix, PREFIX_LENGTH) == 0;
  char other[WEIR_PARAMETER_NAME_BYTES + sizeof prefix];
  snprintf(other, sizeof other, "%s%s", has_prefix ? "" : prefix,
           parameter->file_name + (has_prefix ? PREFIX_LENGTH : 0));
  found = weir_weight_files_find(files, other);
  if (found.entry && strlen(other) < sizeof parameter->file_name)
    memcpy(parameter->file_name, other, strlen(other) + 1);
  return found;
}

static void format_shape(char *text, size_t text_bytes, const int64_t *shape, int n_dims) {
  size_t used = 0;
  for (int i = 0; i < n_dims && used < text_bytes; i++)
    used += (size_t)snprintf(text + used, text_bytes - used, "%s%" PRId64, i ? ", " : "", shape[i]);
  if (n_dims == 0) *text = 0;
}

static weir_status check_parameter(const weir_weight_files *files, weir_parameter *parameter) {
  weir_weight found = find_weight(files, parameter);
  const char *path = weir_safetensors_path(found.file ? found.file : files->files[0]);
  if (!found.entry)
    return weir_fail(WEIR_BAD_INPUT,
                     "%s: tensor \"%s\" is missing; config.json describes a model that has it",
                     path, parameter->file_name);
  int64_t shape[2];
  int n_dims = weir_parameter_file_shape(parameter, shape);
  const weir_safetensors_entry *entry = found.entry;
  bool same = entry->n_dims == n_dims;
  for (int i = 0; i < n_dims; i++)
    same = same && entry->shape[i] == shape[i];
  if (!same) {
    char expected[64], got[64];
    format_shape(expected, sizeof expected, shape, n_dims);
    format_shape(got, sizeof got, entry->shape, entry->n_dims);
    return weir_fail(WEIR_BAD_INPUT,
                     "%s: tensor \"%s\" has the shape [%s], by config.json it must be [%s]", path,
                     parameter->file_name, got, expected);
  }
  weir_dtype dtype;
  if (!find_dtype(entry, &dtype))
    return weir_fail(WEIR_BAD_INPUT,
                     "%s: tensor \"%s\" has the dtype %s; weights are read from F32, F64, BF16 or "
                     "F16",
                     path, parameter->file_name, entry->dtype);
  return WEIR_OK;
}

/* A head stored although it is tied must be the embedding: it will not be read. */
static weir_status check_tied_head(const weir_weight_files *files,
                                   const weir_parameter_table *table) {
  enum { STRIPE_BYTES = 1 << 20 };
  weir_weight head = weir_weight_files_find(files, "lm_head.weight");
  weir_weight embedding = weir_weight_files_find(files, table->parameters[0].file_name);
  const weir_safetensors_entry *a = head.entry, *b = embedding.entry;
  bool same = strcmp(a->dtype, b->dtype) == 0 && a->size_bytes == b->size_bytes;
  for (uint64_t i = 0; same && i < a->size_bytes; i += STRIPE_BYTES) {
    const uint8_t *x = (const uint8_t *)weir_safetensors_data(head.file, a) + i;
    const uint8_t *y = (const uint8_t *)weir_safetensors_data(embedding.file, b) + i;
    uint64_t rest_bytes = a->size_bytes - i;
    uint64_t n_bytes = rest_bytes < STRIPE_BYTES ? rest_bytes : STRIPE_BYTES;
    same = memcmp(x, y, n_bytes) == 0;
    weir_safetensors_drop(head.file, x, n_bytes);
    weir_safetensors_drop(embedding.file, y, n_bytes);
  }
  if (same) return WEIR_OK;
  return weir_fail(WEIR_BAD_INPUT,
                   "%s: tensor \"lm_head.weight\" differs from the embedding although config.json "
                   "ties them; set tie_word_embeddings to false to use both",
                   weir_safetensors_path(head.file));
}

static int compare_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Every tensor of the files is a parameter's (names, sorted) or known to be harmless. */
static weir_status check_others(const weir_weight_files *files, const weir_model_config *config,
                                const weir_parameter_table *table, const char **names) {
  for (size_t i = 0; i < files->n_files; i++)
    for (size_t j = 0; j < weir_safetensors_count(files->files[i]); j++) {
      const char *name = weir_safetensors_at(files->files[i], j)->name;
      if (bsearch(&name, names, (size_t)table->n_parameters, sizeof *names, compare_text)) continue;
      if (!is_harmless(config, name))
        return weir_fail(WEIR_BAD_INPUT,
                         "%s: tensor \"%s\" is unexpected: config.json describes a model without "
                         "it",
                         weir_safetensors_path(files->files[i]), name);
      if (strcmp(name, "lm_head.weight") == 0) WEIR_TRY(check_tied_head(files, table));
    }
  return WEIR_OK;
}

static weir_status check_files(const weir_weight_files *files, const weir_model_config *config,
                               weir_parameter_table *table) {
  for (int64_t i = 0; i < table->n_parameters; i++)
    WEIR_TRY(check_parameter(files, &table->parameters[i]));
  const char **names = calloc((size_t)table->n_parameters + 1, sizeof *names);
  if (!names) return weir_fail(WEIR_FAILED, "no memory to check the weights");
  for (int64_t i = 0; i < table->n_parameters; i++)
    names[i] = table->parameters[i].file_name;
  qsort(names, (size_t)table->n_parameters, sizeof *names, compare_text);
  weir_status status = check_others(files, config, table, names);
  free(names);
  return status;
}

weir_status weir_weights_check(const char *directory, const weir_model_config *config,
                               weir_parameter_table *table) {
  weir_weight_files files;
  WEIR_TRY(weir_weight_files_open(directory, &files));
  weir_status status = check_files(&files, config, table);
  weir_weight_files_close(&files);
  return status;
}

/* n elements that lie in the file as they will in memory, given back stripe by stripe. */
static void load_contiguous(weir_weight weight, weir_dtype file_dtype, int64_t first,
                            weir_tensor tensor) {
  enum { STRIPE = 1 << 18 };
  uint64_t element_bytes = weir_dtype_bytes(file_dtype);
  const uint8_t *src = (const uint8_t *)weir_safetensors_data(weight.file, weight.entry) +
                       (uint64_t)first * element_bytes;
  uint8_t *dst = weir_tensor_data(tensor);
  for (int64_t i = 0, count = weir_tensor_count(tensor); i < count; i += STRIPE) {
    int64_t n = count - i < STRIPE ? count - i : STRIPE;
    const uint8_t *stripe = src + (uint64_t)i * element_bytes;
    weir_convert(dst + (uint64_t)i * weir_dtype_bytes(tensor.dtype), tensor.dtype, stripe,
                 file_dtype, n);
    weir_safetensors_drop(weight.file, stripe, (uint64_t)n * element_bytes);
  }
}

/* The file's rows are our columns.  A tile of them is converted, then turned. */
static void load_transposed(weir_weight weight, weir_dtype file_dtype,
                            const weir_parameter *parameter, weir_tensor tensor) {
  enum { TILE_COLS = 32, TILE_ROWS = 128 };
  double tile[TILE_COLS * TILE_ROWS]; /* holds f32 as well */
  uint64_t real_bytes = weir_dtype_bytes(tensor.dtype), file_bytes = weir_dtype_bytes(file_dtype);
  const uint8_t *src = weir_safetensors_data(weight.file, weight.entry);
  uint8_t *dst = weir_tensor_data(tensor);
  uint64_t file_row_bytes = (uint64_t)parameter->file_rows * file_bytes;
  for (int64_t col = 0; col < tensor.cols; col += TILE_COLS) {
    int64_t n_cols = tensor.cols - col < TILE_COLS ? tensor.cols - col : TILE_COLS;
    const uint8_t *stripe = src + (uint64_t)col * file_row_bytes;
    for (int64_t row = 0; row < tensor.rows; row += TILE_ROWS) {
      int64_t n_rows = tensor.rows - row < TILE_ROWS ? tensor.rows - row : TILE_ROWS;
      for (int64_t i = 0; i < n_cols; i++)
        weir_convert((uint8_t *)tile + (uint64_t)(i * TILE_ROWS) * real_bytes, tensor.dtype,
                     stripe + (uint64_t)i * file_row_bytes +
                         (uint64_t)(parameter->file_row + row) * file_bytes,
                     file_dtype, n_rows);
      weir_transpose(dst + (uint64_t)(row * tensor.cols + col) * real_bytes, tensor.cols, tile,
                     TILE_ROWS, n_cols, n_rows, tensor.dtype);
    }
    weir_safetensors_drop(weight.file, stripe, (uint64_t)n_cols * file_row_bytes);
  }
}

static void load_parameter(const weir_weight_files *files, const weir_parameter *parameter,
                           weir_tensor tensor) {
  WEIR_ASSERT(tensor.rows, ==, parameter->rows);
  WEIR_ASSERT(tensor.cols, ==, parameter->cols);
  weir_weight weight = weir_weight_files_find(files, parameter->file_name);
  weir_dtype dtype = WEIR_DTYPE_F32;
  WEIR_ASSERT(find_dtype(weight.entry, &dtype), ==, true); /* checked before */
  if (parameter->file_transposed)
    load_transposed(weight, dtype, parameter, tensor);
  else
    load_contiguous(weight, dtype,
                    parameter->file_row * (parameter->is_vector ? 1 : parameter->cols), tensor);
}

weir_status weir_weights_load(const char *directory, const weir_model_config *config,
                              weir_parameter_table *table, const weir_tensor *weights) {
  weir_weight_files files;
  WEIR_TRY(weir_weight_files_open(directory, &files));
  weir_status status = check_files(&files, config, table);
  for (int64_t i = 0; status == WEIR_OK && i < table->n_parameters; i++)
    load_parameter(&files, &table->parameters[i], weights[i]);
  weir_weight_files_close(&files);
  return status;
}
