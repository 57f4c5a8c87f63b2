/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the program as a user would. */
#ifndef WEIR_TESTS_SUPPORT_PROGRAM_H
#define WEIR_TESTS_SUPPORT_PROGRAM_H

#include <stddef.h>

/* `arguments` are the shell's; returns the exit status.  Standard output and standard error go,
 * together and cut to fit, into `output`. */
int program_run(char *output, size_t output_bytes, const char *arguments, ...)
    __attribute__((format(printf, 3, 4)));

#endif
