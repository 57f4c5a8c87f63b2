/* SPDX-License-Identifier: Apache-2.0 */
#include "generate/kv_cache.h"

weir_kv_cache weir_kv_cache_allocate(weir_arena *arena, const weir_model_config *config,
                                     weir_dtype real, int64_t max_tokens) {
  int64_t n_rows = config->num_hidden_layers * 2 * max_tokens;
  return (weir_kv_cache){
      .rows = weir_tensor_allocate(arena, WEIR_MEMORY_KEYS_VALUES, real, n_rows,
                                   config->num_key_value_heads * config->head_dim),
      .max_tokens = max_tokens,
  };
}

static weir_tensor rows_of(const weir_kv_cache *cache, int64_t part, int64_t n_tokens) {
  WEIR_ASSERT(n_tokens, <=, cache->max_tokens);
  int64_t begin = part * cache->max_tokens;
  return weir_tensor_rows(cache->rows, begin, begin + n_tokens);
}

weir_tensor weir_kv_cache_keys(const weir_kv_cache *cache, int64_t layer, int64_t n_tokens) {
  return rows_of(cache, 2 * layer, n_tokens);
}

weir_tensor weir_kv_cache_values(const weir_kv_cache *cache, int64_t layer, int64_t n_tokens) {
  return rows_of(cache, 2 * layer + 1, n_tokens);
}
