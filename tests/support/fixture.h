/* SPDX-License-Identifier: Apache-2.0
 *
 * Real data outside the tree, under the folder that WEIR_FIXTURES names.  Where it is unset the
 * running cmocka test says what it wanted and is skipped. */
#ifndef WEIR_TESTS_SUPPORT_FIXTURE_H
#define WEIR_TESTS_SUPPORT_FIXTURE_H

#include <stddef.h>

enum { FIXTURE_PATH_BYTES = 4096 };

void fixture_path(char path[FIXTURE_PATH_BYTES], const char *name);

#endif
