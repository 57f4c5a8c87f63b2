/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounding to bf16 on every device: all its numbers, and what lies between neighbours.  The judge
 * is arithmetic: the nearer of the two neighbours, at a tie the even one. */
#include "core/read_real.h"
#include "device/cpu/cpu.h"
#include "device/ref/ref.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { N_HALVES = 1 << 16, N_LOW = 6, N_VALUES = N_HALVES * N_LOW };

static const uint32_t low_halves[N_LOW] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};

static float as_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static bool same_bits(float a, float b) {
  return memcmp(&a, &b, sizeof a) == 0;
}

/* By distance, in f64, where both distances are exact. */
static float nearest(uint32_t bits) {
  float below = as_float(bits & 0xffff0000), above = as_float((bits & 0xffff0000) + 0x10000);
  double x = (double)as_float(bits);
  double next = isinf(above) ? copysign(0x1p128, x) : (double)above;
  double to_below = fabs(x - (double)below), to_above = fabs(next - x);
  if (to_below != to_above) return to_below < to_above ? below : above;
  return bits & 0x10000 ? above : below;
}

static void check(float found, uint32_t bits) {
  float x = as_float(bits);
  if (isnan(x) ? isnan(found) : same_bits(found, isinf(x) ? x : nearest(bits))) return;
  fail_msg("%a (%08x) became %a", (double)x, bits, (double)found);
}

static float inputs[N_VALUES], outputs[N_VALUES];
static double wide[N_VALUES];
static uint16_t halves[N_VALUES];

static uint32_t bits_at(int i) {
  return (uint32_t)(i / N_LOW) << 16 | low_halves[i % N_LOW];
}

static void round_on(weir_device *device, weir_arena *arena) {
  const weir_device_operations *operations = device->operations;
  const bool is_wide = device->real == WEIR_DTYPE_F64;
  weir_tensor x = weir_tensor_allocate(arena, WEIR_MEMORY_ACTIVATIONS, device->real, 1, N_VALUES);
  weir_tensor y = weir_tensor_allocate(arena, WEIR_MEMORY_ACTIVATIONS, device->real, 1, N_VALUES);
  weir_tensor narrow = weir_tensor_allocate(arena, WEIR_MEMORY_STASH, WEIR_DTYPE_BF16, 1, N_VALUES);
  void *host = is_wide ? (void *)wide : outputs;
  for (int i = 0; i < N_VALUES; i++) {
    inputs[i] = as_float(bits_at(i));
    wide[i] = (double)inputs[i];
  }
  operations->write(device, x, is_wide ? (void *)wide : inputs);
  operations->round(device, y, x);
  operations->read(device, host, y);
  for (int i = 0; i < N_VALUES; i++)
    check(is_wide ? (float)wide[i] : outputs[i], bits_at(i));

  /* Narrowing rounds alike; widening gives the numbers back. */
  operations->copy(device, narrow, x);
  operations->read(device, halves, narrow);
  for (int i = 0; i < N_VALUES; i++)
    check(as_float((uint32_t)halves[i] << 16), bits_at(i));
  operations->copy(device, x, narrow);
  operations->read(device, host, x);
  for (int i = 0; i < N_VALUES; i++)
    check(is_wide ? (float)wide[i] : outputs[i], bits_at(i));
}

/* ---- at random ---- */

enum { N_RANDOM = 40000 };

static const weir_noise noise = {.seed = 11, .stream = 5, .first = 8};

static void round_randomly(weir_device *device, const double *values, int64_t begin,
                           uint16_t *rounded) {
  weir_arena arena;
  static float narrow[N_RANDOM];
  const int64_t n = N_RANDOM - begin;
  int64_t workspace_bytes = (int64_t)device->n_threads * WEIR_WORKSPACE_BYTES_PER_THREAD;
  assert_int_equal(weir_arena_init(&arena, "test", (uint64_t)workspace_bytes + (1 << 20)), WEIR_OK);
  device->workspace =
      weir_tensor_allocate(&arena, WEIR_MEMORY_WORKSPACE, WEIR_DTYPE_F32, 1, workspace_bytes / 4);
  weir_tensor x = weir_tensor_allocate(&arena, WEIR_MEMORY_ACTIVATIONS, device->real, 1, n);
  weir_tensor y = weir_tensor_allocate(&arena, WEIR_MEMORY_ACTIVATIONS, WEIR_DTYPE_BF16, 1, n);
  for (int64_t i = 0; i < n; i++)
    narrow[i] = (float)values[begin + i];
  const bool is_wide = device->real == WEIR_DTYPE_F64;
  device->operations->write(device, x, is_wide ? (const void *)(values + begin) : narrow);
  weir_noise shifted = noise;
  shifted.first += begin;
  device->operations->round_randomly(device, y, x, &shifted);
  device->operations->read(device, rounded, y);
  device->workspace = (weir_tensor){0};
  weir_arena_deinit(&arena);
}

