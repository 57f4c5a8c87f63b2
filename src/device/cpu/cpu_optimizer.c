/* SPDX-License-Identifier: Apache-2.0
 *
 * Gradient norm, clipping and AdamW. */
#include "device/cpu/cpu_operations.h"

#include <math.h>

/* Sums of runs go to scratch, as many at a time as it holds, and are added in order. */
static void sum_squares(weir_device *device, weir_tensor sum, weir_tensor x) {
  CPU_ASSERT_SHAPE(sum, WEIR_DTYPE_F64, 1, 1);
  CPU_ASSERT_SHAPE(x, device->real, x.rows, x.cols);
  const weir_cpu_kernels *kernels = cpu_kernels(device);
  int64_t n = weir_tensor_count(x), n_runs = cpu_pieces(n, CPU_RUN_ELEMENTS);
  double *parts = weir_tensor_data(device->workspace), *total = weir_tensor_data(sum);
  int64_t room = (int64_t)(weir_tensor_bytes(device->workspace) / sizeof *parts);
  for (int64_t begin = 0; begin < n_runs; begin += room) {
    int64_t end = cpu_min(begin + room, n_runs);
#pragma omp parallel for num_threads(device->n_threads) if (n > CPU_PARALLEL_ELEMENTS)
    for (int64_t run = begin; run < end; run++) {
      int64_t first = run * CPU_RUN_ELEMENTS;
      parts[run - begin] =
          kernels->sum_squares(cpu_vector(x) + first, cpu_min(CPU_RUN_ELEMENTS, n - first));
    }
    for (int64_t run = begin; run < end; run++)
      *total += parts[run - begin];
  }
}

static void clip_factor(weir_device *device, weir_tensor factor, weir_tensor sum, double max_norm) {
  (void)device;
  CPU_ASSERT_SHAPE(factor, WEIR_DTYPE_F64, 1, 1);
  CPU_ASSERT_SHAPE(sum, WEIR_DTYPE_F64, 1, 1);
  const double *squares = weir_tensor_data(sum);
  double *result = weir_tensor_data(factor), ratio = max_norm / (sqrt(*squares) + 1e-6);
  *result = !isfinite(*squares) ? 0 : max_norm <= 0 || ratio > 1 ? 1 : ratio;
}

static weir_cpu_adamw coefficients(const weir_adamw *a, double factor) {
  double correction1 = 1 - pow(a->beta1, (double)a->step);
  double correction2 = 1 - pow(a->beta2, (double)a->step);
  return (weir_cpu_adamw){
      .factor = (float)factor,
      .decay = (float)(a->learning_rate * a->weight_decay),
      .beta1 = (float)a->beta1,
      .one_minus_beta1 = (float)(1 - a->beta1),
      .beta2 = (float)a->beta2,
      .one_minus_beta2 = (float)(1 - a->beta2),
      .step_size = (float)(a->learning_rate / correction1),
      .inverse_correction = (float)(1 / sqrt(correction2)),
      .epsilon = (float)a->epsilon,
  };
}

static void adamw(weir_device *device, const weir_adamw *a, weir_tensor w, weir_tensor m,
                  weir_tensor v, weir_tensor g, weir_tensor factor) {
  CPU_ASSERT_SHAPE(w, device->real, w.rows, w.cols);
  CPU_ASSERT_SHAPE(m, device->real, w.rows, w.cols);
  CPU_ASSERT_SHAPE(v, device->real, w.rows, w.cols);
  CPU_ASSERT_SHAPE(g, device->real, w.rows, w.cols);
  CPU_ASSERT_SHAPE(factor, WEIR_DTYPE_F64, 1, 1);
  WEIR_ASSERT(a->step, >=, 1);
  const weir_cpu_kernels *kernels = cpu_kernels(device);
  const double *clip = weir_tensor_data(factor);
  if (*clip == 0) return;
  const weir_cpu_adamw update = coefficients(a, *clip);
  int64_t n = weir_tensor_count(w);
#pragma omp parallel for num_threads(device->n_threads) if (n > CPU_PARALLEL_ELEMENTS)
  for (int64_t i = 0; i < n; i += CPU_RUN_ELEMENTS)
    kernels->adamw(&update, cpu_vector(w) + i, cpu_vector(m) + i, cpu_vector(v) + i,
                   cpu_vector(g) + i, cpu_min(CPU_RUN_ELEMENTS, n - i));
}

void weir_cpu_operations_optimizer(weir_device_operations *operations) {
  operations->sum_squares = sum_squares;
  operations->clip_factor = clip_factor;
  operations->adamw = adamw;
}
