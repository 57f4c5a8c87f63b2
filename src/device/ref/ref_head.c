/* SPDX-License-Identifier: Apache-2.0
 *
 * The head: softmax over the vocabulary, met one tile at a time, and what is read from it. */
#include "device/ref/ref_operations.h"

#include <math.h>

static void fold_row(double *statistics, const double *logits, int64_t n, int64_t first_class,
                     int64_t target) {
  if (first_class == 0) {
    statistics[WEIR_HEAD_MAX] = -INFINITY;
    statistics[WEIR_HEAD_SUM] = statistics[WEIR_HEAD_WEIGHTED] = statistics[WEIR_HEAD_TARGET] = 0;
  }
  double largest = statistics[WEIR_HEAD_MAX];
  for (int64_t j = 0; j < n; j++)
    largest = fmax(largest, logits[j]);
  double shrink = exp(statistics[WEIR_HEAD_MAX] - largest);
  statistics[WEIR_HEAD_MAX] = largest;
  statistics[WEIR_HEAD_SUM] *= shrink;
  statistics[WEIR_HEAD_WEIGHTED] *= shrink;
  for (int64_t j = 0; j < n; j++) {
    statistics[WEIR_HEAD_SUM] += exp(logits[j] - largest);
    statistics[WEIR_HEAD_WEIGHTED] += logits[j] * exp(logits[j] - largest);
    if (first_class + j == target) statistics[WEIR_HEAD_TARGET] = logits[j];
  }
}

static void head_tile(weir_device *device, weir_tensor statistics, weir_tensor logits,
                      weir_tensor targets, int64_t first_class) {
  int64_t R = logits.rows;
  REF_ASSERT_SHAPE(logits, device->real, R, logits.cols);
  REF_ASSERT_SHAPE(statistics, device->real, R, WEIR_HEAD_COLUMNS);
  REF_ASSERT_SHAPE(targets, WEIR_DTYPE_I32, 1, R);
  for (int64_t r = 0; r < R; r++)
    fold_row(ref_row(statistics, r), ref_row(logits, r), logits.cols, first_class,
             ref_ids(targets)[r]);
}

static double log_sum_exp(const double *statistics) {
  return statistics[WEIR_HEAD_MAX] + log(statistics[WEIR_HEAD_SUM]);
}

static void head_finish(weir_device *device, weir_tensor logprob, weir_tensor entropy,
                        weir_tensor correct, weir_tensor statistics, weir_tensor targets) {
  int64_t R = statistics.rows;
  REF_ASSERT_SHAPE(statistics, device->real, R, WEIR_HEAD_COLUMNS);
  REF_ASSERT_SHAPE(logprob, device->real, 1, R);
  REF_ASSERT_SHAPE(entropy, device->real, 1, R);
  REF_ASSERT_SHAPE(correct, device->real, 1, R);
  REF_ASSERT_SHAPE(targets, WEIR_DTYPE_I32, 1, R);
  for (int64_t r = 0; r < R; r++) {
    const double *s = ref_row(statistics, r);
    bool has_target = ref_ids(targets)[r] >= 0;
    double mean_logit = s[WEIR_HEAD_WEIGHTED] / s[WEIR_HEAD_SUM];
    ref_vector(logprob)[r] = has_target ? s[WEIR_HEAD_TARGET] - log_sum_exp(s) : 0;
    ref_vector(entropy)[r] = has_target ? log_sum_exp(s) - mean_logit : 0;
    ref_vector(correct)[r] = has_target && s[WEIR_HEAD_TARGET] >= s[WEIR_HEAD_MAX];
  }
}

static void softcap(weir_device *device, weir_tensor x, double cap) {
  REF_ASSERT_SHAPE(x, device->real, x.rows, x.cols);
  WEIR_ASSERT(cap > 0, ==, true);
  for (int64_t i = 0; i < weir_tensor_count(x); i++)
    ref_vector(x)[i] = cap * tanh(ref_vector(x)[i] / cap);
}

static void head_gradient(weir_device *device, weir_tensor logits, weir_tensor statistics,
                          weir_tensor targets, weir_tensor weights, int64_t first_class,
                          double cap) {
  int64_t R = logits.rows;
  REF_ASSERT_SHAPE(logits, device->real, R, logits.cols);
  REF_ASSERT_SHAPE(statistics, device->real, R, WEIR_HEAD_COLUMNS);
  REF_ASSERT_SHAPE(targets, WEIR_DTYPE_I32, 1, R);
  REF_ASSERT_SHAPE(weights, WEIR_DTYPE_F64, 1, R);
  for (int64_t r = 0; r < R; r++) {
    int64_t target = ref_ids(targets)[r];
    double weight = target >= 0 ? ref_vector(weights)[r] : 0;
    double lse = log_sum_exp(ref_row(statistics, r)), *row = ref_row(logits, r);
    for (int64_t j = 0; j < logits.cols; j++) {
      double slope = cap > 0 ? 1 - row[j] / cap * (row[j] / cap) : 1;
      row[j] = slope * weight * ((first_class + j == target) - exp(row[j] - lse));
    }
  }
}

static void token_sums(weir_device *device, weir_tensor sums, weir_tensor logprob,
                       weir_tensor entropy, weir_tensor correct, weir_tensor weights) {
  int64_t T = weights.cols;
  REF_ASSERT_SHAPE(sums, WEIR_DTYPE_F64, 1, WEIR_SUM_COUNT);
  REF_ASSERT_SHAPE(logprob, device->real, 1, T);
  REF_ASSERT_SHAPE(entropy, device->real, 1, T);
  REF_ASSERT_SHAPE(correct, device->real, 1, T);
  REF_ASSERT_SHAPE(weights, WEIR_DTYPE_F64, 1, T);
  double *sum = ref_vector(sums);
  for (int64_t t = 0; t < T; t++) {
    double weight = ref_vector(weights)[t];
    if (weight == 0) continue;
    sum[WEIR_SUM_LOSS] += weight * ref_vector(logprob)[t];
    sum[WEIR_SUM_CORRECT] += ref_vector(correct)[t];
    sum[WEIR_SUM_ENTROPY] += ref_vector(entropy)[t];
    sum[WEIR_SUM_ROWS] += 1;
  }
}

void weir_ref_operations_head(weir_device_operations *operations) {
  operations->softcap = softcap;
  operations->head_tile = head_tile;
  operations->head_finish = head_finish;
  operations->head_gradient = head_gradient;
  operations->token_sums = token_sums;
}
