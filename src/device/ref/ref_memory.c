/* SPDX-License-Identifier: Apache-2.0
 *
 * Filling, copying, adding, and the way to and from the host. */
#include "device/ref/ref_operations.h"

#include <string.h>

static void zero(weir_device *device, weir_tensor dst) {
  (void)device;
  memset(weir_tensor_data(dst), 0, weir_tensor_bytes(dst));
}

static void copy(weir_device *device, weir_tensor dst, weir_tensor src) {
  (void)device;
  REF_ASSERT_SHAPE(dst, src.dtype, src.rows, src.cols);
  memcpy(weir_tensor_data(dst), weir_tensor_data(src), weir_tensor_bytes(src));
}

static void add(weir_device *device, weir_tensor dst, weir_tensor src) {
  REF_ASSERT_SHAPE(src, device->real, src.rows, src.cols);
  REF_ASSERT_SHAPE(dst, device->real, src.rows, src.cols);
  ref_add_scaled(ref_vector(dst), 1, ref_vector(src), weir_tensor_count(src));
}

static void write(weir_device *device, weir_tensor dst, const void *host) {
  (void)device;
  memcpy(weir_tensor_data(dst), host, weir_tensor_bytes(dst));
}

static void read(weir_device *device, void *host, weir_tensor src) {
  (void)device;
  memcpy(host, weir_tensor_data(src), weir_tensor_bytes(src));
}

void weir_ref_operations_memory(weir_device_operations *operations) {
  operations->zero = zero;
  operations->copy = copy;
  operations->add = add;
  operations->write = write;
  operations->read = read;
}
