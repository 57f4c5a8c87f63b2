/* SPDX-License-Identifier: Apache-2.0
 *
 * What this process may use of the machine it runs on: cores, memory, instruction set.
 *
 * A container sees its host's memory in /proc/meminfo, so the limits of control groups (versions 1
 * and 2, the process's own group and every one above it) count too.  What cannot be read does not
 * limit. */
#ifndef WEIR_BASE_MACHINE_H
#define WEIR_BASE_MACHINE_H

#include <stdint.h>

#define WEIR_NO_LIMIT UINT64_MAX

typedef struct weir_machine {
  char processor[96];        /* "" where unknown */
  int n_cores;               /* that this process may run on, at least 1 */
  double cpu_limit;          /* cores' worth of time that control groups allow; 0: no limit */
  uint64_t total_bytes;      /* memory of the machine; 0 where unknown */
  uint64_t available_bytes;  /* of it, without swapping; 0 where unknown */
  uint64_t limit_bytes;      /* least limit of the control groups, or WEIR_NO_LIMIT */
  uint64_t limit_used_bytes; /* already charged to the group that has it */
} weir_machine;

/* `root` stands before /proc and /sys: "" for this machine, a folder for tests. */
void weir_machine_read(weir_machine *machine, const char *root);

/* Threads to use where nobody says: the cores, no more than the limit pays for, at least 1. */
int weir_machine_n_threads(const weir_machine *machine);

/* What a new allocation may still hope for: the least of available and of limit less used. */
uint64_t weir_machine_free_bytes(const weir_machine *machine);

/* "AVX-512", "AVX2" or "baseline": the widest instruction set that Weir has kernels for. */
const char *weir_machine_isa(void);

#endif
