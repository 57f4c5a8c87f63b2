/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands of weir: one row in commands.c, one file command_<name>.c, one bit for the option
 * table.  A command reads its options, calls the layers below, prints its result on standard
 * output and returns the status that becomes the exit code; main() prints the error message. */
#ifndef WEIR_CLI_COMMANDS_H
#define WEIR_CLI_COMMANDS_H

#include "base/option.h"

#include <stddef.h>

/* The bits of weir_option.commands. */
enum {
  WEIR_COMMAND_INIT = 1 << 0,
  WEIR_COMMAND_TRAIN = 1 << 1,
  WEIR_COMMAND_EVAL = 1 << 2,
  WEIR_COMMAND_GENERATE = 1 << 3,
  WEIR_COMMAND_TOKENIZE = 1 << 4,
  WEIR_COMMAND_TOKENIZER_TRAIN = 1 << 5,
  WEIR_COMMAND_GRADIENTS = 1 << 6,
  WEIR_COMMAND_PLAN = 1 << 7,
  WEIR_COMMAND_INSPECT = 1 << 8,
  WEIR_COMMAND_DOCTOR = 1 << 9,
  WEIR_COMMAND_HELP = 1 << 10,
  WEIR_COMMAND_VERSION = 1 << 11,
};

typedef struct weir_command {
  const char *name; /* may be two words: "tokenizer train" */
  const char *summary;
  uint32_t bit;
  weir_status (*run)(const weir_options *options);
} weir_command;

extern const weir_command weir_commands[];
extern const size_t weir_n_commands;

extern const weir_option weir_option_table[];
extern const size_t weir_n_option_rows;

weir_status weir_command_doctor(const weir_options *options);
weir_status weir_command_eval(const weir_options *options);
weir_status weir_command_generate(const weir_options *options);
weir_status weir_command_help(const weir_options *options);
weir_status weir_command_init(const weir_options *options);
weir_status weir_command_inspect(const weir_options *options);
weir_status weir_command_gradients(const weir_options *options);
weir_status weir_command_plan(const weir_options *options);
weir_status weir_command_tokenize(const weir_options *options);
weir_status weir_command_tokenizer_train(const weir_options *options);
weir_status weir_command_train(const weir_options *options);
weir_status weir_command_version(const weir_options *options);

#endif
