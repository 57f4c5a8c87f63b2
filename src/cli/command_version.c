/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"
#include "cli/library_versions.h"
#include "cli/output.h"

weir_status weir_command_version(const weir_options *options) {
  (void)options;
  weir_library_version libraries[WEIR_MAX_LIBRARIES];
  size_t n_libraries = weir_library_versions(libraries);
  weir_print("weir %s\n", WEIR_VERSION);
  for (size_t i = 0; i < n_libraries; i++)
    weir_print("%-8s %s\n", libraries[i].name, libraries[i].version);
  return WEIR_OK;
}
