/* SPDX-License-Identifier: Apache-2.0
 *
 * What `weir` alone and `weir COMMAND --help` print, on standard output. */
#ifndef WEIR_CLI_HELP_H
#define WEIR_CLI_HELP_H

#include "cli/commands.h"

void weir_help_introduction(void);
void weir_help_command(const weir_command *command);

#endif
