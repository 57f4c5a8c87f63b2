/* SPDX-License-Identifier: Apache-2.0
 *
 * weir tokenizer train: learns a byte-level BPE vocabulary from text files and JSON lines. */
#include "base/directory.h"
#include "base/log.h"
#include "cli/commands.h"
#include "formats/bpe_train.h"
#include "formats/documents.h"

static weir_status add_document(void *trainer, const weir_document *document) {
  if (document->prompt)
    WEIR_TRY(weir_bpe_trainer_add(trainer, document->prompt, document->n_prompt_bytes));
  return weir_bpe_trainer_add(trainer, document->text, document->n_bytes);
}

static weir_status learn_and_write(weir_bpe_trainer *trainer, const weir_options *options) {
  size_t n_files;
  const char *const *files = weir_options_strings(options, "train_file", &n_files);
  const char *directory = weir_options_string(options, "output_dir");
  int32_t vocab_size = (int32_t)weir_options_integer(options, "vocab_size");
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
