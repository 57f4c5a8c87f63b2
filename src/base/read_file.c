/* SPDX-License-Identifier: Apache-2.0 */
#include "base/read_file.h"

#include "base/number_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_BYTES = 1 << 16 };

static weir_status read_all(int descriptor, const char *path, uint64_t limit_bytes,
                            weir_file_bytes *file) {
  uint64_t capacity_bytes = 0;
  for (;;) {
    if (file->size_bytes == capacity_bytes) {
      capacity_bytes = capacity_bytes ? 2 * capacity_bytes : FIRST_BYTES;
      char *grown = realloc(file->bytes, capacity_bytes + 1);
      if (!grown) return weir_fail(WEIR_FAILED, "%s: out of memory while reading it", path);
      file->bytes = grown;
    }
    ssize_t n = read(descriptor, file->bytes + file->size_bytes, capacity_bytes - file->size_bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return weir_fail(weir_status_of_errno(errno), "%s: cannot read: %s", path, strerror(errno));
    if (n == 0) break;
    file->size_bytes += (uint64_t)n;
    if (file->size_bytes > limit_bytes) {
      char limit[WEIR_BYTES_TEXT];
      return weir_fail(WEIR_BAD_INPUT, "%s: larger than %s, which is the most such a file may have",
                       path, weir_bytes_to_text(limit_bytes, limit));
    }
  }
  file->bytes[file->size_bytes] = '\0';
  return WEIR_OK;
}

weir_status weir_file_read(const char *path, uint64_t limit_bytes, weir_file_bytes *file) {
  *file = (weir_file_bytes){0};
  bool is_stdin = strcmp(path, "-") == 0;
  const char *name = is_stdin ? "standard input" : path;
  int descriptor = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return weir_fail(weir_status_of_errno(errno), "%s: cannot open: %s", name, strerror(errno));
  weir_status status = read_all(descriptor, name, limit_bytes, file);
  if (!is_stdin) close(descriptor);
  if (status == WEIR_OK) return WEIR_OK;
  free(file->bytes);
  *file = (weir_file_bytes){0};
  return status;
}
