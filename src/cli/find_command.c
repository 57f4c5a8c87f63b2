/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/find_command.h"

#include "base/log.h"
#include "base/nearest.h"

#include <stdio.h>
#include <string.h>

static const weir_command *find(const char *name) {
  for (size_t i = 0; i < weir_n_commands; i++)
    if (strcmp(weir_commands[i].name, name) == 0) return &weir_commands[i];
  return NULL;
}

/* The command nearest to `name`; the first word of one is near enough. */
static const char *suggest(const char *name) {
  weir_nearest nearest = weir_nearest_begin(name);
  const size_t n_name = strlen(name);
  for (size_t i = 0; i < weir_n_commands; i++) {
    const char *command = weir_commands[i].name;
    if (strncmp(command, name, n_name) == 0 && command[n_name] == ' ') return command;
    weir_nearest_offer(&nearest, command);
  }
  return nearest.best;
}

weir_status weir_find_command(const char *const *words, size_t n_words,
                              const weir_command **command, size_t *n_used) {
  char name[64] = "", escaped[128];
  WEIR_ASSERT(n_words, >, 0);
  for (*n_used = n_words < 2 ? n_words : 2; *n_used > 0; --*n_used) {
    snprintf(name, sizeof name, "%s%s%s", words[0], *n_used == 2 ? " " : "",
             *n_used == 2 ? words[1] : "");
    *command = find(name);
    if (*command) return WEIR_OK;
  }
  const char *nearest = suggest(name);
  weir_log_escape(escaped, sizeof escaped, name, strlen(name));
  if (!nearest)
    return weir_fail(WEIR_BAD_INPUT, "unknown command '%s'; weir help lists them", escaped);
  return weir_fail(WEIR_BAD_INPUT, "unknown command '%s'; did you mean %s?", escaped, nearest);
}
