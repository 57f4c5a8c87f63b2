/* SPDX-License-Identifier: Apache-2.0 */
#include "device/ref/ref.h"

#include "device/ref/ref_operations.h"

#include <stdlib.h>

typedef struct ref_device {
  weir_device base;
  weir_device_operations operations;
} ref_device;

weir_status weir_ref_create(weir_device **device) {
  ref_device *ref = calloc(1, sizeof *ref);
  if (!ref) return weir_fail(WEIR_FAILED, "no memory for the ref device");
  weir_ref_operations_memory(&ref->operations);
  weir_ref_operations_embedding(&ref->operations);
  weir_ref_operations_norm(&ref->operations);
  weir_ref_operations_linear(&ref->operations);
  weir_ref_operations_attention(&ref->operations);
  weir_ref_operations_activation(&ref->operations);
  weir_ref_operations_head(&ref->operations);
  weir_ref_operations_optimizer(&ref->operations);
  ref->base = (weir_device){
      .name = "ref", .operations = &ref->operations, .real = WEIR_DTYPE_F64, .n_threads = 1};
  *device = &ref->base;
  return WEIR_OK;
}

void weir_ref_destroy(weir_device *device) {
  free(device);
}
