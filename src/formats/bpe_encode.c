/* SPDX-License-Identifier: Apache-2.0
 *
 * Byte-pair encoding of one word (Sennrich et al. 2016, arXiv:1508.07909): of all neighbouring
 * pairs the one with the lowest rank is merged, the leftmost first among equals, until none is
 * left.  Symbols are a linked list and candidates a heap, so a word of n symbols takes
 * O(n log n) even where it is a whole book, as with tokenizers that split nothing. */
#include "formats/tokenizer_parts.h"

#include "formats/byte_level.h"

#include <stdio.h>
#include <stdlib.h>

struct weir_bpe_symbol {
  int32_t id;             /* -1: merged into the one before it */
  int32_t previous, next; /* -1: none */
};

/* Two symbols that were neighbours when this was made; stale where they no longer are. */
struct weir_bpe_candidate {
  uint64_t order; /* rank << 32 | position: least first */
  int32_t left_id, right_id;
};

void weir_bpe_scratch_deinit(weir_bpe_scratch *scratch) {
  free(scratch->symbols);
  free(scratch->heap);
  weir_bytes_deinit(&scratch->spelling);
  *scratch = (weir_bpe_scratch){0};
}

void weir_bpe_deinit(weir_bpe *bpe) {
  weir_string_table_deinit(&bpe->vocabulary);
  weir_pair_map_deinit(&bpe->ranks);
  weir_ids_deinit(&bpe->merged);
}

int32_t weir_bpe_token_id(const weir_bpe *bpe, const char *text, size_t n_bytes) {
  int64_t id = weir_string_table_find(&bpe->vocabulary, text, n_bytes);
  return id < (int64_t)bpe->n_model_tokens ? (int32_t)id : -1;
}

/* --- candidates: a binary heap ----------------------------------------------------------- */

static weir_status push(weir_bpe_scratch *scratch, struct weir_bpe_candidate candidate) {
  WEIR_TRY(weir_grow(&scratch->heap, &scratch->heap_capacity, scratch->n_heap + 1,
                     sizeof *scratch->heap));
  struct weir_bpe_candidate *heap = scratch->heap;
  size_t i = scratch->n_heap++;
  for (; i > 0 && heap[(i - 1) / 2].order > candidate.order; i = (i - 1) / 2)
    heap[i] = heap[(i - 1) / 2];
  heap[i] = candidate;
  return WEIR_OK;
}

static struct weir_bpe_candidate pop(weir_bpe_scratch *scratch) {
  struct weir_bpe_candidate *heap = scratch->heap, top = heap[0];
  struct weir_bpe_candidate last = heap[--scratch->n_heap];
  size_t n = scratch->n_heap, i = 0;
  for (size_t child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && heap[child + 1].order < heap[child].order) child++;
    if (last.order <= heap[child].order) break;
    heap[i] = heap[child];
  }
  heap[i] = last;
  return top;
}

/* --- symbols: what the word is before any merge ------------------------------------------ */

static weir_status add_symbol(weir_bpe_scratch *scratch, int32_t id) {
  size_t n = scratch->n_symbols;
  if (n >= INT32_MAX - 1) return weir_fail(WEIR_BAD_INPUT, "a word of more than 2^31 symbols");
  WEIR_TRY(
      weir_grow(&scratch->symbols, &scratch->symbols_capacity, n + 1, sizeof *scratch->symbols));
  scratch->symbols[n] = (struct weir_bpe_symbol){id, (int32_t)n - 1, (int32_t)n + 1};
  scratch->n_symbols++;
  return WEIR_OK;
}

static weir_status add_byte_tokens(const weir_bpe *bpe, weir_bpe_scratch *scratch,
                                   const char *character, size_t n_bytes, bool *added) {
  *added = false;
  if (!bpe->byte_fallback) return WEIR_OK;
  for (size_t i = 0; i < n_bytes; i++)
    if (bpe->byte_ids[(unsigned char)character[i]] < 0) return WEIR_OK;
  for (size_t i = 0; i < n_bytes; i++)
    WEIR_TRY(add_symbol(scratch, bpe->byte_ids[(unsigned char)character[i]]));
  *added = true;
  return WEIR_OK;
}

/* The token of the byte (byte-level) or character at `text`, -1 where there is none. */
static int32_t first_token(const weir_bpe *bpe, const char *text, size_t n_bytes, size_t *length) {
  if (bpe->byte_level) {
    *length = 1;
    return bpe->byte_ids[(unsigned char)*text];
  }
  int32_t character;
  *length = weir_utf8_next(text, n_bytes, &character);
  return weir_bpe_token_id(bpe, text, *length);
}

