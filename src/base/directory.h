/* SPDX-License-Identifier: Apache-2.0
 *
 * Output directories: made, measured, and held by one writer at a time. */
#ifndef WEIR_BASE_DIRECTORY_H
#define WEIR_BASE_DIRECTORY_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Makes the directory and its parents; fine where it is there already. */
weir_status weir_directory_make(const char *path);

/* Whether weir_directory_make, and then writing into the directory, would be let; leaves nothing
 * behind.  WEIR_BAD_INPUT where the path or its permissions forbid it. */
weir_status weir_directory_check_writable(const char *path);

/* No entries besides "." and ".." and the lock; true for one that does not exist. */
weir_status weir_directory_is_empty(const char *path, bool *is_empty);

/* Bytes that this user may still write on the file system where the path is, or would be. */
weir_status weir_directory_free_bytes(const char *path, uint64_t *free_bytes);

/* Makes the names in an existing directory durable. */
weir_status weir_directory_sync(const char *path);

/* Removes a directory and all that is in it, following no links; fine where there is none.  Not
 * atomic: what must never be seen half removed is renamed first. */
weir_status weir_directory_remove(const char *path);

/* An advisory lock on an existing directory, kept by a file in it.  It goes with the process, so a
 * killed one leaves no stale lock. */
typedef struct weir_directory_lock {
  int descriptor;
} weir_directory_lock;

#define WEIR_DIRECTORY_LOCK_NAME ".weir-lock"

/* WEIR_BAD_INPUT where another process holds it. */
weir_status weir_directory_lock_take(const char *path, weir_directory_lock *lock);
void weir_directory_lock_release(weir_directory_lock *lock);

#endif