/* A third of the way up, a number goes up a third of the time; one of bf16 stays; so does a NaN. */
static void random_rounding_is_fair(void **state) {
  (void)state;
  static double values[N_RANDOM];
  static uint16_t on_ref[N_RANDOM], on_cpu[N_RANDOM], tail[N_RANDOM];
  static const double steps[] = {0, 1. / 3, 0.5, 0.9};
  weir_device *ref, *cpu;
  assert_int_equal(weir_ref_create(&ref), WEIR_OK);
  assert_int_equal(weir_cpu_create(2, NULL, &cpu), WEIR_OK);
  for (int i = 0; i < N_RANDOM; i++)
    values[i] = (double)(float)((i % 8 < 4 ? 1 : -1) * (1 + steps[i % 4] * 0x1p-7));
  values[0] = NAN;
  values[4] = -INFINITY;
  round_randomly(ref, values, 0, on_ref);
  round_randomly(cpu, values, 0, on_cpu);
  assert_memory_equal(on_ref, on_cpu, sizeof on_ref);
  round_randomly(cpu, values, 20000, tail); /* bits are those of the element, wherever it lies */
  assert_memory_equal(tail, on_cpu + 20000, (N_RANDOM - 20000) * sizeof *tail);

  double n_up[4] = {0};
  for (int i = 8; i < N_RANDOM; i++) {
    float found = fabsf(as_float((uint32_t)on_cpu[i] << 16));
    assert_true(found == 1 || found == 1 + 0x1p-7f);
    n_up[i % 4] += found > 1;
  }
  assert_true(isnan(as_float((uint32_t)on_cpu[0] << 16)));
  assert_true(as_float((uint32_t)on_cpu[4] << 16) == -INFINITY);
  assert_true(n_up[0] == 0);
  for (int k = 1; k < 4; k++) /* five deviations */
    assert_true(fabs(n_up[k] / (N_RANDOM / 4.0) - steps[k]) <= 5 * 0.5 / sqrt(N_RANDOM / 4.0));
  weir_cpu_destroy(cpu);
  weir_ref_destroy(ref);
}

/* ---- looking up in a table of bf16 ---- */

static void look_up(weir_device *device) {
  static const uint16_t table[] = {0x3f80, 0x4000, 0x4040, 0xc080, 0x3f81, 0x8000}; /* [2,3] */
  static const float expected[] = {-4, 1.0078125f, -0.0f, 1, 2, 3};
  static const int32_t ids[] = {1, 0};
  weir_arena arena;
  double found[6];
  assert_int_equal(weir_arena_init(&arena, "test", 4096), WEIR_OK);
  weir_tensor t = weir_tensor_allocate(&arena, WEIR_MEMORY_WEIGHTS, WEIR_DTYPE_BF16, 2, 3);
  weir_tensor i = weir_tensor_allocate(&arena, WEIR_MEMORY_DATA, WEIR_DTYPE_I32, 1, 2);
  weir_tensor x = weir_tensor_allocate(&arena, WEIR_MEMORY_HIDDEN, device->real, 2, 3);
  device->operations->write(device, t, table);
  device->operations->write(device, i, ids);
  device->operations->embedding_forward(device, x, t, i, false);
  weir_read_real(device, found, x);
  for (int k = 0; k < 6; k++)
    assert_true(same_bits((float)found[k], expected[k]));
  weir_arena_deinit(&arena);
}

static void embeddings_are_widened(void **state) {
  (void)state;
  weir_device *ref, *cpu;
  assert_int_equal(weir_ref_create(&ref), WEIR_OK);
  assert_int_equal(weir_cpu_create(2, NULL, &cpu), WEIR_OK);
  look_up(ref);
  look_up(cpu);
  weir_cpu_destroy(cpu);
  weir_ref_destroy(ref);
}

static void in_an_arena(weir_device *device) {
  weir_arena arena;
  assert_int_equal(weir_arena_init(&arena, "test", 16 << 20), WEIR_OK);
  round_on(device, &arena);
  weir_arena_deinit(&arena);
}

static void ref_rounds(void **state) {
  (void)state;
  weir_device *device;
  assert_int_equal(weir_ref_create(&device), WEIR_OK);
  in_an_arena(device);
  weir_ref_destroy(device);
}

/* From f64 in one step: by way of f32, 1 + 2^-8 + 2^-40 would become a tie. */
static void ref_rounds_once(void **state) {
  (void)state;
  weir_device *device;
  weir_arena arena;
  assert_int_equal(weir_ref_create(&device), WEIR_OK);
  assert_int_equal(weir_arena_init(&arena, "test", 4096), WEIR_OK);
  weir_tensor x = weir_tensor_allocate(&arena, WEIR_MEMORY_ACTIVATIONS, WEIR_DTYPE_F64, 1, 2);
  double values[] = {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8};
  device->operations->write(device, x, values);
  device->operations->round(device, x, x);
  device->operations->read(device, values, x);
  assert_true(values[0] == 1 + 0x1p-7);
  assert_true(values[1] == 1);
  weir_arena_deinit(&arena);
  weir_ref_destroy(device);
}

static void cpu_rounds(void **state) {
  weir_device *device;
  if (weir_cpu_create(2, *state, &device) != WEIR_OK) {
    printf("this processor has no %s\n", (const char *)*state);
    skip();
  }
  in_an_arena(device);
  weir_cpu_destroy(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ref_rounds),
      cmocka_unit_test(ref_rounds_once),
      cmocka_unit_test(random_rounding_is_fair),
      cmocka_unit_test(embeddings_are_widened),
      {"cpu_rounds_avx512", cpu_rounds, NULL, NULL, "avx512"},
      {"cpu_rounds_avx2", cpu_rounds, NULL, NULL, "avx2"},
      {"cpu_rounds_portable", cpu_rounds, NULL, NULL, "portable"},
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
