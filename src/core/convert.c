/* SPDX-License-Identifier: Apache-2.0 */
#include "core/convert.h"

#include <math.h>
#include <string.h>

static float f32_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

float weir_f32_from_bf16(uint16_t bits) {
  return f32_of((uint32_t)bits << 16);
}

uint16_t weir_bf16_from_f32(float value) {
  uint32_t bits = bits_of(value);
  if (isnan(value)) return (uint16_t)(bits >> 16 | 0x40); /* keep it quiet, never an infinity */
  /* The carry of rounding up runs into the exponent, and from the largest number into infinity. */
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float weir_f32_from_f16(uint16_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00) /* infinity, NaN */
    return f32_of(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  /* As a float, the same fields are 2^112 times too small; the product is exact, also for
   * subnormals. */
  return f32_of(sign | bits_of(f32_of(magnitude << 13) * 0x1p112f));
}

uint16_t weir_f16_from_f32(float value) {
  uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffff;
  uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
  if (isnan(value)) return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x47800000) return sign | 0x7c00; /* 2^16 and above */
  if (magnitude < 0x38800000) /* below 2^-14: count units of 2^-24, rounded by the addition */
    return (uint16_t)(sign | (bits_of(f32_of(magnitude) + 0.5f) - bits_of(0.5f)));
  uint32_t rebased = magnitude - (112u << 23);
  return (uint16_t)(sign | (rebased + 0xfff + (rebased >> 13 & 1)) >> 13);
}

float weir_f32_odd_from_f64(double value) {
  float nearest = (float)value;
  if (!isfinite(nearest)) return nearest;
  if ((double)nearest == value || bits_of(nearest) & 1) return nearest;
  /* Inexact and even: the odd neighbour is on the other side of the value. */
  bool away = fabs(value) > fabs((double)nearest);
  return f32_of(bits_of(nearest) + (away ? 1u : -1u));
}

/* memcpy, because the bytes of a file lie where they lie. */
#define LOOP(dst_type, src_type, expression)                                                       \
  for (int64_t i = 0; i < n; i++) {                                                                \
    src_type x;                                                                                    \
    memcpy(&x, (const uint8_t *)src + (size_t)i * sizeof x, sizeof x);                             \
    dst_type y = (expression);                                                                     \
    memcpy((uint8_t *)dst + (size_t)i * sizeof y, &y, sizeof y);                                   \
  }

/* Every dtype widens to f64 exactly and narrows from it with one rounding: two functions a dtype,
 * whatever the pair. */
static void widen(double *dst, const void *src, weir_dtype dtype, int64_t n) {
  switch (dtype) {
  case WEIR_DTYPE_F32:
    LOOP(double, float, (double)x) break;
  case WEIR_DTYPE_F64:
    LOOP(double, double, x) break;
  case WEIR_DTYPE_BF16:
    LOOP(double, uint16_t, (double)weir_f32_from_bf16(x)) break;
  case WEIR_DTYPE_F16:
    LOOP(double, uint16_t, (double)weir_f32_from_f16(x)) break;
  default:
    WEIR_ASSERT(dtype, !=, dtype);
  }
}

static void narrow(void *dst, weir_dtype dtype, const double *src, int64_t n) {
  switch (dtype) {
  case WEIR_DTYPE_F32:
    LOOP(float, double, (float)x) break;
  case WEIR_DTYPE_F64:
    LOOP(double, double, x) break;
  case WEIR_DTYPE_BF16:
    LOOP(uint16_t, double, weir_bf16_from_f32(weir_f32_odd_from_f64(x))) break;
  case WEIR_DTYPE_F16:
    LOOP(uint16_t, double, weir_f16_from_f32(weir_f32_odd_from_f64(x))) break;
  default:
    WEIR_ASSERT(dtype, !=, dtype);
  }
}

void weir_convert(void *dst, weir_dtype dst_dtype, const void *src, weir_dtype src_dtype,
                  int64_t n) {
  enum { PIECE = 512 };
  double piece[PIECE];
  if (dst_dtype == src_dtype) {
    if (n > 0) memcpy(dst, src, (size_t)n * weir_dtype_bytes(dst_dtype));
    return;
  }
  for (int64_t i = 0; i < n; i += PIECE) {
    int64_t n_piece = n - i < PIECE ? n - i : PIECE;
    widen(piece, (const uint8_t *)src + (uint64_t)i * weir_dtype_bytes(src_dtype), src_dtype,
          n_piece);
    narrow((uint8_t *)dst + (uint64_t)i * weir_dtype_bytes(dst_dtype), dst_dtype, piece, n_piece);
  }
}

#define TRANSPOSE(type)                                                                            \
  for (int64_t row = 0; row < rows; row++)                                                         \
    for (int64_t col = 0; col < cols; col++)                                                       \
  ((type *)dst)[col * dst_stride + row] = ((const type *)src)[row * src_stride + col]

void weir_transpose(void *dst, int64_t dst_stride, const void *src, int64_t src_stride,
                    int64_t rows, int64_t cols, weir_dtype dtype) {
  switch (weir_dtype_bytes(dtype)) {
  case 2:
    TRANSPOSE(uint16_t);
    break;
  case 4:
    TRANSPOSE(uint32_t);
    break;
  default:
    TRANSPOSE(uint64_t);
  }
}
