/* SPDX-License-Identifier: Apache-2.0 */
#include "core/read_real.h"

#include "base/status.h"

#include <string.h>

/* Widens in place, last to first: f32 values arrive in the front half of the f64 array. */
void weir_read_real(weir_device *device, double *values, weir_tensor tensor) {
  device->operations->read(device, values, tensor);
  if (tensor.dtype == WEIR_DTYPE_F64) return;
  WEIR_ASSERT(tensor.dtype, ==, WEIR_DTYPE_F32);
  for (int64_t i = weir_tensor_count(tensor) - 1; i >= 0; i--) {
    float narrow;
    memcpy(&narrow, (const char *)values + (size_t)i * sizeof narrow, sizeof narrow);
    values[i] = (double)narrow;
  }
}
