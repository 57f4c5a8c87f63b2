/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays that grow while something is read or made: bytes and token ids.
 *
 * For set-up code and formats only; a training step holds nothing that grows.  A zeroed struct is
 * an empty array; deinit frees it and leaves it empty, so it may be filled again. */
#ifndef WEIR_BASE_GROWABLE_H
#define WEIR_BASE_GROWABLE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct weir_bytes {
  char *data;
  size_t count, capacity;
} weir_bytes;

typedef struct weir_ids {
  int32_t *data;
  size_t count, capacity;
} weir_ids;

/* Makes room for `needed` items at `*data` (of type T **); fails (WEIR_FAILED) without memory, and
 * then leaves the array as it was. */
weir_status weir_grow(void *data, size_t *capacity, size_t needed, size_t item_bytes);

/* `bytes` may not lie inside the array itself. */
weir_status weir_bytes_append(weir_bytes *array, const void *bytes, size_t n_bytes);
weir_status weir_ids_append(weir_ids *array, int32_t id);

void weir_bytes_deinit(weir_bytes *array);
void weir_ids_deinit(weir_ids *array);

#endif
