/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/kernels_table.h"

WEIR_CPU_KERNELS(portable);
