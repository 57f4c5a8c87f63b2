/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the cpu device share: each fills its part of the operation table. */
#ifndef WEIR_DEVICE_CPU_CPU_OPERATIONS_H
#define WEIR_DEVICE_CPU_CPU_OPERATIONS_H

#include "core/device.h"
#include "device/cpu/kernels.h"

typedef struct weir_cpu {
  weir_device base;
  weir_device_operations operations;
  const weir_cpu_kernels *kernels;
} weir_cpu;

void weir_cpu_operations_memory(weir_device_operations *operations);
void weir_cpu_operations_embedding(weir_device_operations *operations);
void weir_cpu_operations_norm(weir_device_operations *operations);
void weir_cpu_operations_linear(weir_device_operations *operations);
void weir_cpu_operations_rope(weir_device_operations *operations);
void weir_cpu_operations_attention(weir_device_operations *operations);
void weir_cpu_operations_activation(weir_device_operations *operations);
void weir_cpu_operations_head(weir_device_operations *operations);
void weir_cpu_operations_optimizer(weir_device_operations *operations);

/* c = alpha op(a) op(b) + beta c, row-major, on the calling thread alone: op(a) [m,k] and
 * op(b) [k,n], transposed where the letter is 'T'.  Equal arguments give equal bits wherever the
 * matrices lie. */
void weir_cpu_product(char transpose_a, char transpose_b, int64_t m, int64_t n, int64_t k,
                      float alpha, const float *a, int64_t a_stride, const float *b,
                      int64_t b_stride, float beta, float *c, int64_t c_stride);

/* The calling thread's WEIR_WORKSPACE_BYTES_PER_THREAD. */
float *weir_cpu_scratch(const weir_device *device);

/* Work on fewer elements than this is done by one thread: a team costs more than it saves. */
enum { CPU_PARALLEL_ELEMENTS = 16384 };

/* Elements that one thread takes at a time where each element stands alone. */
enum { CPU_RUN_ELEMENTS = 8192 };

#define CPU_ASSERT_SHAPE(tensor, element, n_rows, n_cols)                                          \
  do {                                                                                             \
    WEIR_ASSERT((tensor).dtype, ==, (element));                                                    \
    WEIR_ASSERT((tensor).rows, ==, (n_rows));                                                      \
    WEIR_ASSERT((tensor).cols, ==, (n_cols));                                                      \
  } while (0)

static inline const weir_cpu_kernels *cpu_kernels(const weir_device *device) {
  return ((const weir_cpu *)device)->kernels;
}

static inline float *cpu_row(weir_tensor tensor, int64_t row) {
  return (float *)weir_tensor_data(tensor) + row * tensor.cols;
}

/* All elements of a vector; NULL where it is absent. */
static inline float *cpu_vector(weir_tensor tensor) {
  return weir_tensor_data(tensor);
}

static inline uint16_t *cpu_bf16(weir_tensor tensor) {
  return weir_tensor_data(tensor);
}

static inline const int32_t *cpu_ids(weir_tensor tensor) {
  return weir_tensor_data(tensor);
}

static inline int64_t cpu_min(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static inline int64_t cpu_max(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Number of pieces of `size` that n falls into, the last one perhaps shorter. */
static inline int64_t cpu_pieces(int64_t n, int64_t size) {
  return (n + size - 1) / size;
}

#endif
