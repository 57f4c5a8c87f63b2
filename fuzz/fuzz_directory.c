/* SPDX-License-Identifier: Apache-2.0 */
#include "base/directory.h"
#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/weir-fuzz-XXXXXX";

static void remove_directory(void) {
  weir_directory_remove(directory);
}

const char *fuzz_directory(void) {
  static const char *made;
  if (made) return made;
  made = mkdtemp(directory);
  FUZZ_DEMAND(made);
  atexit(remove_directory);
  return made;
}

const char *fuzz_file(const char *name, const uint8_t *bytes, size_t n_bytes) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", fuzz_directory(), name);
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  FUZZ_DEMAND(file >= 0 && write(file, bytes, n_bytes) == (ssize_t)n_bytes);
  close(file);
  return path;
}
