/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens of large files, kept beside them on disk: tokenized once, then mapped.
 *
 *   <directory>/tokens-<key>.bin:  header | tokens u32 [n_tokens] | documents i64 [n_documents][2]
 *
 * The key is a checksum of the bytes of the files, of the tokenizer and of every setting that
 * decides on tokens, so a cache never has to be told that something changed.  It is written as
 * documents come and appears whole (I6); opening one checks every byte, and one that is damaged, or
 * of another version, is made anew with a message.  Host order and sizes: a cache belongs to the
 * machine that made it. */
#ifndef WEIR_TRAIN_TOKEN_CACHE_H
#define WEIR_TRAIN_TOKEN_CACHE_H

#include "train/corpus.h"

/* Opens the cache of these files in settings->cache, or makes it first. */
weir_status weir_token_cache_read(weir_corpus *corpus, const weir_corpus_settings *settings,
                                  const char *const *paths, size_t n_paths);

/* "<directory>/tokens-<key>.bin", to be freed. */
weir_status weir_token_cache_path(const weir_corpus_settings *settings, const char *const *paths,
                                  size_t n_paths, char **path);

/* $XDG_CACHE_HOME/weir, or ~/.cache/weir, to be freed; NULL where neither is known. */
char *weir_token_cache_directory(void);

#endif
