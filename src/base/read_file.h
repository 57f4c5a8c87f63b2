/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a whole small file, a pipe or standard input into memory.  What can be large and is a
 * regular file is mapped instead (base/files.h). */
#ifndef WEIR_BASE_READ_FILE_H
#define WEIR_BASE_READ_FILE_H

#include "base/status.h"

#include <stdint.h>

/* Bytes to be freed with free(); one NUL follows them, not counted. */
typedef struct weir_file_bytes {
  char *bytes;
  uint64_t size_bytes;
} weir_file_bytes;

/* `path` may be "-", standard input.  More than `limit_bytes` is WEIR_BAD_INPUT. */
weir_status weir_file_read(const char *path, uint64_t limit_bytes, weir_file_bytes *file);

#endif
