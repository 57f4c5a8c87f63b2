/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzing: each fuzz_<what>.c feeds arbitrary bytes to one of the doors that files come in by.
 *
 * libFuzzer drives them (`make fuzz`), and replay.c runs them over their seeds in every test run.
 * A harness demands more than "no crash" where it is cheap: what was accepted once is accepted
 * again after a round trip. */
#ifndef WEIR_FUZZ_FUZZ_H
#define WEIR_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

/* A directory of this process, removed when it ends. */
const char *fuzz_directory(void);
/* Makes the bytes a file of that name there; the path holds until the next call. */
const char *fuzz_file(const char *name, const uint8_t *bytes, size_t n_bytes);

#define FUZZ_DEMAND(condition)                                                                     \
  do {                                                                                             \
    if (!(condition)) abort();                                                                     \
  } while (0)

#endif
