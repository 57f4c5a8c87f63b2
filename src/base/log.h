/* SPDX-License-Identifier: Apache-2.0
 *
 * What people read while a command works: standard error, and nothing but.
 *
 * Warnings are counted, so that a command can say at its end how many there were.  Text that comes
 * from a file goes through weir_log_escape() first: a file must not be able to move the cursor. */
#ifndef WEIR_BASE_LOG_H
#define WEIR_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Quiet drops weir_log_info; warnings and errors are always written. */
void weir_log_set_quiet(bool wanted);
bool weir_log_is_quiet(void);

/* One line each; the newline is added. */
void weir_log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void weir_log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void weir_log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
size_t weir_log_n_warnings(void);

/* From here on every line also goes to this stream, without colours; NULL ends it.  Borrowed. */
void weir_log_set_copy(FILE *stream);

/* Overwrites the last line of a terminal; elsewhere, and when quiet, writes nothing.  Any other
 * line written later starts on a line of its own. */
void weir_log_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Standard error is a terminal; and colour is wanted there too (NO_COLOR, TERM=dumb). */
bool weir_log_is_terminal(void);
bool weir_log_has_color(void);

/* Copies `text` with every control character (C0, DEL, and C1 in UTF-8) and every byte that is not
 * UTF-8 as \xNN; cuts with "..." what does not fit.  Returns `escaped`. */
const char *weir_log_escape(char *escaped, size_t escaped_bytes, const char *text,
                            size_t text_bytes);

#endif
