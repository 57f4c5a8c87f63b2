/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/short_waits.h"

#include "base/environment.h"

#include <stdlib.h>
#include <unistd.h>

void weir_prefer_short_waits(char **argv) {
  if (weir_environment("OMP_WAIT_POLICY") || weir_environment("GOMP_SPINCOUNT")) return;
  if (setenv("GOMP_SPINCOUNT", "1000", 0) != 0) return;
  execv("/proc/self/exe", argv);
}
