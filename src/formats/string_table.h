/* SPDX-License-Identifier: Apache-2.0
 *
 * Distinct byte strings numbered 0, 1, 2, ... in the order in which they came: a vocabulary, or
 * the words of a corpus.  Strings may hold any bytes, zero included. */
#ifndef WEIR_FORMATS_STRING_TABLE_H
#define WEIR_FORMATS_STRING_TABLE_H

#include "base/growable.h"

typedef struct weir_string_table {
  weir_bytes text; /* all strings, end to end */
  size_t *ends;    /* where string i ends in `text` */
  uint32_t *slots; /* open addressing: number + 1, or 0 */
  size_t count, ends_capacity, n_slots;
} weir_string_table;

/* Adds the string unless it is there; *number is its number either way. */
weir_status weir_string_table_add(weir_string_table *table, const void *string, size_t n_bytes,
                                  uint32_t *number);
/* -1 where the table has no such string. */
int64_t weir_string_table_find(const weir_string_table *table, const void *string, size_t n_bytes);
/* Borrowed until the next add; not terminated. */
const char *weir_string_table_at(const weir_string_table *table, size_t number, size_t *n_bytes);
void weir_string_table_deinit(weir_string_table *table);

#endif
