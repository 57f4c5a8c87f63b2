/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoding: tokens in, the logits of what may follow out.
 *
 * The prompt goes through each layer in chunks, as a training row does; later tokens go one at a
 * time and attend to the cache.  One sequence; nothing is ever recomputed.  The step arena holds
 *
 *   | K, V of every layer, for max_tokens | logits [1,V] | the tokens at hand: ids, hidden |
 * layer...
 *
 * from open to close, and is otherwise as it was.  Nothing here allocates outside the arenas. */
#ifndef WEIR_GENERATE_DECODE_H
#define WEIR_GENERATE_DECODE_H

#include "generate/kv_cache.h"
#include "stream/run.h"

typedef struct weir_decoder {
  weir_run *run; /* borrowed */
  weir_arena_mark mark;
  weir_kv_cache cache;
  weir_tensor logits; /* [1,V], of the last token fed */
  int64_t n_tokens;   /* fed so far */
} weir_decoder;

void weir_decoder_open(weir_decoder *decoder, weir_run *run, int64_t max_tokens);
void weir_decoder_close(weir_decoder *decoder);

/* ids [n_ids], each below the vocabulary's size; together with those before at most max_tokens.
 * They stay unchanged until the logits are read; on a dry device NULL will do. */
void weir_decoder_feed(weir_decoder *decoder, const int32_t *ids, int64_t n_ids);

/* logits [V], of the token after the last one fed. */
void weir_decoder_read_logits(const weir_decoder *decoder, double *logits);

#endif
