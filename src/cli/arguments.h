/* SPDX-License-Identifier: Apache-2.0
 *
 * The words after `weir COMMAND`:  --key value | --key=value | --key value value ... | --flag |
 * word
 *
 * A boolean alone means true; it takes a following word only where that is `true` or `false`.  A
 * word that looks like an option (two dashes and a name, up to its `=` or its end) is never taken
 * for a value: --prompt=--this is how to give one. */
#ifndef WEIR_CLI_ARGUMENTS_H
#define WEIR_CLI_ARGUMENTS_H

#include "base/option.h"

#include <stdbool.h>

/* Sets the options from `n_words` words.  `wants_help` becomes true where one of them is --help or
 * -h, which ends the reading. */
weir_status weir_arguments_read(weir_options *options, int n_words, char *const *words,
                                bool *wants_help);

#endif
