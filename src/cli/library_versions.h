/* SPDX-License-Identifier: Apache-2.0
 *
 * The libraries of this process and the versions they report at run time. */
#ifndef WEIR_CLI_LIBRARY_VERSIONS_H
#define WEIR_CLI_LIBRARY_VERSIONS_H

#include <stddef.h>

enum { WEIR_MAX_LIBRARIES = 16 };

typedef struct weir_library_version {
  const char *name;
  char version[64];
} weir_library_version;

/* Fills the list and returns its length. */
size_t weir_library_versions(weir_library_version libraries[WEIR_MAX_LIBRARIES]);

#endif
