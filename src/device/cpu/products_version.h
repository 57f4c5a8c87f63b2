/* SPDX-License-Identifier: Apache-2.0
 *
 * The version of the library behind the cpu device's products, for reports and checkpoints. */
#ifndef WEIR_DEVICE_CPU_PRODUCTS_VERSION_H
#define WEIR_DEVICE_CPU_PRODUCTS_VERSION_H

#include <stddef.h>

/* "2.6.3". */
void weir_cpu_products_version(char *version, size_t version_bytes);

/* The instruction set that library will use at the most, for people: "AVX-512". */
const char *weir_cpu_products_isa(void);

#endif
