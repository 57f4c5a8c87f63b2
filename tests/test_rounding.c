/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounding to bf16 on every device: all its numbers, and what lies between neighbours.  The judge
 * is arithmetic: the nearer of the two neighbours, at a tie the even one. */
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
      {"cpu_rounds_avx512", cpu_rounds, NULL, NULL, "avx512"},
      {"cpu_rounds_avx2", cpu_rounds, NULL, NULL, "avx2"},
      {"cpu_rounds_portable", cpu_rounds, NULL, NULL, "portable"},
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
