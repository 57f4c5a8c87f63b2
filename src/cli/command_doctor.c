/* SPDX-License-Identifier: Apache-2.0
 *
 * What was found, what is missing, and the command that mends it.  Looks only: nothing is
 * installed or written.  A library that the program needs is there, or it would not run; what may
 * be missing is what building and checking it takes, and room to work in. */
#include "base/directory.h"
#include "base/environment.h"
#include "base/machine.h"
#include "base/number_text.h"
#include "cli/commands.h"
#include "cli/library_versions.h"
#include "cli/output.h"
#include "device/cpu/products_version.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LITTLE_MEMORY_MIB = 2048, LITTLE_DISK_MIB = 1024 };

static void print_found(const char *what, const char *found) {
  weir_print("  ok       %-12s %s\n", what, found);
}

static void print_missing(const char *what, const char *lacking, const char *remedy) {
  weir_print("  missing  %-12s %s\n           %-12s mend it: %s\n", what, lacking, "", remedy);
}

static void print_processor(const weir_machine *machine) {
  char text[256], limit[64] = "";
  if (machine->cpu_limit > 0)
    snprintf(limit, sizeof limit, ", limited to the time of %.1f", machine->cpu_limit);
  snprintf(text, sizeof text, "%s", machine->processor[0] ? machine->processor : "unknown");
  print_found("processor", text);
  snprintf(text, sizeof text, "%d usable%s; --threads is %d unless given", machine->n_cores, limit,
           weir_machine_n_threads(machine));
  print_found("cores", text);
  snprintf(text, sizeof text, "%s for our kernels, %s for oneDNN", weir_machine_isa(),
           weir_cpu_products_isa());
  print_found("vectors", text);
}

static size_t print_memory(const weir_machine *machine) {
  char text[256], total[WEIR_BYTES_TEXT], available[WEIR_BYTES_TEXT], limit[WEIR_BYTES_TEXT];
  uint64_t free_bytes = weir_machine_free_bytes(machine);
  snprintf(text, sizeof text, "%s, %s available", weir_bytes_to_text(machine->total_bytes, total),
           weir_bytes_to_text(machine->available_bytes, available));
  print_found("memory", text);
  if (machine->limit_bytes == WEIR_NO_LIMIT) {
    print_found("limit", "none by control groups");
  } else {
    char used[WEIR_BYTES_TEXT];
    snprintf(text, sizeof text, "%s by control groups, %s of it in use",
             weir_bytes_to_text(machine->limit_bytes, limit),
             weir_bytes_to_text(machine->limit_used_bytes, used));
    print_found("limit", text);
  }
  if (free_bytes >= (uint64_t)LITTLE_MEMORY_MIB << 20) return 0;
  snprintf(text, sizeof text, "only %s to be had", weir_bytes_to_text(free_bytes, total));
  print_missing("memory", text, "end other programs, or give --memory a figure below that");
  return 1;
}

static size_t print_disk(void) {
  uint64_t free_bytes;
  char text[128], size[WEIR_BYTES_TEXT];
  if (weir_directory_free_bytes(".", &free_bytes) != WEIR_OK) return 0;
  snprintf(text, sizeof text, "%s free in the current directory",
           weir_bytes_to_text(free_bytes, size));
  if (free_bytes >= (uint64_t)LITTLE_DISK_MIB << 20) {
    print_found("disk", text);
    return 0;
  }
  print_missing("disk", text, "make room, or give --output on another file system");
  return 1;
}

/* Whether a program of this name stands in a folder of PATH. */
static bool has_program(const char *name) {
  const char *folder = weir_environment("PATH");
  char path[4096];
  while (folder && *folder) {
    size_t length = strcspn(folder, ":");
    snprintf(path, sizeof path, "%.*s/%s", (int)length, folder, name);
    if (access(path, X_OK) == 0) return true;
    folder += length + (folder[length] == ':');
  }
  return false;
}

/* Not needed to run, only to build and check. */
static size_t print_tools(void) {
  static const struct {
    const char *program, *package;
  } tools[] = {
      {"make", "make"},         {"cc", "gcc"},      {"cmake", "cmake"},
      {"ninja", "ninja-build"}, {"clang", "clang"}, {"clang-format", "clang-format"},
  };
  size_t n_missing = 0;
  char remedy[128];
  for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
    if (has_program(tools[i].program)) {
      print_found(tools[i].program, "found");
      continue;
    }
    n_missing++;
    snprintf(remedy, sizeof remedy, "apt-get install %s", tools[i].package);
    print_missing(tools[i].program, "not found on PATH", remedy);
  }
  return n_missing;
}

weir_status weir_command_doctor(const weir_options *options) {
  (void)options;
  weir_machine machine;
  weir_machine_read(&machine, "");
  weir_print("Machine\n");
  print_processor(&machine);
  size_t n_missing = print_memory(&machine);
  n_missing += print_disk();

  weir_print("\nLibraries\n");
  weir_library_version libraries[WEIR_MAX_LIBRARIES];
  size_t n_libraries = weir_library_versions(libraries);
  for (size_t i = 0; i < n_libraries; i++)
    print_found(libraries[i].name, libraries[i].version);

  weir_print("\nTools, to build and check weir itself\n");
  size_t n_tools = print_tools();
  if (n_missing == 0 && n_tools == 0)
    weir_print("\nNothing is missing.\n");
  else if (n_missing == 0)
    weir_print("\nNothing is missing to run; %zu to build.\n", n_tools);
  else
    weir_print("\n%zu missing to run, %zu to build.\n", n_missing, n_tools);
  return WEIR_OK;
}
