/* SPDX-License-Identifier: Apache-2.0
 *
 * The KV cache: K and V of every token so far, for every layer, at the size of the K/V heads. */
#ifndef WEIR_GENERATE_KV_CACHE_H
#define WEIR_GENERATE_KV_CACHE_H

#include "core/tensor.h"
#include "formats/model_config.h"

typedef struct weir_kv_cache {
  weir_tensor rows; /* per layer K then V, max_tokens rows each [L*2*max_tokens, G*K] */
  int64_t max_tokens;
} weir_kv_cache;

/* Taken from the top of the arena; goes when the arena is released below it. */
weir_kv_cache weir_kv_cache_allocate(weir_arena *arena, const weir_model_config *config,
                                     weir_dtype real, int64_t max_tokens);

/* Rows of tokens 0 .. n_tokens - 1 of one layer: views [n_tokens, G*K]. */
weir_tensor weir_kv_cache_keys(const weir_kv_cache *cache, int64_t layer, int64_t n_tokens);
weir_tensor weir_kv_cache_values(const weir_kv_cache *cache, int64_t layer, int64_t n_tokens);

#endif
