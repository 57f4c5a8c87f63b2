/* SPDX-License-Identifier: Apache-2.0
 *
 * Growth by halves: appending n items moves O(n) of them. */
#include "base/growable.h"

#include <stdlib.h>
#include <string.h>

weir_status weir_grow(void *data, size_t *capacity, size_t needed, size_t item_bytes) {
  if (needed <= *capacity) return WEIR_OK;
  size_t wanted = *capacity + *capacity / 2 + 16;
  if (wanted < needed) wanted = needed;
  void *old, *grown = NULL;
  memcpy(&old, data, sizeof old);
  if (wanted <= SIZE_MAX / item_bytes) grown = realloc(old, wanted * item_bytes);
  if (!grown) return weir_fail(WEIR_FAILED, "out of memory for %zu items", wanted);
  memcpy(data, &grown, sizeof grown);
  *capacity = wanted;
  return WEIR_OK;
}

weir_status weir_bytes_append(weir_bytes *array, const void *bytes, size_t n_bytes) {
  if (n_bytes == 0) return WEIR_OK;
  WEIR_TRY(weir_grow(&array->data, &array->capacity, array->count + n_bytes, 1));
  memcpy(array->data + array->count, bytes, n_bytes);
  array->count += n_bytes;
  return WEIR_OK;
}

weir_status weir_ids_append(weir_ids *array, int32_t id) {
  WEIR_TRY(weir_grow(&array->data, &array->capacity, array->count + 1, sizeof *array->data));
  array->data[array->count++] = id;
  return WEIR_OK;
}

void weir_bytes_deinit(weir_bytes *array) {
  free(array->data);
  *array = (weir_bytes){0};
}

void weir_ids_deinit(weir_ids *array) {
  free(array->data);
  *array = (weir_ids){0};
}
