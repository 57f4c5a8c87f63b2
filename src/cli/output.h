/* SPDX-License-Identifier: Apache-2.0
 *
 * Standard output, which carries the result of a command and nothing else.  A write that fails is
 * remembered and reported once, by main(), when the command has ended; a reader that went away is
 * no error. */
#ifndef WEIR_CLI_OUTPUT_H
#define WEIR_CLI_OUTPUT_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

void weir_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void weir_print_bytes(const void *bytes, size_t n_bytes);

/* Writes out what is buffered (text that should appear as it is made). */
void weir_print_flush(void);

/* The reader is gone: a command with much more to say may stop. */
bool weir_print_is_closed(void);

/* Flushes; WEIR_FAILED where anything was not written, other than for want of a reader. */
weir_status weir_print_finish(void);

#endif
