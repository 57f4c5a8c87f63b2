/* SPDX-License-Identifier: Apache-2.0
 *
 * I4 at the widths of real models, where the product library has several kernels to choose from:
 * products and attention give the same bits whatever the threads, the chunks and the addresses. */
#include "device/cpu/cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { T = 600, D = 1024, F = 1536, H = 4, G = 2, K = 128, N_TENSORS = 16 };

static const int64_t offsets[] = {0, 290, 300, T};
static const weir_sequences sequences = {T, 3, offsets};

typedef struct setting {
  int n_threads;
  int64_t chunk_rows, shift; /* a gap of `shift` elements before every tensor */
} setting;

typedef struct workplace {
  weir_device *device;
  int64_t window;
  weir_arena arena;
  weir_tensor x, y, w, b, q, k, v, dout, o, lse; /* o and lse are outputs of forward */
  weir_tensor dx, dw, db, dq, dk, dv;
} workplace;

/* The same numbers for the same seed, in [-1, 1). */
static weir_tensor random_tensor(weir_arena *arena, int64_t rows, int64_t cols, int64_t shift,
                                 uint64_t seed) {
  weir_tensor_allocate(arena, WEIR_MEMORY_ACTIVATIONS, WEIR_DTYPE_F32, 1, shift);
  weir_tensor tensor =
      weir_tensor_allocate(arena, WEIR_MEMORY_ACTIVATIONS, WEIR_DTYPE_F32, rows, cols);
  float *values = weir_tensor_data(tensor);
  for (int64_t i = 0; i < rows * cols; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    values[i] = (float)((int64_t)(seed >> 40) - (1 << 23)) / (1 << 23);
  }
  return tensor;
}

static void fill(workplace *p, int64_t shift) {
  const struct {
    weir_tensor *tensor;
    int64_t rows, cols;
  } shapes[N_TENSORS] = {
      {&p->x, T, D},     {&p->y, T, F},      {&p->w, F, D},      {&p->b, 1, F},
      {&p->q, T, H * K}, {&p->k, T, G * K},  {&p->v, T, G * K},  {&p->dout, T, H * K},
      {&p->o, T, H * K}, {&p->lse, T, H},    {&p->dx, T, D},     {&p->dw, F, D},
      {&p->db, 1, F},    {&p->dq, T, H * K}, {&p->dk, T, G * K}, {&p->dv, T, G * K},
  };
  for (int i = 0; i < N_TENSORS; i++)
    *shapes[i].tensor =
        random_tensor(&p->arena, shapes[i].rows, shapes[i].cols, shift, (uint64_t)i + 1);
}

static weir_attention attention_at(const workplace *p, int64_t begin) {
  return (weir_attention){.n_heads = H,
                          .n_kv_heads = G,
                          .head_size = K,
                          .scale = 0.1,
                          .sequences = &sequences,
                          .first_row = begin,
                          .window = p->window};
}

static void forward(const workplace *p, int64_t begin, int64_t end) {
  const weir_device_operations *run = p->device->operations;
  const weir_attention attention = attention_at(p, begin);
  run->linear_forward(p->device, weir_tensor_rows(p->y, begin, end),
                      weir_tensor_rows(p->x, begin, end), p->w, p->b, true);
  run->attention_forward(p->device, &attention, weir_tensor_rows(p->o, begin, end),
                         weir_tensor_rows(p->lse, begin, end), weir_tensor_rows(p->q, begin, end),
                         weir_tensor_rows(p->k, 0, end), weir_tensor_rows(p->v, 0, end));
}

static void backward(const workplace *p, int64_t begin, int64_t end) {
  const weir_device_operations *run = p->device->operations;
  const weir_attention attention = attention_at(p, begin);
  weir_tensor y = weir_tensor_rows(p->y, begin, end);
  run->linear_backward_weight(p->device, p->dw, p->db, y, weir_tensor_rows(p->x, begin, end));
  run->linear_backward_input(p->device, weir_tensor_rows(p->dx, begin, end), y, p->w, false);
  run->attention_backward(p->device, &attention, weir_tensor_rows(p->dq, begin, end),
                          weir_tensor_rows(p->dk, 0, end), weir_tensor_rows(p->dv, 0, end),
                          weir_tensor_rows(p->dout, begin, end), weir_tensor_rows(p->q, begin, end),
                          weir_tensor_rows(p->k, 0, end), weir_tensor_rows(p->v, 0, end),
                          weir_tensor_rows(p->o, begin, end), weir_tensor_rows(p->lse, begin, end));
}

/* All outputs of a pass in both directions, one after the other; free() them. */
static uint8_t *outputs_of(const setting *s, int64_t window, size_t *n_bytes) {
  workplace p = {.window = window};
  assert_int_equal(weir_cpu_create(s->n_threads, NULL, &p.device), WEIR_OK);
  assert_int_equal(weir_arena_init(&p.arena, "test", 96 << 20), WEIR_OK);
  p.device->workspace =
      weir_tensor_allocate(&p.arena, WEIR_MEMORY_WORKSPACE, WEIR_DTYPE_F32, s->n_threads,
                           WEIR_WORKSPACE_BYTES_PER_THREAD / (int64_t)sizeof(float));
  fill(&p, s->shift);
  for (int64_t begin = 0; begin < T; begin += s->chunk_rows)
    forward(&p, begin, begin + s->chunk_rows < T ? begin + s->chunk_rows : T);
  for (int64_t begin = (T - 1) / s->chunk_rows * s->chunk_rows; begin >= 0; begin -= s->chunk_rows)
    backward(&p, begin, begin + s->chunk_rows < T ? begin + s->chunk_rows : T);

  const weir_tensor outputs[] = {p.y, p.o, p.lse, p.dx, p.dw, p.db, p.dq, p.dk, p.dv};
  uint8_t *bytes = malloc(p.arena.used_bytes);
  *n_bytes = 0;
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
    memcpy(bytes + *n_bytes, weir_tensor_data(outputs[i]), weir_tensor_bytes(outputs[i]));
    *n_bytes += weir_tensor_bytes(outputs[i]);
  }
  weir_arena_deinit(&p.arena);
  weir_cpu_destroy(p.device);
  return bytes;
}

static void test_bits(void **state) {
  const int64_t window = *(const int64_t *)*state;
  /* More threads than K/V heads among them: dK, dV and dQ then come from separate passes. */
  static const setting settings[] = {
      {1, T, 0}, {2, T, 0}, {1, 256, 5}, {2, 512, 100}, {3, 256, 17}};
  size_t n_want, n_got;
  uint8_t *want = outputs_of(&settings[0], window, &n_want);
  for (size_t i = 1; i < sizeof settings / sizeof *settings; i++) {
    uint8_t *got = outputs_of(&settings[i], window, &n_got);
    assert_int_equal(n_got, n_want);
    assert_true(n_want > 0);
    if (memcmp(got, want, n_want) != 0)
      fail_msg("other bits with %d threads, chunks of %lld rows, %lld elements further on",
               settings[i].n_threads, (long long)settings[i].chunk_rows,
               (long long)settings[i].shift);
    free(got);
  }
  free(want);
}

int main(void) {
  static int64_t windows[] = {0, 130};
  const struct CMUnitTest tests[] = {
      {"test_bits", test_bits, NULL, NULL, &windows[0]},
      {"test_bits_with_windows", test_bits, NULL, NULL, &windows[1]},
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
