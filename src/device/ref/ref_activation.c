/* SPDX-License-Identifier: Apache-2.0
 *
 * Activations, plain and gated. */
#include "device/ref/ref_operations.h"

#include <math.h>

/* f(x), and in *slope f'(x). */
static double activate(weir_activation f, double x, double *slope) {
  switch (f) {
  case WEIR_ACTIVATION_SILU: {
    double sigmoid = 1 / (1 + exp(-x));
    *slope = sigmoid * (1 + x * (1 - sigmoid));
    return x * sigmoid;
  }
  case WEIR_ACTIVATION_GELU: {
    double cumulative = erfc(-x / sqrt(2)) / 2, density = exp(-x * x / 2) / sqrt(2 * M_PI);
    *slope = cumulative + x * density;
    return x * cumulative;
  }
  case WEIR_ACTIVATION_GELU_TANH: {
    double t = tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
    double inner_slope = sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
    *slope = (1 + t) / 2 + x / 2 * (1 - t * t) * inner_slope;
    return x / 2 * (1 + t);
  }
  }
  WEIR_ASSERT(f, ==, WEIR_ACTIVATION_SILU);
  return 0;
}

static void activation_forward(weir_device *device, weir_activation f, weir_tensor y,
                               weir_tensor x) {
  REF_ASSERT_SHAPE(x, device->real, x.rows, x.cols);
  REF_ASSERT_SHAPE(y, device->real, x.rows, x.cols);
  double slope;
  for (int64_t i = 0; i < weir_tensor_count(x); i++)
    ref_vector(y)[i] = activate(f, ref_vector(x)[i], &slope);
}

static void activation_backward(weir_device *device, weir_activation f, weir_tensor dx,
                                weir_tensor dy, weir_tensor x) {
  REF_ASSERT_SHAPE(x, device->real, x.rows, x.cols);
  REF_ASSERT_SHAPE(dy, device->real, x.rows, x.cols);
  REF_ASSERT_SHAPE(dx, device->real, x.rows, x.cols);
  double slope;
  for (int64_t i = 0; i < weir_tensor_count(x); i++) {
    activate(f, ref_vector(x)[i], &slope);
    ref_vector(dx)[i] = ref_vector(dy)[i] * slope;
  }
}

static void gated_forward(weir_device *device, weir_activation f, weir_tensor y, weir_tensor gate,
                          weir_tensor up) {
  REF_ASSERT_SHAPE(gate, device->real, gate.rows, gate.cols);
  REF_ASSERT_SHAPE(up, device->real, gate.rows, gate.cols);
  REF_ASSERT_SHAPE(y, device->real, gate.rows, gate.cols);
  double slope;
  for (int64_t i = 0; i < weir_tensor_count(gate); i++)
    ref_vector(y)[i] = activate(f, ref_vector(gate)[i], &slope) * ref_vector(up)[i];
}

static void gated_backward(weir_device *device, weir_activation f, weir_tensor dgate,
                           weir_tensor dup, weir_tensor dy, weir_tensor gate, weir_tensor up) {
  REF_ASSERT_SHAPE(gate, device->real, gate.rows, gate.cols);
  REF_ASSERT_SHAPE(up, device->real, gate.rows, gate.cols);
  REF_ASSERT_SHAPE(dy, device->real, gate.rows, gate.cols);
  REF_ASSERT_SHAPE(dgate, device->real, gate.rows, gate.cols);
  REF_ASSERT_SHAPE(dup, device->real, gate.rows, gate.cols);
  for (int64_t i = 0; i < weir_tensor_count(gate); i++) {
    double slope, value = activate(f, ref_vector(gate)[i], &slope);
    double g = ref_vector(dy)[i], u = ref_vector(up)[i];
    ref_vector(dgate)[i] = g * u * slope;
    ref_vector(dup)[i] = g * value;
  }
}

void weir_ref_operations_activation(weir_device_operations *operations) {
  operations->activation_forward = activation_forward;
  operations->activation_backward = activation_backward;
  operations->gated_forward = gated_forward;
  operations->gated_backward = gated_backward;
}
