/* SPDX-License-Identifier: Apache-2.0
 *
 * Learning a byte-level BPE from text, as GPT-2's was: its regex cuts words, <|endoftext|> cuts
 * documents, and the most frequent pair is merged until the vocabulary is full.  Among equally
 * frequent pairs the greater one, compared as bytes, comes first: the result depends on the text
 * alone.
 *
 * Ids: <|endoftext|> is 0, then the 256 bytes in the order of their spellings, then the merges. */
#ifndef WEIR_FORMATS_BPE_TRAIN_H
#define WEIR_FORMATS_BPE_TRAIN_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

#define WEIR_END_OF_TEXT "<|endoftext|>"

enum { WEIR_BPE_SMALLEST_VOCAB = 1 + 256 };

typedef struct weir_bpe_trainer weir_bpe_trainer;

weir_status weir_bpe_trainer_create(weir_bpe_trainer **trainer);
/* Harmless on NULL. */
void weir_bpe_trainer_destroy(weir_bpe_trainer *trainer);

/* Counts the words of a text, which is valid UTF-8. */
weir_status weir_bpe_trainer_add(weir_bpe_trainer *trainer, const char *text, size_t n_bytes);

/* Learns merges until there are `vocab_size` tokens, or no pair is left; once, after all adds. */
weir_status weir_bpe_trainer_learn(weir_bpe_trainer *trainer, int32_t vocab_size);

int32_t weir_bpe_trainer_vocab_size(const weir_bpe_trainer *trainer);
size_t weir_bpe_trainer_n_words(const weir_bpe_trainer *trainer); /* distinct ones */

/* Writes tokenizer.json and tokenizer_config.json into an existing directory. */
weir_status weir_bpe_trainer_write(const weir_bpe_trainer *trainer, const char *directory);

#endif
