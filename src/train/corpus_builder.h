/* SPDX-License-Identifier: Apache-2.0
 *
 * A corpus while it grows: documents come in, tokens go to memory or, one document at a time, to a
 * file. */
#ifndef WEIR_TRAIN_CORPUS_BUILDER_H
#define WEIR_TRAIN_CORPUS_BUILDER_H

#include "train/corpus.h"

#include <xxhash.h>

typedef struct weir_corpus_builder {
  const weir_corpus_settings *settings; /* borrowed */
  weir_replacement *file;               /* borrowed; NULL: tokens stay in memory */
  weir_ids ids;                         /* of one document */
  uint32_t *tokens;                     /* of one document where there is a file, else of all */
  weir_span *documents;
  size_t tokens_capacity, documents_capacity;
  int64_t n_tokens, n_documents;
  weir_corpus_counts counts;
  XXH3_state_t *checksum;
} weir_corpus_builder;

weir_status weir_corpus_builder_init(weir_corpus_builder *builder,
                                     const weir_corpus_settings *settings, weir_replacement *file);
/* Adds the documents of the files; fails where none of them holds a token. */
weir_status weir_corpus_builder_read(weir_corpus_builder *builder, const char *const *paths,
                                     size_t n_paths);
/* Adds one document, of which the first ids are only read. */
weir_status weir_corpus_builder_add(weir_corpus_builder *builder, const int32_t *ids, size_t n_ids,
                                    size_t n_context_ids);
/* Hands over what is in memory. */
void weir_corpus_builder_take(weir_corpus_builder *builder, weir_corpus *corpus);
void weir_corpus_builder_deinit(weir_corpus_builder *builder);

#endif
