/* SPDX-License-Identifier: Apache-2.0
 *
 * A prompt and its completion as one sequence with a boundary between tokens. */
#include "formats/tokenizer_parts.h"

#include <string.h>

static weir_status encode_joined(const weir_tokenizer *tokenizer, const weir_document *pair,
                                 weir_ids *joined) {
  const weir_text_part whole = {true, true, false};
  weir_bytes text = {0};
  weir_status status = weir_bytes_append(&text, pair->prompt, pair->n_prompt_bytes);
  if (status == WEIR_OK) status = weir_bytes_append(&text, pair->text, pair->n_bytes);
  if (status == WEIR_OK)
    status = weir_tokenizer_encode_part(tokenizer, text.data, text.count, whole, joined);
  weir_bytes_deinit(&text);
  return status;
}

/* Do the joined ids begin with those at `begin`? */
static bool begins_with(const weir_ids *joined, const weir_ids *ids, size_t begin) {
  const size_t n = ids->count - begin;
  return n == 0 || (n <= joined->count &&
                    memcmp(joined->data, ids->data + begin, n * sizeof *ids->data) == 0);
}

weir_status weir_tokenizer_encode_pair(const weir_tokenizer *tokenizer, const weir_document *pair,
                                       weir_ids *ids, size_t *n_prompt_ids, bool *apart) {
  const weir_text_part opening = {true, false, false}, going_on = {false, true, true};
  const size_t begin = ids->count;
  WEIR_TRY(weir_tokenizer_encode_part(tokenizer, pair->prompt, pair->n_prompt_bytes, opening, ids));
  *n_prompt_ids = ids->count - begin;
  weir_ids joined = {0};
  weir_status status = encode_joined(tokenizer, pair, &joined);
  *apart = !begins_with(&joined, ids, begin);
  if (status == WEIR_OK && *apart)
    status = weir_tokenizer_encode_part(tokenizer, pair->text, pair->n_bytes, going_on, ids);
  for (size_t i = *n_prompt_ids; i < joined.count && status == WEIR_OK && !*apart; i++)
    status = weir_ids_append(ids, joined.data[i]);
  weir_ids_deinit(&joined);
  return status;
}
