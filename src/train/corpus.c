/* SPDX-License-Identifier: Apache-2.0 */
#include "train/corpus.h"

#include "base/rng.h"
#include "formats/documents.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* The stream of random numbers that chooses the validation documents. */
static const uint64_t split_stream = UINT64_MAX;

/* A corpus while it grows. */
typedef struct growing_corpus {
  const weir_corpus_settings *settings;
  weir_corpus *corpus;
  weir_ids ids;
  size_t offsets_capacity;
} growing_corpus;

static weir_status close_document(growing_corpus *growing) {
  weir_corpus *corpus = growing->corpus;
  if (corpus->offsets && (int64_t)growing->ids.count == corpus->offsets[corpus->n_documents]) {
    corpus->n_empty_documents++;
    return WEIR_OK;
  }
  WEIR_TRY(weir_grow(&corpus->offsets, &growing->offsets_capacity, (size_t)corpus->n_documents + 2,
                     sizeof *corpus->offsets));
  corpus->offsets[++corpus->n_documents] = (int64_t)growing->ids.count;
  return WEIR_OK;
}

static weir_status check_ids(const int32_t *ids, size_t n_ids, int64_t vocab_size) {
  for (size_t i = 0; i < n_ids; i++)
    if (ids[i] < 0 || ids[i] >= vocab_size)
      return weir_fail(WEIR_BAD_INPUT,
                       "token id %d is beyond the model's vocabulary of %lld: the ids or the "
                       "tokenizer belong to another model",
                       ids[i], (long long)vocab_size);
  return WEIR_OK;
}

static weir_status add_document(void *context, const char *text, uint64_t n_bytes) {
  growing_corpus *growing = context;
  const weir_corpus_settings *settings = growing->settings;
  weir_ids *ids = &growing->ids;
  const size_t n_before = ids->count;
  if (n_bytes > 0) {
    WEIR_TRY(weir_tokenizer_encode(settings->tokenizer, text, n_bytes, true, ids));
    WEIR_TRY(check_ids(ids->data + n_before, ids->count - n_before, settings->vocab_size));
  }
  if (ids->count > n_before && settings->eos_token_id >= 0 &&
      ids->data[ids->count - 1] != settings->eos_token_id)
    WEIR_TRY(weir_ids_append(ids, settings->eos_token_id));
  return close_document(growing);
}

static weir_status begin_corpus(growing_corpus *growing) {
  const int32_t eos_token_id = growing->settings ? growing->settings->eos_token_id : -1;
  *growing->corpus = (weir_corpus){.eos_token_id = eos_token_id};
  WEIR_TRY(weir_grow(&growing->corpus->offsets, &growing->offsets_capacity, 1,
                     sizeof *growing->corpus->offsets));
  growing->corpus->offsets[0] = 0;
  return WEIR_OK;
}

/* Hands over the ids and gives back what was reserved for more. */
static void end_corpus(growing_corpus *growing) {
  weir_corpus *corpus = growing->corpus;
  corpus->n_tokens = (int64_t)growing->ids.count;
  corpus->ids = growing->ids.data;
  int32_t *ids = realloc(corpus->ids, (size_t)(corpus->n_tokens + 1) * sizeof *ids);
  if (ids) corpus->ids = ids;
  int64_t *offsets = realloc(corpus->offsets, (size_t)(corpus->n_documents + 1) * sizeof *offsets);
  if (offsets) corpus->offsets = offsets;
}

weir_status weir_corpus_read(weir_corpus *corpus, const weir_corpus_settings *settings,
                             const char *const *paths, size_t n_paths) {
  growing_corpus growing = {.settings = settings, .corpus = corpus};
  weir_status status = begin_corpus(&growing);
  for (size_t i = 0; status == WEIR_OK && i < n_paths; i++)
    status = weir_documents_read(paths[i], settings->separator, add_document, &growing);
  if (status == WEIR_OK && corpus->n_documents == 0)
    status = weir_fail(WEIR_BAD_INPUT, "%s%s: no text: there is nothing to learn from", paths[0],
                       n_paths > 1 ? " and the other files" : "");
  end_corpus(&growing);
  if (status != WEIR_OK) weir_corpus_deinit(corpus);
  return status;
}

weir_status weir_corpus_from_ids(weir_corpus *corpus, const char *path, const int32_t *ids,
                                 int64_t n_ids, int64_t vocab_size) {
  weir_status status = check_ids(ids, (size_t)n_ids, vocab_size);
  if (status != WEIR_OK) return weir_fail_at(status, "%s", path);
  growing_corpus growing = {.corpus = corpus};
  status = begin_corpus(&growing);
  for (int64_t i = 0; status == WEIR_OK && i < n_ids; i++)
    status = weir_ids_append(&growing.ids, ids[i]);
  if (status == WEIR_OK) status = close_document(&growing);
  end_corpus(&growing);
  if (status != WEIR_OK) weir_corpus_deinit(corpus);
  return status;
}

