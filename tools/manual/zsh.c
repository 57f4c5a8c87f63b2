/* SPDX-License-Identifier: Apache-2.0
 *
 * Completion for zsh, by its own _arguments. */
#include "cli/describe_option.h"
#include "manual.h"

#include <string.h>

/* Inside single quotes, and inside an _arguments specification. */
static void put(FILE *file, const char *text) {
  for (const char *c = text; *c; c++) {
    if (*c == '\'')
      fputs("'\\''", file);
    else
      fprintf(file, "%s%c", strchr("[]:\\", *c) ? "\\" : "", *c);
  }
}

/* ":what it is:how to complete it" */
static void put_value(FILE *file, const weir_option *row) {
  if (row->type == WEIR_OPTION_BOOLEAN) return;
  const char *value = weir_option_value(row);
  fputc(':', file);
  put(file, row->type == WEIR_OPTION_CHOICE ? row->name : value);
  fputc(':', file);
  if (row->type == WEIR_OPTION_CHOICE) {
    fputc('(', file);
    for (const char *c = row->choices; *c; c++)
      fputc(*c == '|' ? ' ' : *c, file);
    fputc(')', file);
  } else if (strcmp(value, "DIR") == 0) {
    fputs("_files -/", file);
  } else if (strstr(value, "DIR") || strstr(value, "FILE")) {
    fputs("_files", file);
  } else if (strcmp(value, "COMMAND") == 0) {
    fputs("_weir_commands", file);
  }
}

static void put_option(FILE *file, const weir_option *row, const char *name, const char *other) {
  char key[64], rival[64];
  weir_option_key(name, key);
  fputs(" \\\n      '", file);
  if (other) {
    weir_option_key(other, rival);
    fprintf(file, "(%s)", rival);
  }
  fprintf(file, "%s%s[", key, row->type == WEIR_OPTION_BOOLEAN ? "" : "=");
  put(file, row->help);
  fputc(']', file);
  put_value(file, row);
  fputc('\'', file);
}

static void put_command(FILE *file, const weir_command *command) {
  const weir_option *rows[WEIR_MAX_COMMAND_ROWS];
  size_t n_rows = weir_command_rows(command, rows);
  fprintf(file, "  '%s')\n    _arguments '(-)--help[explain the options]'", command->name);
  for (size_t i = 0; i < n_rows; i++) {
    const weir_option *row = rows[i];
    if (row->positional || row->type == WEIR_OPTION_STRINGS) {
      fprintf(file, " \\\n      '%s", row->type == WEIR_OPTION_STRINGS ? "*" : "1");
      put_value(file, row);
      fputc('\'', file);
    }
    if (row->positional) continue;
    put_option(file, row, row->name, row->alias);
    if (row->alias) put_option(file, row, row->alias, row->name);
  }
  fputs("\n    ;;\n", file);
}

void write_zsh(FILE *file) {
  fputs("#compdef weir\n"
        "# Written from weir's table of options when it was built.\n\n"
        "_weir_commands() {\n"
        "  local -a commands=(\n",
        file);
  for (size_t i = 0; i < weir_n_commands; i++) {
    const char *name = weir_commands[i].name; /* its first word */
    fprintf(file, "    '%.*s:", (int)strcspn(name, " "), name);
    put(file, weir_commands[i].summary);
    fputs("'\n", file);
  }
  fputs("  )\n"
        "  _describe command commands\n"
        "}\n\n"
        "_weir() {\n"
        "  ((CURRENT > 2)) || { _weir_commands; return; }\n"
        "  local command=$words[2]\n"
        "  shift words; ((CURRENT--))\n",
        file);
  for (size_t i = 0; i < weir_n_commands; i++) {
    const char *name = weir_commands[i].name, *space = strchr(name, ' ');
    if (!space) continue;
    fprintf(file,
            "  if [[ $command == %.*s ]]; then\n"
            "    ((CURRENT > 2)) || { compadd %s; return; }\n"
            "    command+=\" $words[2]\"\n"
            "    shift words; ((CURRENT--))\n"
            "  fi\n",
            (int)(space - name), name, space + 1);
  }
  fputs("  case $command in\n", file);
  for (size_t i = 0; i < weir_n_commands; i++)
    put_command(file, &weir_commands[i]);
  fputs("  esac\n"
        "}\n\n"
        "_weir \"$@\"\n",
        file);
}
