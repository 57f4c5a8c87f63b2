/* SPDX-License-Identifier: Apache-2.0
 *
 * The documents of a run as tokens, one after the other: in memory, or in a file that is mapped
 * (train/token_cache.h).
 *
 * A document is tokenized as the tokenizer does any text (so Llama's gets its BOS) and ends with
 * the end token, unless it ends so already.  Of a prompt and a completion the prompt is read and
 * the completion, with the end token, is learnt: that is said by position, token for token, and
 * never by id.  Empty documents hold nothing to learn: they are left out and counted. */
#ifndef WEIR_TRAIN_CORPUS_H
#define WEIR_TRAIN_CORPUS_H

#include "base/files.h"
#include "formats/tokenizer.h"

#include <stddef.h>
#include <stdint.h>

/* A token is its id; with this bit it is only read, not learnt. */
#define WEIR_TOKEN_IS_CONTEXT (UINT32_C(1) << 31)

static inline int32_t weir_token_id(uint32_t token) {
  return (int32_t)(token & ~WEIR_TOKEN_IS_CONTEXT);
}

static inline bool weir_token_is_context(uint32_t token) {
  return token & WEIR_TOKEN_IS_CONTEXT;
}

/* A run of tokens of the corpus: a document, or a part of one. */
typedef struct weir_span {
  int64_t first_token, n_tokens;
} weir_span;

/* What was met while reading the files. */
typedef struct weir_corpus_counts {
  int64_t n_empty_documents; /* left out */
  int64_t n_pairs;           /* documents that are a prompt and a completion */
  int64_t n_apart;           /* of these, tokenized apart (weir_tokenizer_encode_pair) */
  int64_t n_context_tokens;
} weir_corpus_counts;

typedef struct weir_corpus {
  const uint32_t *tokens; /* [n_stored_tokens], of all files */
  int64_t n_stored_tokens;
  weir_span *documents; /* [n_documents] those of this corpus, owned */
  int64_t n_documents;
  int64_t n_tokens; /* in them */
  weir_corpus_counts counts;
  int32_t eos_token_id;     /* that documents end with; -1: none was asked for */
  uint64_t tokens_checksum; /* of all that is stored */
  weir_mapping mapping;     /* where the tokens are; zero: in memory of our own */
  bool is_part;             /* the tokens belong to the corpus that this was split from */
} weir_corpus;

typedef struct weir_corpus_settings {
  const weir_tokenizer *tokenizer;
  int32_t eos_token_id;  /* appended to documents; -1: none */
  int64_t vocab_size;    /* the model's: an id beyond it is an error */
  const char *separator; /* between the documents of a text file, or NULL (formats/documents.h) */
  bool learn_prompts;    /* too, not completions only */
  const char *cache;     /* the directory of token caches, or NULL: tokens stay in memory */
} weir_corpus_settings;

/* Reads the files in their order.  Files without one document that holds a token are an error. */
weir_status weir_corpus_read(weir_corpus *corpus, const weir_corpus_settings *settings,
                             const char *const *paths, size_t n_paths);
/* One document of these ids, copied.  `path` is for messages. */
weir_status weir_corpus_from_ids(weir_corpus *corpus, const char *path, const int32_t *ids,
                                 int64_t n_ids, int64_t vocab_size);
/* Moves a part of the documents, round(fraction * n) and at least one, chosen by the seed, to
 * `validation`, which borrows the tokens and must not outlive the corpus; both keep their documents
 * in order.  Fails where either would be left with none. */
weir_status weir_corpus_split(weir_corpus *corpus, double fraction, uint64_t seed,
                              weir_corpus *validation);
/* Harmless on a zeroed corpus. */
void weir_corpus_deinit(weir_corpus *corpus);

/* Copies tokens, giving back mapped pages as it goes.  is_learnt [n_tokens] is 1 at tokens to be
 * learnt, else 0; either may be NULL. */
void weir_corpus_copy(const weir_corpus *corpus, weir_span span, int32_t *ids, uint8_t *is_learnt);
/* Tokens of a sequence that will be supervised: those to be learnt, but never its first. */
int64_t weir_corpus_supervised(const weir_corpus *corpus, weir_span span);

/* Documents that end with the end token. */
int64_t weir_corpus_ended_documents(const weir_corpus *corpus);
/* Host memory: the tables and, where they are not mapped, the tokens. */
uint64_t weir_corpus_bytes(const weir_corpus *corpus);
/* The most of the mapping that is resident while tokens are copied; 0 without one. */
uint64_t weir_corpus_window_bytes(const weir_corpus *corpus);
/* A checksum of every token, what is learnt of them, and every boundary. */
uint64_t weir_corpus_fingerprint(const weir_corpus *corpus);

#endif
