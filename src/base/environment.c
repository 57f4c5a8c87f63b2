/* SPDX-License-Identifier: Apache-2.0 */
#include "base/environment.h"

#include <stdlib.h>

const char *weir_environment(const char *name) {
  return getenv(name);
}
