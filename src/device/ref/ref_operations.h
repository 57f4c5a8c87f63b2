/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the reference device share: each fills its part of the operation table. */
#ifndef WEIR_DEVICE_REF_REF_OPERATIONS_H
#define WEIR_DEVICE_REF_REF_OPERATIONS_H

#include "core/device.h"

void weir_ref_operations_memory(weir_device_operations *operations);
void weir_ref_operations_embedding(weir_device_operations *operations);
void weir_ref_operations_norm(weir_device_operations *operations);
void weir_ref_operations_linear(weir_device_operations *operations);
void weir_ref_operations_attention(weir_device_operations *operations);
void weir_ref_operations_activation(weir_device_operations *operations);
void weir_ref_operations_head(weir_device_operations *operations);
void weir_ref_operations_optimizer(weir_device_operations *operations);

#define REF_ASSERT_SHAPE(tensor, element, n_rows, n_cols)                                          \
  do {                                                                                             \
    WEIR_ASSERT((tensor).dtype, ==, (element));                                                    \
    WEIR_ASSERT((tensor).rows, ==, (n_rows));                                                      \
    WEIR_ASSERT((tensor).cols, ==, (n_cols));                                                      \
  } while (0)

/* Row `row` of an f64 tensor. */
static inline double *ref_row(weir_tensor tensor, int64_t row) {
  return (double *)weir_tensor_data(tensor) + row * tensor.cols;
}

/* All elements of a vector; NULL where it is absent. */
static inline double *ref_vector(weir_tensor tensor) {
  return weir_tensor_data(tensor);
}

static inline const int32_t *ref_ids(weir_tensor tensor) {
  return weir_tensor_data(tensor);
}

/* The i-th row that a sum over n rows adds: blocks last first, rows of a block in rising order. */
static inline int64_t ref_row_in_sum_order(int64_t i, int64_t n_rows) {
  int64_t last_block = (n_rows - 1) / WEIR_BLOCK_ROWS * WEIR_BLOCK_ROWS;
  int64_t n_last = n_rows - last_block;
  if (i < n_last) return last_block + i;
  int64_t n_full = (i - n_last) / WEIR_BLOCK_ROWS + 1;
  return last_block - n_full * WEIR_BLOCK_ROWS + (i - n_last) % WEIR_BLOCK_ROWS;
}

static inline double ref_dot(const double *a, const double *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += a[i] * b[i];
  return sum;
}

/* to += factor * from */
static inline void ref_add_scaled(double *to, double factor, const double *from, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    to[i] += factor * from[i];
}

#endif
