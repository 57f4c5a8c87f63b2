/* SPDX-License-Identifier: Apache-2.0
 *
 * A tensor is a place and a shape: (arena, offset, dtype, rows, cols), row-major, without gaps.
 *
 * Two dimensions are enough: tokens by features, or outputs by inputs.  A vector of n is [1, n];
 * heads are groups of columns.  Tensors are small values, passed by copy; they own nothing and are
 * valid while their arena has not been released below them.  Only devices look at the data. */
#ifndef WEIR_CORE_TENSOR_H
#define WEIR_CORE_TENSOR_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum weir_dtype {
  WEIR_DTYPE_F32,
  WEIR_DTYPE_F64,
  WEIR_DTYPE_BF16,
  WEIR_DTYPE_F16,
  WEIR_DTYPE_I32,
} weir_dtype;

typedef struct weir_tensor {
  weir_arena *arena; /* NULL: no tensor (an absent bias, say) */
  uint64_t offset_bytes;
  weir_dtype dtype;
  int64_t rows, cols;
} weir_tensor;

uint64_t weir_dtype_bytes(weir_dtype dtype);
const char *weir_dtype_name(weir_dtype dtype); /* "f32", ... */

/* Takes a tensor from the top of the arena; contents undefined. */
weir_tensor weir_tensor_allocate(weir_arena *arena, weir_memory_kind kind, weir_dtype dtype,
                                 int64_t rows, int64_t cols);

static inline bool weir_tensor_exists(weir_tensor tensor) {
  return tensor.arena != NULL;
}

static inline int64_t weir_tensor_count(weir_tensor tensor) {
  return tensor.rows * tensor.cols;
}

uint64_t weir_tensor_bytes(weir_tensor tensor);

/* Rows [begin, end) of the tensor: a view of the same memory.  An absent tensor stays absent. */
weir_tensor weir_tensor_rows(weir_tensor tensor, int64_t begin, int64_t end);

/* The same elements as rows x cols. */
weir_tensor weir_tensor_reshape(weir_tensor tensor, int64_t rows, int64_t cols);

/* The address, for devices on this machine; NULL for an absent tensor and in a dry arena. */
void *weir_tensor_data(weir_tensor tensor);

#endif
