/* SPDX-License-Identifier: Apache-2.0
 *
 * Pair counts are kept up to date word by word: a merge touches only the words that hold the pair,
 * and in them only its neighbours.  The heap holds a pair once for each count it rose to; an entry
 * whose count has fallen since is put back with the count of today, so the top is always right. */
#include "formats/bpe_train.h"

#include "formats/bpe_train_parts.h"
#include "formats/byte_level.h"
#include "formats/tokenizer_parts.h"

#include <stdlib.h>
#include <string.h>

weir_status weir_bpe_trainer_create(weir_bpe_trainer **trainer) {
  *trainer = NULL;
  weir_bpe_trainer *created = calloc(1, sizeof *created);
  if (!created) return weir_fail(WEIR_FAILED, "out of memory");
  weir_status status =
      weir_pretokenizer_add(&created->splits, weir_gpt2_pattern, WEIR_SPLIT_ISOLATED, false);
  uint32_t id;
  /* The end of text is a token but no bytes: no pair may ever merge into its spelling. */
  if (status == WEIR_OK) status = weir_string_table_add(&created->tokens, "", 0, &id);
  for (int c = 0; c < 0x200 && status == WEIR_OK; c++) {
    int byte = weir_byte_level_byte(c);
    if (byte < 0) continue;
    status = weir_string_table_add(&created->tokens, &(char){(char)byte}, 1, &id);
    created->byte_ids[byte] = (int32_t)id;
  }
  if (status != WEIR_OK) {
    weir_bpe_trainer_destroy(created);
    return status;
  }
  *trainer = created;
  return WEIR_OK;
}

void weir_bpe_trainer_destroy(weir_bpe_trainer *trainer) {
  if (!trainer) return;
  for (size_t i = 0; i < trainer->n_pairs; i++)
    weir_ids_deinit(&trainer->pairs[i].words);
  free(trainer->pairs);
  free(trainer->heap);
  free(trainer->words);
  free(trainer->word_counts);
  free(trainer->merges);
  weir_ids_deinit(&trainer->symbols);
  weir_ids_deinit(&trainer->raised);
  weir_pair_map_deinit(&trainer->pair_numbers);
  weir_string_table_deinit(&trainer->word_texts);
  weir_string_table_deinit(&trainer->tokens);
  weir_pretokenizer_deinit(&trainer->splits);
  free(trainer);
}

int32_t weir_bpe_trainer_vocab_size(const weir_bpe_trainer *trainer) {
  return (int32_t)trainer->tokens.count;
}

size_t weir_bpe_trainer_n_words(const weir_bpe_trainer *trainer) {
  return trainer->word_texts.count;
}

/* --- words ------------------------------------------------------------------------------- */

static weir_status count_word(void *context, const char *word, size_t n_bytes) {
  weir_bpe_trainer *trainer = context;
  uint32_t number;
  size_t n_before = trainer->word_texts.count;
  WEIR_TRY(weir_string_table_add(&trainer->word_texts, word, n_bytes, &number));
  WEIR_TRY(weir_grow(&trainer->word_counts, &trainer->word_counts_capacity, (size_t)number + 1,
                     sizeof *trainer->word_counts));
  if (number == n_before) trainer->word_counts[number] = 0;
  trainer->word_counts[number]++;
  return WEIR_OK;
}

weir_status weir_bpe_trainer_add(weir_bpe_trainer *trainer, const char *text, size_t n_bytes) {
  const char *end = text + n_bytes, *next = text;
  for (; next; text = next + strlen(WEIR_END_OF_TEXT)) {
    next = memmem(text, (size_t)(end - text), WEIR_END_OF_TEXT, strlen(WEIR_END_OF_TEXT));
    WEIR_TRY(weir_pretokenizer_run(&trainer->splits, text, (size_t)((next ? next : end) - text),
                                   count_word, trainer));
  }
  return WEIR_OK;
}

/* --- pairs ------------------------------------------------------------------------------- */

/* The pair's number, a new one where it has none. */
static weir_status number_pair(weir_bpe_trainer *trainer, int32_t left, int32_t right,
                               uint32_t *number) {
  *number = weir_pair_map_get(&trainer->pair_numbers, left, right);
  if (*number != WEIR_PAIR_ABSENT) return WEIR_OK;
  *number = (uint32_t)trainer->n_pairs;
  WEIR_TRY(weir_grow(&trainer->pairs, &trainer->pairs_capacity, trainer->n_pairs + 1,
                     sizeof *trainer->pairs));
  WEIR_TRY(weir_pair_map_put(&trainer->pair_numbers, left, right, *number));
  trainer->pairs[trainer->n_pairs++] = (weir_bpe_pair){.left = left, .right = right};
  return WEIR_OK;
}

