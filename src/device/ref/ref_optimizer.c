/* SPDX-License-Identifier: Apache-2.0
 *
 * Gradient norm, clipping and AdamW. */
#include "device/ref/ref_operations.h"

#include <math.h>

static void sum_squares(weir_device *device, weir_tensor sum, weir_tensor x) {
  REF_ASSERT_SHAPE(sum, WEIR_DTYPE_F64, 1, 1);
  REF_ASSERT_SHAPE(x, device->real, x.rows, x.cols);
  *ref_vector(sum) += ref_dot(ref_vector(x), ref_vector(x), weir_tensor_count(x));
}

static void clip_factor(weir_device *device, weir_tensor factor, weir_tensor sum, double max_norm) {
  (void)device;
  REF_ASSERT_SHAPE(factor, WEIR_DTYPE_F64, 1, 1);
  REF_ASSERT_SHAPE(sum, WEIR_DTYPE_F64, 1, 1);
  double squares = *ref_vector(sum), ratio = max_norm / (sqrt(squares) + 1e-6);
  *ref_vector(factor) = !isfinite(squares) ? 0 : max_norm <= 0 || ratio > 1 ? 1 : ratio;
}

static void adamw(weir_device *device, const weir_adamw *a, weir_tensor w, weir_tensor m,
                  weir_tensor v, weir_tensor g, weir_tensor factor) {
  REF_ASSERT_SHAPE(w, device->real, w.rows, w.cols);
  REF_ASSERT_SHAPE(m, device->real, w.rows, w.cols);
  REF_ASSERT_SHAPE(v, device->real, w.rows, w.cols);
  REF_ASSERT_SHAPE(g, device->real, w.rows, w.cols);
  REF_ASSERT_SHAPE(factor, WEIR_DTYPE_F64, 1, 1);
  WEIR_ASSERT(a->step, >=, 1);
  if (*ref_vector(factor) == 0) return;
  double correction1 = 1 - pow(a->beta1, (double)a->step);
  double correction2 = 1 - pow(a->beta2, (double)a->step);
  double *weights = ref_vector(w), *first = ref_vector(m), *second = ref_vector(v);
  for (int64_t i = 0; i < weir_tensor_count(w); i++) {
    double gradient = *ref_vector(factor) * ref_vector(g)[i];
    weights[i] -= a->learning_rate * a->weight_decay * weights[i];
    first[i] = a->beta1 * first[i] + (1 - a->beta1) * gradient;
    second[i] = a->beta2 * second[i] + (1 - a->beta2) * gradient * gradient;
    weights[i] -= a->learning_rate / correction1 * first[i] /
                  (sqrt(second[i]) / sqrt(correction2) + a->epsilon);
  }
}

void weir_ref_operations_optimizer(weir_device_operations *operations) {
  operations->sum_squares = sum_squares;
  operations->clip_factor = clip_factor;
  operations->adamw = adamw;
}
