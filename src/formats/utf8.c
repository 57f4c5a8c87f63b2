/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/tokenizer_parts.h"

#include <utf8proc.h>

size_t weir_utf8_next(const char *text, size_t n_bytes, int32_t *character) {
  utf8proc_ssize_t n =
      utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)n_bytes, character);
  return n > 0 ? (size_t)n : 0;
}
