/* SPDX-License-Identifier: Apache-2.0
 *
 * I4: the plan does not change the bits, in f32 and in bf16.  Chunk rows in
 * multiples of the block, head rows likewise, every stash policy, one thread or two: the same
 * gradients, and the same weights after several steps, compared as bytes. */
#include "device/cpu/cpu.h"
#include "support/tiny_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RUN_BYTES = 32 << 20, STEP_BYTES = 64 << 20, N_STEPS = 20, N_ROUNDED_STEPS = 4 };

/* Three blocks and a tail; boundaries off the blocks' edges. */
static const int64_t lengths[] = {300, 5, 470, 1, 100};

/* Larger than the other tests' models, so that products have panels and attention has tiles. */
static weir_model_config wide_config(int architecture) {
  weir_model_config config = tiny_config(architecture);
  config.hidden_size = 96;
  config.head_dim = 32;
  config.intermediate_size = 136;
  config.vocab_size = 331;
  if (config.sliding_window > 0) config.sliding_window = 150; /* more than a tile of keys */
  return config;
}

/* Gradients of the first step, then weights after all of them, one after the other. */
static double *train(int architecture, const tiny_settings *settings, int n_threads, int n_steps,
                     int64_t *n_values) {
  weir_model_config config = wide_config(architecture);
  weir_device *device;
  assert_int_equal(weir_cpu_create(n_threads, NULL, &device), WEIR_OK);
  tiny_model model;
  tiny_open(&model, &config, device, settings, WEIR_RUN_TRAIN, RUN_BYTES, STEP_BYTES);
  tiny_row row;
  tiny_row_init(&row, &config, lengths, 5, 800.0);
  weir_adamw adamw = {1e-3, 0.9, 0.999, 1e-8, 0.01, 1};
  weir_step_result result;
  weir_step_train(&model.run, &row.micro_batch, 1, &adamw, 1.0, &result);
  double *gradients = tiny_read_all(&model, model.run.gradients, n_values);
  for (adamw.step = 2; adamw.step <= n_steps; adamw.step++)
    weir_step_train(&model.run, &row.micro_batch, 1, &adamw, 1.0, &result);
  double *weights = tiny_read_all(&model, model.run.weights, n_values);
  double *both = malloc((size_t)*n_values * 2 * sizeof *both);
  memcpy(both, gradients, (size_t)*n_values * sizeof *both);
  memcpy(both + *n_values, weights, (size_t)*n_values * sizeof *both);
  *n_values *= 2;
  free(gradients);
  free(weights);
  tiny_row_deinit(&row);
  tiny_close(&model);
  weir_cpu_destroy(device);
  return both;
}

static void plans_give_the_same_bits(weir_precision precision, int n_steps) {
  static const struct {
    tiny_settings settings;
    int n_threads;
  } plans[] = {
      {{256, 256, 128, WEIR_STASH_INPUT, {0}}, 1}, {{512, 768, 128, WEIR_STASH_INPUT, {0}}, 2},
      {{256, 512, 128, WEIR_STASH_ATTN, {0}}, 2},  {{768, 256, 128, WEIR_STASH_ATTN, {0}}, 1},
      {{512, 1024, 128, WEIR_STASH_ALL, {0}}, 2},  {{1024, 1024, 128, WEIR_STASH_INPUT, {0}}, 2},
  };
  const tiny_settings plain = {1024, 1024, 128, WEIR_STASH_ALL, precision};
  for (int architecture = 0; architecture < TINY_ARCHITECTURES; architecture++) {
    int64_t n_expected, n_values;
    double *expected = train(architecture, &plain, 1, n_steps, &n_expected);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
      tiny_settings settings = plans[i].settings;
      settings.precision = precision;
      double *values = train(architecture, &settings, plans[i].n_threads, n_steps, &n_values);
      assert_int_equal(n_values, n_expected);
      int64_t n_different = 0;
      for (int64_t j = 0; j < n_values; j++)
        n_different += memcmp(&values[j], &expected[j], sizeof *values) != 0;
      free(values);
      if (n_different)
        fail_msg("%s, plan %zu: %lld of %lld values differ", tiny_name(architecture), i,
                 (long long)n_different, (long long)n_values);
    }
    free(expected);
  }
}

static void in_f32(void **state) {
  (void)state;
  plans_give_the_same_bits((weir_precision){0}, N_STEPS);
}

static void with_activations_in_bf16(void **state) {
  (void)state;
  plans_give_the_same_bits((weir_precision){.bf16_activations = true}, N_ROUNDED_STEPS);
}

/* The bits of the rounding are those of seed, step, parameter and element. */
static void with_weights_in_bf16_rounded_at_random(void **state) {
  (void)state;
  plans_give_the_same_bits((weir_precision){.bf16_activations = true,
                                            .bf16_weights = true,
                                            .without_masters = true,
                                            .stochastic_rounding = true,
                                            .seed = 3},
                           N_ROUNDED_STEPS);
}

/* The test of the test: another tile of the head is another order of additions, and shows. */
static void another_order_shows(void **state) {
  (void)state;
  const tiny_settings settings[] = {{256, 256, 128, WEIR_STASH_INPUT, {0}},
                                    {256, 256, 100, WEIR_STASH_INPUT, {0}}};
  int64_t n_values;
  double *one = train(0, &settings[0], 1, 2, &n_values);
  double *other = train(0, &settings[1], 1, 2, &n_values);
  assert_memory_not_equal(one, other, (size_t)n_values * sizeof *one);
  free(one);
  free(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(in_f32),
      cmocka_unit_test(with_activations_in_bf16),
      cmocka_unit_test(with_weights_in_bf16_rounded_at_random),
      cmocka_unit_test(another_order_shows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
