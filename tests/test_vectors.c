/* SPDX-License-Identifier: Apache-2.0
 *
 * What PyTorch computes, on every device: AdamW over a thousand steps, attention under an arbitrary
 * mask, RoPE.  The expected values are f32, so f32 rounding bounds the comparison on ref too. */
#include "device/cpu/cpu.h"
#include "device/ref/ref.h"
#include "support/fixture.h"
#include "support/operation_harness.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct vectors {
  json_t *root, *inputs, *expected;
} vectors;

static vectors vectors_open(const char *name) {
  char path[FIXTURE_PATH_BYTES];
  fixture_path(path, "vectors/pytorch-operations.json");
  vectors v = {.root = json_load_file(path, 0, NULL)};
  assert_non_null(v.root);
  json_t *vector = json_object_get(json_object_get(v.root, "vectors"), name);
  v.inputs = json_object_get(vector, "inputs");
  json_t *array = json_object_get(json_object_get(vector, "expected"), "array");
  v.expected = json_object_get(array, "data");
  assert_non_null(v.inputs);
  assert_non_null(v.expected);
  return v;
}

/* n numbers or truth values; free() them. */
static double *numbers(json_t *array, size_t n) {
  assert_int_equal(json_array_size(array), n);
  double *values = malloc(n * sizeof *values);
  for (size_t i = 0; i < n; i++) {
    json_t *value = json_array_get(array, i);
    assert_true(json_is_number(value) || json_is_boolean(value));
    values[i] = json_is_number(value) ? json_number_value(value) : json_is_true(value);
  }
  return values;
}

static void assert_agree(const double *got, json_t *expected, int64_t n, double tolerance) {
  double error, *want = numbers(expected, (size_t)n);
  if (!operation_values_agree(got, want, n, tolerance, 0, &error))
    fail_msg("off by %g times what is allowed", error);
  free(want);
}

static weir_tensor tensor(operation_bench *bench, int64_t rows, int64_t cols) {
  weir_tensor made =
      weir_tensor_allocate(&bench->arena, WEIR_MEMORY_ACTIVATIONS, bench->device->real, rows, cols);
  bench->device->operations->zero(bench->device, made);
  return made;
}

/* A linear map learns (x0 + x1, -x2) from one random point a step; the loss is the squared error,
 * so dy = 2 (W x - y). */
static void test_adamw(void **state) {
  operation_bench *bench = *state;
  weir_device *device = bench->device;
  const weir_device_operations *operations = device->operations;
  vectors v = vectors_open("adamw_1000_steps_linear");
  double *start = numbers(json_object_get(v.inputs, "w0"), 6), one = 1;
  weir_arena_mark mark = weir_arena_mark_take(&bench->arena);
  weir_tensor w = tensor(bench, 2, 3), first = tensor(bench, 2, 3), second = tensor(bench, 2, 3);
  weir_tensor dw = tensor(bench, 2, 3), dy = tensor(bench, 1, 2), x = tensor(bench, 1, 3);
  weir_tensor residual = tensor(bench, 1, 2);
  weir_tensor factor =
      weir_tensor_allocate(&bench->arena, WEIR_MEMORY_VECTORS, WEIR_DTYPE_F64, 1, 1);
  operation_store(device, w, start);
  operation_store(device, factor, &one);
  weir_adamw adamw = {
      .learning_rate = json_number_value(json_object_get(v.inputs, "lr")),
      .weight_decay = json_number_value(json_object_get(v.inputs, "weight_decay")),
      .beta1 = json_number_value(json_array_get(json_object_get(v.inputs, "betas"), 0)),
      .beta2 = json_number_value(json_array_get(json_object_get(v.inputs, "betas"), 1)),
      .epsilon = json_number_value(json_object_get(v.inputs, "eps")),
  };
  json_t *points = json_object_get(v.inputs, "x");
  assert_int_equal(json_array_size(points), 1000);
  for (size_t i = 0; i < json_array_size(points); i++) {
    double *point = numbers(json_array_get(points, i), 3);
    operation_store(device, x, point);
    operation_store(device, residual, (double[]){-point[0] - point[1], point[2]});
    operations->linear_forward(device, residual, x, w, (weir_tensor){0}, true);
    operations->copy(device, dy, residual);
    operations->add(device, dy, residual);
    operations->zero(device, dw);
    operations->linear_backward_weight(device, dw, (weir_tensor){0}, dy, x);
    adamw.step = (int64_t)i + 1;
    operations->adamw(device, &adamw, w, first, second, dw, factor);
    free(point);
  }
  double got[6];
  operation_load(device, got, w);
  assert_agree(got, v.expected, 6, 1e-5);
  weir_arena_release(&bench->arena, &mark);
  free(start);
  json_decref(v.root);
}

enum { N_HEADS = 4, N_QUERIES = 12, N_KEYS = 16, HEAD_SIZE = 64 };

/* One query that sees the keys its row of the mask allows: as the last token of a sequence of just
 * those keys. */
