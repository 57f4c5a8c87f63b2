/* SPDX-License-Identifier: Apache-2.0
 *
 * Every command and option as one page of Markdown. */
#include "cli/describe_option.h"
#include "manual.h"

#include <string.h>

static void put_option(FILE *file, const weir_option *row, uint32_t command) {
  char usage[WEIR_OPTION_TEXT], facts[WEIR_OPTION_TEXT];
  weir_option_usage(row, usage);
  weir_option_facts(row, facts);
  fprintf(file, "- `%s`%s: %s", usage, row->required_by & command ? " (required)" : "", row->help);
  fprintf(file, *facts ? " `%s`\n" : "\n", facts);
}

void write_reference(FILE *file) {
  fputs("# Commands and options\n\n"
        "Written from the table of options of weir " WEIR_VERSION
        ". How options are given, sizes,\n"
        "configuration files and exit codes: `man weir`.\n",
        file);
  for (size_t i = 0; i < weir_n_commands; i++) {
    const weir_option *rows[WEIR_MAX_COMMAND_ROWS];
    size_t n_rows = weir_command_rows(&weir_commands[i], rows);
    fprintf(file, "\n## weir %s\n\n", weir_commands[i].name);
    fprintf(file, "%s.\n", weir_commands[i].summary);
    for (size_t j = 0; j < n_rows; j++) {
      if (j == 0 || strcmp(rows[j]->group, rows[j - 1]->group) != 0)
        fprintf(file, "\n**%s**\n\n", rows[j]->group);
      put_option(file, rows[j], weir_commands[i].bit);
    }
  }
}
