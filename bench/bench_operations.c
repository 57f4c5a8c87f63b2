/* SPDX-License-Identifier: Apache-2.0
 *
 * How fast the cpu device's products and attention run at the shapes of a 0.6B model, beside the
 * product library's own speed on one large product.  Each figure is the best of several rounds, and
 * every row takes its turn in every round, so that a busy machine slows both sides of a ratio.
 * "of plain" is by the clock; "per core" counts only the time this process was running, which other
 * processes disturb less (run with OMP_WAIT_POLICY=passive, or waiting counts as running).
 *
 * usage: bench_operations [threads [instruction set]] */
#include "device/cpu/cpu.h"

#include <dnnl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N_ROUNDS = 5 };
enum { D = 1024, H = 16, G = 8, K = 128, F = 3072, ROWS = 2048, MAX_TOKENS = 8192, CEILING = 2048 };

typedef struct bench {
  weir_device *device;
  weir_arena arena;
  weir_tensor a, b, c;             /* three matrices, each as large as any row needs */
  weir_tensor q, o, dout, dq, lse; /* [ROWS,H*K], [ROWS,H] */
  weir_tensor k, v, dk, dv;        /* [MAX_TOKENS,G*K] */
} bench;

/* Sizes mean what the row's function takes them for. */
typedef struct bench_row {
  const char *name;
  void (*run)(const bench *b, int64_t m, int64_t n);
  int64_t m, n;
  double flops, seconds, core_seconds; /* the best of each */
} bench_row;

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static weir_tensor matrix(weir_tensor memory, int64_t rows, int64_t cols) {
  WEIR_ASSERT(rows * cols, <=, weir_tensor_count(memory));
  memory.rows = rows;
  memory.cols = cols;
  return memory;
}

static void plain_product(const bench *b, int64_t n, int64_t unused) {
  (void)unused;
  omp_set_num_threads(b->device->n_threads);
  dnnl_sgemm('N', 'T', n, n, n, 1.0f, weir_tensor_data(b->a), n, weir_tensor_data(b->b), n, 0.0f,
             weir_tensor_data(b->c), n);
}

static void linear_forward(const bench *b, int64_t inputs, int64_t outputs) {
  b->device->operations->linear_forward(b->device, matrix(b->c, ROWS, outputs),
                                        matrix(b->a, ROWS, inputs), matrix(b->b, outputs, inputs),
                                        (weir_tensor){0}, false);
}

static void linear_backward_input(const bench *b, int64_t inputs, int64_t outputs) {
  b->device->operations->linear_backward_input(b->device, matrix(b->c, ROWS, inputs),
                                               matrix(b->a, ROWS, outputs),
                                               matrix(b->b, outputs, inputs), false);
}

static void linear_backward_weight(const bench *b, int64_t inputs, int64_t outputs) {
  b->device->operations->linear_backward_weight(b->device, matrix(b->c, outputs, inputs),
                                                (weir_tensor){0}, matrix(b->a, ROWS, outputs),
                                                matrix(b->b, ROWS, inputs));
}

/* The last `rows` queries of one sequence of n_tokens. */
static void attention_forward(const bench *b, int64_t n_tokens, int64_t rows) {
  const int64_t offsets[] = {0, n_tokens};
  const weir_sequences sequences = {n_tokens, 1, offsets};
  const weir_attention attention = {.n_heads = H,
                                    .n_kv_heads = G,
                                    .head_size = K,
                                    .scale = 0.088,
                                    .sequences = &sequences,
                                    .first_row = n_tokens - rows};
  b->device->operations->attention_forward(
      b->device, &attention, weir_tensor_rows(b->o, 0, rows), weir_tensor_rows(b->lse, 0, rows),
      weir_tensor_rows(b->q, 0, rows), weir_tensor_rows(b->k, 0, n_tokens),
      weir_tensor_rows(b->v, 0, n_tokens));
}

static void attention_backward(const bench *b, int64_t n_tokens, int64_t rows) {
  const int64_t offsets[] = {0, n_tokens};
  const weir_sequences sequences = {n_tokens, 1, offsets};
  const weir_attention attention = {.n_heads = H,
                                    .n_kv_heads = G,
                                    .head_size = K,
                                    .scale = 0.088,
                                    .sequences = &sequences,
                                    .first_row = n_tokens - rows};
  b->device->operations->attention_backward(
      b->device, &attention, weir_tensor_rows(b->dq, 0, rows), weir_tensor_rows(b->dk, 0, n_tokens),
      weir_tensor_rows(b->dv, 0, n_tokens), weir_tensor_rows(b->dout, 0, rows),
      weir_tensor_rows(b->q, 0, rows), weir_tensor_rows(b->k, 0, n_tokens),
      weir_tensor_rows(b->v, 0, n_tokens), weir_tensor_rows(b->o, 0, rows),
      weir_tensor_rows(b->lse, 0, rows));
}

