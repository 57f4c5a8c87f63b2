/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference device: every operation in f64, slow and obvious.  Every other device is judged by
 * it, so its code reads like the formulas of core/device.h and knows no tricks.  One thread. */
#ifndef WEIR_DEVICE_REF_REF_H
#define WEIR_DEVICE_REF_REF_H

#include "base/status.h"
#include "core/device.h"

/* Fails (WEIR_FAILED) only for want of memory.  The run sets the workspace before the first
 * operation. */
weir_status weir_ref_create(weir_device **device);
void weir_ref_destroy(weir_device *device);

#endif
