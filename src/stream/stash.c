/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/stash.h"

#include <string.h>

static const struct {
  const char *name;
  weir_value_set values;
} policies[WEIR_STASH_POLICY_COUNT] = {
    [WEIR_STASH_ALL] = {"all", ((weir_value_set)1 << WEIR_VALUE_COUNT) - 1},
    [WEIR_STASH_ATTN] = {"attn", 1u << WEIR_VALUE_INPUT | 1u << WEIR_VALUE_ATTENTION |
                                     1u << WEIR_VALUE_LSE},
    [WEIR_STASH_INPUT] = {"input", 1u << WEIR_VALUE_INPUT},
};

const char *weir_stash_policy_name(weir_stash_policy policy) {
  return policies[policy].name;
}

bool weir_stash_policy_parse(const char *name, weir_stash_policy *policy) {
  for (int i = 0; i < WEIR_STASH_POLICY_COUNT; i++)
    if (strcmp(policies[i].name, name) == 0) {
      *policy = (weir_stash_policy)i;
      return true;
    }
  return false;
}

weir_value_set weir_stash_policy_values(weir_stash_policy policy) {
  return policies[policy].values;
}

void weir_stash_slot_allocate(weir_stash_slot *slot, weir_arena *arena,
                              const weir_model_config *config, weir_dtype real, bool in_bf16,
                              weir_value_set values, int64_t n_tokens) {
  *slot = (weir_stash_slot){0};
  for (weir_value value = 0; value < WEIR_VALUE_COUNT; value++) {
    int64_t cols = weir_value_cols(config, value);
    weir_dtype dtype = in_bf16 && value != WEIR_VALUE_LSE ? WEIR_DTYPE_BF16 : real;
    if (cols && (values & weir_value_bit(value)))
      slot->kept[value] = weir_tensor_allocate(arena, WEIR_MEMORY_STASH, dtype, n_tokens, cols);
  }
}
