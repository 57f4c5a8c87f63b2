/* SPDX-License-Identifier: Apache-2.0
 *
 * A tensor of the device's arithmetic type, on the host as f64. */
#ifndef WEIR_CORE_READ_REAL_H
#define WEIR_CORE_READ_REAL_H

#include "core/device.h"

/* `values` has room for every element; waits as the read operation does.  Allocates nothing. */
void weir_read_real(weir_device *device, double *values, weir_tensor tensor);

#endif
