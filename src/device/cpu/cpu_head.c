/* SPDX-License-Identifier: Apache-2.0
 *
 * The head: softmax over the vocabulary, met one tile at a time, and what is read from it. */
#include "device/cpu/cpu_operations.h"

#include <math.h>

static void head_tile(weir_device *device, weir_tensor statistics, weir_tensor logits,
                      weir_tensor targets, int64_t first_class) {
  int64_t R = logits.rows, n = logits.cols;
  CPU_ASSERT_SHAPE(logits, device->real, R, n);
  CPU_ASSERT_SHAPE(statistics, device->real, R, WEIR_HEAD_COLUMNS);
  CPU_ASSERT_SHAPE(targets, WEIR_DTYPE_I32, 1, R);
  const weir_cpu_kernels *kernels = cpu_kernels(device);
#pragma omp parallel for num_threads(device->n_threads) if (R * n > CPU_PARALLEL_ELEMENTS)
  for (int64_t r = 0; r < R; r++) {
    float *row = cpu_row(statistics, r);
    if (first_class == 0) {
      row[WEIR_HEAD_MAX] = -INFINITY;
      row[WEIR_HEAD_SUM] = row[WEIR_HEAD_WEIGHTED] = row[WEIR_HEAD_TARGET] = 0;
    }
    kernels->head_tile(row, cpu_row(logits, r), n);
    int64_t target = cpu_ids(targets)[r] - first_class;
    if (cpu_ids(targets)[r] >= 0 && target >= 0 && target < n)
      row[WEIR_HEAD_TARGET] = cpu_row(logits, r)[target];
  }
}

static void head_finish(weir_device *device, weir_tensor logprob, weir_tensor entropy,
                        weir_tensor correct, weir_tensor statistics, weir_tensor targets) {
  int64_t R = statistics.rows;
  CPU_ASSERT_SHAPE(statistics, device->real, R, WEIR_HEAD_COLUMNS);
  CPU_ASSERT_SHAPE(logprob, device->real, 1, R);
  CPU_ASSERT_SHAPE(entropy, device->real, 1, R);
  CPU_ASSERT_SHAPE(correct, device->real, 1, R);
  CPU_ASSERT_SHAPE(targets, WEIR_DTYPE_I32, 1, R);
  for (int64_t r = 0; r < R; r++) {
    const float *s = cpu_row(statistics, r);
    bool has_target = cpu_ids(targets)[r] >= 0;
    double largest = s[WEIR_HEAD_MAX], sum = s[WEIR_HEAD_SUM], log_sum = log(sum);
    double logit = s[WEIR_HEAD_TARGET], mean_logit = s[WEIR_HEAD_WEIGHTED] / sum;
    cpu_vector(logprob)[r] = has_target ? (float)(logit - largest - log_sum) : 0;
    cpu_vector(entropy)[r] = has_target ? (float)(largest - mean_logit + log_sum) : 0;
    cpu_vector(correct)[r] = has_target && logit >= largest;
  }
}

static void softcap(weir_device *device, weir_tensor x, double cap) {
  CPU_ASSERT_SHAPE(x, device->real, x.rows, x.cols);
  WEIR_ASSERT(cap > 0, ==, true);
  const weir_cpu_kernels *kernels = cpu_kernels(device);
  int64_t n = weir_tensor_count(x);
#pragma omp parallel for num_threads(device->n_threads) if (n > CPU_PARALLEL_ELEMENTS)
  for (int64_t i = 0; i < n; i += CPU_RUN_ELEMENTS)
    kernels->softcap(cpu_vector(x) + i, (float)cap, cpu_min(CPU_RUN_ELEMENTS, n - i));
}

/* The derivative of a capped value, which the value itself says. */
static float softcap_slope(float capped, double cap) {
  double t = capped / cap;
  return cap > 0 ? (float)(1 - t * t) : 1;
}

static void head_gradient(weir_device *device, weir_tensor logits, weir_tensor statistics,
                          weir_tensor targets, weir_tensor weights, int64_t first_class,
                          double cap) {
  int64_t R = logits.rows, n = logits.cols;
  CPU_ASSERT_SHAPE(logits, device->real, R, n);
  CPU_ASSERT_SHAPE(statistics, device->real, R, WEIR_HEAD_COLUMNS);
  CPU_ASSERT_SHAPE(targets, WEIR_DTYPE_I32, 1, R);
  CPU_ASSERT_SHAPE(weights, WEIR_DTYPE_F64, 1, R);
  const weir_cpu_kernels *kernels = cpu_kernels(device);
  const double *weight_of = weir_tensor_data(weights);
#pragma omp parallel for num_threads(device->n_threads) if (R * n > CPU_PARALLEL_ELEMENTS)
  for (int64_t r = 0; r < R; r++) {
    bool has_target = cpu_ids(targets)[r] >= 0;
    float *row = cpu_row(logits, r);
    float weight = has_target ? (float)weight_of[r] : 0;
    int64_t target = cpu_ids(targets)[r] - first_class;
    bool here = has_target && target >= 0 && target < n;
    float one_hot = here ? weight * softcap_slope(row[target], cap) : 0;
    kernels->head_gradient(row, cpu_row(statistics, r), weight, (float)cap, n);
    if (here) row[target] += one_hot;
  }
}

static void token_sums(weir_device *device, weir_tensor sums, weir_tensor logprob,
                       weir_tensor entropy, weir_tensor correct, weir_tensor weights) {
  int64_t T = weights.cols;
  CPU_ASSERT_SHAPE(sums, WEIR_DTYPE_F64, 1, WEIR_SUM_COUNT);
  CPU_ASSERT_SHAPE(logprob, device->real, 1, T);
  CPU_ASSERT_SHAPE(entropy, device->real, 1, T);
  CPU_ASSERT_SHAPE(correct, device->real, 1, T);
  CPU_ASSERT_SHAPE(weights, WEIR_DTYPE_F64, 1, T);
  double *sum = weir_tensor_data(sums);
  const double *weight_of = weir_tensor_data(weights);
  for (int64_t t = 0; t < T; t++) {
    double weight = weight_of[t];
    if (weight == 0) continue;
    sum[WEIR_SUM_LOSS] += weight * cpu_vector(logprob)[t];
    sum[WEIR_SUM_CORRECT] += cpu_vector(correct)[t];
    sum[WEIR_SUM_ENTROPY] += cpu_vector(entropy)[t];
    sum[WEIR_SUM_ROWS] += 1;
  }
}

void weir_cpu_operations_head(weir_device_operations *operations) {
  operations->softcap = softcap;
  operations->head_tile = head_tile;
  operations->head_finish = head_finish;
  operations->head_gradient = head_gradient;
  operations->token_sums = token_sums;
}
