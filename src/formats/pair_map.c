/* SPDX-License-Identifier: Apache-2.0
 *
 * Open addressing with multiplicative hashing (Knuth, TAOCP 3, 6.4); at most half of the slots
 * are taken, and nothing is ever removed. */
#include "formats/pair_map.h"

#include <stdlib.h>

struct weir_pair_slot {
  uint64_t key;
  uint32_t value;
};

static uint64_t key_of(int32_t left, int32_t right) {
  return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

/* The slot that holds the key, or the free one where it belongs. */
static struct weir_pair_slot *slot_of(const weir_pair_map *map, uint64_t key) {
  uint64_t hash = key * 0x9E3779B97F4A7C15u;
  size_t mask = map->n_slots - 1, slot = (hash ^ hash >> 32) & mask;
  while (map->slots[slot].value != WEIR_PAIR_ABSENT && map->slots[slot].key != key)
    slot = (slot + 1) & mask;
  return &map->slots[slot];
}

static weir_status double_slots(weir_pair_map *map) {
  weir_pair_map larger = {.count = map->count, .n_slots = map->n_slots ? map->n_slots * 2 : 64};
  larger.slots = malloc(larger.n_slots * sizeof *larger.slots);
  if (!larger.slots) return weir_fail(WEIR_FAILED, "out of memory for %zu pairs", larger.n_slots);
  for (size_t i = 0; i < larger.n_slots; i++)
    larger.slots[i] = (struct weir_pair_slot){.value = WEIR_PAIR_ABSENT};
  for (size_t i = 0; i < map->n_slots; i++)
    if (map->slots[i].value != WEIR_PAIR_ABSENT)
      *slot_of(&larger, map->slots[i].key) = map->slots[i];
  free(map->slots);
  *map = larger;
  return WEIR_OK;
}

weir_status weir_pair_map_put(weir_pair_map *map, int32_t left, int32_t right, uint32_t value) {
  if (2 * (map->count + 1) > map->n_slots) WEIR_TRY(double_slots(map));
  uint64_t key = key_of(left, right);
  struct weir_pair_slot *slot = slot_of(map, key);
  if (slot->value == WEIR_PAIR_ABSENT) map->count++;
  *slot = (struct weir_pair_slot){key, value};
  return WEIR_OK;
}

uint32_t weir_pair_map_get(const weir_pair_map *map, int32_t left, int32_t right) {
  return map->n_slots == 0 ? WEIR_PAIR_ABSENT : slot_of(map, key_of(left, right))->value;
}

void weir_pair_map_deinit(weir_pair_map *map) {
  free(map->slots);
  *map = (weir_pair_map){0};
}