static weir_status add_pair(weir_bpe_trainer *trainer, int32_t left, int32_t right,
                            uint32_t i_word) {
  uint32_t number;
  WEIR_TRY(number_pair(trainer, left, right, &number));
  weir_bpe_pair *pair = &trainer->pairs[number];
  pair->count += trainer->word_counts[i_word];
  if (pair->words.count == 0 || pair->words.data[pair->words.count - 1] != (int32_t)i_word)
    WEIR_TRY(weir_ids_append(&pair->words, (int32_t)i_word));
  if (pair->is_raised) return WEIR_OK;
  pair->is_raised = true;
  return weir_ids_append(&trainer->raised, (int32_t)number);
}

static void remove_pair(weir_bpe_trainer *trainer, int32_t left, int32_t right, uint32_t i_word) {
  uint32_t number = weir_pair_map_get(&trainer->pair_numbers, left, right);
  WEIR_ASSERT(number, !=, WEIR_PAIR_ABSENT);
  trainer->pairs[number].count -= trainer->word_counts[i_word];
}

/* As bytes; a prefix is less than the whole. */
static int compare_tokens(const weir_bpe_trainer *trainer, int32_t a, int32_t b) {
  size_t n_a, n_b;
  const char *text_a = weir_string_table_at(&trainer->tokens, (size_t)a, &n_a);
  const char *text_b = weir_string_table_at(&trainer->tokens, (size_t)b, &n_b);
  int order = memcmp(text_a, text_b, n_a < n_b ? n_a : n_b);
  return order != 0 ? order : (n_a > n_b) - (n_a < n_b);
}

/* The more frequent pair; among equals the greater as (left, right). */
static bool comes_first(const weir_bpe_trainer *trainer, weir_bpe_entry a, weir_bpe_entry b) {
  if (a.count != b.count) return a.count > b.count;
  const weir_bpe_pair *pair_a = &trainer->pairs[a.pair], *pair_b = &trainer->pairs[b.pair];
  int order = compare_tokens(trainer, pair_a->left, pair_b->left);
  if (order == 0) order = compare_tokens(trainer, pair_a->right, pair_b->right);
  return order > 0;
}

static weir_status push(weir_bpe_trainer *trainer, uint32_t pair) {
  WEIR_TRY(weir_grow(&trainer->heap, &trainer->heap_capacity, trainer->n_heap + 1,
                     sizeof *trainer->heap));
  weir_bpe_entry entry = {trainer->pairs[pair].count, pair}, *heap = trainer->heap;
  size_t i = trainer->n_heap++;
  for (; i > 0 && comes_first(trainer, entry, heap[(i - 1) / 2]); i = (i - 1) / 2)
    heap[i] = heap[(i - 1) / 2];
  heap[i] = entry;
  return WEIR_OK;
}

static weir_bpe_entry pop(weir_bpe_trainer *trainer) {
  weir_bpe_entry *heap = trainer->heap, top = heap[0], last = heap[--trainer->n_heap];
  size_t n = trainer->n_heap, i = 0;
  for (size_t child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && comes_first(trainer, heap[child + 1], heap[child])) child++;
    if (!comes_first(trainer, heap[child], last)) break;
    heap[i] = heap[child];
  }
  heap[i] = last;
  return top;
}

static weir_status push_raised(weir_bpe_trainer *trainer) {
  for (size_t i = 0; i < trainer->raised.count; i++) {
    uint32_t pair = (uint32_t)trainer->raised.data[i];
    trainer->pairs[pair].is_raised = false;
    WEIR_TRY(push(trainer, pair));
  }
  trainer->raised.count = 0;
  return WEIR_OK;
}

/* The most frequent pair; false where none is left. */
static weir_status best_pair(weir_bpe_trainer *trainer, uint32_t *pair, bool *found) {
  for (*found = false; trainer->n_heap > 0 && !*found;) {
    weir_bpe_entry entry = pop(trainer);
    int64_t count = trainer->pairs[entry.pair].count;
    *pair = entry.pair;
    *found = count == entry.count && count > 0;
    if (count > 0 && count < entry.count) WEIR_TRY(push(trainer, entry.pair));
  }
  return WEIR_OK;
}

/* --- learning ---------------------------------------------------------------------------- */

