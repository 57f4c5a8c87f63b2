/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a harness over files, without libFuzzer: over its seeds, or over those that are named, to
 * look at what a fuzzer found. */
#include "fuzz.h"

#include "base/read_file.h"

#include <dirent.h>
#include <stdio.h>

static int replay(const char *path) {
  weir_file_bytes file;
  if (weir_file_read(path, 1 << 28, &file) != WEIR_OK) {
    fprintf(stderr, "%s\n", weir_status_message());
    return 0;
  }
  LLVMFuzzerTestOneInput((const uint8_t *)file.bytes, (size_t)file.size_bytes);
  free(file.bytes);
  return 1;
}

/* Every prefix of a few lengths too: what a file is worth when its end is missing. */
static void replay_prefixes(const char *path) {
  weir_file_bytes file;
  if (weir_file_read(path, 1 << 28, &file) != WEIR_OK) return;
  for (size_t i = 0; i < 32; i++)
    LLVMFuzzerTestOneInput((const uint8_t *)file.bytes, (size_t)file.size_bytes * i / 32);
  free(file.bytes);
}

static int replay_seeds(void) {
  struct dirent **entries;
  int n_replayed = 0, n = scandir(WEIR_FUZZ_SEEDS, &entries, NULL, alphasort);
  for (int i = 0; i < n; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", WEIR_FUZZ_SEEDS, entries[i]->d_name);
    if (entries[i]->d_name[0] != '.') {
      n_replayed += replay(path);
      replay_prefixes(path);
    }
    free(entries[i]);
  }
  if (n >= 0) free(entries);
  return n_replayed;
}

int main(int n_arguments, char **arguments) {
  int n_replayed = 0;
  for (int i = 1; i < n_arguments; i++)
    n_replayed += replay(arguments[i]);
  if (n_arguments == 1) n_replayed = replay_seeds();
  if (n_replayed == 0) {
    fprintf(stderr, "[  FAILED  ] " WEIR_FUZZ_NAME "\nnothing to replay\n");
    return 1;
  }
  printf("[       OK ] " WEIR_FUZZ_NAME "\n"); /* as cmocka says it, for tools/run_tests */
  return 0;
}
