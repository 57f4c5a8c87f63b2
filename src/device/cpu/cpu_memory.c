/* SPDX-License-Identifier: Apache-2.0
 *
 * Filling, copying, adding, rounding, and the way to and from the host. */
#include "base/rng.h"
#include "device/cpu/cpu_operations.h"

#include <string.h>

static void zero(weir_device *device, weir_tensor dst) {
  uint8_t *to = weir_tensor_data(dst);
  int64_t n = (int64_t)weir_tensor_bytes(dst), run = CPU_RUN_ELEMENTS * (int64_t)sizeof(float);
#pragma omp parallel for num_threads(device->n_threads) if (n > CPU_PARALLEL_ELEMENTS)
  for (int64_t i = 0; i < n; i += run)
    memset(to + i, 0, (size_t)cpu_min(run, n - i));
}

static void convert(weir_device *device, weir_tensor dst, weir_tensor src) {
  const bool widens = dst.dtype == device->real;
  CPU_ASSERT_SHAPE(dst, widens ? device->real : WEIR_DTYPE_BF16, src.rows, src.cols);
  CPU_ASSERT_SHAPE(src, widens ? WEIR_DTYPE_BF16 : device->real, src.rows, src.cols);
  const weir_cpu_kernels *kernels = cpu_kernels(device);
  int64_t n = weir_tensor_count(dst);
#pragma omp parallel for num_threads(device->n_threads) if (n > CPU_PARALLEL_ELEMENTS)
  for (int64_t i = 0; i < n; i += CPU_RUN_ELEMENTS)
    if (widens)
      kernels->widen(cpu_vector(dst) + i, cpu_bf16(src) + i, cpu_min(CPU_RUN_ELEMENTS, n - i));
    else
      kernels->narrow(cpu_bf16(dst) + i, cpu_vector(src) + i, cpu_min(CPU_RUN_ELEMENTS, n - i));
}

static void copy(weir_device *device, weir_tensor dst, weir_tensor src) {
  if (dst.dtype != src.dtype) {
    convert(device, dst, src);
    return;
  }
  CPU_ASSERT_SHAPE(dst, src.dtype, src.rows, src.cols);
  uint8_t *to = weir_tensor_data(dst);
  const uint8_t *from = weir_tensor_data(src);
  int64_t n = (int64_t)weir_tensor_bytes(dst), run = CPU_RUN_ELEMENTS * (int64_t)sizeof(float);
#pragma omp parallel for num_threads(device->n_threads) if (n > CPU_PARALLEL_ELEMENTS)
  for (int64_t i = 0; i < n; i += run)
    memcpy(to + i, from + i, (size_t)cpu_min(run, n - i));
}

static void add(weir_device *device, weir_tensor dst, weir_tensor src) {
  CPU_ASSERT_SHAPE(src, device->real, src.rows, src.cols);
  CPU_ASSERT_SHAPE(dst, device->real, src.rows, src.cols);
  const weir_cpu_kernels *kernels = cpu_kernels(device);
  int64_t n = weir_tensor_count(dst);
#pragma omp parallel for num_threads(device->n_threads) if (n > CPU_PARALLEL_ELEMENTS)
  for (int64_t i = 0; i < n; i += CPU_RUN_ELEMENTS)
    kernels->add(cpu_vector(dst) + i, cpu_vector(src) + i, cpu_min(CPU_RUN_ELEMENTS, n - i));
}

static void round_to_bf16(weir_device *device, weir_tensor y, weir_tensor x) {
  CPU_ASSERT_SHAPE(x, device->real, x.rows, x.cols);
  CPU_ASSERT_SHAPE(y, device->real, x.rows, x.cols);
  const weir_cpu_kernels *kernels = cpu_kernels(device);
  int64_t n = weir_tensor_count(y);
#pragma omp parallel for num_threads(device->n_threads) if (n > CPU_PARALLEL_ELEMENTS)
  for (int64_t i = 0; i < n; i += CPU_RUN_ELEMENTS)
    kernels->round(cpu_vector(y) + i, cpu_vector(x) + i, cpu_min(CPU_RUN_ELEMENTS, n - i));
}

static void round_randomly(weir_device *device, weir_tensor y, weir_tensor x,
                           const weir_noise *noise) {
  CPU_ASSERT_SHAPE(x, device->real, x.rows, x.cols);
  CPU_ASSERT_SHAPE(y, WEIR_DTYPE_BF16, x.rows, x.cols);
  WEIR_ASSERT(noise->first % 4, ==, 0);
  const weir_cpu_kernels *kernels = cpu_kernels(device);
  int64_t n = weir_tensor_count(y);
#pragma omp parallel for num_threads(device->n_threads) if (n > CPU_PARALLEL_ELEMENTS)
  for (int64_t i = 0; i < n; i += CPU_RUN_ELEMENTS) {
    int64_t n_run = cpu_min(CPU_RUN_ELEMENTS, n - i);
    uint64_t *words = (uint64_t *)(void *)weir_cpu_scratch(device);
    for (int64_t j = 0; j < cpu_pieces(n_run, 4); j++)
      words[j] =
          weir_random_u64(noise->seed, noise->stream, (uint64_t)((noise->first + i) / 4 + j));
    kernels->narrow_randomly(cpu_bf16(y) + i, cpu_vector(x) + i, (const uint16_t *)(void *)words,
                             n_run);
  }
}

static void scale(weir_device *device, weir_tensor dst, double factor) {
  CPU_ASSERT_SHAPE(dst, device->real, dst.rows, dst.cols);
  const weir_cpu_kernels *kernels = cpu_kernels(device);
  int64_t n = weir_tensor_count(dst);
#pragma omp parallel for num_threads(device->n_threads) if (n > CPU_PARALLEL_ELEMENTS)
  for (int64_t i = 0; i < n; i += CPU_RUN_ELEMENTS)
    kernels->scale(cpu_vector(dst) + i, (float)factor, cpu_min(CPU_RUN_ELEMENTS, n - i));
}

static void write(weir_device *device, weir_tensor dst, const void *host) {
  (void)device;
  memcpy(weir_tensor_data(dst), host, weir_tensor_bytes(dst));
}

static void read(weir_device *device, void *host, weir_tensor src) {
  (void)device;
  memcpy(host, weir_tensor_data(src), weir_tensor_bytes(src));
}

void weir_cpu_operations_memory(weir_device_operations *operations) {
  operations->zero = zero;
  operations->copy = copy;
  operations->add = add;
  operations->round = round_to_bf16;
  operations->round_randomly = round_randomly;
  operations->scale = scale;
  operations->write = write;
  operations->read = read;
}
