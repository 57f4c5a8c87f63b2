/* SPDX-License-Identifier: Apache-2.0
 *
 * Filling, copying, adding, rounding, and the way to and from the host. */
#include "base/rng.h"
#include "core/convert.h"
#include "device/ref/ref_operations.h"

#include <math.h>
#include <string.h>

static void zero(weir_device *device, weir_tensor dst) {
  (void)device;
  memset(weir_tensor_data(dst), 0, weir_tensor_bytes(dst));
}

static void copy(weir_device *device, weir_tensor dst, weir_tensor src) {
  (void)device;
  REF_ASSERT_SHAPE(dst, dst.dtype, src.rows, src.cols);
  weir_convert(weir_tensor_data(dst), dst.dtype, weir_tensor_data(src), src.dtype,
               weir_tensor_count(src));
}

static void round_to_bf16(weir_device *device, weir_tensor y, weir_tensor x) {
  REF_ASSERT_SHAPE(x, device->real, x.rows, x.cols);
  REF_ASSERT_SHAPE(y, device->real, x.rows, x.cols);
  for (int64_t i = 0; i < weir_tensor_count(x); i++) {
    uint16_t rounded;
    weir_convert(&rounded, WEIR_DTYPE_BF16, ref_vector(x) + i, WEIR_DTYPE_F64, 1);
    ref_vector(y)[i] = (double)weir_f32_from_bf16(rounded);
  }
}

static void add(weir_device *device, weir_tensor dst, weir_tensor src) {
  REF_ASSERT_SHAPE(src, device->real, src.rows, src.cols);
  REF_ASSERT_SHAPE(dst, device->real, src.rows, src.cols);
  ref_add_scaled(ref_vector(dst), 1, ref_vector(src), weir_tensor_count(src));
}

static void round_randomly(weir_device *device, weir_tensor y, weir_tensor x,
                           const weir_noise *noise) {
  REF_ASSERT_SHAPE(x, device->real, x.rows, x.cols);
  REF_ASSERT_SHAPE(y, WEIR_DTYPE_BF16, x.rows, x.cols);
  WEIR_ASSERT(noise->first % 4, ==, 0);
  uint16_t *rounded = weir_tensor_data(y);
  for (int64_t i = 0; i < weir_tensor_count(x); i++) {
    uint64_t word = weir_random_u64(noise->seed, noise->stream, (uint64_t)(noise->first + i) / 4);
    uint32_t random = (uint32_t)(word >> 16 * (i % 4)) & 0xffff, bits;
    float value = (float)ref_vector(x)[i];
    memcpy(&bits, &value, sizeof bits);
    rounded[i] = isnan(value) ? weir_bf16_from_f32(value) : (uint16_t)((bits + random) >> 16);
  }
}

static void write(weir_device *device, weir_tensor dst, const void *host) {
  (void)device;
  memcpy(weir_tensor_data(dst), host, weir_tensor_bytes(dst));
}

static void read(weir_device *device, void *host, weir_tensor src) {
  (void)device;
  memcpy(host, weir_tensor_data(src), weir_tensor_bytes(src));
}

static void scale(weir_device *device, weir_tensor dst, double factor) {
  REF_ASSERT_SHAPE(dst, device->real, dst.rows, dst.cols);
  for (int64_t i = 0; i < weir_tensor_count(dst); i++)
    ref_vector(dst)[i] *= factor;
}

void weir_ref_operations_memory(weir_device_operations *operations) {
  operations->zero = zero;
  operations->copy = copy;
  operations->add = add;
  operations->round = round_to_bf16;
  operations->round_randomly = round_randomly;
  operations->scale = scale;
  operations->write = write;
  operations->read = read;
}
