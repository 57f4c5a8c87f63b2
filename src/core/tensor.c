/* SPDX-License-Identifier: Apache-2.0 */
#include "core/tensor.h"

static const struct {
  const char *name;
  uint64_t bytes;
} dtypes[] = {
    [WEIR_DTYPE_F32] = {"f32", 4}, [WEIR_DTYPE_F64] = {"f64", 8}, [WEIR_DTYPE_BF16] = {"bf16", 2},
    [WEIR_DTYPE_F16] = {"f16", 2}, [WEIR_DTYPE_I32] = {"i32", 4},
};

uint64_t weir_dtype_bytes(weir_dtype dtype) {
  return dtypes[dtype].bytes;
}

const char *weir_dtype_name(weir_dtype dtype) {
  return dtypes[dtype].name;
}

weir_tensor weir_tensor_allocate(weir_arena *arena, weir_memory_kind kind, weir_dtype dtype,
                                 int64_t rows, int64_t cols) {
  WEIR_ASSERT(rows, >=, 0);
  WEIR_ASSERT(cols, >=, 0);
  weir_tensor tensor = {.arena = arena, .dtype = dtype, .rows = rows, .cols = cols};
  tensor.offset_bytes = weir_arena_allocate(arena, kind, weir_tensor_bytes(tensor));
  return tensor;
}

uint64_t weir_tensor_bytes(weir_tensor tensor) {
  return (uint64_t)weir_tensor_count(tensor) * weir_dtype_bytes(tensor.dtype);
}

weir_tensor weir_tensor_rows(weir_tensor tensor, int64_t begin, int64_t end) {
  if (!weir_tensor_exists(tensor)) return tensor;
  WEIR_ASSERT(begin, >=, 0);
  WEIR_ASSERT(begin, <=, end);
  WEIR_ASSERT(end, <=, tensor.rows);
  tensor.offset_bytes += (uint64_t)(begin * tensor.cols) * weir_dtype_bytes(tensor.dtype);
  tensor.rows = end - begin;
  return tensor;
}

weir_tensor weir_tensor_reshape(weir_tensor tensor, int64_t rows, int64_t cols) {
  if (!weir_tensor_exists(tensor)) return tensor;
  WEIR_ASSERT(rows * cols, ==, weir_tensor_count(tensor));
  tensor.rows = rows;
  tensor.cols = cols;
  return tensor;
}

void *weir_tensor_data(weir_tensor tensor) {
  if (!tensor.arena || !tensor.arena->base) return NULL;
  return tensor.arena->base + tensor.offset_bytes;
}
