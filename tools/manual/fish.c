/* SPDX-License-Identifier: Apache-2.0
 *
 * Completion for fish. */
#include "cli/describe_option.h"
#include "manual.h"

#include <string.h>

static void put_quoted(FILE *file, const char *text) {
  fputc('\'', file);
  for (const char *c = text; *c; c++)
    fprintf(file, "%s%c", *c == '\'' || *c == '\\' ? "\\" : "", *c);
  fputc('\'', file);
}

static void put_values(FILE *file, const weir_option *row) {
  if (row->type == WEIR_OPTION_BOOLEAN) return;
  const char *value = weir_option_value(row);
  if (row->type == WEIR_OPTION_CHOICE) {
    fputs(" -x -a '", file);
    for (const char *c = row->choices; *c; c++)
      fputc(*c == '|' ? ' ' : *c, file);
    fputc('\'', file);
  } else if (strcmp(value, "DIR") == 0) {
    fputs(" -x -a '(__fish_complete_directories)'", file);
  } else if (strstr(value, "DIR") || strstr(value, "FILE")) {
    fputs(" -r -F", file);
  } else {
    fputs(" -x", file);
  }
}

static void put_option(FILE *file, const weir_option *row, const char *command, const char *name) {
  char key[64];
  weir_option_key(name, key);
  fprintf(file, "complete -c weir -n '__weir_command %s' -l %s", command, key + 2);
  put_values(file, row);
  fputs(" -d ", file);
  put_quoted(file, row->help);
  fputc('\n', file);
}

static void put_command(FILE *file, const weir_command *command) {
  const weir_option *rows[WEIR_MAX_COMMAND_ROWS];
  size_t n_rows = weir_command_rows(command, rows);
  fprintf(file, "\ncomplete -c weir -n '__weir_command %s' -l help -d 'explain the options'\n",
          command->name);
  for (size_t i = 0; i < n_rows; i++) {
    const weir_option *row = rows[i];
    if (row->positional || row->type == WEIR_OPTION_STRINGS) {
      fprintf(file, "complete -c weir -n '__weir_command %s' ", command->name);
      fputs(strcmp(row->unit, "COMMAND") == 0 ? "-a '$__weir_commands'\n" : "-F\n", file);
    }
    if (row->positional) continue;
    put_option(file, row, command->name, row->name);
    if (row->alias) put_option(file, row, command->name, row->alias);
  }
}

void write_fish(FILE *file) {
  fputs("# fish completion for weir, written from its table of options when it was built.\n\n"
        "# Whether the command line's first words are these.\n"
        "function __weir_command\n"
        "    set -l words (commandline -opc)\n"
        "    string match -q -- \"weir $argv *\" \"weir $words[2..] \"\n"
        "end\n\n"
        "set -g __weir_commands",
        file);
  for (size_t i = 0; i < weir_n_commands; i++) {
    const char *name = weir_commands[i].name;
    fprintf(file, " %.*s", (int)strcspn(name, " "), name);
  }
  fputs("\ncomplete -c weir -f\n", file);
  for (size_t i = 0; i < weir_n_commands; i++) {
    const char *name = weir_commands[i].name, *space = strchr(name, ' ');
    int n = (int)strcspn(name, " ");
    fprintf(file, "complete -c weir -n 'test (count (commandline -opc)) -eq 1' -a %.*s -d ", n,
            name);
    put_quoted(file, weir_commands[i].summary);
    fputc('\n', file);
    if (!space) continue;
    fprintf(file,
            "complete -c weir -n '__weir_command %.*s; and test (count (commandline -opc)) -eq 2'"
            " -a '%s'\n",
            n, name, space + 1);
  }
  for (size_t i = 0; i < weir_n_commands; i++)
    put_command(file, &weir_commands[i]);
}
