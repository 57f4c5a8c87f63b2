/* SPDX-License-Identifier: Apache-2.0
 *
 * What bpe_train.c learns and bpe_train_write.c writes.  Private to the two. */
#ifndef WEIR_FORMATS_BPE_TRAIN_PARTS_H
#define WEIR_FORMATS_BPE_TRAIN_PARTS_H

#include "formats/bpe_train.h"
#include "formats/tokenizer_parts.h"

typedef struct weir_bpe_word {
  size_t begin, n_symbols; /* in `symbols` */
} weir_bpe_word;

typedef struct weir_bpe_merge {
  int32_t left, right;
} weir_bpe_merge;

typedef struct weir_bpe_pair {
  int32_t left, right;
  int64_t count;  /* how often it stands in the text now */
  weir_ids words; /* every word that holds it, and some that no longer do */
  bool is_raised; /* waits in `raised` to enter the heap with its new count */
} weir_bpe_pair;

typedef struct weir_bpe_entry {
  int64_t count; /* when it was made; never less than now, but for entries that came later */
  uint32_t pair;
} weir_bpe_entry;

struct weir_bpe_trainer {
  weir_pretokenizer splits;
  weir_string_table tokens; /* id -> bytes; id 0, the end of text, has none */
  int32_t byte_ids[256];

  weir_string_table word_texts;
  int64_t *word_counts;
  weir_bpe_word *words;
  weir_ids symbols; /* of all words, end to end */
  size_t word_counts_capacity;

  weir_pair_map pair_numbers;
  weir_bpe_pair *pairs;
  weir_ids raised;
  weir_bpe_entry *heap;
  size_t n_pairs, pairs_capacity, n_heap, heap_capacity;

  weir_bpe_merge *merges; /* in the order in which they were learnt */
  size_t n_merges, merges_capacity;
};

#endif
