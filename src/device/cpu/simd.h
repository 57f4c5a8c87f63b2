/* SPDX-License-Identifier: Apache-2.0
 *
 * Vectors of f32 as wide as the instruction set that includes this file.
 *
 * Arithmetic is the compiler's own (+ - * / and comparisons on vector types); what it cannot say,
 * fused multiply-add and partial loads, is here, once per instruction set.
 *
 * Every loop reads `for (i = 0; i < n; i += WEIR_LANES)` and loads and stores with `n - i`: the
 * last vector is partial, lanes beyond the end are neither read nor written, and an element's bits
 * never depend on where the tail begins. */
#ifndef WEIR_DEVICE_CPU_SIMD_H
#define WEIR_DEVICE_CPU_SIMD_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#define WEIR_LANES 16
#elif defined(__AVX2__)
#include <immintrin.h>
#define WEIR_LANES 8
#else
#define WEIR_LANES 4
#endif

typedef float vec __attribute__((vector_size(4 * WEIR_LANES)));
typedef int32_t vec_int __attribute__((vector_size(4 * WEIR_LANES)));
typedef uint32_t vec_uint __attribute__((vector_size(4 * WEIR_LANES)));
typedef uint16_t vec_half __attribute__((vector_size(2 * WEIR_LANES)));
typedef double vec_double __attribute__((vector_size(8 * WEIR_LANES)));

#define SIMD static inline __attribute__((always_inline, unused))

/* A load with this in the lanes beyond the end vanishes from a maximum and from sums of exp. */
#define VEC_LOWEST -1e30f

SIMD vec vec_set(float x) {
  return x - (vec){0};
}

/* The first n values of p, or all lanes if n allows; `fill` in the others. */
SIMD vec vec_load_or(const float *p, int64_t n, float fill) {
#if defined(__AVX512F__)
  if (n < WEIR_LANES)
    return (vec)_mm512_mask_loadu_ps((__m512)vec_set(fill), (__mmask16)((1u << n) - 1), p);
#else
  if (n < WEIR_LANES) {
    vec part = vec_set(fill);
    memcpy(&part, p, (size_t)n * sizeof *p);
    return part;
  }
#endif
  vec whole;
  memcpy(&whole, p, sizeof whole);
  return whole;
}

SIMD vec vec_load(const float *p, int64_t n) {
  return vec_load_or(p, n, 0.0f);
}

SIMD void vec_store(float *p, int64_t n, vec x) {
#if defined(__AVX512F__)
  if (n < WEIR_LANES) {
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)x);
    return;
  }
#else
  if (n < WEIR_LANES) {
    memcpy(p, &x, (size_t)n * sizeof *p);
    return;
  }
#endif
  memcpy(p, &x, sizeof x);
}

