/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens to text before it is split: Unicode normal forms (UAX #15, by utf8proc) and the
 * literal replacements by which Llama 2 turns spaces into U+2581. */
#include "formats/tokenizer_parts.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

weir_status weir_normalizer_add(weir_normalizer *normalizer, weir_normalizer_kind kind,
                                const char *from, const char *to) {
  WEIR_TRY(weir_grow(&normalizer->steps, &normalizer->capacity, normalizer->count + 1,
                     sizeof *normalizer->steps));
  weir_normalizer_step *step = &normalizer->steps[normalizer->count++];
  *step = (weir_normalizer_step){kind, from ? strdup(from) : NULL, to ? strdup(to) : NULL};
  if ((from && !step->from) || (to && !step->to)) return weir_fail(WEIR_FAILED, "out of memory");
  return WEIR_OK;
}

weir_status weir_replace_all(const char *text, size_t n_bytes, const char *from, const char *to,
                             weir_bytes *replaced) {
  size_t n_from = strlen(from), n_to = strlen(to);
  for (const char *end = text + n_bytes; text < end;) {
    const char *found = memmem(text, (size_t)(end - text), from, n_from);
    WEIR_TRY(weir_bytes_append(replaced, text, (size_t)((found ? found : end) - text)));
    if (!found) break;
    WEIR_TRY(weir_bytes_append(replaced, to, n_to));
    text = found + n_from;
  }
  return WEIR_OK;
}

static bool is_ascii(const char *text, size_t n_bytes) {
  for (size_t i = 0; i < n_bytes; i++)
    if ((unsigned char)text[i] >= 0x80) return false;
  return true;
}

static weir_status normal_form(weir_normalizer_kind kind, const char *text, size_t n_bytes,
                               weir_bytes *out) {
  static const utf8proc_option_t options[] = {
      [WEIR_NORMALIZER_NFC] = UTF8PROC_COMPOSE,
      [WEIR_NORMALIZER_NFD] = UTF8PROC_DECOMPOSE,
      [WEIR_NORMALIZER_NFKC] = UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
      [WEIR_NORMALIZER_NFKD] = UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT,
  };
  if (is_ascii(text, n_bytes)) return weir_bytes_append(out, text, n_bytes);
  utf8proc_uint8_t *mapped = NULL;
  utf8proc_ssize_t n_mapped =
      utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)n_bytes, &mapped,
                   UTF8PROC_STABLE | options[kind]);
  if (n_mapped < 0)
    return weir_fail(WEIR_FAILED, "Unicode normalization failed: %s", utf8proc_errmsg(n_mapped));
  weir_status status = weir_bytes_append(out, mapped, (size_t)n_mapped);
  free(mapped);
  return status;
}

static weir_status apply_step(const weir_normalizer_step *step, const char *text, size_t n_bytes,
                              bool goes_on, weir_bytes *out) {
  switch (step->kind) {
  case WEIR_NORMALIZER_PREPEND:
    if (n_bytes > 0 && !goes_on) WEIR_TRY(weir_bytes_append(out, step->to, strlen(step->to)));
    return weir_bytes_append(out, text, n_bytes);
  case WEIR_NORMALIZER_REPLACE:
    return weir_replace_all(text, n_bytes, step->from, step->to, out);
  default:
    return normal_form(step->kind, text, n_bytes, out);
  }
}

weir_status weir_normalizer_apply(const weir_normalizer *normalizer, const char *text,
                                  size_t n_bytes, bool goes_on, weir_bytes *normalized) {
  weir_bytes source = {0};
  normalized->count = 0;
  weir_status status = weir_bytes_append(normalized, text, n_bytes);
  for (size_t i = 0; i < normalizer->count && status == WEIR_OK; i++) {
    weir_bytes target = source;
    source = *normalized;
    *normalized = target;
    normalized->count = 0;
    status = apply_step(&normalizer->steps[i], source.data, source.count, goes_on, normalized);
  }
  weir_bytes_deinit(&source);
  return status;
}

void weir_normalizer_deinit(weir_normalizer *normalizer) {
  for (size_t i = 0; i < normalizer->count; i++) {
    free(normalizer->steps[i].from);
    free(normalizer->steps[i].to);
  }
  free(normalizer->steps);
  *normalizer = (weir_normalizer){0};
}
