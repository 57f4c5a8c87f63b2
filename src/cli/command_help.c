/* SPDX-License-Identifier: Apache-2.0
 *
 * Help, written from the two tables: what it says is what the parser does. */
#include "cli/commands.h"
#include "cli/find_command.h"
#include "cli/help.h"
#include "cli/output.h"

#include <stdio.h>
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

/* The value's place holder: DIR, N, X, SIZE, a|b. */
static const char *name_value(const weir_option *row) {
  switch (row->type) {
  case WEIR_OPTION_BOOLEAN:
    return "";
  case WEIR_OPTION_INTEGER:
    return " N";
  case WEIR_OPTION_REAL:
    return " X";
  case WEIR_OPTION_BYTES:
    return " SIZE";
  case WEIR_OPTION_CHOICE:
  case WEIR_OPTION_STRING:
  case WEIR_OPTION_STRINGS:
    break;
  }
  return " ";
}

static void spell_key(const char *name, char key[64]) {
  snprintf(key, 64, "--%s", name);
  for (char *c = key; *c; c++)
    if (*c == '_') *c = '-';
}

static void print_option(const weir_option *row, uint32_t command) {
  char key[64], alias[64] = "", left[160];
  spell_key(row->name, key);
  if (row->alias) spell_key(row->alias, alias);
  const char *what = row->type == WEIR_OPTION_CHOICE   ? row->choices
                     : row->type >= WEIR_OPTION_STRING ? row->unit
                                                       : "";
  snprintf(left, sizeof left, "%s%s%s%s%s%s",
           row->positional ? ""
           : row->alias    ? alias
                           : key,
           row->alias ? ", " : "", row->alias ? key : "", row->positional ? "" : name_value(row),
           what, row->type == WEIR_OPTION_STRINGS ? "..." : "");
  weir_print("  %s%s%s\n", left, row->required_by & command ? "   (required)" : "", "");
  weir_print("      %s", row->help);
  const char *number_unit = row->type < WEIR_OPTION_BYTES ? row->unit : NULL;
  if (row->default_text && row->type != WEIR_OPTION_BOOLEAN)
    weir_print(" [default %s%s%s]", row->default_text, number_unit ? " " : "",
               number_unit ? number_unit : "");
  else if (number_unit)
    weir_print(" [%s]", number_unit);
  if (row->range) weir_print(" [in %s]", row->range);
  weir_print("\n");
}

void weir_help_command(const weir_command *command, const weir_options *options) {
  weir_print("weir %s: %s\n", command->name, command->summary);
  const char *group = "";
  const weir_option *row;
  /* Rows of a group need not be neighbours: each group is printed whole where it first occurs. */
  for (size_t i = 0; (row = weir_options_row(options, i)); i++) {
    bool is_first = true;
    for (size_t j = 0; j < i && is_first; j++)
      is_first = strcmp(weir_options_row(options, j)->group, row->group) != 0;
    if (!is_first) continue;
    group = row->group;
    weir_print("\n%s\n", group);
    const weir_option *member;
    for (size_t j = i; (member = weir_options_row(options, j)); j++)
      if (strcmp(member->group, group) == 0) print_option(member, command->bit);
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
  weir_options *rows;
  WEIR_TRY(weir_options_create(&rows, weir_option_table, weir_n_option_rows, command->bit));
  weir_help_command(command, rows);
  weir_options_destroy(rows);
  return WEIR_OK;
}
