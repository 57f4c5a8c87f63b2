/* SPDX-License-Identifier: Apache-2.0
 *
 * How an option is shown to people: help, man pages, completions and the reference show it alike.
 */
#ifndef WEIR_CLI_DESCRIBE_OPTION_H
#define WEIR_CLI_DESCRIBE_OPTION_H

#include "cli/commands.h"

enum { WEIR_MAX_COMMAND_ROWS = 64, WEIR_OPTION_TEXT = 192 };

/* The rows of a command, those of a group side by side, groups in the order of their first row.
 * Returns how many. */
size_t weir_command_rows(const weir_command *command,
                         const weir_option *rows[WEIR_MAX_COMMAND_ROWS]);

/* "--max-length" from "max_length". */
void weir_option_key(const char *name, char key[64]);

/* The value's place holder: "DIR", "N", "a|b"; empty for a boolean. */
const char *weir_option_value(const weir_option *row);

/* "--model, --model-name-or-path DIR", or "FILE" where it takes no key. */
void weir_option_usage(const weir_option *row, char text[WEIR_OPTION_TEXT]);

/* "[default 512 rows] [in [1, inf)]"; empty where there is nothing to say. */
void weir_option_facts(const weir_option *row, char text[WEIR_OPTION_TEXT]);

#endif
