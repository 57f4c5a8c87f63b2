/* SPDX-License-Identifier: Apache-2.0
 *
 * What forward keeps for backward.  A policy is a set of a layer's values; the rest is rebuilt.
 *
 *   all     every value backward needs; nothing is recomputed
 *   attn    layer input, attention output, log-sum-exp; everything but attention is recomputed
 *   input   layer input; the layer is recomputed */
#ifndef WEIR_STREAM_STASH_H
#define WEIR_STREAM_STASH_H

#include "model/block.h"

#include <stdbool.h>

typedef enum weir_stash_policy {
  WEIR_STASH_ALL,
  WEIR_STASH_ATTN,
  WEIR_STASH_INPUT,
  WEIR_STASH_POLICY_COUNT,
} weir_stash_policy;

const char *weir_stash_policy_name(weir_stash_policy policy);
/* False where no policy has that name. */
bool weir_stash_policy_parse(const char *name, weir_stash_policy *policy);
weir_value_set weir_stash_policy_values(weir_stash_policy policy);

/* The slot of one layer: [T, cols] for each value kept, absent for the others. */
typedef struct weir_stash_slot {
  weir_tensor kept[WEIR_VALUE_COUNT];
} weir_stash_slot;

/* Takes the given values of a layer of T tokens from the arena, in `real` or, where values are
 * rounded as they are born, all but LSE in bf16: what is kept comes back as it was. */
void weir_stash_slot_allocate(weir_stash_slot *slot, weir_arena *arena,
                              const weir_model_config *config, weir_dtype real, bool in_bf16,
                              weir_value_set values, int64_t n_tokens);

#endif
