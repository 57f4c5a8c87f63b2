/* SPDX-License-Identifier: Apache-2.0
 *
 * Files read as mappings, and files replaced whole or not at all.
 *
 * Readers map and never copy.  Writers go to `<path>.tmp-<pid>` beside the target and appear under
 * the target's name only after write, fsync, rename and fsync of the directory (I6): whoever opens
 * the name sees the old file or the new one, never half of either. */
#ifndef WEIR_BASE_FILES_H
#define WEIR_BASE_FILES_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Read-only bytes of a regular file.  An empty file maps to no bytes. */
typedef struct weir_mapping {
  const uint8_t *bytes;
  uint64_t size_bytes;
} weir_mapping;

/* Whose fault an errno met at an output path is: WEIR_BAD_INPUT where the path or its permissions
 * would have to change, WEIR_FAILED where the disk would. */
weir_status weir_output_status(int error);

weir_status weir_mapping_open(const char *path, weir_mapping *mapping);
/* Harmless on a zeroed mapping. */
void weir_mapping_close(weir_mapping *mapping);
/* Gives back the resident pages of a part that will not be read again soon; reading it again is
 * allowed and faults it in. */
void weir_mapping_drop(const weir_mapping *mapping, uint64_t offset_bytes, uint64_t size_bytes);

/* "<directory>/<name>", to be freed; NULL without memory. */
char *weir_path_join(const char *directory, const char *name);
bool weir_path_is_directory(const char *path);

/* A file being written under another name. */
typedef struct weir_replacement {
  FILE *stream;
  int directory;               /* descriptor, for syncing the name */
  char *path, *temporary_path; /* owned */
} weir_replacement;

/* What is there already must be a regular file: devices and directories are not replaced. */
weir_status weir_replacement_open(const char *path, weir_replacement *file);
weir_status weir_replacement_append(weir_replacement *file, const void *bytes, uint64_t size_bytes);
/* Makes the file durable under its name.  Closes it whatever it returns; on failure nothing is
 * left behind and the old file stands (unless the very last thing failed, syncing the name). */
weir_status weir_replacement_commit(weir_replacement *file);
/* Closes and removes what was written.  Harmless on a zeroed or closed one. */
void weir_replacement_abandon(weir_replacement *file);

/* Whether one could be opened, to ask before long work; leaves nothing behind. */
weir_status weir_replacement_check(const char *path);

/* All of the above for bytes that are in memory. */
weir_status weir_file_replace(const char *path, const void *bytes, uint64_t size_bytes);

#endif
