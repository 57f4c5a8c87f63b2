/* SPDX-License-Identifier: Apache-2.0 */
#include "support/tiny_model.h"

#include "core/convert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[TINY_ARCHITECTURES] = {"llama",        "qwen3",         "gpt2",
                                                      "llama-biases", "qwen2-windows", "gemma3"};

const char *tiny_name(int architecture) {
  return names[architecture];
}

weir_model_config tiny_config(int architecture) {
  weir_model_config config = {
      .architecture = WEIR_ARCHITECTURE_LLAMA,
      .vocab_size = 53,
      .hidden_size = 24,
      .intermediate_size = 40,
      .num_hidden_layers = 3,
      .num_attention_heads = 6,
      .num_key_value_heads = 2,
      .head_dim = 4,
      .max_position_embeddings = 2048,
      .norm = WEIR_NORM_RMS,
      .norm_epsilon = 1e-5,
      .hidden_act = WEIR_ACTIVATION_SILU,
      .gated_mlp = true,
      .rope_theta = 10000.0,
  };
  if (architecture == 1) {
    config.architecture = WEIR_ARCHITECTURE_QWEN3;
    config.qk_norm = config.tie_word_embeddings = true;
    config.head_dim = 8;
  } else if (architecture == 2) {
    config.architecture = WEIR_ARCHITECTURE_GPT2;
    config.norm = WEIR_NORM_LAYER;
    config.hidden_act = WEIR_ACTIVATION_GELU_TANH;
    config.gated_mlp = false;
    config.learned_positions = config.tie_word_embeddings = true;
    config.qkv_bias = config.attention_output_bias = config.mlp_bias = true;
    config.num_key_value_heads = 6;
  } else if (architecture == 3) {
    config.num_key_value_heads = 1;
    config.qkv_bias = config.attention_output_bias = config.mlp_bias = true;
  } else if (architecture == 4) {
    config.architecture = WEIR_ARCHITECTURE_QWEN2;
    config.qkv_bias = config.use_sliding_window = true;
    config.sliding_window = 5;
    config.windowed_layers[0] = 5; /* the first and the last of three */
    config.rope_scaling = (weir_rope_scaling){WEIR_ROPE_LLAMA3, 8, 1, 4, 32};
  } else if (architecture == 5) {
    config.architecture = WEIR_ARCHITECTURE_GEMMA3;
    config.norm = WEIR_NORM_RMS_PLUS_ONE;
    config.hidden_act = WEIR_ACTIVATION_GELU_TANH;
    config.post_norms = config.scaled_embeddings = config.qk_norm = true;
    config.tie_word_embeddings = true;
    config.attention_softcap = 5;
    config.logit_softcap = 8;
    config.query_pre_attn_scalar = 30;
    config.sliding_window = 7;
    config.windowed_layers[0] = 3;
    config.rope_local_base_freq = 100;
  }
  return config;
}

/* xorshift64*: enough for test data. */
static double uniform(uint64_t *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return (double)((*state * 0x2545F4914F6CDD1DULL) >> 40) / (double)(1 << 24) - 0.5;
}

/* Values of 24 bits, so that they are the same in f32 and f64. */
static void fill(const tiny_model *model, int64_t i) {
  weir_tensor tensor = model->run.weights[i];
  int64_t n = weir_tensor_count(tensor);
  bool is_vector = model->table.parameters[i].is_vector;
  uint64_t state = 0x9E3779B97F4A7C15ULL * (uint64_t)(i + 1);
  float *narrow = malloc((size_t)n * sizeof *narrow);
  double *wide = malloc((size_t)n * sizeof *wide);
  double scale = is_vector ? 0.5 : 2.0 / sqrt((double)tensor.cols);
  for (int64_t j = 0; j < n; j++) {
    narrow[j] = (float)(uniform(&state) * scale + (is_vector ? 0.7 : 0.0));
    wide[j] = (double)narrow[j];
  }
  weir_convert(narrow, tensor.dtype, wide, WEIR_DTYPE_F64, tensor.dtype == WEIR_DTYPE_F64 ? 0 : n);
  const void *host = tensor.dtype == WEIR_DTYPE_F64 ? (const void *)wide : narrow;
  model->device->operations->write(model->device, tensor, host);
  free(narrow);
  free(wide);
}

static void open_arena(weir_arena *arena, const char *name, uint64_t bytes) {
  if (bytes == 0)
    weir_arena_init_dry(arena, name);
  else
    WEIR_ASSERT(weir_arena_init(arena, name, bytes), ==, WEIR_OK);
}

