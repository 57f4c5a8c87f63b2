/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that treat each element alone: activations, gates, rounding, AdamW, and plain sums. */
#ifndef WEIR_DEVICE_CPU_KERNELS_POINTWISE_H
#define WEIR_DEVICE_CPU_KERNELS_POINTWISE_H

#include "device/cpu/kernels.h"
#include "device/cpu/simd.h"

#define FOR_EACH_VECTOR(i, n) for (int64_t i = 0; i < (n); i += WEIR_LANES)

static void add(float *dst, const float *src, int64_t n) {
  FOR_EACH_VECTOR(i, n)
  vec_store(dst + i, n - i, vec_load(dst + i, n - i) + vec_load(src + i, n - i));
}

static void scale(float *dst, float c, int64_t n) {
  FOR_EACH_VECTOR(i, n)
  vec_store(dst + i, n - i, vec_load(dst + i, n - i) * c);
}

static float dot(const float *a, const float *b, int64_t n) {
  vec sum = {0};
  FOR_EACH_VECTOR(i, n)
  sum = vec_fma(vec_load(a + i, n - i), vec_load(b + i, n - i), sum);
  return (float)vec_sum(sum);
}

static double sum_squares(const float *x, int64_t n) {
  vec_double sum = {0};
  FOR_EACH_VECTOR(i, n) {
    vec_double v = __builtin_convertvector(vec_load(x + i, n - i), vec_double);
    sum += v * v;
  }
  return vec_double_sum(&sum);
}

/* The first n numbers of p, or as many as there are lanes. */
SIMD vec_uint vec_load_half(const uint16_t *p, int64_t n) {
  vec_half half = {0};
  if (n < WEIR_LANES)
    memcpy(&half, p, (size_t)n * sizeof *p);
  else
    memcpy(&half, p, sizeof half);
  return __builtin_convertvector(half, vec_uint);
}

/* The high halves. */
SIMD void vec_store_half(uint16_t *p, int64_t n, vec_uint bits) {
  vec_half half = __builtin_convertvector(bits >> 16, vec_half);
  if (n < WEIR_LANES)
    memcpy(p, &half, (size_t)n * sizeof *p);
  else
    memcpy(p, &half, sizeof half);
}

/* The bits of x and something that carries into their high half; a NaN stays one. */
SIMD vec_uint vec_round_bits(vec x, vec_uint carries) {
  vec_uint bits = (vec_uint)x, is_nan = (vec_uint)(x != x);
  return ((bits + carries) & ~is_nan) | ((bits | 0x400000) & is_nan);
}

/* To the nearest bf16, in the high half; at a tie to the even one. */
SIMD vec_uint vec_nearest_bits(vec x) {
  return vec_round_bits(x, 0x7fff + ((vec_uint)x >> 16 & 1));
}

static void round_bf16(float *y, const float *x, int64_t n) {
  FOR_EACH_VECTOR(i, n)
  vec_store(y + i, n - i, (vec)(vec_nearest_bits(vec_load(x + i, n - i)) & 0xffff0000u));
}

static void narrow(uint16_t *y, const float *x, int64_t n) {
  FOR_EACH_VECTOR(i, n)
  vec_store_half(y + i, n - i, vec_nearest_bits(vec_load(x + i, n - i)));
}

static void narrow_randomly(uint16_t *y, const float *x, const uint16_t *random, int64_t n) {
  FOR_EACH_VECTOR(i, n)
  vec_store_half(y + i, n - i,
                 vec_round_bits(vec_load(x + i, n - i), vec_load_half(random + i, n - i)));
}

static void widen(float *y, const uint16_t *x, int64_t n) {
  FOR_EACH_VECTOR(i, n)
  vec_store(y + i, n - i, (vec)(vec_load_half(x + i, n - i) << 16));
}

/* The value of an activation and its derivative. */
typedef struct dual {
  vec value, slope;
} dual;

/* x s(u) where s is the logistic function and u = u(x) with slope du.  Both silu and gelu_tanh are
 * of this form, since (1 + tanh(u/2)) / 2 = s(u).  1 - s(u) is exp(-u) s(u): no cancellation. */
SIMD dual logistic_unit(vec x, vec u, vec du) {
  vec e = vec_exp(-u);
  vec s = 1.0f / (1.0f + e);
  return (dual){x * s, vec_fma(x * s, e * s * du, s)};
}

SIMD dual silu(vec x) {
  return logistic_unit(x, x, vec_set(1.0f));
}

SIMD dual gelu_tanh(vec x) {
  const float c = 1.59576912f, cubic = 0.044715f; /* 2 sqrt(2/pi) */
  /* s(u) is 0 or 1 well inside these limits, and powers of huge x stay finite. */
  vec z = vec_min(vec_set(24.0f), vec_max(vec_set(-24.0f), x));
  vec z2 = z * z;
  return logistic_unit(x, c * z * vec_fma(z2, vec_set(cubic), vec_set(1.0f)),
                       c * vec_fma(z2, vec_set(3 * cubic), vec_set(1.0f)));
}

