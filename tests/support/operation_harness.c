/* SPDX-License-Identifier: Apache-2.0 */
#include "support/operation_harness.h"

#include "core/convert.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_BYTES = 64 << 20, GUARD_COUNT = 16, GUARD_VALUE = 0x5e /* also in bf16 */ };

/* The workspace begins as NaN: no operation may rely on what it finds there. */
void operation_bench_init(operation_bench *bench, weir_device *device) {
  bench->device = device;
  uint64_t workspace_bytes = (uint64_t)device->n_threads * WEIR_WORKSPACE_BYTES_PER_THREAD;
  WEIR_ASSERT(weir_arena_init(&bench->arena, "test", workspace_bytes + ARENA_BYTES), ==, WEIR_OK);
  device->workspace = weir_tensor_allocate(&bench->arena, WEIR_MEMORY_WORKSPACE, WEIR_DTYPE_F32, 1,
                                           (int64_t)workspace_bytes / 4);
  void *nans = malloc(workspace_bytes);
  memset(nans, 0xff, workspace_bytes);
  device->operations->write(device, device->workspace, nans);
  free(nans);
}

void operation_bench_deinit(operation_bench *bench) {
  bench->device->workspace = (weir_tensor){0};
  weir_arena_deinit(&bench->arena);
}

static int64_t count_of(const operation_operand *operand) {
  return operand->name ? operand->rows * operand->cols : 0;
}

/* Index of the operand whose memory operand i uses: its own, or that of its alias. */
static int owner_of(const operation_case *c, int i) {
  if (!c->operands[i].alias) return i;
  for (int k = 0; k < c->n_operands; k++)
    if (c->operands[k].name && strcmp(c->operands[k].name, c->operands[i].alias) == 0) return k;
  WEIR_ASSERT(i, <, 0);
  return i;
}

int64_t operation_value_count(const operation_case *c) {
  int64_t n = 0;
  for (int i = 0; i < c->n_operands; i++)
    n += count_of(&c->operands[i]);
  return n;
}

double *operation_operand_values(const operation_case *c, double *values, int i_operand) {
  for (int i = 0; i < i_operand; i++)
    values += count_of(&c->operands[i]);
  return values;
}

/* ---- numbers ---- */

