/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversions against the definition: of the two neighbours in the narrow type, the nearer one, and
 * of two equally near the even one. */
#include "core/convert.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

typedef struct narrow_type {
  weir_dtype dtype;
  int fraction_bits, exponent_bits;
} narrow_type;

static const narrow_type bf16 = {WEIR_DTYPE_BF16, 7, 8}, f16 = {WEIR_DTYPE_F16, 10, 5};

/* The value of the magnitude `bits`, from the definition; the first one beyond the largest is what
 * rounding compares with before it becomes infinity. */
static double value_of(const narrow_type *type, unsigned bits) {
  int bias = (1 << (type->exponent_bits - 1)) - 1;
  int exponent = (int)(bits >> type->fraction_bits);
  double fraction = bits & ((1u << type->fraction_bits) - 1);
  if (exponent == 0) return ldexp(fraction, 1 - bias - type->fraction_bits);
  return ldexp(fraction + (1 << type->fraction_bits), exponent - bias - type->fraction_bits);
}

static unsigned infinity_of(const narrow_type *type) {
  return ((1u << type->exponent_bits) - 1) << type->fraction_bits;
}

/* By bisection over all magnitudes. */
static unsigned nearest(const narrow_type *type, double magnitude) {
  unsigned low = 0, high = infinity_of(type);
  if (magnitude >= value_of(type, high)) return high;
  while (high - low > 1) {
    unsigned middle = (low + high) / 2;
    if (value_of(type, middle) <= magnitude)
      low = middle;
    else
      high = middle;
  }
  double below = magnitude - value_of(type, low), above = value_of(type, high) - magnitude;
  return below < above || (below == above && low % 2 == 0) ? low : high;
}

static void check_from_f64(const narrow_type *type, double value) {
  uint16_t got, expected = (uint16_t)nearest(type, fabs(value));
  if (signbit(value)) expected |= 0x8000;
  weir_convert(&got, type->dtype, &value, WEIR_DTYPE_F64, 1);
  if (got != expected) fail_msg("%.17g became %#x, expected %#x", value, got, expected);
  float single = (float)value;
  if ((double)single != value) return;
  weir_convert(&got, type->dtype, &single, WEIR_DTYPE_F32, 1);
  if (got != expected) fail_msg("%.9g became %#x, expected %#x", (double)single, got, expected);
}

static void check_type(const narrow_type *type) {
  for (unsigned bits = 0; bits < infinity_of(type); bits++) {
    double value = value_of(type, bits), next = value_of(type, bits + 1);
    double half = value + (next - value) / 2;
    check_from_f64(type, value);
    check_from_f64(type, -value);
    check_from_f64(type, half);
    /* Beside the tie by so little that a float would call it a tie. */
    check_from_f64(type, nextafter(half, 0));
    check_from_f64(type, -nextafter(half, INFINITY));
    check_from_f64(type, value + (next - value) * 0.7);
  }
  check_from_f64(type, 1e300);
  check_from_f64(type, 1e-300);
  check_from_f64(type, -INFINITY);
}

static void narrowing_takes_the_nearest(void **state) {
  (void)state;
  check_type(&bf16);
  check_type(&f16);
}

static void every_pattern_returns(void **state) {
  (void)state;
  static const narrow_type *const types[] = {&bf16, &f16};
  static const weir_dtype wide[] = {WEIR_DTYPE_F32, WEIR_DTYPE_F64};
  for (size_t t = 0; t < 2; t++)
    for (size_t w = 0; w < 2; w++)
      for (unsigned bits = 0; bits < 0x10000; bits++) {
        uint16_t in = (uint16_t)bits, out;
        uint8_t between[8];
        weir_convert(between, wide[w], &in, types[t]->dtype, 1);
        weir_convert(&out, types[t]->dtype, between, wide[w], 1);
        bool is_nan = (bits & 0x7fff) > infinity_of(types[t]);
        if (is_nan)
          assert_true((out & 0x7fff) > infinity_of(types[t]));
        else
          assert_int_equal(out, in);
      }
}

static void widening_is_exact(void **state) {
  (void)state;
  for (unsigned bits = 0; bits < infinity_of(&f16); bits++)
    assert_true((double)weir_f32_from_f16((uint16_t)bits) == value_of(&f16, bits));
  for (unsigned bits = 0; bits < infinity_of(&bf16); bits++)
    assert_true((double)weir_f32_from_bf16((uint16_t)bits) == value_of(&bf16, bits));
  assert_true(weir_f32_from_f16(0xfc00) == -INFINITY);
  assert_true(isnan(weir_f32_from_f16(0x7c01)));
}

static void long_and_unaligned_arrays_convert(void **state) {
  (void)state;
  enum { N = 1500 };
  static uint8_t in[N * 8 + 1], out[N * 8 + 1];
  for (int i = 0; i < N; i++) {
    float value = (float)(i - 700) * 1.25f;
    memcpy(in + 1 + 4 * i, &value, 4);
  }
  weir_convert(out + 1, WEIR_DTYPE_F64, in + 1, WEIR_DTYPE_F32, N);
  for (int i = 0; i < N; i++) {
    double value;
    memcpy(&value, out + 1 + 8 * i, 8);
    assert_true(value == (i - 700) * 1.25);
  }
  weir_convert(out + 1, WEIR_DTYPE_F32, in + 1, WEIR_DTYPE_F32, N);
  assert_memory_equal(out + 1, in + 1, N * 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(narrowing_takes_the_nearest),
      cmocka_unit_test(every_pattern_returns),
      cmocka_unit_test(widening_is_exact),
      cmocka_unit_test(long_and_unaligned_arrays_convert),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