/* x Phi(x).  With a = |x|: Phi(-a) = exp(-a^2/2) R(a), R falling smoothly from 1/2; (a + 1) R(a) is
 * nearly flat and is a polynomial in (a - 5/2) / (a + 5/2) to 2e-8.  Phi(a) = 1 - Phi(-a). */
SIMD dual gelu(vec x) {
  static const float coefficients[] = {-6.82639075e-05f, -2.34523293e-04f, 4.9426053e-06f,
                                       1.2727516e-03f,   1.28321676e-03f,  -6.05114875e-03f,
                                       -8.69990047e-03f, 4.60634418e-02f,  -3.77166383e-02f,
                                       -9.15875062e-02f, 4.94659662e-01f};
  vec a = vec_min(vec_set(14.5f), vec_abs(x));
  vec t = (a - 2.5f) / (a + 2.5f);
  vec p = vec_set(coefficients[0]);
  for (size_t i = 1; i < sizeof coefficients / sizeof *coefficients; i++)
    p = vec_fma(p, t, vec_set(coefficients[i]));
  vec bell = vec_exp(-0.5f * a * a);
  vec tail = bell * p / (a + 1.0f);
  vec phi = vec_select(x > 0.0f, 1.0f - tail, tail);
  return (dual){x * phi, vec_fma(x * bell, vec_set(0.398942280f), phi)};
}

SIMD dual activate(weir_activation f, vec x) {
  return f == WEIR_ACTIVATION_SILU ? silu(x) : f == WEIR_ACTIVATION_GELU ? gelu(x) : gelu_tanh(x);
}

/* Each loop below is compiled once per activation: BODY sees f as a constant. */
#define FOR_ACTIVATION(f, BODY)                                                                    \
  switch (f) {                                                                                     \
  case WEIR_ACTIVATION_SILU:                                                                       \
    BODY(WEIR_ACTIVATION_SILU) break;                                                              \
  case WEIR_ACTIVATION_GELU:                                                                       \
    BODY(WEIR_ACTIVATION_GELU) break;                                                              \
  case WEIR_ACTIVATION_GELU_TANH:                                                                  \
    BODY(WEIR_ACTIVATION_GELU_TANH) break;                                                         \
  }

static void activation_forward(weir_activation f, float *y, const float *x, int64_t n) {
#define BODY(kind)                                                                                 \
  FOR_EACH_VECTOR(i, n) vec_store(y + i, n - i, activate(kind, vec_load(x + i, n - i)).value);
  FOR_ACTIVATION(f, BODY)
#undef BODY
}

static void activation_backward(weir_activation f, float *dx, const float *dy, const float *x,
                                int64_t n) {
#define BODY(kind)                                                                                 \
  FOR_EACH_VECTOR(i, n)                                                                            \
  vec_store(dx + i, n - i, vec_load(dy + i, n - i) * activate(kind, vec_load(x + i, n - i)).slope);
  FOR_ACTIVATION(f, BODY)
#undef BODY
}

static void gated_forward(weir_activation f, float *y, const float *gate, const float *up,
                          int64_t n) {
#define BODY(kind)                                                                                 \
  FOR_EACH_VECTOR(i, n)                                                                            \
  vec_store(y + i, n - i,                                                                          \
            vec_load(up + i, n - i) * activate(kind, vec_load(gate + i, n - i)).value);
  FOR_ACTIVATION(f, BODY)
#undef BODY
}

SIMD void gated_backward_vector(weir_activation f, float *dgate, float *dup, const float *dy,
                                const float *gate, const float *up, int64_t n) {
  dual g = activate(f, vec_load(gate, n));
  vec u = vec_load(up, n), d = vec_load(dy, n);
  vec_store(dgate, n, d * u * g.slope);
  vec_store(dup, n, d * g.value);
}

static void gated_backward(weir_activation f, float *dgate, float *dup, const float *dy,
                           const float *gate, const float *up, int64_t n) {
#define BODY(kind)                                                                                 \
  FOR_EACH_VECTOR(i, n)                                                                            \
  gated_backward_vector(kind, dgate + i, dup + i, dy + i, gate + i, up + i, n - i);
  FOR_ACTIVATION(f, BODY)
#undef BODY
}

static void adamw_update(const weir_cpu_adamw *a, float *w, float *m, float *v, const float *g,
                         int64_t n) {
  FOR_EACH_VECTOR(i, n) {
    vec gradient = vec_load(g + i, n - i) * a->factor;
    vec weight = vec_load(w + i, n - i);
    weight = vec_fma(weight, vec_set(-a->decay), weight);
    vec mean = vec_fma(vec_set(a->beta1), vec_load(m + i, n - i), a->one_minus_beta1 * gradient);
    vec square = vec_fma(vec_set(a->beta2), vec_load(v + i, n - i),
                         a->one_minus_beta2 * gradient * gradient);
    vec root = vec_fma(vec_sqrt(square), vec_set(a->inverse_correction), vec_set(a->epsilon));
    vec_store(w + i, n - i, weight - a->step_size * mean / root);
    vec_store(m + i, n - i, mean);
    vec_store(v + i, n - i, square);
  }
}

#endif
