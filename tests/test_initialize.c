/* SPDX-License-Identifier: Apache-2.0
 *
 * Random weights: the moments that Transformers' initialisation has, and one seed, one model. */
#include "model/initialize.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

static weir_model_config make_config(weir_architecture architecture) {
  bool gpt2 = architecture == WEIR_ARCHITECTURE_GPT2;
  return (weir_model_config){.architecture = architecture,
                             .vocab_size = 500,
                             .hidden_size = 96,
                             .intermediate_size = 200,
                             .num_hidden_layers = 8,
                             .num_attention_heads = 4,
                             .num_key_value_heads = gpt2 ? 4 : 2,
                             .head_dim = 24,
                             .max_position_embeddings = 50,
                             .norm = gpt2 ? WEIR_NORM_LAYER : WEIR_NORM_RMS,
                             .gated_mlp = !gpt2,
                             .learned_positions = gpt2,
                             .qk_norm = !gpt2,
                             .qkv_bias = gpt2,
                             .attention_output_bias = gpt2,
                             .mlp_bias = gpt2,
                             .initializer_range = 0.02};
}

static void create(const weir_model_config *config, uint64_t seed, int n_threads, weir_dtype real,
                   weir_parameter_table *table, weir_arena *arena, weir_tensor **weights) {
  assert_int_equal(weir_parameter_table_create(config, table), WEIR_OK);
  assert_int_equal(weir_arena_init(arena, "test", 16 << 20), WEIR_OK);
  *weights = calloc((size_t)table->n_parameters, sizeof **weights);
  for (int64_t i = 0; i < table->n_parameters; i++)
    (*weights)[i] = weir_tensor_allocate(arena, WEIR_MEMORY_WEIGHTS, real,
                                         table->parameters[i].rows, table->parameters[i].cols);
  weir_weights_initialize(config, table, *weights, seed, n_threads);
}

static void destroy(weir_parameter_table *table, weir_arena *arena, weir_tensor *weights) {
  free(weights);
  weir_arena_deinit(arena);
  weir_parameter_table_destroy(table);
}

/* Six standard errors of the mean and of the deviation. */
static void check_moments(const double *w, int64_t n, double deviation) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; i++) {
    assert_true(isfinite(w[i]));
    sum += w[i];
    squares += w[i] * w[i];
  }
  double mean = sum / (double)n, found = sqrt(squares / (double)n);
  assert_true(n > 1000);
  assert_true(fabs(mean) <= 6 * deviation / sqrt((double)n));
  assert_true(fabs(found - deviation) <= 6 * deviation / sqrt(2 * (double)n));
}

static void check_architecture(weir_architecture architecture) {
  weir_model_config config = make_config(architecture);
  weir_parameter_table table;
  weir_arena arena;
  weir_tensor *weights;
  create(&config, 42, 2, WEIR_DTYPE_F64, &table, &arena, &weights);
  for (int64_t i = 0; i < table.n_parameters; i++) {
    const weir_parameter *p = &table.parameters[i];
    const double *w = weir_tensor_data(weights[i]);
    bool residual = strstr(p->file_name, "c_proj.weight") != NULL;
    bool norm = p->is_vector && !strstr(p->file_name, "bias");
    if (!p->is_vector)
      check_moments(w, p->rows * p->cols, residual ? 0.02 / sqrt(16) : 0.02);
    else
      for (int64_t j = 0; j < p->cols; j++)
        assert_true(w[j] == (norm ? 1.0 : 0.0));
  }
  destroy(&table, &arena, weights);
}

static void moments_are_those_of_transformers(void **state) {
  (void)state;
  check_architecture(WEIR_ARCHITECTURE_LLAMA);
  check_architecture(WEIR_ARCHITECTURE_QWEN3);
  check_architecture(WEIR_ARCHITECTURE_GPT2);
}

static void one_seed_one_model(void **state) {
  (void)state;
  weir_model_config config = make_config(WEIR_ARCHITECTURE_LLAMA);
  weir_parameter_table table[3];
  weir_arena arena[3];
  weir_tensor *weights[3];
  static const uint64_t seeds[] = {42, 42, 43};
  for (int i = 0; i < 3; i++)
    create(&config, seeds[i], i + 1, WEIR_DTYPE_F32, &table[i], &arena[i], &weights[i]);
  assert_int_equal(arena[0].used_bytes, arena[1].used_bytes);
  assert_memory_equal(arena[0].base, arena[1].base, arena[0].used_bytes);
  int64_t n_same = 0, n = weir_tensor_count(weights[0][0]);
  const float *a = weir_tensor_data(weights[0][0]), *b = weir_tensor_data(weights[2][0]);
  for (int64_t i = 0; i < n; i++)
    n_same += a[i] == b[i];
  assert_true(n_same < n / 1000);
  /* Nor do two parameters of one model share their numbers. */
  const float *q = weir_tensor_data(weights[0][weir_parameter_find(&table[0], 1, WEIR_ROLE_Q)]);
  const float *o = weir_tensor_data(weights[0][weir_parameter_find(&table[0], 1, WEIR_ROLE_O)]);
  assert_true(q[0] != o[0] && q[1] != o[1]);
  for (int i = 0; i < 3; i++)
    destroy(&table[i], &arena[i], weights[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(moments_are_those_of_transformers),
      cmocka_unit_test(one_seed_one_model),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
