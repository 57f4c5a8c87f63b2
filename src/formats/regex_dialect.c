/* SPDX-License-Identifier: Apache-2.0
 *
 * Patterns in tokenizer.json are written for Oniguruma (Ruby syntax, Unicode); here PCRE2 matches
 * them.  The two agree on most of what such patterns use.  Where the same text means something
 * else, the pattern is rewritten or, where that is not worth it, refused:
 *
 *     \s \S           rewritten: PCRE2's differ at U+180E; \p{White_Space} is the reference's
 *     \d \D           rewritten to \p{Nd}
 *     \uHHHH, \v      rewritten to \x{...}
 *     \p{Han}         rewritten to \p{sc:Han}: PCRE2 would take script extensions
 *     \w \b \h \R \X, ^ $, {,n}, {n}+, {n}?, [a[b]], [a&&b], (?x)   refused
 *     (?i:...)        only plain ASCII, and no two letters that one character folds to (ss, st, ff)
 *
 * https://github.com/kkos/oniguruma/blob/master/doc/RE */
#include "formats/tokenizer_parts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct translation {
  const char *pattern, *at;
  weir_bytes *out;
  int depth;             /* open groups */
  int ignore_case_depth; /* of the (?i: we are in, or 0 */
  bool in_class;
} translation;

static weir_status refuse(const translation *t, const char *what) {
  return weir_fail(WEIR_BAD_INPUT, "regex \"%.200s\" is not supported at character %td: %s",
                   t->pattern, t->at - t->pattern + 1, what);
}

static weir_status emit(translation *t, const char *text, size_t n_consumed) {
  t->at += n_consumed;
  return weir_bytes_append(t->out, text, strlen(text));
}

static weir_status copy(translation *t, size_t n_bytes) {
  t->at += n_bytes;
  return weir_bytes_append(t->out, t->at - n_bytes, n_bytes);
}

/* \p{L}, \P{Lu}, \p{^N}: general categories pass, longer names are scripts. */
static weir_status translate_property(translation *t) {
  const char *name = t->at + 3 + (t->at[2] == '{' && t->at[3] == '^');
  size_t n =
      t->at[2] == '{' ? strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_") : 0;
  if (n == 0 || n > 40 || name[n] != '}') return refuse(t, "expected \\p{Name}");
  char text[64];
  snprintf(text, sizeof text, "\\%c{%s%s%.*s}", t->at[1], t->at[3] == '^' ? "^" : "",
           n > 2 ? "sc:" : "", (int)n, name);
  return emit(t, text, (size_t)(name + n + 1 - t->at));
}

static weir_status translate_hexadecimal(translation *t) {
  bool braces = t->at[1] == 'x' && t->at[2] == '{';
  const char *digits = t->at + 2 + braces;
  size_t n = 0, most = braces ? 6 : t->at[1] == 'u' ? 4 : 2;
  while (n < most && isxdigit((unsigned char)digits[n]))
    n++;
  if (n == 0 || (braces ? digits[n] != '}' : n != most))
    return refuse(t, "expected \\uHHHH, \\xHH or \\x{H...}");
  char text[16];
  snprintf(text, sizeof text, "\\x{%.*s}", (int)n, digits);
  if (!braces && t->at[1] == 'x' && strtol(digits, NULL, 16) >= 0x80)
    return refuse(t, "\\xHH from 80 on is a byte, not a character");
  return emit(t, text, (size_t)(digits + n + braces - t->at));
}

static weir_status translate_escape(translation *t) {
  if (t->ignore_case_depth) return refuse(t, "an escape in (?i:...)");
  switch (t->at[1]) {
  case 's':
    return emit(t, "\\p{White_Space}", 2);
  case 'S':
    return emit(t, "\\P{White_Space}", 2);
  case 'd':
    return emit(t, "\\p{Nd}", 2);
  case 'D':
    return emit(t, "\\P{Nd}", 2);
  case 'v':
    return emit(t, "\\x{0B}", 2);
  case 'p':
  case 'P':
    return translate_property(t);
  case 'u':
  case 'x':
    return translate_hexadecimal(t);
  case 'n':
  case 'r':
  case 't':
  case 'f':
    return copy(t, 2);
  default:
    if (ispunct((unsigned char)t->at[1]) || t->at[1] == ' ') return copy(t, 2);
    return refuse(t, "this escape");
  }
}

static weir_status translate_group(translation *t) {
  static const char *const openings[] = {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:"};
  t->depth++;
  if (t->at[1] == '*') return refuse(t, "(*");
  if (t->at[1] != '?') return copy(t, 1);
  for (size_t i = 0; i < sizeof openings / sizeof *openings; i++) {
    size_t n = strlen(openings[i]);
    if (strncmp(t->at, openings[i], n) != 0) continue;
    if (openings[i][2] == 'i' && t->ignore_case_depth == 0) t->ignore_case_depth = t->depth;
    return copy(t, n);
  }
  return refuse(t, "this kind of group");
}

/* {n} {n,} {n,m}, not followed by + or ?, which Ruby reads as another quantifier. */
static weir_status translate_interval(translation *t) {
  size_t n = 1, n_digits = strspn(t->at + n, "0123456789");
  n += n_digits;
  if (t->at[n] == ',') n += 1 + strspn(t->at + n + 1, "0123456789");
  if (n_digits == 0 || t->at[n] != '}') return refuse(t, "expected {n}, {n,} or {n,m}");
  if (t->at[n + 1] == '+' || t->at[n + 1] == '?') return refuse(t, "a quantifier after {n}");
  return copy(t, n + 1);
}

static weir_status translate_in_class(translation *t) {
  if (*t->at == '[') return refuse(t, "[ inside a class");
  if (t->at[0] == '&' && t->at[1] == '&') return refuse(t, "&& inside a class");
  if (*t->at == ']') t->in_class = false;
  return copy(t, 1);
}

static weir_status translate_plain(translation *t) {
  switch (*t->at) {
  case '(':
    return translate_group(t);
  case ')':
    if (t->depth == t->ignore_case_depth) t->ignore_case_depth = 0;
    t->depth--;
    return copy(t, 1);
  case '[':
    t->in_class = true;
    WEIR_TRY(copy(t, t->at[1] == '^' ? 2 : 1));
    return *t->at == ']' ? refuse(t, "an empty class") : WEIR_OK;
  case '{':
    return translate_interval(t);
  case '^':
  case '$':
    return refuse(t, "an anchor");
  default:
    return copy(t, 1);
  }
}

static bool folds_together(const char *at) {
  static const char pairs[][3] = {"ss", "st", "ff", "fi", "fl"};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (tolower((unsigned char)at[0]) == pairs[i][0] &&
        tolower((unsigned char)at[1]) == pairs[i][1])
      return true;
  return false;
}

weir_status weir_regex_translate(const char *pattern, weir_bytes *translated) {
  translation t = {.pattern = pattern, .at = pattern, .out = translated};
  while (*t.at) {
    if (t.ignore_case_depth && ((unsigned char)*t.at >= 0x80 || folds_together(t.at)))
      return refuse(&t, "letters in (?i:...) that fold with others");
    if (*t.at == '\\')
      WEIR_TRY(translate_escape(&t));
    else if (t.in_class)
      WEIR_TRY(translate_in_class(&t));
    else
      WEIR_TRY(translate_plain(&t));
  }
  return WEIR_OK;
}
