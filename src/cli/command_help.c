/* SPDX-License-Identifier: Apache-2.0
 *
 * Help, written from the two tables: what it says is what the parser does. */
#include "cli/commands.h"
#include "cli/describe_option.h"
#include "cli/find_command.h"
#include "cli/help.h"
#include "cli/output.h"

#include <string.h>

void weir_help_introduction(void) {
  weir_print("Weir trains transformer language models within the memory you have.\n\n"
             "Try first:\n"
             "  weir doctor                                             is everything here?\n"
             "  weir plan --model DIR --max-length 4096                 what would it hold?\n"
             "  weir train --model DIR --train-file FILE --output DIR   train it\n\n"
             "weir help lists all commands, weir help COMMAND the options of one.\n");
}

static void print_commands(void) {
  weir_print("usage: weir COMMAND [--key value | --key=value] ...\n\n");
  for (size_t i = 0; i < weir_n_commands; i++)
    weir_print("  %-16s %s\n", weir_commands[i].name, weir_commands[i].summary);
  weir_print("\nweir help COMMAND explains one.  Standard output carries the result only.\n"
             "Exit: 0 done; 1 failed; 2 usage or bad input; 3 does not fit the memory figure;\n"
             "130 or 143 stopped by a signal.\n");
}

static void print_option(const weir_option *row, uint32_t command) {
  char usage[WEIR_OPTION_TEXT], facts[WEIR_OPTION_TEXT];
  weir_option_usage(row, usage);
  weir_option_facts(row, facts);
  weir_print("  %s%s\n", usage, row->required_by & command ? "   (required)" : "");
  weir_print("      %s%s%s\n", row->help, *facts ? " " : "", facts);
}

void weir_help_command(const weir_command *command) {
  weir_print("weir %s: %s\n", command->name, command->summary);
  const weir_option *rows[WEIR_MAX_COMMAND_ROWS];
  size_t n_rows = weir_command_rows(command, rows);
  for (size_t i = 0; i < n_rows; i++) {
    if (i == 0 || strcmp(rows[i]->group, rows[i - 1]->group) != 0)
      weir_print("\n%s\n", rows[i]->group);
    print_option(rows[i], command->bit);
  }
}

weir_status weir_command_help(const weir_options *options) {
  size_t n_words, n_used;
  const char *const *words = weir_options_strings(options, "command", &n_words);
  if (n_words == 0) {
    print_commands();
    return WEIR_OK;
  }
  const weir_command *command;
  WEIR_TRY(weir_find_command(words, n_words, &command, &n_used));
  if (n_used < n_words)
    return weir_fail(WEIR_BAD_INPUT, "unexpected '%s' after %s", words[n_used], command->name);
  weir_help_command(command);
  return WEIR_OK;
}
