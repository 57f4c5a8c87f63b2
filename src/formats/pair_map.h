/* SPDX-License-Identifier: Apache-2.0
 *
 * A number for every pair of token ids: the rank of a merge, or the place of a pair's count. */
#ifndef WEIR_FORMATS_PAIR_MAP_H
#define WEIR_FORMATS_PAIR_MAP_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

#define WEIR_PAIR_ABSENT UINT32_MAX

typedef struct weir_pair_map {
  struct weir_pair_slot *slots; /* open addressing; absent: free */
  size_t count, n_slots;
} weir_pair_map;

/* Ids are not negative.  Replaces the value of a pair that is there. */
weir_status weir_pair_map_put(weir_pair_map *map, int32_t left, int32_t right, uint32_t value);
/* WEIR_PAIR_ABSENT where the pair has no value. */
uint32_t weir_pair_map_get(const weir_pair_map *map, int32_t left, int32_t right);
void weir_pair_map_deinit(weir_pair_map *map);

#endif