static void attend(operation_bench *bench, const double *q, const double *k, const double *v,
                   const double *mask, double *o) {
  double keys[N_KEYS * HEAD_SIZE], values[N_KEYS * HEAD_SIZE];
  int64_t n = 0;
  for (int j = 0; j < N_KEYS; j++) {
    if (mask[j] == 0) continue;
    for (int i = 0; i < HEAD_SIZE; i++) {
      keys[n * HEAD_SIZE + i] = k[j * HEAD_SIZE + i];
      values[n * HEAD_SIZE + i] = v[j * HEAD_SIZE + i];
    }
    n++;
  }
  assert_true(n > 0);
  const int64_t offsets[] = {0, n};
  const weir_sequences sequences = {.n_tokens = n, .n_sequences = 1, .offsets = offsets};
  const weir_attention attention = {.n_heads = 1,
                                    .n_kv_heads = 1,
                                    .head_size = HEAD_SIZE,
                                    .scale = 1 / sqrt(HEAD_SIZE),
                                    .sequences = &sequences,
                                    .first_row = n - 1};
  weir_arena_mark mark_before = weir_arena_mark_take(&bench->arena);
  weir_tensor query = tensor(bench, 1, HEAD_SIZE), key = tensor(bench, n, HEAD_SIZE);
  weir_tensor value = tensor(bench, n, HEAD_SIZE), out = tensor(bench, 1, HEAD_SIZE);
  operation_store(bench->device, query, q);
  operation_store(bench->device, key, keys);
  operation_store(bench->device, value, values);
  bench->device->operations->attention_forward(bench->device, &attention, out, tensor(bench, 1, 1),
                                               query, key, value);
  operation_load(bench->device, o, out);
  weir_arena_release(&bench->arena, &mark_before);
}

static void test_attention(void **state) {
  operation_bench *bench = *state;
  vectors all = vectors_open("sdpa_masked");
  double *q = numbers(json_object_get(all.inputs, "q"), N_HEADS * N_QUERIES * HEAD_SIZE);
  double *k = numbers(json_object_get(all.inputs, "k"), N_HEADS * N_KEYS * HEAD_SIZE);
  double *v = numbers(json_object_get(all.inputs, "v"), N_HEADS * N_KEYS * HEAD_SIZE);
  double *mask = numbers(json_object_get(all.inputs, "mask"), N_HEADS * N_QUERIES * N_KEYS);
  double got[N_HEADS * N_QUERIES * HEAD_SIZE];
  for (int row = 0; row < N_HEADS * N_QUERIES; row++) {
    int first_key = row / N_QUERIES * N_KEYS * HEAD_SIZE;
    attend(bench, q + row * HEAD_SIZE, k + first_key, v + first_key, mask + row * N_KEYS,
           got + row * HEAD_SIZE);
  }
  assert_agree(got, all.expected, N_HEADS * N_QUERIES * HEAD_SIZE, 1e-6);
  free(q);
  free(k);
  free(v);
  free(mask);
  json_decref(all.root);
}

/* Column of the half-split form that column i of the interleaved form is. */
static int half_split(int i) {
  return i / 2 + i % 2 * HEAD_SIZE / 2;
}

static void test_rope(void **state) {
  operation_bench *bench = *state;
  weir_device *device = bench->device;
  enum { N_ROWS = N_HEADS * N_QUERIES, N_VALUES = N_ROWS * HEAD_SIZE };
  static const int64_t offsets[] = {0, 12, 24, 36, 48};
  const weir_sequences sequences = {.n_tokens = N_ROWS, .n_sequences = 4, .offsets = offsets};
  vectors v = vectors_open("rope_interleaved");
  double theta = json_number_value(json_object_get(v.inputs, "theta"));
  double *in = numbers(json_object_get(v.inputs, "x"), N_VALUES);
  double turned[N_VALUES], got[N_VALUES], frequencies[HEAD_SIZE / 2];
  for (int j = 0; j < HEAD_SIZE / 2; j++)
    frequencies[j] = pow(theta, -2. * j / HEAD_SIZE);
  for (int i = 0; i < N_VALUES; i++)
    turned[i / HEAD_SIZE * HEAD_SIZE + half_split(i % HEAD_SIZE)] = in[i];
  weir_rope rope = {.inverse_frequencies = frequencies, .scale = 1};
  weir_arena_mark mark = weir_arena_mark_take(&bench->arena);
  weir_tensor x = tensor(bench, N_ROWS, HEAD_SIZE);
  operation_store(device, x, turned);
  device->operations->rope(device, x, HEAD_SIZE, &rope, &sequences, 0, 1);
  operation_load(device, turned, x);
  weir_arena_release(&bench->arena, &mark);
  for (int i = 0; i < N_VALUES; i++)
    got[i] = turned[i / HEAD_SIZE * HEAD_SIZE + half_split(i % HEAD_SIZE)];
  assert_agree(got, v.expected, N_VALUES, 1e-6);
  free(in);
  json_decref(v.root);
}

int main(void) {
  weir_device *ref, *cpu;
  if (weir_ref_create(&ref) != WEIR_OK || weir_cpu_create(1, NULL, &cpu) != WEIR_OK) return 1;
  operation_bench benches[2];
  operation_bench_init(&benches[0], ref);
  operation_bench_init(&benches[1], cpu);
  const struct CMUnitTest tests[] = {
      {"pytorch_adamw_ref", test_adamw, NULL, NULL, &benches[0]},
      {"pytorch_adamw_cpu", test_adamw, NULL, NULL, &benches[1]},
      {"pytorch_attention_ref", test_attention, NULL, NULL, &benches[0]},
      {"pytorch_attention_cpu", test_attention, NULL, NULL, &benches[1]},
      {"pytorch_rope_ref", test_rope, NULL, NULL, &benches[0]},
      {"pytorch_rope_cpu", test_rope, NULL, NULL, &benches[1]},
  };
  int n_failed = cmocka_run_group_tests_name("vectors", tests, NULL, NULL);
  operation_bench_deinit(&benches[0]);
  operation_bench_deinit(&benches[1]);
  weir_ref_destroy(ref);
  weir_cpu_destroy(cpu);
  return n_failed;
}
