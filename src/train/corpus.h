/* SPDX-License-Identifier: Apache-2.0
 *
 * The documents of a run as token ids, in memory, one after the other.
 *
 * A document is tokenized as the tokenizer does any text (so Llama's gets its BOS) and ends with
 * the end token, unless it ends so already.  Empty documents hold nothing to learn: they are left
 * out and counted.  Nothing else is ever dropped. */
#ifndef WEIR_TRAIN_CORPUS_H
#define WEIR_TRAIN_CORPUS_H

#include "formats/tokenizer.h"

#include <stddef.h>
#include <stdint.h>

typedef struct weir_corpus {
  int32_t *ids;     /* [n_tokens] */
  int64_t *offsets; /* [n_documents + 1]: document i is ids [offsets[i], offsets[i + 1]) */
  int64_t n_tokens, n_documents;
  int64_t n_empty_documents; /* left out */
  int32_t eos_token_id;      /* that documents end with; -1: none was asked for */
} weir_corpus;

typedef struct weir_corpus_settings {
  const weir_tokenizer *tokenizer;
  int32_t eos_token_id;  /* appended to documents; -1: none */
  int64_t vocab_size;    /* the model's: an id beyond it is an error */
  const char *separator; /* between the documents of a text file, or NULL (formats/documents.h) */
} weir_corpus_settings;

/* Reads the files in their order.  Files without one document that holds a token are an error. */
weir_status weir_corpus_read(weir_corpus *corpus, const weir_corpus_settings *settings,
                             const char *const *paths, size_t n_paths);
/* One document of these ids, copied.  `path` is for messages. */
weir_status weir_corpus_from_ids(weir_corpus *corpus, const char *path, const int32_t *ids,
                                 int64_t n_ids, int64_t vocab_size);
/* Moves a part of the documents, round(fraction * n) and at least one, chosen by the seed, to
 * `validation`; both keep their documents in order.  Fails where either would be left with none. */
weir_status weir_corpus_split(weir_corpus *corpus, double fraction, uint64_t seed,
                              weir_corpus *validation);
/* Harmless on a zeroed corpus. */
void weir_corpus_deinit(weir_corpus *corpus);

/* Documents that end with the end token. */
int64_t weir_corpus_ended_documents(const weir_corpus *corpus);
uint64_t weir_corpus_bytes(const weir_corpus *corpus);
/* A checksum of every token and boundary. */
uint64_t weir_corpus_fingerprint(const weir_corpus *corpus);

#endif
