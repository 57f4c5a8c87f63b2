/* SPDX-License-Identifier: Apache-2.0
 *
 * Ctrl-C and SIGTERM: the first asks, the second stops at once.
 *
 * A loop asks weir_interrupt_status() between steps, saves, and passes the status up; it becomes
 * the exit code.  SIGPIPE is ignored, so that a closed pipe is an error of write() like any other.
 */
#ifndef WEIR_BASE_INTERRUPT_H
#define WEIR_BASE_INTERRUPT_H

#include "base/status.h"

void weir_interrupt_ignore_closed_pipes(void);

/* Gives SIGINT and SIGTERM to a thread of their own.  Call it before any other thread is started,
 * since threads take over which signals reach them.  Until begin, the first signal ends the process
 * in the system's way. */
weir_status weir_interrupt_prepare(void);

/* From here on the first SIGINT or SIGTERM is only noted. */
void weir_interrupt_begin(void);

/* WEIR_OK, or WEIR_INTERRUPTED or WEIR_TERMINATED once a signal came.  Records no message. */
weir_status weir_interrupt_status(void);

#endif
