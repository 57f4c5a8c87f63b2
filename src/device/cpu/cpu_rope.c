/* SPDX-License-Identifier: Apache-2.0
 *
 * Rotary embedding: one row's angles in f64, rounded once, serve all of its heads. */
#include "device/cpu/cpu_operations.h"

#include <math.h>

static void rope(weir_device *device, weir_tensor x, int64_t head_size, const weir_rope *rope,
                 const weir_sequences *sequences, int64_t first_row, int direction) {
  int64_t half = head_size / 2;
  CPU_ASSERT_SHAPE(x, device->real, x.rows, x.cols / head_size * head_size);
  WEIR_ASSERT(head_size, ==, 2 * half);
  WEIR_ASSERT(first_row + x.rows, <=, sequences->n_tokens);
  WEIR_ASSERT(direction * direction, ==, 1);
  WEIR_ASSERT(head_size * (int64_t)sizeof(float), <=, WEIR_WORKSPACE_BYTES_PER_THREAD);
  const weir_cpu_kernels *kernels = cpu_kernels(device);
#pragma omp parallel for num_threads(device->n_threads) if (weir_tensor_count(x) >                 \
                                                            CPU_PARALLEL_ELEMENTS)
  for (int64_t c = 0; c < x.rows; c++) {
    int64_t token = first_row + c, position = token - weir_sequences_begin(sequences, token);
    float *cosine = weir_cpu_scratch(device), *sine = cosine + half;
    for (int64_t j = 0; j < half; j++) {
      double angle = (double)position * rope->inverse_frequencies[j];
      cosine[j] = (float)(cos(angle) * rope->scale);
      sine[j] = (float)(direction * sin(angle) * rope->scale);
    }
    for (int64_t column = 0; column < x.cols; column += head_size)
      kernels->rope(cpu_row(x, c) + column, cosine, sine, half);
  }
}

void weir_cpu_operations_rope(weir_device_operations *operations) {
  operations->rope = rope;
}