static weir_status no_token(const char *text, size_t length) {
  char hexadecimal[16] = "";
  for (size_t i = 0; i < length; i++)
    snprintf(hexadecimal + 3 * i, sizeof hexadecimal - 3 * i, " %02X", (unsigned char)text[i]);
  return weir_fail(WEIR_BAD_INPUT, "the tokenizer has no token for the bytes%s, and no unk_token",
                   hexadecimal);
}

/* As in the reference, unknown characters wait until a known one comes, even if byte tokens, which
 * end up before them, come in between; fuse_unk makes one token of a run of them. */
static weir_status split_into_symbols(const weir_bpe *bpe, weir_bpe_scratch *scratch,
                                      const char *word, size_t n_bytes) {
  bool unknown = false;
  scratch->n_symbols = 0;
  for (size_t at = 0, length; at < n_bytes; at += length) {
    int32_t id = first_token(bpe, word + at, n_bytes - at, &length);
    WEIR_ASSERT(length, >, 0);
    if (id >= 0) {
      if (unknown) WEIR_TRY(add_symbol(scratch, bpe->unk_id));
      unknown = false;
      WEIR_TRY(add_symbol(scratch, id));
      continue;
    }
    bool added;
    WEIR_TRY(add_byte_tokens(bpe, scratch, word + at, length, &added));
    if (added) continue;
    if (bpe->unk_id < 0) return no_token(word + at, length);
    if (unknown && !bpe->fuse_unk) WEIR_TRY(add_symbol(scratch, bpe->unk_id));
    unknown = true;
  }
  if (unknown) WEIR_TRY(add_symbol(scratch, bpe->unk_id));
  if (scratch->n_symbols) scratch->symbols[scratch->n_symbols - 1].next = -1;
  return WEIR_OK;
}

/* --- merging ----------------------------------------------------------------------------- */

/* Makes a candidate of the symbol at `left` and the one after it, if there is such a merge. */
static weir_status consider(const weir_bpe *bpe, weir_bpe_scratch *scratch, int32_t left) {
  if (left < 0 || scratch->symbols[left].next < 0) return WEIR_OK;
  int32_t left_id = scratch->symbols[left].id;
  int32_t right_id = scratch->symbols[scratch->symbols[left].next].id;
  uint32_t rank = weir_pair_map_get(&bpe->ranks, left_id, right_id);
  if (rank == WEIR_PAIR_ABSENT) return WEIR_OK;
  return push(scratch, (struct weir_bpe_candidate){(uint64_t)rank << 32 | (uint32_t)left, left_id,
                                                   right_id});
}

static weir_status merge_all(const weir_bpe *bpe, weir_bpe_scratch *scratch) {
  struct weir_bpe_symbol *symbols = scratch->symbols;
  scratch->n_heap = 0;
  for (size_t i = 0; i < scratch->n_symbols; i++)
    WEIR_TRY(consider(bpe, scratch, (int32_t)i));
  while (scratch->n_heap > 0) {
    struct weir_bpe_candidate best = pop(scratch);
    int32_t left = (int32_t)(best.order & UINT32_MAX), right = symbols[left].next;
    if (symbols[left].id != best.left_id || right < 0 || symbols[right].id != best.right_id)
      continue;
    symbols[left].id = bpe->merged.data[best.order >> 32];
    symbols[left].next = symbols[right].next;
    if (symbols[right].next >= 0) symbols[symbols[right].next].previous = left;
    symbols[right].id = -1;
    WEIR_TRY(consider(bpe, scratch, symbols[left].previous));
    WEIR_TRY(consider(bpe, scratch, left));
  }
  return WEIR_OK;
}

/* The id of the word where it is a token as a whole, or -1. */
static weir_status whole_word(const weir_bpe *bpe, weir_bpe_scratch *scratch, const char *word,
                              size_t n_bytes, int32_t *id) {
  weir_bytes *spelling = &scratch->spelling;
  spelling->count = 0;
  if (bpe->byte_level)
    WEIR_TRY(weir_byte_level_spell(word, n_bytes, spelling));
  else
    WEIR_TRY(weir_bytes_append(spelling, word, n_bytes));
  *id = weir_bpe_token_id(bpe, spelling->data, spelling->count);
  return WEIR_OK;
}

weir_status weir_bpe_encode(const weir_bpe *bpe, weir_bpe_scratch *scratch, const char *word,
                            size_t n_bytes, weir_ids *ids) {
  if (n_bytes == 0) return WEIR_OK;
  if (bpe->ignore_merges) {
    int32_t id;
    WEIR_TRY(whole_word(bpe, scratch, word, n_bytes, &id));
    if (id >= 0) return weir_ids_append(ids, id);
  }
  WEIR_TRY(split_into_symbols(bpe, scratch, word, n_bytes));
  WEIR_TRY(merge_all(bpe, scratch));
  for (int32_t i = 0; i >= 0; i = scratch->symbols[i].next)
    WEIR_TRY(weir_ids_append(ids, scratch->symbols[i].id));
  return WEIR_OK;
}
