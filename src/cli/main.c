/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the command, reads its options, runs it, reports.  Nothing else. */
#include "base/interrupt.h"
#include "base/log.h"
#include "base/machine.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/find_command.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/short_waits.h"
#include "formats/yaml_options.h"

#include <stdio.h>
#include <string.h>

static bool has(const weir_options *options, const char *name) {
  return weir_options_find(options, name) != NULL;
}

static weir_status read_config(weir_options *options) {
  const char *path = has(options, "config") ? weir_options_string(options, "config") : NULL;
  return path ? weir_yaml_options_read(options, path) : WEIR_OK;
}

/* Resolved here once, so that every command and the dump of options have the same figure. */
static weir_status settle_threads(weir_options *options) {
  if (!has(options, "threads") || weir_options_is_set(options, "threads")) return WEIR_OK;
  char number[16];
  const char *text = number;
  weir_machine machine;
  weir_machine_read(&machine, "");
  snprintf(number, sizeof number, "%d", weir_machine_n_threads(&machine));
  return weir_options_set(options, "threads", 1, &text, WEIR_ORIGIN_DEFAULT);
}

static weir_status run_with(const weir_command *command, weir_options *options, int n_words,
                            char *const *words) {
  bool wants_help = false;
  WEIR_TRY(weir_arguments_read(options, n_words, words, &wants_help));
  if (wants_help) {
    weir_help_command(command);
    return WEIR_OK;
  }
  WEIR_TRY(read_config(options));
  weir_log_set_quiet(has(options, "quiet") && weir_options_boolean(options, "quiet"));
  WEIR_TRY(weir_options_require(options));
  WEIR_TRY(settle_threads(options));
  return command->run(options);
}

static weir_status dispatch(int n_words, char **words) {
  if (n_words == 0) {
    weir_help_introduction();
    return WEIR_OK;
  }
  if (strcmp(words[0], "--version") == 0) words[0] = "version";
  if (strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0) words[0] = "help";

  const weir_command *command;
  size_t n_used;
  WEIR_TRY(weir_find_command((const char *const *)words, (size_t)n_words, &command, &n_used));
  weir_options *options;
  WEIR_TRY(weir_options_create(&options, weir_option_table, weir_n_option_rows, command->bit));
  weir_status status = run_with(command, options, n_words - (int)n_used, words + n_used);
  weir_options_destroy(options);
  return status;
}

int main(int argc, char **argv) {
  weir_prefer_short_waits(argv);
  weir_interrupt_ignore_closed_pipes();
  weir_status status = weir_interrupt_prepare();
  if (status == WEIR_OK) status = dispatch(argc > 0 ? argc - 1 : 0, argv + 1);
  if (status == WEIR_OK) status = weir_print_finish();
  const char *message = weir_status_message();
  char escaped[4096]; /* messages quote files */
  if (status != WEIR_OK && *message)
    weir_log_error("%s", weir_log_escape(escaped, sizeof escaped, message, strlen(message)));
  return status;
}
