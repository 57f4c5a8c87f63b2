/* SPDX-License-Identifier: Apache-2.0
 *
 * Completion for bash 4 and later, without the bash-completion package's functions. */
#include "cli/describe_option.h"
#include "manual.h"

#include <string.h>

/* The shell's pattern for the keys of a row: --model|--model-name-or-path. */
static void put_keys(FILE *file, const weir_option *row, const char *between) {
  char key[64];
  weir_option_key(row->name, key);
  fputs(key, file);
  if (!row->alias) return;
  weir_option_key(row->alias, key);
  fprintf(file, "%s%s", between, key);
}

/* What may stand as a value; `true` where the shell can offer something. */
static bool put_values(FILE *file, const weir_option *row) {
  if (row->type == WEIR_OPTION_CHOICE) {
    fputs("_weir_words '", file);
    for (const char *c = row->choices; *c; c++)
      fputc(*c == '|' ? ' ' : *c, file);
    fputc('\'', file);
  } else if (row->unit && strcmp(row->unit, "DIR") == 0) {
    fputs("_weir_files -d", file);
  } else if (row->unit && (strstr(row->unit, "DIR") || strstr(row->unit, "FILE"))) {
    fputs("_weir_files -f", file);
  } else {
    return false;
  }
  return true;
}

static void put_command(FILE *file, const weir_command *command) {
  const weir_option *rows[WEIR_MAX_COMMAND_ROWS], *words = NULL;
  size_t n_rows = weir_command_rows(command, rows);
  fprintf(file, "  '%s')\n    options='", command->name);
  for (size_t i = 0; i < n_rows; i++) {
    if (rows[i]->positional || rows[i]->type == WEIR_OPTION_STRINGS) words = rows[i];
    if (rows[i]->positional) continue;
    put_keys(file, rows[i], " ");
    fputc(' ', file);
  }
  fputs("--help'\n    case $key in\n", file);
  for (size_t i = 0; i < n_rows; i++) {
    if (rows[i]->positional || rows[i]->type == WEIR_OPTION_BOOLEAN) continue;
    fputs("    ", file);
    put_keys(file, rows[i], "|");
    fputs(") ", file);
    fputs(put_values(file, rows[i]) ? "; return ;;\n" : "return ;;\n", file);
  }
  fputs("    esac\n", file);
  if (words && strcmp(words->unit, "COMMAND") == 0) {
    fputs("    [[ $word == -* ]] || { _weir_words \"$commands\"; return; }\n", file);
  } else if (words) {
    fputs("    [[ $word == -* || -z $word ]] || { ", file);
    fputs(put_values(file, words) ? "; return; }\n" : "return; }\n", file);
  }
  fputs("    ;;\n", file);
}

void write_bash(FILE *file) {
  fputs("# bash completion for weir, written from its table of options when it was built.\n\n"
        "_weir_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$word\"); }\n\n"
        "_weir_files() {\n"
        "  compopt -o filenames 2>/dev/null\n"
        "  mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$word\")\n"
        "}\n\n"
        "_weir() {\n"
        "  local word=${COMP_WORDS[COMP_CWORD]} key=${COMP_WORDS[COMP_CWORD-1]} options=\n"
        "  local command=${COMP_WORDS[1]} commands='",
        file);
  const char *group = ""; /* "tokenizer" of "tokenizer train" */
  for (size_t i = 0; i < weir_n_commands; i++) {
    const char *space = strchr(weir_commands[i].name, ' ');
    if (space) group = weir_commands[i].name;
    fprintf(file, "%s%.*s", i ? " " : "", (int)strcspn(weir_commands[i].name, " "),
            weir_commands[i].name);
  }
  fputs("'\n  COMPREPLY=()\n"
        "  # --key=value arrives as three words.\n"
        "  if [[ $word == = ]]; then word=\n"
        "  elif [[ $key == = ]]; then key=${COMP_WORDS[COMP_CWORD-2]}\n"
        "  fi\n"
        "  key=${key//_/-}\n"
        "  ((COMP_CWORD > 1)) || { _weir_words \"$commands --help --version\"; return; }\n",
        file);
  if (*group) {
    const char *space = strchr(group, ' ');
    int n = (int)(space - group);
    fprintf(file,
            "  if [[ $command == %.*s ]]; then\n"
            "    ((COMP_CWORD > 2)) || { _weir_words '%s'; return; }\n"
            "    command+=\" ${COMP_WORDS[2]}\"\n"
            "  fi\n",
            n, group, space + 1);
  }
  fputs("  case $command in\n", file);
  for (size_t i = 0; i < weir_n_commands; i++)
    put_command(file, &weir_commands[i]);
  fputs("  esac\n"
        "  _weir_words \"$options\"\n"
        "}\n\n"
        "complete -F _weir weir\n",
        file);
}
