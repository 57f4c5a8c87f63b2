/* SPDX-License-Identifier: Apache-2.0
 *
 * RMSNorm and LayerNorm.  With x^ = (x - m) r, where m = 0 for rms, and g = dy w (or dy (1 + w)):
 *   dx = r (g - mean(g) - x^ mean(g x^)), where rms has no mean(g);  dw = dy x^;  db = dy. */
#include "device/ref/ref_operations.h"

#include <math.h>

typedef struct row_statistics {
  double m, r;
} row_statistics;

static row_statistics statistics_of(weir_norm_kind kind, double epsilon, const double *x,
                                    int64_t D) {
  double m = 0, sum = 0;
  if (kind == WEIR_NORM_LAYER) {
    for (int64_t j = 0; j < D; j++)
      m += x[j] / (double)D;
  }
  for (int64_t j = 0; j < D; j++)
    sum += (x[j] - m) * (x[j] - m);
  return (row_statistics){.m = m, .r = 1 / sqrt(sum / (double)D + epsilon)};
}

/* What the normal row is multiplied by. */
static double factor_of(weir_norm_kind kind, double w) {
  return kind == WEIR_NORM_RMS_PLUS_ONE ? 1 + w : w;
}

static void norm_forward(weir_device *device, weir_norm_kind kind, double epsilon, weir_tensor y,
                         weir_tensor x, weir_tensor w, weir_tensor b, bool accumulate) {
  int64_t N = x.rows, D = x.cols;
  REF_ASSERT_SHAPE(x, device->real, N, D);
  REF_ASSERT_SHAPE(y, device->real, N, D);
  REF_ASSERT_SHAPE(w, device->real, 1, D);
  WEIR_ASSERT(weir_tensor_exists(b), ==, kind == WEIR_NORM_LAYER);
  if (weir_tensor_exists(b)) REF_ASSERT_SHAPE(b, device->real, 1, D);
  const double *weight = ref_vector(w), *bias = ref_vector(b);
  for (int64_t n = 0; n < N; n++) {
    const double *in = ref_row(x, n);
    double *out = ref_row(y, n);
    row_statistics s = statistics_of(kind, epsilon, in, D);
    for (int64_t j = 0; j < D; j++)
      out[j] = (accumulate ? out[j] : 0) + (in[j] - s.m) * s.r * factor_of(kind, weight[j]) +
               (bias ? bias[j] : 0);
  }
}

/* Every element is read before it is written, so dx may alias dy or x. */
static void norm_backward_row(weir_norm_kind kind, row_statistics s, double *dx, double *dw,
                              double *db, const double *dy, const double *x, const double *w,
                              int64_t D, bool accumulate) {
  double mean_g = 0, mean_gx = 0;
  for (int64_t j = 0; j < D; j++) {
    double g = dy[j] * factor_of(kind, w[j]), x_hat = (x[j] - s.m) * s.r;
    if (kind == WEIR_NORM_LAYER) mean_g += g / (double)D;
    mean_gx += g * x_hat / (double)D;
  }
  for (int64_t j = 0; j < D; j++) {
    double g = dy[j] * factor_of(kind, w[j]), x_hat = (x[j] - s.m) * s.r;
    if (dw) dw[j] += dy[j] * x_hat;
    if (db) db[j] += dy[j];
    dx[j] = (accumulate ? dx[j] : 0) + s.r * (g - mean_g - x_hat * mean_gx);
  }
}

static void norm_backward(weir_device *device, weir_norm_kind kind, double epsilon, weir_tensor dx,
                          weir_tensor dw, weir_tensor db, weir_tensor dy, weir_tensor x,
                          weir_tensor w, bool accumulate) {
  int64_t N = x.rows, D = x.cols;
  REF_ASSERT_SHAPE(x, device->real, N, D);
  REF_ASSERT_SHAPE(dy, device->real, N, D);
  REF_ASSERT_SHAPE(dx, device->real, N, D);
  REF_ASSERT_SHAPE(w, device->real, 1, D);
  WEIR_ASSERT(weir_tensor_exists(db), ==, weir_tensor_exists(dw) && kind == WEIR_NORM_LAYER);
  if (weir_tensor_exists(dw)) REF_ASSERT_SHAPE(dw, device->real, 1, D);
  if (weir_tensor_exists(db)) REF_ASSERT_SHAPE(db, device->real, 1, D);
  for (int64_t i = 0; i < N; i++) {
    int64_t n = ref_row_in_sum_order(i, N);
    row_statistics s = statistics_of(kind, epsilon, ref_row(x, n), D);
    norm_backward_row(kind, s, ref_row(dx, n), ref_vector(dw), ref_vector(db), ref_row(dy, n),
                      ref_row(x, n), ref_vector(w), D, accumulate);
  }
}

void weir_ref_operations_norm(weir_device_operations *operations) {
  operations->norm_forward = norm_forward;
  operations->norm_backward = norm_backward;
}
