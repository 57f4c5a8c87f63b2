/* SPDX-License-Identifier: Apache-2.0
 *
 * SentencePiece's way with spaces, as a stage before the model: each becomes a visible character,
 * usually U+2581, and a word may get one before it so that words look alike wherever they stand. */
#include "formats/tokenizer_parts.h"

#include <string.h>

weir_status weir_metaspace_apply(const weir_metaspace *metaspace, const char *text, size_t n_bytes,
                                 bool is_start, bool goes_on, weir_bytes *replaced) {
  const char *replacement = metaspace->replacement;
  const size_t n_replacement = strlen(replacement);
  const bool wants_one = metaspace->prepend == WEIR_METASPACE_ALWAYS ||
                         (metaspace->prepend == WEIR_METASPACE_FIRST && is_start);
  const bool has_one =
      n_bytes > 0 &&
      (text[0] == ' ' || (n_bytes >= n_replacement && !memcmp(text, replacement, n_replacement)));
  replaced->count = 0;
  if (wants_one && !has_one && !goes_on)
    WEIR_TRY(weir_bytes_append(replaced, replacement, n_replacement));
  return weir_replace_all(text, n_bytes, " ", replacement, replaced);
}
