/* SPDX-License-Identifier: Apache-2.0
 *
 * Tiny models made on the spot, with random weights and rows, on any device: for the tests of the
 * step, which need no files. */
#ifndef WEIR_TESTS_TINY_MODEL_H
#define WEIR_TESTS_TINY_MODEL_H

#include "stream/step.h"

enum { TINY_ARCHITECTURES = 6, TINY_MAX_LAYERS = 4 };

/* 0 llama with GQA, untied; 1 qwen3 with q/k norm, K != D/H, tied; 2 gpt2; 3 llama, one K/V head,
 * all biases; 4 qwen2 with windows in some layers and llama3's RoPE;
 * 5 gemma3 with soft caps. */
weir_model_config tiny_config(int architecture);
const char *tiny_name(int architecture);

typedef struct tiny_model {
  weir_model_config config;
  weir_parameter_table table;
  weir_stash_policy stash[TINY_MAX_LAYERS];
  weir_arena run_arena, step_arena;
  weir_device *device; /* borrowed */
  weir_run run;
} tiny_model;

typedef struct tiny_settings {
  int64_t chunk_rows, head_rows, head_columns;
  weir_stash_policy stash;
  weir_precision precision;
} tiny_settings;

/* Arenas of the given sizes (0: dry arenas), random weights that depend on nothing but their place
 * in the table. */
void tiny_open(tiny_model *model, const weir_model_config *config, weir_device *device,
               const tiny_settings *settings, weir_run_purpose purpose, uint64_t run_bytes,
               uint64_t step_bytes);
void tiny_close(tiny_model *model);

/* Reads a tensor of the run as f64. */
void tiny_read(const tiny_model *model, weir_tensor tensor, double *values);

/* All of `tensors` (gradients or weights of the run) one after the other; malloc'ed. */
double *tiny_read_all(const tiny_model *model, const weir_tensor *tensors, int64_t *n_values);

/* Random tokens in [0, vocab_size), the given sequence lengths, next-token targets, weights
 * -1/divisor at every token that has a target, but a few. */
typedef struct tiny_row {
  weir_micro_batch micro_batch;
  int64_t offsets[16];
  int32_t *ids, *targets;
  double *weights;
} tiny_row;

void tiny_row_init(tiny_row *row, const weir_model_config *config, const int64_t *lengths,
                   int64_t n_sequences, double divisor);
/* One sequence of another row as a row of its own. */
void tiny_row_init_part(tiny_row *part, const tiny_row *whole, int64_t i_sequence);
void tiny_row_deinit(tiny_row *row);

/* 2-norm of a - b over the 2-norm of b; NaN where anything is not finite or n is 0. */
double tiny_relative_error(const double *a, const double *b, int64_t n);

#endif
