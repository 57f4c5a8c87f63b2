/* SPDX-License-Identifier: Apache-2.0
 *
 * The decimal point is always a point: conversions run in the "C" locale whatever the program's. */
#include "base/number_text.h"

#include "base/status.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static locale_t c_locale;

static void make_c_locale(void) {
  c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t get_c_locale(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_c_locale);
  WEIR_ASSERT(c_locale != (locale_t)0, ==, 1);
  return c_locale;
}

static const char *skip_sign(const char *text) {
  return text + (*text == '-' || *text == '+');
}

static size_t count_digits(const char *text) {
  return strspn(text, "0123456789");
}

bool weir_text_to_integer(const char *text, int64_t *integer) {
  const char *digits = skip_sign(text);
  size_t n_digits = count_digits(digits);
  if (n_digits == 0 || digits[n_digits] != '\0') return false;
  errno = 0;
  long long value = strtoll(text, NULL, 10);
  if (errno != 0) return false;
  *integer = value;
  return true;
}

/* sign? digits? ('.' digits?)? ([eE] sign? digits)? with a digit in the mantissa */
static bool is_decimal(const char *text) {
  text = skip_sign(text);
  size_t n_digits = count_digits(text);
  text += n_digits;
  if (*text == '.') {
    size_t n_fraction = count_digits(++text);
    n_digits += n_fraction;
    text += n_fraction;
  }
  if (n_digits == 0) return false;
  if (*text == 'e' || *text == 'E') {
    text = skip_sign(text + 1);
    size_t n_exponent = count_digits(text);
    if (n_exponent == 0) return false;
    text += n_exponent;
  }
  return *text == '\0';
}

bool weir_text_to_real(const char *text, double *real) {
  if (!is_decimal(text)) return false;
  double value = strtod_l(text, NULL, get_c_locale());
  if (!isfinite(value)) return false;
  *real = value;
  return true;
}

static const struct {
  const char *name;
  uint64_t bytes;
} units[] = {
    {"kB", 1000},        {"MB", 1000 * 1000}, {"GB", 1000 * 1000 * 1000},
    {"KiB", 1ull << 10}, {"MiB", 1ull << 20}, {"GiB", 1ull << 30},
};

static uint64_t find_unit(const char *name) {
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (strcmp(units[i].name, name) == 0) return units[i].bytes;
  return 0;
}

bool weir_text_to_bytes(const char *text, uint64_t *bytes) {
  size_t n_whole = count_digits(text);
  if (n_whole == 0 || n_whole > 19) return false;
  uint64_t whole = strtoull(text, NULL, 10), numerator = 0, denominator = 1;
  text += n_whole;
  bool has_fraction = *text == '.';
  if (has_fraction) {
    size_t n_fraction = count_digits(++text);
    if (n_fraction == 0 || n_fraction > 9) return false;
    for (; n_fraction > 0; n_fraction--, text++) {
      numerator = numerator * 10 + (uint64_t)(*text - '0');
      denominator *= 10;
    }
  }
  uint64_t unit = 1;
  if (*text != '\0' || has_fraction) {
    unit = find_unit(text);
    if (unit == 0) return false;
  }
  if (whole > (INT64_MAX - unit) / unit) return false;
  *bytes = whole * unit + numerator * unit / denominator;
  return true;
}

const char *weir_real_to_text(double real, char text[WEIR_REAL_TEXT]) {
  locale_t before = uselocale(get_c_locale());
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, WEIR_REAL_TEXT, "%.*g", digits, real);
    if (strtod(text, NULL) == real) break;
  }
  uselocale(before);
  return text;
}

const char *weir_bytes_to_text(uint64_t bytes, char text[WEIR_BYTES_TEXT]) {
  static const char *const names[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) {
    snprintf(text, WEIR_BYTES_TEXT, "%" PRIu64 " byte%s", bytes, bytes == 1 ? "" : "s");
    return text;
  }
  double value = (double)bytes / 1024;
  size_t i = 0;
  for (; value >= 1023.95 && i + 1 < sizeof names / sizeof *names; i++)
    value /= 1024;
  int decimals = value < 10 ? 2 : value < 100 ? 1 : 0;
  locale_t before = uselocale(get_c_locale());
  snprintf(text, WEIR_BYTES_TEXT, "%.*f %s", decimals, value, names[i]);
  uselocale(before);
  return text;
}
