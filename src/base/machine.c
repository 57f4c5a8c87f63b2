/* SPDX-License-Identifier: Apache-2.0
 *
 * Small text files under /proc and /sys, read as they stand; see cgroups(7), proc(5). */
#include "base/machine.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Reads up to size-1 bytes as a text; "" where the file cannot be read. */
static bool read_text(char *text, size_t size, const char *root, const char *path) {
  char name[PATH_MAX];
  *text = '\0';
  int length = snprintf(name, sizeof name, "%s%s", root, path);
  FILE *file = length > 0 && length < (int)sizeof name ? fopen(name, "re") : NULL;
  if (!file) return false;
  size_t n = fread(text, 1, size - 1, file);
  fclose(file);
  text[n] = '\0';
  return n > 0;
}

static uint64_t read_meminfo(const char *text, const char *key) {
  uint64_t kibibytes;
  const char *line = strstr(text, key);
  return line && sscanf(line + strlen(key), " %" SCNu64, &kibibytes) == 1 ? kibibytes * 1024 : 0;
}

static void read_processor(weir_machine *machine, const char *root) {
  char text[4096];
  if (!read_text(text, sizeof text, root, "/proc/cpuinfo")) return;
  const char *line = strstr(text, "model name");
  if (line) sscanf(line, "model name%*[ \t:]%95[^\n]", machine->processor);
}

/* --- control groups --------------------------------------------------------------------------- */

typedef struct group_files {
  const char *mount, *limit, *used;
} group_files;

/* Folds the limit of the group at `path` and of every one above it into the machine's. */
static void fold_memory(weir_machine *machine, const char *root, const group_files *files,
                        const char *path) {
  char group[PATH_MAX], name[PATH_MAX + 128], text[64];
  snprintf(group, sizeof group, "%s", strcmp(path, "/") == 0 ? "" : path);
  for (;;) {
    uint64_t limit, used = 0;
    snprintf(name, sizeof name, "%s%s/%s", files->mount, group, files->limit);
    if (read_text(text, sizeof text, root, name) && sscanf(text, "%" SCNu64, &limit) == 1 &&
        limit < machine->limit_bytes) {
      snprintf(name, sizeof name, "%s%s/%s", files->mount, group, files->used);
      if (read_text(text, sizeof text, root, name)) sscanf(text, "%" SCNu64, &used);
      machine->limit_bytes = limit;
      machine->limit_used_bytes = used;
    }
    char *slash = strrchr(group, '/');
    if (!slash) return;
    *slash = '\0';
  }
}

static void fold_quota(weir_machine *machine, double quota, double period) {
  if (!(quota > 0) || !(period > 0)) return;
  double cores = quota / period;
  if (machine->cpu_limit == 0 || cores < machine->cpu_limit) machine->cpu_limit = cores;
}

static void fold_cpu(weir_machine *machine, const char *root, bool is_unified, const char *mount,
                     const char *path) {
  char group[PATH_MAX], name[PATH_MAX + 128], text[64];
  snprintf(group, sizeof group, "%s", strcmp(path, "/") == 0 ? "" : path);
  for (;;) {
    double quota = 0, period = 0;
    snprintf(name, sizeof name, "%s%s/%s", mount, group,
             is_unified ? "cpu.max" : "cpu.cfs_quota_us");
    if (read_text(text, sizeof text, root, name)) {
      int n = sscanf(text, "%lf %lf", &quota, &period);
      snprintf(name, sizeof name, "%s%s/cpu.cfs_period_us", mount, group);
      if (n == 1 && read_text(text, sizeof text, root, name)) sscanf(text, "%lf", &period);
      fold_quota(machine, quota, period);
    }
    char *slash = strrchr(group, '/');
    if (!slash) return;
    *slash = '\0';
  }
}

static bool has_controller(const char *list, const char *name) {
  size_t length = strlen(name);
  for (const char *c = list; c; c = strchr(c, ',')) {
    c += *c == ',';
    if (strncmp(c, name, length) == 0 && (c[length] == ',' || c[length] == '\0')) return true;
  }
  return false;
}

/* /proc/self/cgroup has lines hierarchy:controllers:path; version 2 is hierarchy 0. */
static void read_groups(weir_machine *machine, const char *root) {
  static const group_files unified = {"/sys/fs/cgroup", "memory.max", "memory.current"};
  static const group_files memory = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                     "memory.usage_in_bytes"};
  char text[16384];
  read_text(text, sizeof text, root, "/proc/self/cgroup");
  char *rest = NULL;
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) continue;
    *controllers++ = *path++ = '\0';
    if (*controllers == '\0') {
      fold_memory(machine, root, &unified, path);
      fold_cpu(machine, root, true, unified.mount, path);
    } else if (has_controller(controllers, "memory")) {
      fold_memory(machine, root, &memory, path);
    } else if (has_controller(controllers, "cpu")) {
      fold_cpu(machine, root, false, "/sys/fs/cgroup/cpu", path);
    }
  }
}

void weir_machine_read(weir_machine *machine, const char *root) {
  *machine = (weir_machine){.n_cores = 1, .limit_bytes = WEIR_NO_LIMIT};
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) machine->n_cores = CPU_COUNT(&cores);
  char text[4096];
  read_text(text, sizeof text, root, "/proc/meminfo");
  machine->total_bytes = read_meminfo(text, "MemTotal:");
  machine->available_bytes = read_meminfo(text, "MemAvailable:");
  read_processor(machine, root);
  read_groups(machine, root);
  /* Version 1 writes "no limit" as the largest page-aligned number. */
  if (machine->total_bytes && machine->limit_bytes >= machine->total_bytes)
    machine->limit_bytes = WEIR_NO_LIMIT;
}

int weir_machine_n_threads(const weir_machine *machine) {
  if (machine->cpu_limit == 0 || machine->cpu_limit >= machine->n_cores) return machine->n_cores;
  return machine->cpu_limit < 1 ? 1 : (int)floor(machine->cpu_limit);
}

uint64_t weir_machine_free_bytes(const weir_machine *machine) {
  uint64_t available_bytes = machine->available_bytes ? machine->available_bytes : WEIR_NO_LIMIT;
  if (machine->limit_bytes == WEIR_NO_LIMIT) return available_bytes;
  uint64_t left_bytes = machine->limit_used_bytes < machine->limit_bytes
                            ? machine->limit_bytes - machine->limit_used_bytes
                            : 0;
  return left_bytes < available_bytes ? left_bytes : available_bytes;
}

const char *weir_machine_isa(void) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    return "AVX-512";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "AVX2";
#endif
  return "baseline";
}
