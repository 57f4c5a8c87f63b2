/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps idle OpenMP threads from burning the processor that a working one needs.
 *
 * By default GCC's OpenMP spins for milliseconds at the end of every parallel region.  Alone on a
 * machine that is as good a way to wait as any; beside other busy processes the spinning thread
 * holds the core of the one it waits for, and steps of a small model became seven times slower
 * (200 against 1400 tokens/s on two cores under a load of ten).  A thousand rounds, some tens of
 * microseconds, bridge the gaps between operations. */
#ifndef WEIR_CLI_SHORT_WAITS_H
#define WEIR_CLI_SHORT_WAITS_H

/* Sets GOMP_SPINCOUNT and starts the program again, because the library reads its environment
 * before main().  Returns where OMP_WAIT_POLICY or GOMP_SPINCOUNT is set already, or where the
 * system does not let a program start itself. */
void weir_prefer_short_waits(char **argv);

#endif
