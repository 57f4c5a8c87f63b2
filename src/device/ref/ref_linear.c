/* SPDX-License-Identifier: Apache-2.0
 *
 * Products with a weight [O,I], as three loops each. */
#include "device/ref/ref_operations.h"

static void linear_forward(weir_device *device, weir_tensor y, weir_tensor x, weir_tensor w,
                           weir_tensor b, bool accumulate) {
  int64_t N = x.rows, I = x.cols, O = y.cols;
  REF_ASSERT_SHAPE(x, device->real, N, I);
  REF_ASSERT_SHAPE(y, device->real, N, O);
  REF_ASSERT_SHAPE(w, device->real, O, I);
  if (weir_tensor_exists(b)) REF_ASSERT_SHAPE(b, device->real, 1, O);
  const double *bias = ref_vector(b);
  for (int64_t n = 0; n < N; n++) {
    double *out = ref_row(y, n);
    for (int64_t o = 0; o < O; o++)
      out[o] = (accumulate ? out[o] : 0) + ref_dot(ref_row(x, n), ref_row(w, o), I) +
               (bias ? bias[o] : 0);
  }
}

static void linear_backward_input(weir_device *device, weir_tensor dx, weir_tensor dy,
                                  weir_tensor w, bool accumulate) {
  int64_t N = dx.rows, I = dx.cols, O = dy.cols;
  REF_ASSERT_SHAPE(dx, device->real, N, I);
  REF_ASSERT_SHAPE(dy, device->real, N, O);
  REF_ASSERT_SHAPE(w, device->real, O, I);
  for (int64_t n = 0; n < N; n++) {
    double *to = ref_row(dx, n);
    for (int64_t i = 0; i < I && !accumulate; i++)
      to[i] = 0;
    for (int64_t o = 0; o < O; o++)
      ref_add_scaled(to, ref_row(dy, n)[o], ref_row(w, o), I);
  }
}

static void linear_backward_weight(weir_device *device, weir_tensor dw, weir_tensor db,
                                   weir_tensor dy, weir_tensor x) {
  int64_t N = x.rows, I = x.cols, O = dy.cols;
  REF_ASSERT_SHAPE(x, device->real, N, I);
  REF_ASSERT_SHAPE(dy, device->real, N, O);
  REF_ASSERT_SHAPE(dw, device->real, O, I);
  if (weir_tensor_exists(db)) REF_ASSERT_SHAPE(db, device->real, 1, O);
  double *bias = ref_vector(db);
  for (int64_t k = 0; k < N; k++) {
    int64_t n = ref_row_in_sum_order(k, N);
    for (int64_t o = 0; o < O; o++) {
      double g = ref_row(dy, n)[o];
      if (bias) bias[o] += g;
      ref_add_scaled(ref_row(dw, o), g, ref_row(x, n), I);
    }
  }
}

void weir_ref_operations_linear(weir_device_operations *operations) {
  operations->linear_forward = linear_forward;
  operations->linear_backward_input = linear_backward_input;
  operations->linear_backward_weight = linear_backward_weight;
}