/* a * b + c, rounded once where the instruction set can. */
SIMD vec vec_fma(vec a, vec b, vec c) {
#if defined(__AVX512F__)
  return (vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  return a * b + c;
#endif
}

SIMD vec vec_sqrt(vec x) {
#if defined(__AVX512F__)
  return (vec)_mm512_sqrt_ps((__m512)x);
#elif defined(__AVX2__)
  return (vec)_mm256_sqrt_ps((__m256)x);
#else
  for (int i = 0; i < WEIR_LANES; i++)
    x[i] = sqrtf(x[i]);
  return x;
#endif
}

SIMD vec vec_select(vec_int mask, vec yes, vec no) {
  return (vec)((mask & (vec_int)yes) | (~mask & (vec_int)no));
}

/* The larger (smaller) of the two; a NaN in x comes through. */
SIMD vec vec_max(vec limit, vec x) {
#if defined(__AVX512F__)
  return (vec)_mm512_max_ps((__m512)limit, (__m512)x);
#elif defined(__AVX2__)
  return (vec)_mm256_max_ps((__m256)limit, (__m256)x);
#else
  return vec_select(limit > x, limit, x);
#endif
}
SIMD vec vec_min(vec limit, vec x) {
#if defined(__AVX512F__)
  return (vec)_mm512_min_ps((__m512)limit, (__m512)x);
#elif defined(__AVX2__)
  return (vec)_mm256_min_ps((__m256)limit, (__m256)x);
#else
  return vec_select(limit < x, limit, x);
#endif
}

SIMD vec vec_abs(vec x) {
  return (vec)((vec_int)x & 0x7fffffff);
}

/* Across the lanes, in one fixed order.  (By address: a vec_double is wider than a register.) */
SIMD double vec_double_sum(const vec_double *x) {
#if defined(__AVX512F__)
  __m512d halves[2];
  memcpy(halves, x, sizeof halves);
  return _mm512_reduce_add_pd(halves[0] + halves[1]);
#else
  double sum = 0;
  for (int i = 0; i < WEIR_LANES; i++)
    sum += (*x)[i];
  return sum;
#endif
}
SIMD double vec_sum(vec x) {
  vec_double wide = __builtin_convertvector(x, vec_double);
  return vec_double_sum(&wide);
}
SIMD float vec_largest(vec x) {
#if defined(__AVX512F__)
  return _mm512_reduce_max_ps((__m512)x);
#else
  float largest = x[0];
  for (int i = 1; i < WEIR_LANES; i++)
    largest = x[i] > largest ? x[i] : largest;
  return largest;
#endif
}

/* x * 2^n, where n is a whole number from -150 to 128 and x is near 1. */
SIMD vec vec_scale(vec x, vec n) {
#if defined(__AVX512F__)
  return (vec)_mm512_scalef_ps((__m512)x, (__m512)n);
#else
  /* In two factors, each with an exponent of its own even where the result is subnormal. */
  vec_int exponent = __builtin_convertvector(n, vec_int), half = exponent >> 1;
  vec low = (vec)((vec_uint)(half + 127) << 23);
  vec high = (vec)((vec_uint)(exponent - half + 127) << 23);
  return x * low * high;
#endif
}

/* exp(x), within 2 units in the last place; 0 below -104, never infinite: exp(88) above 88.
 * x = n ln 2 + r, |r| <= ln(2)/2; exp(r) = 1 + p by a minimax polynomial. */
SIMD vec vec_exp(vec x) {
  const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
  x = vec_min(vec_set(88.0f), vec_max(vec_set(-104.0f), x));
  vec n = vec_fma(x, vec_set(0x1.715476p+0f), vec_set(magic)) - magic;
  vec r = vec_fma(n, vec_set(-0x1.62e400p-1f), x);
  r = vec_fma(n, vec_set(-0x1.7f7d1cp-20f), r);

  vec p = vec_set(1.39263761e-3f);
  p = vec_fma(p, r, vec_set(8.36333353e-3f));
  p = vec_fma(p, r, vec_set(4.16665524e-2f));
  p = vec_fma(p, r, vec_set(1.66665763e-1f));
  p = vec_fma(p, r, vec_set(0.5f));
  p = vec_fma(p * r, r, r);
  return vec_scale(1.0f + p, n);
}

/* tanh(x), within 3 units in the last place: a polynomial near 0, where 1 - 2 / (exp(2|x|) + 1)
 * would cancel. */
SIMD vec vec_tanh(vec x) {
  vec a = vec_abs(x), u = x * x;
  vec p = vec_set(2.272716558e-3f);
  p = vec_fma(p, u, vec_set(-8.326415122e-3f));
  p = vec_fma(p, u, vec_set(2.176363883e-2f));
  p = vec_fma(p, u, vec_set(-5.395862512e-2f));
  p = vec_fma(p, u, vec_set(1.333330097e-1f));
  p = vec_fma(p, u, vec_set(-3.333333316e-1f));
  vec far = 1.0f - 2.0f / (vec_exp(2.0f * a) + 1.0f);
  far = vec_select(x < 0.0f, -far, far);
  return vec_select(a < 0.6f, vec_fma(p * u, x, x), far);
}

#endif
