/* SPDX-License-Identifier: Apache-2.0
 *
 * The cpu device: every operation in f32, fast.
 *
 * Products go through oneDNN, one thread to a call, inside our own loop over fixed blocks of rows
 * and fixed panels of columns; everything else is vector code that exists once and is compiled for
 * each instruction set.  Bits depend on the machine (instruction set, library versions) and on the
 * operation's inputs: not on the number of threads, of rows, or on addresses. */
#ifndef WEIR_DEVICE_CPU_CPU_H
#define WEIR_DEVICE_CPU_CPU_H

#include "base/status.h"
#include "core/device.h"

/* `isa` is "avx512", "avx2" or "portable"; NULL takes the best this processor has.  The caller sets
 * `workspace` before the first operation.  Fails (WEIR_BAD_INPUT) where the processor lacks it. */
weir_status weir_cpu_create(int n_threads, const char *isa, weir_device **device);
void weir_cpu_destroy(weir_device *device);

/* "avx512", "avx2" or "portable": a part of what "the same machine" means. */
const char *weir_cpu_isa_name(const weir_device *device);

/* Makes the libraries take the memory they will hold during training (compiled kernels, packing
 * buffers, thread stacks), so that it can be measured before the first step.  Set-up only. */
weir_status weir_cpu_warm_up(weir_device *device);

#endif
