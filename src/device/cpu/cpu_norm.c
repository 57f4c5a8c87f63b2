/* SPDX-License-Identifier: Apache-2.0
 *
 * RMSNorm and LayerNorm.  Backward sums the parameters' gradients per group of rows, in scratch,
 * and adds the groups last first: which thread took which group shows nowhere. */
#include "device/cpu/cpu_operations.h"

#include <string.h>

/* Rows that a thread takes at a time; a divisor of the block. */
enum { GROUP_ROWS = 64 };

static void norm_forward(weir_device *device, weir_norm_kind kind, double epsilon, weir_tensor y,
                         weir_tensor x, weir_tensor w, weir_tensor b, bool accumulate) {
  int64_t n = x.cols;
  CPU_ASSERT_SHAPE(x, device->real, x.rows, n);
  CPU_ASSERT_SHAPE(y, device->real, x.rows, n);
  CPU_ASSERT_SHAPE(w, device->real, 1, n);
  WEIR_ASSERT(weir_tensor_exists(b), ==, kind == WEIR_NORM_LAYER);
  const weir_cpu_kernels *kernels = cpu_kernels(device);
#pragma omp parallel for num_threads(device->n_threads) if (weir_tensor_count(x) >                 \
                                                            CPU_PARALLEL_ELEMENTS)
  for (int64_t row = 0; row < x.rows; row++)
    kernels->norm_forward(kind, epsilon, cpu_row(y, row), cpu_row(x, row), cpu_vector(w),
                          cpu_vector(b), n, accumulate);
}

/* What backward of one group of rows needs; partial sums of group i lie at parts + i * stride, dw
 * before db. */
typedef struct norm_gradient {
  weir_norm_kind kind;
  double epsilon;
  weir_tensor dx, dw, db, dy, x, w;
  bool accumulate;
  float *parts;
  int64_t stride;
} norm_gradient;

static void group_backward(const weir_cpu_kernels *kernels, const norm_gradient *g, int64_t group,
                           float *part) {
  int64_t n = g->x.cols;
  float *dw_part = weir_tensor_exists(g->dw) ? part : NULL;
  float *db_part = weir_tensor_exists(g->db) ? part + n : NULL;
  memset(part, 0, (size_t)g->stride * sizeof *part);
  int64_t end = cpu_min((group + 1) * GROUP_ROWS, g->x.rows);
  for (int64_t row = group * GROUP_ROWS; row < end; row++)
    kernels->norm_backward(g->kind, g->epsilon, cpu_row(g->dx, row), dw_part, db_part,
                           cpu_row(g->dy, row), cpu_row(g->x, row), cpu_vector(g->w), n,
                           g->accumulate);
}

/* As many groups at a time as their sums have room in the workspace of all threads. */
static void groups_backward(weir_device *device, const norm_gradient *g) {
  const weir_cpu_kernels *kernels = cpu_kernels(device);
  int64_t n = g->x.cols, n_groups = cpu_pieces(g->x.rows, GROUP_ROWS);
  int64_t room = (int64_t)weir_tensor_bytes(device->workspace) / (int64_t)sizeof(float);
  int64_t n_together = room / g->stride;
  WEIR_ASSERT(n_together, >=, 1);
  for (int64_t end = n_groups; end > 0; end -= n_together) {
    int64_t begin = cpu_max(0, end - n_together);
#pragma omp parallel num_threads(device->n_threads) if (weir_tensor_count(g->x) >                  \
                                                        CPU_PARALLEL_ELEMENTS)
    {
#pragma omp for
      for (int64_t group = begin; group < end; group++)
        group_backward(kernels, g, group, g->parts + (group - begin) * g->stride);
#pragma omp single
      for (int64_t group = end - 1; group >= begin; group--) {
        const float *part = g->parts + (group - begin) * g->stride;
        if (weir_tensor_exists(g->dw)) kernels->add(cpu_vector(g->dw), part, n);
        if (weir_tensor_exists(g->db)) kernels->add(cpu_vector(g->db), part + n, n);
      }
    }
  }
}

static void norm_backward(weir_device *device, weir_norm_kind kind, double epsilon, weir_tensor dx,
                          weir_tensor dw, weir_tensor db, weir_tensor dy, weir_tensor x,
                          weir_tensor w, bool accumulate) {
  int64_t n = x.cols;
  CPU_ASSERT_SHAPE(x, device->real, x.rows, n);
  CPU_ASSERT_SHAPE(dx, device->real, x.rows, n);
  CPU_ASSERT_SHAPE(dy, device->real, x.rows, n);
  CPU_ASSERT_SHAPE(w, device->real, 1, n);
  if (weir_tensor_exists(dw)) CPU_ASSERT_SHAPE(dw, device->real, 1, n);
  if (weir_tensor_exists(db)) CPU_ASSERT_SHAPE(db, device->real, 1, n);
  norm_gradient gradient = {.kind = kind,
                            .epsilon = epsilon,
                            .dx = dx,
                            .dw = dw,
                            .db = db,
                            .dy = dy,
                            .x = x,
                            .w = w,
                            .accumulate = accumulate,
                            .parts = weir_tensor_data(device->workspace),
                            .stride = 2 * n};
  groups_backward(device, &gradient);
}

void weir_cpu_operations_norm(weir_device_operations *operations) {
  operations->norm_forward = norm_forward;
  operations->norm_backward = norm_backward;
}