/* Appends document i of `from`; the target has room. */
static void copy_document(weir_corpus *to, const weir_corpus *from, int64_t i) {
  const int64_t n = from->offsets[i + 1] - from->offsets[i];
  memmove(to->ids + to->n_tokens, from->ids + from->offsets[i], (size_t)n * sizeof *to->ids);
  to->n_tokens += n;
  to->offsets[++to->n_documents] = to->n_tokens;
}

/* Both parts are copied out of the whole, so that neither keeps the other's memory. */
static weir_status divide(const weir_corpus *whole, const bool *is_chosen, weir_corpus parts[2]) {
  int64_t n_tokens[2] = {0, 0}, n_documents[2] = {0, 0};
  for (int64_t i = 0; i < whole->n_documents; i++) {
    n_tokens[is_chosen[i]] += whole->offsets[i + 1] - whole->offsets[i];
    n_documents[is_chosen[i]]++;
  }
  for (int i = 0; i < 2; i++) {
    parts[i] = (weir_corpus){
        .ids = malloc((size_t)(n_tokens[i] + 1) * sizeof *parts[i].ids),
        .offsets = calloc((size_t)n_documents[i] + 1, sizeof *parts[i].offsets),
    };
    if (!parts[i].ids || !parts[i].offsets)
      return weir_fail(WEIR_FAILED, "no memory for %lld tokens", (long long)n_tokens[i]);
  }
  for (int64_t i = 0; i < whole->n_documents; i++)
    copy_document(&parts[is_chosen[i]], whole, i);
  return WEIR_OK;
}

weir_status weir_corpus_split(weir_corpus *corpus, double fraction, uint64_t seed,
                              weir_corpus *validation) {
  const int64_t n = corpus->n_documents;
  int64_t n_chosen = llround(fraction * (double)n);
  if (n_chosen < 1) n_chosen = 1;
  if (n_chosen >= n)
    return weir_fail(WEIR_BAD_INPUT,
                     "validation_split %g of %lld document%s leaves none to train on: give more "
                     "documents, a document_separator, or a validation_file",
                     fraction, (long long)n, n == 1 ? "" : "s");
  int64_t *order = malloc((size_t)n * sizeof *order);
  bool *is_chosen = calloc((size_t)n, sizeof *is_chosen);
  weir_corpus parts[2] = {{0}, {0}};
  weir_status status = WEIR_OK;
  if (!order || !is_chosen) {
    status = weir_fail(WEIR_FAILED, "no memory for %lld documents", (long long)n);
  } else {
    weir_random_permutation(seed, split_stream, n, order);
    for (int64_t i = 0; i < n_chosen; i++)
      is_chosen[order[i]] = true;
    status = divide(corpus, is_chosen, parts);
  }
  free(order);
  free(is_chosen);
  if (status != WEIR_OK) {
    weir_corpus_deinit(&parts[0]);
    weir_corpus_deinit(&parts[1]);
    return status;
  }
  parts[0].n_empty_documents = corpus->n_empty_documents;
  parts[0].eos_token_id = parts[1].eos_token_id = corpus->eos_token_id;
  weir_corpus_deinit(corpus);
  *corpus = parts[0];
  *validation = parts[1];
  return WEIR_OK;
}

void weir_corpus_deinit(weir_corpus *corpus) {
  free(corpus->ids);
  free(corpus->offsets);
  *corpus = (weir_corpus){0};
}

int64_t weir_corpus_ended_documents(const weir_corpus *corpus) {
  int64_t n = 0;
  for (int64_t i = 0; corpus->eos_token_id >= 0 && i < corpus->n_documents; i++)
    n += corpus->ids[corpus->offsets[i + 1] - 1] == corpus->eos_token_id;
  return n;
}

uint64_t weir_corpus_bytes(const weir_corpus *corpus) {
  return (uint64_t)corpus->n_tokens * sizeof *corpus->ids +
         (uint64_t)(corpus->n_documents + 1) * sizeof *corpus->offsets;
}

uint64_t weir_corpus_fingerprint(const weir_corpus *corpus) {
  uint64_t ids = XXH3_64bits(corpus->ids, (size_t)corpus->n_tokens * sizeof *corpus->ids);
  return XXH3_64bits_withSeed(corpus->offsets,
                              (size_t)(corpus->n_documents + 1) * sizeof *corpus->offsets, ids);
}
