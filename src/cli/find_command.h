/* SPDX-License-Identifier: Apache-2.0
 *
 * From the first words of a command line to a command. */
#ifndef WEIR_CLI_FIND_COMMAND_H
#define WEIR_CLI_FIND_COMMAND_H

#include "cli/commands.h"

/* Sets the command and how many words name it (a two-word name wins over a one-word one); an
 * unknown one fails with the nearest. */
weir_status weir_find_command(const char *const *words, size_t n_words,
                              const weir_command **command, size_t *n_used);

#endif