static weir_status split_words(weir_bpe_trainer *trainer) {
  size_t n_words = trainer->word_texts.count;
  trainer->words = calloc(n_words + 1, sizeof *trainer->words);
  if (!trainer->words) return weir_fail(WEIR_FAILED, "out of memory for %zu words", n_words);
  for (uint32_t w = 0; w < n_words; w++) {
    size_t n_bytes;
    const char *text = weir_string_table_at(&trainer->word_texts, w, &n_bytes);
    trainer->words[w] = (weir_bpe_word){trainer->symbols.count, n_bytes};
    for (size_t i = 0; i < n_bytes; i++) {
      int32_t id = trainer->byte_ids[(unsigned char)text[i]];
      WEIR_TRY(weir_ids_append(&trainer->symbols, id));
      if (i > 0) WEIR_TRY(add_pair(trainer, trainer->byte_ids[(unsigned char)text[i - 1]], id, w));
    }
  }
  return push_raised(trainer);
}

/* Replaces (left, right) by `merged` in one word, from left to right, in place.  A pair goes where
 * one of its symbols does; a new pair is counted where a merged symbol stands in it. */
static weir_status merge_in_word(weir_bpe_trainer *trainer, uint32_t w, int32_t left, int32_t right,
                                 int32_t merged) {
  int32_t *symbols = trainer->symbols.data + trainer->words[w].begin;
  size_t n = trainer->words[w].n_symbols, n_out = 0;
  int32_t previous = -1; /* the symbol before i, as it was */
  bool after_merge = false;
  for (size_t i = 0; i < n;) {
    int32_t symbol = symbols[i];
    bool merges = symbol == left && i + 1 < n && symbols[i + 1] == right;
    if (merges) {
      if (previous >= 0 && !after_merge) remove_pair(trainer, previous, left, w);
      remove_pair(trainer, left, right, w);
      if (i + 2 < n) remove_pair(trainer, right, symbols[i + 2], w);
    }
    int32_t out = merges ? merged : symbol;
    if (n_out > 0 && (merges || after_merge))
      WEIR_TRY(add_pair(trainer, symbols[n_out - 1], out, w));
    previous = merges ? right : symbol;
    i += merges ? 2 : 1;
    symbols[n_out++] = out;
    after_merge = merges;
  }
  trainer->words[w].n_symbols = n_out;
  return WEIR_OK;
}

static weir_status merge(weir_bpe_trainer *trainer, uint32_t number) {
  int32_t left = trainer->pairs[number].left, right = trainer->pairs[number].right;
  weir_ids words = trainer->pairs[number].words; /* taken: merging may add to the pair's own */
  trainer->pairs[number].words = (weir_ids){0};
  weir_bytes text = {0};
  size_t n_bytes;
  uint32_t merged;
  const char *half = weir_string_table_at(&trainer->tokens, (size_t)left, &n_bytes);
  weir_status status = weir_bytes_append(&text, half, n_bytes);
  half = weir_string_table_at(&trainer->tokens, (size_t)right, &n_bytes);
  if (status == WEIR_OK) status = weir_bytes_append(&text, half, n_bytes);
  if (status == WEIR_OK)
    status = weir_string_table_add(&trainer->tokens, text.data, text.count, &merged);
  for (size_t i = 0; i < words.count && status == WEIR_OK; i++)
    status = merge_in_word(trainer, (uint32_t)words.data[i], left, right, (int32_t)merged);
  if (status == WEIR_OK) status = push_raised(trainer);
  weir_bytes_deinit(&text);
  weir_ids_deinit(&words);
  return status;
}

weir_status weir_bpe_trainer_learn(weir_bpe_trainer *trainer, int32_t vocab_size) {
  if (vocab_size < WEIR_BPE_SMALLEST_VOCAB)
    return weir_fail(WEIR_BAD_INPUT,
                     "a vocabulary of %d tokens: expected at least %d, the bytes "
                     "and " WEIR_END_OF_TEXT,
                     (int)vocab_size, WEIR_BPE_SMALLEST_VOCAB);
  if (trainer->word_texts.count == 0) return weir_fail(WEIR_BAD_INPUT, "no text to learn from");
  WEIR_TRY(split_words(trainer));
  while (trainer->tokens.count < (size_t)vocab_size) {
    uint32_t pair;
    bool found;
    WEIR_TRY(best_pair(trainer, &pair, &found));
    if (!found) break;
    WEIR_TRY(weir_grow(&trainer->merges, &trainer->merges_capacity, trainer->n_merges + 1,
                       sizeof *trainer->merges));
    trainer->merges[trainer->n_merges++] =
        (weir_bpe_merge){trainer->pairs[pair].left, trainer->pairs[pair].right};
    WEIR_TRY(merge(trainer, pair));
  }
  return WEIR_OK;
}
