/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversion of host memory: between the floating dtypes, rounding to nearest, ties to even, and
 * between the two orders of a matrix.
 *
 * Widening is exact.  Narrowing rounds once, from the value itself and never by way of a third
 * type; what is too large becomes an infinity, subnormals are kept, a NaN stays a NaN. */
#ifndef WEIR_CORE_CONVERT_H
#define WEIR_CORE_CONVERT_H

#include "core/tensor.h"

float weir_f32_from_bf16(uint16_t bits);
float weir_f32_from_f16(uint16_t bits);
uint16_t weir_bf16_from_f32(float value);
uint16_t weir_f16_from_f32(float value);

/* A float with which narrowing further rounds as `value` itself would (round to odd: Boldo &
 * Melquiond 2008, doi:10.1109/TC.2007.70819). */
float weir_f32_odd_from_f64(double value);

/* n elements; both dtypes F32, F64, BF16 or F16.  No alignment is asked of either side. */
void weir_convert(void *dst, weir_dtype dst_dtype, const void *src, weir_dtype src_dtype,
                  int64_t n);

/* dst [cols, rows] = transpose of src [rows, cols]; strides in elements of `dtype`.
 * One side should fit a cache. */
void weir_transpose(void *dst, int64_t dst_stride, const void *src, int64_t src_stride,
                    int64_t rows, int64_t cols, weir_dtype dtype);

#endif