/* Floating-point operations of `products` tile products over the causal pairs. */
static double attention_flops(int64_t n_tokens, int64_t rows, int products) {
  const int64_t offsets[] = {0, n_tokens};
  const weir_sequences sequences = {n_tokens, 1, offsets};
  return 2.0 * products * K * H *
         (double)weir_sequences_pairs(&sequences, n_tokens - rows, n_tokens, 0);
}

static weir_tensor random_matrix(bench *b, int64_t rows, int64_t cols) {
  weir_tensor tensor =
      weir_tensor_allocate(&b->arena, WEIR_MEMORY_ACTIVATIONS, WEIR_DTYPE_F32, rows, cols);
  float *values = weir_tensor_data(tensor);
  for (int64_t i = 0; i < rows * cols; i++)
    values[i] = (float)rand() / (float)RAND_MAX - 0.5f;
  return tensor;
}

static void prepare(bench *b, weir_device *device) {
  b->device = device;
  if (weir_arena_init(&b->arena, "bench", (uint64_t)1 << 29) != WEIR_OK) abort();
  device->workspace =
      weir_tensor_allocate(&b->arena, WEIR_MEMORY_WORKSPACE, WEIR_DTYPE_F32, device->n_threads,
                           WEIR_WORKSPACE_BYTES_PER_THREAD / (int64_t)sizeof(float));
  weir_tensor *all[] = {&b->a,  &b->b, &b->c, &b->q,  &b->o, &b->dout,
                        &b->dq, &b->k, &b->v, &b->dk, &b->dv};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    *all[i] = i < 3 ? random_matrix(b, ROWS, F)
                    : random_matrix(b, i < 7 ? ROWS : MAX_TOKENS, i < 7 ? H * K : G * K);
  b->lse = random_matrix(b, ROWS, H);
}

/* Runs the row once. */
static void measure(const bench *b, bench_row *row) {
  double start = now(CLOCK_MONOTONIC), core_start = now(CLOCK_PROCESS_CPUTIME_ID);
  row->run(b, row->m, row->n);
  double core_seconds = now(CLOCK_PROCESS_CPUTIME_ID) - core_start;
  double seconds = now(CLOCK_MONOTONIC) - start;
  if (seconds < row->seconds) row->seconds = seconds;
  if (core_seconds < row->core_seconds) row->core_seconds = core_seconds;
}

static void report(const bench_row *rows, int n_rows) {
  const bench_row *plain = &rows[0];
  printf("%-38s %9s %9s %9s %9s\n", "", "GFLOP/s", "of plain", "per core", "of plain");
  for (const bench_row *row = rows; row < rows + n_rows; row++) {
    double rate = row->flops / row->seconds, core_rate = row->flops / row->core_seconds;
    printf("%-24s %6lld %6lld %9.1f %9.3f %9.1f %9.3f\n", row->name, (long long)row->m,
           (long long)row->n, rate / 1e9, rate / (plain->flops / plain->seconds), core_rate / 1e9,
           core_rate / (plain->flops / plain->core_seconds));
  }
}

#define LINEAR(name, inputs, outputs)                                                              \
  { #name, name, inputs, outputs, 2.0 * ROWS *(inputs) * (outputs), 1e30, 1e30 }
#define ATTENTION(name, products, n_tokens, n_queries)                                             \
  { #name, name, n_tokens, n_queries, attention_flops(n_tokens, n_queries, products), 1e30, 1e30 }

int main(int argc, char **argv) {
  weir_device *device;
  if (weir_cpu_create(argc > 1 ? atoi(argv[1]) : omp_get_max_threads(), argc > 2 ? argv[2] : NULL,
                      &device) != WEIR_OK ||
      weir_cpu_warm_up(device) != WEIR_OK) {
    fprintf(stderr, "bench_operations: %s\n", weir_status_message());
    return 1;
  }
  bench_row rows[] = {
      {"plain product", plain_product, CEILING, CEILING, 2.0 * CEILING * CEILING * CEILING, 1e30,
       1e30},
      LINEAR(linear_forward, D, H * K),
      LINEAR(linear_forward, D, F),
      LINEAR(linear_forward, F, D),
      LINEAR(linear_backward_input, D, H * K),
      LINEAR(linear_backward_input, D, F),
      LINEAR(linear_backward_input, F, D),
      LINEAR(linear_backward_weight, D, H * K),
      LINEAR(linear_backward_weight, D, F),
      LINEAR(linear_backward_weight, F, D),
      ATTENTION(attention_forward, 2, 2048, 2048),
      ATTENTION(attention_backward, 5, 2048, 2048),
      ATTENTION(attention_forward, 2, MAX_TOKENS, 512),
      ATTENTION(attention_backward, 5, MAX_TOKENS, 512),
  };
  enum { N_ROWS = sizeof rows / sizeof *rows };
  bench b;
  prepare(&b, device);
  for (int round = 0; round < N_ROUNDS; round++) {
    for (int i = 0; i < N_ROWS; i++)
      measure(&b, &rows[i]);
  }
  printf("cpu device, %s, %d threads\n", weir_cpu_isa_name(device), device->n_threads);
  report(rows, N_ROWS);
  weir_arena_deinit(&b.arena);
  weir_cpu_destroy(device);
  return 0;
}
