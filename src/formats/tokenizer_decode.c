/* SPDX-License-Identifier: Apache-2.0
 *
 * Ids back to bytes.  Every token has its bytes ready; what remains is to leave out what encoding
 * adds by itself, and, in a stream, never to show half a character. */
#include "formats/tokenizer_parts.h"

#include <string.h>

void weir_token_stream_init(weir_token_stream *stream, const weir_tokenizer *tokenizer,
                            bool special_tokens_added) {
  *stream = (weir_token_stream){.tokenizer = tokenizer,
                                .special_tokens_added = special_tokens_added,
                                .at_start = true,
                                .n_strip = tokenizer->n_strip};
}

/* How many bytes at the end begin a character that needs more. */
static int unfinished_bytes(const char *text, size_t n_bytes) {
  for (int n = 1; n <= 3 && (size_t)n <= n_bytes; n++) {
    unsigned char byte = (unsigned char)text[n_bytes - (size_t)n];
    if ((byte & 0xC0) == 0x80) continue;
    int needed = byte >= 0xF0 && byte <= 0xF4 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC2 ? 2 : 1;
    return byte <= 0xF4 && needed > n ? n : 0;
  }
  return 0;
}

static weir_status append_token(weir_token_stream *stream, int32_t id, weir_bytes *text) {
  const weir_tokenizer *t = stream->tokenizer;
  size_t at = id == 0 ? 0 : t->decoded_ends[id - 1], end = t->decoded_ends[id];
  for (; stream->n_strip > 0 && at < end && t->decoded.data[at] == t->strip_byte; at++)
    stream->n_strip--;
  if (at < end) stream->n_strip = 0;
  if (t->begins_text[id]) stream->n_strip = t->n_strip;

  size_t begin = text->count;
  WEIR_TRY(weir_bytes_append(text, stream->pending, (size_t)stream->n_pending));
  if (at < end) WEIR_TRY(weir_bytes_append(text, t->decoded.data + at, end - at));
  stream->n_pending = 0;
  if (text->count == begin) return WEIR_OK;
  int n = unfinished_bytes(text->data + begin, text->count - begin);
  text->count -= (size_t)n;
  memcpy(stream->pending, text->data + text->count, (size_t)n);
  stream->n_pending = n;
  return WEIR_OK;
}

weir_status weir_token_stream_feed(weir_token_stream *stream, int32_t id, weir_bytes *text) {
  const weir_tokenizer *t = stream->tokenizer;
  if (id < 0 || id >= weir_tokenizer_vocab_size(t))
    return weir_fail(WEIR_BAD_INPUT, "token id %d is not in the vocabulary of %d tokens", (int)id,
                     (int)weir_tokenizer_vocab_size(t));
  bool is_prefix = stream->at_start && stream->special_tokens_added && id == t->prefix_id;
  stream->at_start = false;
  if (is_prefix) return WEIR_OK;
  if (stream->holds_suffix) WEIR_TRY(append_token(stream, t->suffix_id, text));
  stream->holds_suffix = stream->special_tokens_added && id == t->suffix_id;
  return stream->holds_suffix ? WEIR_OK : append_token(stream, id, text);
}

weir_status weir_token_stream_finish(weir_token_stream *stream, weir_bytes *text) {
  int n = stream->n_pending;
  stream->n_pending = 0;
  return weir_bytes_append(text, stream->pending, (size_t)n);
}

weir_status weir_tokenizer_decode(const weir_tokenizer *tokenizer, const int32_t *ids, size_t n_ids,
                                  bool special_tokens_added, weir_bytes *text) {
  weir_token_stream stream;
  weir_token_stream_init(&stream, tokenizer, special_tokens_added);
  for (size_t i = 0; i < n_ids; i++) {
    weir_status status = weir_token_stream_feed(&stream, ids[i], text);
    if (status != WEIR_OK) return weir_fail_at(status, "id %zu of %zu", i + 1, n_ids);
  }
  return weir_token_stream_finish(&stream, text);
}
