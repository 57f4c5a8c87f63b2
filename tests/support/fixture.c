/* SPDX-License-Identifier: Apache-2.0
 *
 * The one place where tests look for WEIR_FIXTURES. */
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

void fixture_path(char path[FIXTURE_PATH_BYTES], const char *name) {
  const char *folder = getenv("WEIR_FIXTURES");
  if (!folder) {
    print_message("skipped: WEIR_FIXTURES is not set, %s\n", name);
    skip();
  }
  snprintf(path, FIXTURE_PATH_BYTES, "%s/%s", folder, name);
}