void tiny_open(tiny_model *model, const weir_model_config *config, weir_device *device,
               const tiny_settings *settings, weir_run_purpose purpose, uint64_t run_bytes,
               uint64_t step_bytes) {
  *model = (tiny_model){.config = *config, .device = device};
  WEIR_ASSERT(config->num_hidden_layers, <=, TINY_MAX_LAYERS);
  WEIR_ASSERT(weir_parameter_table_create(&model->config, &model->table), ==, WEIR_OK);
  for (int i = 0; i < TINY_MAX_LAYERS; i++)
    model->stash[i] = settings->stash;
  open_arena(&model->run_arena, "run", run_bytes);
  open_arena(&model->step_arena, "step", step_bytes);
  weir_stream_settings stream = {.chunk_rows = settings->chunk_rows,
                                 .head_rows = settings->head_rows,
                                 .head_columns = settings->head_columns,
                                 .stash = model->stash,
                                 .precision = settings->precision};
  WEIR_ASSERT(weir_run_create(&model->run, device, &model->run_arena, &model->step_arena,
                              &model->config, &model->table, &stream, purpose),
              ==, WEIR_OK);
  for (int64_t i = 0; run_bytes && i < model->table.n_parameters; i++)
    fill(model, i);
}

void tiny_close(tiny_model *model) {
  weir_run_destroy(&model->run);
  weir_arena_deinit(&model->run_arena);
  weir_arena_deinit(&model->step_arena);
  weir_parameter_table_destroy(&model->table);
}

void tiny_read(const tiny_model *model, weir_tensor tensor, double *values) {
  int64_t n = weir_tensor_count(tensor);
  if (tensor.dtype == WEIR_DTYPE_F64) {
    model->device->operations->read(model->device, values, tensor);
    return;
  }
  float *narrow = malloc((size_t)n * sizeof *narrow); /* or bf16 */
  model->device->operations->read(model->device, narrow, tensor);
  weir_convert(values, WEIR_DTYPE_F64, narrow, tensor.dtype, n);
  free(narrow);
}

double *tiny_read_all(const tiny_model *model, const weir_tensor *tensors, int64_t *n_values) {
  *n_values = 0;
  for (int64_t i = 0; i < model->table.n_parameters; i++)
    *n_values += weir_tensor_count(tensors[i]);
  double *values = malloc((size_t)*n_values * sizeof *values), *next = values;
  for (int64_t i = 0; i < model->table.n_parameters; i++) {
    tiny_read(model, tensors[i], next);
    next += weir_tensor_count(tensors[i]);
  }
  return values;
}

static void allocate_row(tiny_row *row, int64_t n_tokens) {
  size_t n = (size_t)n_tokens;
  row->ids = malloc(n * sizeof *row->ids);
  row->targets = malloc(n * sizeof *row->targets);
  row->weights = malloc(n * sizeof *row->weights);
}

static void finish_row(tiny_row *row, int64_t n_sequences) {
  row->micro_batch = (weir_micro_batch){
      .sequences = {row->offsets[n_sequences], n_sequences, row->offsets},
      .ids = row->ids,
      .targets = row->targets,
      .weights = row->weights,
  };
}

void tiny_row_init(tiny_row *row, const weir_model_config *config, const int64_t *lengths,
                   int64_t n_sequences, double divisor) {
  *row = (tiny_row){0};
  for (int64_t i = 0; i < n_sequences; i++)
    row->offsets[i + 1] = row->offsets[i] + lengths[i];
  int64_t n_tokens = row->offsets[n_sequences];
  allocate_row(row, n_tokens);
  uint64_t state = 12345;
  for (int64_t t = 0; t < n_tokens; t++)
    row->ids[t] = (int32_t)((uniform(&state) + 0.5) * (double)config->vocab_size);
  for (int64_t i = 0; i < n_sequences; i++)
    for (int64_t t = row->offsets[i]; t < row->offsets[i + 1]; t++) {
      bool last = t + 1 == row->offsets[i + 1];
      row->targets[t] = last ? -1 : row->ids[t + 1];
      row->weights[t] = last || t % 11 == 5 ? 0.0 : -1.0 / divisor;
    }
  finish_row(row, n_sequences);
}

void tiny_row_init_part(tiny_row *part, const tiny_row *whole, int64_t i_sequence) {
  *part = (tiny_row){0};
  int64_t begin = whole->offsets[i_sequence];
  size_t n = (size_t)(whole->offsets[i_sequence + 1] - begin);
  part->offsets[1] = (int64_t)n;
  allocate_row(part, (int64_t)n);
  memcpy(part->ids, whole->ids + begin, n * sizeof *part->ids);
  memcpy(part->targets, whole->targets + begin, n * sizeof *part->targets);
  memcpy(part->weights, whole->weights + begin, n * sizeof *part->weights);
  finish_row(part, 1);
}

void tiny_row_deinit(tiny_row *row) {
  free(row->ids);
  free(row->targets);
  free(row->weights);
}

double tiny_relative_error(const double *a, const double *b, int64_t n) {
  double difference = 0, size = 0;
  for (int64_t i = 0; i < n; i++) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return n > 0 ? sqrt(difference) / sqrt(size) : NAN;
}
