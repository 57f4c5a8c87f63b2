/* SPDX-License-Identifier: Apache-2.0 */
#include "base/process.h"

#include <stdio.h>
#include <string.h>

/* A line "<key>:   123 kB" of /proc/self/status. */
static uint64_t status_bytes(const char *key) {
  FILE *file = fopen("/proc/self/status", "r");
  if (!file) return 0;
  char line[256];
  unsigned long long kibibytes = 0;
  size_t key_length = strlen(key);
  while (fgets(line, sizeof line, file))
    if (strncmp(line, key, key_length) == 0 && line[key_length] == ':') {
      if (sscanf(line + key_length + 1, "%llu", &kibibytes) != 1) kibibytes = 0;
      break;
    }
  fclose(file);
  return (uint64_t)kibibytes * 1024;
}

uint64_t weir_process_resident_bytes(void) {
  return status_bytes("VmRSS");
}

uint64_t weir_process_peak_bytes(void) {
  return status_bytes("VmHWM");
}
