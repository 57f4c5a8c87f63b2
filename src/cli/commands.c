/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of commands, in the order in which help lists them. */
#include "cli/commands.h"

const weir_command weir_commands[] = {
    {"init", "a new model with random weights", WEIR_COMMAND_INIT, weir_command_init},
    {"train", "train a model inside a memory figure", WEIR_COMMAND_TRAIN, weir_command_train},
    {"eval", "loss and perplexity of a model on a text", WEIR_COMMAND_EVAL, weir_command_eval},
    {"generate", "continue a text", WEIR_COMMAND_GENERATE, weir_command_generate},
    {"tokenize", "a text to token ids, and back", WEIR_COMMAND_TOKENIZE, weir_command_tokenize},
    {"tokenizer train", "learn a byte-level BPE vocabulary from text", WEIR_COMMAND_TOKENIZER_TRAIN,
     weir_command_tokenizer_train},
    {"gradients", "the exact gradient of one sequence's loss, as a file", WEIR_COMMAND_GRADIENTS,
     weir_command_gradients},
    {"plan", "what a training step will hold, exactly, before it starts", WEIR_COMMAND_PLAN,
     weir_command_plan},
    {"inspect", "what a safetensors file holds, or why it is refused", WEIR_COMMAND_INSPECT,
     weir_command_inspect},
    {"doctor", "what was found, what is missing, the command that mends it", WEIR_COMMAND_DOCTOR,
     weir_command_doctor},
    {"help", "this list, or the options of one command", WEIR_COMMAND_HELP, weir_command_help},
    {"version", "versions of weir and of the libraries it uses", WEIR_COMMAND_VERSION,
     weir_command_version},
};

const size_t weir_n_commands = sizeof weir_commands / sizeof *weir_commands;