/* Steele et al. 2014, SplitMix64. */
static uint64_t random_bits(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static double random_uniform(uint64_t *state) {
  return ((double)(random_bits(state) >> 11) + 0.5) * 0x1p-53;
}

static double random_normal(uint64_t *state) {
  double radius = sqrt(-2 * log(random_uniform(state)));
  return radius * cos(2 * M_PI * random_uniform(state));
}

static double draw(const operation_operand *operand, uint64_t *state) {
  switch (operand->fill) {
  case FILL_NORMAL:
    return random_normal(state);
  case FILL_UNSET:
    return NAN;
  case FILL_WEIGHT:
    return 1 + random_normal(state) / 4;
  case FILL_SQUARE:
    return pow(random_normal(state), 2);
  case FILL_LOGITS:
    return 4 * random_normal(state);
  case FILL_EQUAL:
    return 3;
  case FILL_SPARSE:
    return random_uniform(state) < 1. / 3 ? 0 : random_normal(state);
  case FILL_IDS:
    return (double)(random_bits(state) % (uint64_t)operand->bound);
  case FILL_TARGETS:
    return random_uniform(state) < 0.2 ? -1
                                       : (double)(random_bits(state) % (uint64_t)operand->bound);
  }
  return NAN;
}

static uint64_t seed_of(const char *name) {
  uint64_t seed = 42;
  for (; *name; name++)
    seed = seed * 31 + (unsigned char)*name;
  return seed;
}

/* ---- to the device and back ---- */

static weir_dtype dtype_of(const weir_device *device, operand_type type) {
  return type == OPERAND_REAL   ? device->real
         : type == OPERAND_F64  ? WEIR_DTYPE_F64
         : type == OPERAND_BF16 ? WEIR_DTYPE_BF16
                                : WEIR_DTYPE_I32;
}

void operation_store(weir_device *device, weir_tensor tensor, const double *values) {
  int64_t n = weir_tensor_count(tensor);
  void *host = malloc(weir_tensor_bytes(tensor) + 1);
  for (int64_t i = 0; i < n; i++) {
    if (tensor.dtype == WEIR_DTYPE_F32)
      ((float *)host)[i] = (float)values[i];
    else if (tensor.dtype == WEIR_DTYPE_F64)
      ((double *)host)[i] = values[i];
    else if (tensor.dtype == WEIR_DTYPE_BF16)
      ((uint16_t *)host)[i] = weir_bf16_from_f32((float)values[i]);
    else
      ((int32_t *)host)[i] = (int32_t)values[i];
  }
  device->operations->write(device, tensor, host);
  free(host);
}

void operation_load(weir_device *device, double *values, weir_tensor tensor) {
  int64_t n = weir_tensor_count(tensor);
  void *host = malloc(weir_tensor_bytes(tensor) + 1);
  device->operations->read(device, host, tensor);
  for (int64_t i = 0; i < n; i++) {
    if (tensor.dtype == WEIR_DTYPE_F32)
      values[i] = ((float *)host)[i];
    else if (tensor.dtype == WEIR_DTYPE_F64)
      values[i] = ((double *)host)[i];
    else if (tensor.dtype == WEIR_DTYPE_BF16)
      values[i] = (double)weir_f32_from_bf16(((uint16_t *)host)[i]);
    else
      values[i] = ((int32_t *)host)[i];
  }
  free(host);
}

/* The guard stands right behind the operand's last element, inside the same allocation. */
static void place_operand(operation_bench *bench, const operation_operand *operand,
                          weir_tensor *tensor, weir_tensor *guard) {
  weir_dtype dtype = dtype_of(bench->device, operand->type);
  int64_t n = count_of(operand);
  weir_tensor all =
      weir_tensor_allocate(&bench->arena, WEIR_MEMORY_ACTIVATIONS, dtype, n + GUARD_COUNT, 1);
  *tensor = weir_tensor_reshape(weir_tensor_rows(all, 0, n), operand->rows, operand->cols);
  *guard = weir_tensor_rows(all, n, n + GUARD_COUNT);
  double values[GUARD_COUNT];
  for (int i = 0; i < GUARD_COUNT; i++)
    values[i] = GUARD_VALUE;
  operation_store(bench->device, *guard, values);
}

void operation_place(operation_bench *bench, const operation_case *c, const double *values,
                     operation_placed *placed) {
  memset(placed, 0, sizeof *placed);
  placed->mark = weir_arena_mark_take(&bench->arena);
  for (int i = 0; i < c->n_operands; i++) {
    if (!c->operands[i].name || owner_of(c, i) != i) continue;
    place_operand(bench, &c->operands[i], &placed->tensors[i], &placed->guards[i]);
    operation_store(bench->device, placed->tensors[i],
                    operation_operand_values(c, (double *)values, i));
  }
  for (int i = 0; i < c->n_operands; i++)
    placed->tensors[i] = placed->tensors[owner_of(c, i)];
}

void operation_displace(operation_bench *bench, const operation_placed *placed) {
  weir_arena_release(&bench->arena, &placed->mark);
}

static double *collect(operation_bench *bench, const operation_case *c, operation_placed *placed) {
  double *values = malloc(((size_t)operation_value_count(c) + 1) * sizeof *values);
  for (int i = 0; i < c->n_operands; i++)
    if (c->operands[i].name)
      operation_load(bench->device, operation_operand_values(c, values, i), placed->tensors[i]);
  return values;
}

double *operation_values_create(const operation_case *c, operation_bench *ref, bool rounded) {
  double *values = malloc(((size_t)operation_value_count(c) + 1) * sizeof *values);
  uint64_t state = seed_of(c->name);
  double *next = values;
  for (int i = 0; i < c->n_operands; i++)
    for (int64_t k = 0; k < count_of(&c->operands[i]); k++) {
      double value = draw(&c->operands[i], &state);
      *next++ = rounded ? (float)value : value;
    }
  if (!c->operation->prepare) return values;

  operation_placed placed;
  operation_place(ref, c, values, &placed);
  c->operation->prepare(ref->device, c, placed.tensors);
  free(values);
  values = collect(ref, c, &placed);
  operation_displace(ref, &placed);
  for (int64_t i = 0; rounded && i < operation_value_count(c); i++)
    values[i] = (float)values[i];
  return values;
}

/* ---- running ---- */

static weir_tensor split(weir_tensor tensor, operand_split how, int64_t first_row, int64_t begin,
                         int64_t end) {
  if (!weir_tensor_exists(tensor)) return tensor;
  switch (how) {
  case SPLIT_NONE:
    return tensor;
  case SPLIT_ROWS:
    return weir_tensor_rows(tensor, begin, end);
  case SPLIT_COLS:
    tensor = weir_tensor_rows(weir_tensor_reshape(tensor, tensor.cols, 1), begin, end);
    return weir_tensor_reshape(tensor, 1, tensor.rows);
  case SPLIT_PREFIX:
    return weir_tensor_rows(tensor, 0, first_row + end);
  }
  return tensor;
}

static void run_chunks(weir_device *device, const operation_case *c, const weir_tensor *tensors,
                       int64_t chunk_rows) {
  for (int64_t begin = (c->n_rows - 1) / chunk_rows * chunk_rows; begin >= 0; begin -= chunk_rows) {
    int64_t end = begin + chunk_rows < c->n_rows ? begin + chunk_rows : c->n_rows;
    weir_tensor views[MAX_OPERANDS];
    for (int i = 0; i < c->n_operands; i++)
      views[i] = split(tensors[i], c->operands[i].split, c->first_row, begin, end);
    operation_case chunk = *c;
    chunk.first_row += begin;
    chunk.n_rows = end - begin;
    c->operation->run(device, &chunk, views);
  }
}

static bool is_written(const operation_case *c, int i) {
  for (int k = 0; k < c->n_operands; k++)
    if (c->operands[k].output && owner_of(c, k) == owner_of(c, i)) return true;
  return false;
}

static bool left_alone(operation_bench *bench, const operation_case *c, const double *before,
                       double *after, const operation_placed *placed) {
  for (int i = 0; i < c->n_operands; i++) {
    const operation_operand *operand = &c->operands[i];
    if (!operand->name) continue;
    const double *old = operation_operand_values(c, (double *)before, i);
    const double *now = operation_operand_values(c, after, i);
    if (!is_written(c, i) && memcmp(old, now, (size_t)count_of(operand) * sizeof *old) != 0) {
      printf("%s [%s]: wrote to its input %s\n", c->operation->name, c->name, operand->name);
      return false;
    }
    if (owner_of(c, i) != i) continue;
    double guard[GUARD_COUNT];
    operation_load(bench->device, guard, placed->guards[i]);
    for (int k = 0; k < GUARD_COUNT; k++)
      if (guard[k] != GUARD_VALUE) {
        printf("%s [%s]: wrote beyond %s\n", c->operation->name, c->name, operand->name);
        return false;
      }
  }
  return true;
}

double *operation_run(operation_bench *bench, const operation_case *c, const double *values,
                      int64_t chunk_rows) {
  operation_placed placed;
  operation_place(bench, c, values, &placed);
  if (chunk_rows && c->n_rows)
    run_chunks(bench->device, c, placed.tensors, chunk_rows);
  else
    c->operation->run(bench->device, c, placed.tensors);
  double *after = collect(bench, c, &placed);
  bool ok = left_alone(bench, c, values, after, &placed);
  operation_displace(bench, &placed);
  if (ok) return after;
  free(after);
  return NULL;
}

/* ---- judging ---- */

bool operation_values_agree(const double *got, const double *want, int64_t n, double tolerance,
                            double floor, double *error) {
  *error = INFINITY;
  if (n <= 0) return false;
  double got_error = 0, norm = 0, largest_error = 0, largest = 0;
  for (int64_t i = 0; i < n; i++) {
    if (!isfinite(got[i]) || !isfinite(want[i])) return false;
    got_error += (got[i] - want[i]) * (got[i] - want[i]);
    norm += want[i] * want[i];
    largest_error = fmax(largest_error, fabs(got[i] - want[i]));
    largest = fmax(largest, fabs(want[i]));
  }
  double bound = tolerance * (sqrt(norm) + floor * sqrt((double)n));
  double largest_bound = 10 * tolerance * (largest + floor);
  bool ok = sqrt(got_error) <= bound && largest_error <= largest_bound;
  *error = got_error == 0 ? 0 : fmax(sqrt(got_error) / bound, largest_error / largest_bound);
  return ok;
}

bool operation_outputs_agree(const operation_case *c, double *got, double *want, double tolerance,
                             double *worst) {
  bool ok = true;
  int n_compared = 0;
  for (int i = 0; i < c->n_operands; i++) {
    const operation_operand *operand = &c->operands[i];
    if (!operand->name || !operand->output) continue;
    double error;
    if (!operation_values_agree(operation_operand_values(c, got, i),
                                operation_operand_values(c, want, i), count_of(operand), tolerance,
                                c->operation->floor, &error)) {
      printf("%s [%s]: %s is off by %.3g times what is allowed\n", c->operation->name, c->name,
             operand->name, error);
      ok = false;
    }
    if (error > *worst) *worst = error;
    n_compared++;
  }
  return ok && n_compared > 0;
}

bool operation_check(const operation_case *c, operation_bench *bench, operation_bench *ref,
                     double *worst) {
  double *values = operation_values_create(c, ref, true);
  double *got = operation_run(bench, c, values, 0), *want = operation_run(ref, c, values, 0);
  bool ok = got && want && operation_outputs_agree(c, got, want, c->operation->tolerance, worst);
  free(values);
  free(got);
  free(want);
  return ok;
}

bool operation_check_bits(const operation_case *c, operation_bench *ref, const operation_way *ways,
                          int n_ways) {
  double *values = operation_values_create(c, ref, true);
  double *first = operation_run(ways[0].bench, c, values, ways[0].chunk_rows);
  size_t bytes = (size_t)operation_value_count(c) * sizeof *values;
  bool ok = first && bytes > 0 && n_ways > 1;
  for (int i = 1; i < n_ways && ok; i++) {
    double *other = operation_run(ways[i].bench, c, values, ways[i].chunk_rows);
    ok = other && memcmp(first, other, bytes) == 0;
    if (!ok)
      printf("%s [%s]: chunks of %lld rows on %d threads and of %lld on %d differ in bits\n",
             c->operation->name, c->name, (long long)ways[0].chunk_rows,
             ways[0].bench->device->n_threads, (long long)ways[i].chunk_rows,
             ways[i].bench->device->n_threads);
    free(other);
  }
  free(values);
  free(first);
  return ok;
}
