/* SPDX-License-Identifier: Apache-2.0
 *
 * One message per thread, in a fixed buffer: reporting a failure cannot itself fail. */
#include "base/status.h"

#undef weir_fail /* what the analyzer is told of it */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_BYTES = 2048 };
static _Thread_local char message[MESSAGE_BYTES];

weir_status weir_fail(weir_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return status;
}

weir_status weir_fail_at(weir_status status, const char *format, ...) {
  char inner[MESSAGE_BYTES];
  memcpy(inner, message, sizeof inner);
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  if (n >= 0 && n < MESSAGE_BYTES) snprintf(message + n, sizeof message - (size_t)n, ": %s", inner);
  return status;
}

const char *weir_status_message(void) {
  return message;
}

weir_status weir_status_of_errno(int error) {
  static const int named_wrongly[] = {ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG, ENXIO};
  for (size_t i = 0; i < sizeof named_wrongly / sizeof *named_wrongly; i++)
    if (error == named_wrongly[i]) return WEIR_BAD_INPUT;
  return WEIR_FAILED;
}

_Noreturn void weir_assert_failed(const char *what, long long left, long long right,
                                  const char *file, int line) {
  fprintf(stderr, "weir: %s:%d: assertion failed: %s (left %lld, right %lld)\n", file, line, what,
          left, right);
  abort();
}
