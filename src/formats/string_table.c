/* SPDX-License-Identifier: Apache-2.0
 *
 * Open addressing over XXH3; at most half of the slots are taken. */
#include "formats/string_table.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

const char *weir_string_table_at(const weir_string_table *table, size_t number, size_t *n_bytes) {
  size_t begin = number == 0 ? 0 : table->ends[number - 1];
  *n_bytes = table->ends[number] - begin;
  return table->text.data ? table->text.data + begin : "";
}

/* The slot that holds the string, or the free one where it belongs. */
static size_t slot_of(const weir_string_table *table, const void *string, size_t n_bytes) {
  size_t mask = table->n_slots - 1, slot = XXH3_64bits(string, n_bytes) & mask;
  for (; table->slots[slot] != 0; slot = (slot + 1) & mask) {
    size_t n_there;
    const char *there = weir_string_table_at(table, table->slots[slot] - 1, &n_there);
    if (n_there == n_bytes && memcmp(there, string, n_bytes) == 0) break;
  }
  return slot;
}

static weir_status double_slots(weir_string_table *table) {
  size_t n_slots = table->n_slots ? table->n_slots * 2 : 64;
  uint32_t *slots = calloc(n_slots, sizeof *slots);
  if (!slots) return weir_fail(WEIR_FAILED, "out of memory for %zu strings", n_slots);
  free(table->slots);
  table->slots = slots;
  table->n_slots = n_slots;
  for (size_t i = 0; i < table->count; i++) {
    size_t n_bytes;
    const char *string = weir_string_table_at(table, i, &n_bytes);
    slots[slot_of(table, string, n_bytes)] = (uint32_t)i + 1;
  }
  return WEIR_OK;
}

weir_status weir_string_table_add(weir_string_table *table, const void *string, size_t n_bytes,
                                  uint32_t *number) {
  if (2 * (table->count + 1) > table->n_slots) WEIR_TRY(double_slots(table));
  size_t slot = slot_of(table, string, n_bytes);
  if (table->slots[slot] == 0) {
    WEIR_ASSERT(table->count, <, INT32_MAX);
    WEIR_TRY(weir_grow(&table->ends, &table->ends_capacity, table->count + 1, sizeof(size_t)));
    WEIR_TRY(weir_bytes_append(&table->text, string, n_bytes));
    table->ends[table->count++] = table->text.count;
    table->slots[slot] = (uint32_t)table->count;
  }
  *number = table->slots[slot] - 1;
  return WEIR_OK;
}

int64_t weir_string_table_find(const weir_string_table *table, const void *string, size_t n_bytes) {
  if (table->n_slots == 0) return -1;
  return (int64_t)table->slots[slot_of(table, string, n_bytes)] - 1;
}

void weir_string_table_deinit(weir_string_table *table) {
  weir_bytes_deinit(&table->text);
  free(table->ends);
  free(table->slots);
  *table = (weir_string_table){0};
}
