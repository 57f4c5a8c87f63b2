/* SPDX-License-Identifier: Apache-2.0
 *
 * weir tokenizer train: learns a byte-level BPE vocabulary from text files and JSON lines. */
#include "base/directory.h"
#include "base/files.h"
#include "base/log.h"
#include "cli/commands.h"
#include "formats/bpe_train.h"
#include "formats/documents.h"

#include <stdlib.h>
#include <unistd.h>

static weir_status add_document(void *trainer, const weir_document *document) {
  if (document->prompt)
    WEIR_TRY(weir_bpe_trainer_add(trainer, document->prompt, document->n_prompt_bytes));
  return weir_bpe_trainer_add(trainer, document->text, document->n_bytes);
}

/* A vocabulary that models were trained with is not to be lost by repeating a command. */
static weir_status check_output(const char *directory) {
  static const char *const names[] = {"tokenizer.json", "tokenizer_config.json"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char *path = weir_path_join(directory, names[i]);
    if (!path) return weir_fail(WEIR_FAILED, "no memory for a path");
    weir_status status = WEIR_OK;
    if (access(path, F_OK) == 0)
      status = weir_fail(WEIR_BAD_INPUT,
                         "%s: is there already and is not replaced: give another --output", path);
    free(path);
    WEIR_TRY(status);
  }
  return weir_directory_check_writable(directory);
}

static weir_status learn_and_write(weir_bpe_trainer *trainer, const weir_options *options) {
  size_t n_files;
  const char *const *files = weir_options_strings(options, "train_file", &n_files);
  const char *directory = weir_options_string(options, "output_dir");
  int32_t vocab_size = (int32_t)weir_options_integer(options, "vocab_size");
  WEIR_TRY(check_output(directory));
  for (size_t i = 0; i < n_files; i++)
    WEIR_TRY(weir_documents_read(files[i], NULL, add_document, trainer));
  WEIR_TRY(weir_bpe_trainer_learn(trainer, vocab_size));
  if (weir_bpe_trainer_vocab_size(trainer) < vocab_size)
    weir_log_warning("the text has no more pairs: %d tokens instead of %d",
                     (int)weir_bpe_trainer_vocab_size(trainer), (int)vocab_size);
  WEIR_TRY(weir_directory_make(directory));
  WEIR_TRY(weir_bpe_trainer_write(trainer, directory));
  weir_log_info("%d tokens learnt from %zu distinct words, written to %s/tokenizer.json",
                (int)weir_bpe_trainer_vocab_size(trainer), weir_bpe_trainer_n_words(trainer),
                directory);
  return WEIR_OK;
}

weir_status weir_command_tokenizer_train(const weir_options *options) {
  weir_bpe_trainer *trainer;
  WEIR_TRY(weir_bpe_trainer_create(&trainer));
  weir_status status = learn_and_write(trainer, options);
  weir_bpe_trainer_destroy(trainer);
  return status;
}
