/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/describe_option.h"

#include <stdio.h>
#include <string.h>

size_t weir_command_rows(const weir_command *command,
                         const weir_option *rows[WEIR_MAX_COMMAND_ROWS]) {
  size_t n = 0;
  for (size_t i = 0; i < weir_n_option_rows; i++) {
    const weir_option *row = &weir_option_table[i];
    if (!(row->commands & command->bit)) continue;
    WEIR_ASSERT(n, <, WEIR_MAX_COMMAND_ROWS);
    size_t at = n; /* behind the last of its group; or last */
    while (at > 0 && strcmp(rows[at - 1]->group, row->group) != 0)
      at--;
    if (at == 0) at = n;
    memmove(&rows[at + 1], &rows[at], (n - at) * sizeof *rows);
    rows[at] = row;
    n++;
  }
  return n;
}

void weir_option_key(const char *name, char key[64]) {
  snprintf(key, 64, "--%s", name);
  for (char *c = key; *c; c++)
    if (*c == '_') *c = '-';
}

const char *weir_option_value(const weir_option *row) {
  switch (row->type) {
  case WEIR_OPTION_BOOLEAN:
    return "";
  case WEIR_OPTION_INTEGER:
    return "N";
  case WEIR_OPTION_REAL:
    return "X";
  case WEIR_OPTION_CHOICE:
    return row->choices;
  case WEIR_OPTION_BYTES:
  case WEIR_OPTION_STRING:
  case WEIR_OPTION_STRINGS:
    break;
  }
  return row->unit;
}

void weir_option_usage(const weir_option *row, char text[WEIR_OPTION_TEXT]) {
  char key[64], alias[64];
  const char *value = weir_option_value(row);
  const char *more = row->type == WEIR_OPTION_STRINGS ? "..." : "";
  weir_option_key(row->name, key);
  if (row->alias) weir_option_key(row->alias, alias);
  if (row->positional)
    snprintf(text, WEIR_OPTION_TEXT, "%s%s", value, more);
  else
    snprintf(text, WEIR_OPTION_TEXT, "%s%s%s%s%s%s", row->alias ? alias : "",
             row->alias ? ", " : "", key, *value ? " " : "", value, more);
}

void weir_option_facts(const weir_option *row, char text[WEIR_OPTION_TEXT]) {
  bool is_number = row->type == WEIR_OPTION_INTEGER || row->type == WEIR_OPTION_REAL;
  const char *unit = is_number && row->unit ? row->unit : "";
  int n = 0;
  *text = '\0';
  const bool is_plain_flag =
      row->type == WEIR_OPTION_BOOLEAN && strcmp(row->default_text, "false") == 0;
  if (row->default_text && !is_plain_flag)
    n = snprintf(text, WEIR_OPTION_TEXT, "[default %s%s%s]", row->default_text, *unit ? " " : "",
                 unit);
  else if (*unit)
    n = snprintf(text, WEIR_OPTION_TEXT, "[%s]", unit);
  if (row->range)
    snprintf(text + n, WEIR_OPTION_TEXT - (size_t)n, "%s[in %s]", n ? " " : "", row->range);
}
