/* SPDX-License-Identifier: Apache-2.0
 *
 * From options to what train/ works with, and what `weir train` and `weir eval` share. */
#ifndef WEIR_CLI_TRAINING_OPTIONS_H
#define WEIR_CLI_TRAINING_OPTIONS_H

#include "base/option.h"
#include "cli/session.h"
#include "train/settings.h"
#include "train/training_data.h"

void weir_training_options_settings(const weir_options *options, weir_training_settings *settings);

/* How text becomes tokens of the session's model: its own tokenizer, opened (the caller closes
 * it), its end token, the separator of documents. */
weir_status weir_training_options_corpus(const weir_options *options, const weir_session *session,
                                         weir_tokenizer **tokenizer,
                                         weir_corpus_settings *settings);

/* The directory of the token cache for these files, to be freed; NULL where tokens are to stay in
 * memory. */
weir_status weir_training_options_cache(const weir_options *options, const char *const *paths,
                                        size_t n_paths, char **directory);

/* Fails where positions are a table that the longest sequence leaves; warns where they are not but
 * the model says it was made for less. */
weir_status weir_training_options_check_length(const weir_session *session,
                                               int64_t longest_sequence);

/* Instruction set and versions that bits depend on.  New reference. */
json_t *weir_training_options_machine(void);

#endif
