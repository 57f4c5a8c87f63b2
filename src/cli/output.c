/* SPDX-License-Identifier: Apache-2.0
 *
 * Needs SIGPIPE ignored (base/interrupt.h). */
#include "cli/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int first_error;

static void note_error(bool failed) {
  if (failed && first_error == 0) first_error = errno ? errno : EIO;
}

void weir_print(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  note_error(vfprintf(stdout, format, arguments) < 0);
  va_end(arguments);
}

void weir_print_bytes(const void *bytes, size_t n_bytes) {
  note_error(n_bytes > 0 && fwrite(bytes, 1, n_bytes, stdout) != n_bytes);
}

void weir_print_flush(void) {
  note_error(fflush(stdout) != 0);
}

bool weir_print_is_closed(void) {
  return first_error == EPIPE;
}

weir_status weir_print_finish(void) {
  weir_print_flush();
  if (first_error == 0 || first_error == EPIPE) return WEIR_OK;
  return weir_fail(WEIR_FAILED, "cannot write standard output: %s", strerror(first_error));
}
