/* SPDX-License-Identifier: Apache-2.0
 *
 * Activations and gates: every element alone, in runs. */
#include "device/cpu/cpu_operations.h"

static void activation_forward(weir_device *device, weir_activation f, weir_tensor y,
                               weir_tensor x) {
  CPU_ASSERT_SHAPE(x, device->real, x.rows, x.cols);
  CPU_ASSERT_SHAPE(y, device->real, x.rows, x.cols);
  const weir_cpu_kernels *kernels = cpu_kernels(device);
  int64_t n = weir_tensor_count(x);
#pragma omp parallel for num_threads(device->n_threads) if (n > CPU_PARALLEL_ELEMENTS)
  for (int64_t i = 0; i < n; i += CPU_RUN_ELEMENTS)
    kernels->activation_forward(f, cpu_vector(y) + i, cpu_vector(x) + i,
                                cpu_min(CPU_RUN_ELEMENTS, n - i));
}

static void activation_backward(weir_device *device, weir_activation f, weir_tensor dx,
                                weir_tensor dy, weir_tensor x) {
  CPU_ASSERT_SHAPE(x, device->real, x.rows, x.cols);
  CPU_ASSERT_SHAPE(dx, device->real, x.rows, x.cols);
  CPU_ASSERT_SHAPE(dy, device->real, x.rows, x.cols);
  const weir_cpu_kernels *kernels = cpu_kernels(device);
  int64_t n = weir_tensor_count(x);
#pragma omp parallel for num_threads(device->n_threads) if (n > CPU_PARALLEL_ELEMENTS)
  for (int64_t i = 0; i < n; i += CPU_RUN_ELEMENTS)
    kernels->activation_backward(f, cpu_vector(dx) + i, cpu_vector(dy) + i, cpu_vector(x) + i,
                                 cpu_min(CPU_RUN_ELEMENTS, n - i));
}

static void gated_forward(weir_device *device, weir_activation f, weir_tensor y, weir_tensor gate,
                          weir_tensor up) {
  CPU_ASSERT_SHAPE(gate, device->real, gate.rows, gate.cols);
  CPU_ASSERT_SHAPE(up, device->real, gate.rows, gate.cols);
  CPU_ASSERT_SHAPE(y, device->real, gate.rows, gate.cols);
  const weir_cpu_kernels *kernels = cpu_kernels(device);
  int64_t n = weir_tensor_count(gate);
#pragma omp parallel for num_threads(device->n_threads) if (n > CPU_PARALLEL_ELEMENTS)
  for (int64_t i = 0; i < n; i += CPU_RUN_ELEMENTS)
    kernels->gated_forward(f, cpu_vector(y) + i, cpu_vector(gate) + i, cpu_vector(up) + i,
                           cpu_min(CPU_RUN_ELEMENTS, n - i));
}

static void gated_backward(weir_device *device, weir_activation f, weir_tensor dgate,
                           weir_tensor dup, weir_tensor dy, weir_tensor gate, weir_tensor up) {
  CPU_ASSERT_SHAPE(gate, device->real, gate.rows, gate.cols);
  CPU_ASSERT_SHAPE(up, device->real, gate.rows, gate.cols);
  CPU_ASSERT_SHAPE(dy, device->real, gate.rows, gate.cols);
  CPU_ASSERT_SHAPE(dgate, device->real, gate.rows, gate.cols);
  CPU_ASSERT_SHAPE(dup, device->real, gate.rows, gate.cols);
  const weir_cpu_kernels *kernels = cpu_kernels(device);
  int64_t n = weir_tensor_count(gate);
#pragma omp parallel for num_threads(device->n_threads) if (n > CPU_PARALLEL_ELEMENTS)
  for (int64_t i = 0; i < n; i += CPU_RUN_ELEMENTS)
    kernels->gated_backward(f, cpu_vector(dgate) + i, cpu_vector(dup) + i, cpu_vector(dy) + i,
                            cpu_vector(gate) + i, cpu_vector(up) + i,
                            cpu_min(CPU_RUN_ELEMENTS, n - i));
}

void weir_cpu_operations_activation(weir_device_operations *operations) {
  operations->activation_forward = activation_forward;
  operations->activation_backward = activation_backward;
  operations->gated_forward = gated_forward;
  operations->gated_backward = gated_backward;
}
