/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps idle OpenMP threads from burning the processor that a working one needs.
 *
 * By default GCC's OpenMP spins for milliseconds at the end of every parallel region.  Alone on a
 * machine that is as good a way to wait as any; beside other busy processes the spinning thread
 * holds the core of the one it waits for, and steps of a small model became seven times slower
 * (200 against 1400 tokens/s on two cores under a load of ten).  A thousand rounds, some tens of
 * microseconds, bridge the gaps between operations.
 *
 * The library reads its settings in its constructor, before main(), hence the section, which runs
 * before the constructors of libraries.  OMP_WAIT_POLICY and GOMP_SPINCOUNT, where set, win. */
#ifndef WEIR_CLI_SHORT_WAITS_H
#define WEIR_CLI_SHORT_WAITS_H

#include "base/environment.h"

#include <stdlib.h>

static void weir_prefer_short_waits(void) {
  if (!weir_environment("OMP_WAIT_POLICY")) setenv("GOMP_SPINCOUNT", "1000", 0);
}

__attribute__((section(".preinit_array"),
               used)) static void (*const weir_before_libraries)(void) = weir_prefer_short_waits;

#endif
