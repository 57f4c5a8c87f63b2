/* SPDX-License-Identifier: Apache-2.0 */
#include "train/corpus.h"

#include "base/rng.h"
#include "train/corpus_builder.h"
#include "train/token_cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* The stream of random numbers that chooses the validation documents. */
static const uint64_t split_stream = UINT64_MAX;

/* Tokens that are copied before their pages are given back, and what mapping them may map beside
 * them (base/files.c). */
enum { STRIPE_TOKENS = 1 << 18, WINDOWS_BYTES = 2 << 16 };

/* ---- reading ---- */

static weir_status read_in_memory(weir_corpus *corpus, const weir_corpus_settings *settings,
                                  const char *const *paths, size_t n_paths) {
  weir_corpus_builder builder;
  WEIR_TRY(weir_corpus_builder_init(&builder, settings, NULL));
  weir_status status = weir_corpus_builder_read(&builder, paths, n_paths);
  if (status == WEIR_OK) weir_corpus_builder_take(&builder, corpus);
  weir_corpus_builder_deinit(&builder);
  return status;
}

weir_status weir_corpus_read(weir_corpus *corpus, const weir_corpus_settings *settings,
                             const char *const *paths, size_t n_paths) {
  *corpus = (weir_corpus){0};
  WEIR_TRY(settings->cache ? weir_token_cache_read(corpus, settings, paths, n_paths)
                           : read_in_memory(corpus, settings, paths, n_paths));
  corpus->eos_token_id = settings->eos_token_id;
  return WEIR_OK;
}

weir_status weir_corpus_from_ids(weir_corpus *corpus, const char *path, const int32_t *ids,
                                 int64_t n_ids, int64_t vocab_size) {
  *corpus = (weir_corpus){0};
  const weir_corpus_settings settings = {.eos_token_id = -1, .vocab_size = vocab_size};
  weir_corpus_builder builder;
  WEIR_TRY(weir_corpus_builder_init(&builder, &settings, NULL));
  weir_status status = weir_corpus_builder_add(&builder, ids, (size_t)n_ids, 0);
  if (status == WEIR_OK)
    weir_corpus_builder_take(&builder, corpus);
  else
    status = weir_fail_at(status, "%s", path);
  weir_corpus_builder_deinit(&builder);
  corpus->eos_token_id = -1;
  return status;
}

void weir_corpus_deinit(weir_corpus *corpus) {
  if (!corpus->is_part && corpus->mapping.bytes)
    weir_mapping_close(&corpus->mapping);
  else if (!corpus->is_part)
    free((void *)corpus->tokens);
  free(corpus->documents);
  *corpus = (weir_corpus){0};
}

/* ---- the split ---- */

static void divide(const weir_corpus *whole, const bool *is_chosen, weir_corpus parts[2]) {
  for (int64_t i = 0; i < whole->n_documents; i++) {
    weir_corpus *part = &parts[is_chosen[i]];
    part->documents[part->n_documents++] = whole->documents[i];
    part->n_tokens += whole->documents[i].n_tokens;
  }
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
  weir_corpus parts[2] = {*corpus, *corpus};
  const int64_t sizes[2] = {n - n_chosen, n_chosen};
  for (int i = 0; i < 2; i++) {
    parts[i].documents = malloc((size_t)sizes[i] * sizeof *parts[i].documents);
    parts[i].n_documents = parts[i].n_tokens = 0;
  }
  parts[1].is_part = true;
  parts[1].counts = (weir_corpus_counts){.n_context_tokens = corpus->counts.n_context_tokens};
  int64_t *order = malloc((size_t)n * sizeof *order);
  bool *is_chosen = calloc((size_t)n, sizeof *is_chosen);
  const bool has_memory = order && is_chosen && parts[0].documents && parts[1].documents;
  if (has_memory) {
    weir_random_permutation(seed, split_stream, n, order);
    for (int64_t i = 0; i < n_chosen; i++)
      is_chosen[order[i]] = true;
    divide(corpus, is_chosen, parts);
    free(corpus->documents);
    *corpus = parts[0];
    *validation = parts[1];
  } else {
    free(parts[0].documents);
    free(parts[1].documents);
  }
  free(order);
  free(is_chosen);
  return has_memory ? WEIR_OK
                    : weir_fail(WEIR_FAILED, "no memory for %lld documents", (long long)n);
}

/* ---- tokens ---- */

static void drop(const weir_corpus *corpus, const uint32_t *tokens, int64_t n_tokens) {
  if (!corpus->mapping.bytes) return;
  weir_mapping_drop(&corpus->mapping, (uint64_t)((const uint8_t *)tokens - corpus->mapping.bytes),
                    (uint64_t)n_tokens * sizeof *tokens);
}

static int64_t stripe_at(const weir_span *span, int64_t at) {
  const int64_t left = span->n_tokens - at;
  return left < STRIPE_TOKENS ? left : STRIPE_TOKENS;
}

void weir_corpus_copy(const weir_corpus *corpus, weir_span span, int32_t *ids, uint8_t *is_learnt) {
  for (int64_t at = 0, n; at < span.n_tokens; at += n) {
    const uint32_t *tokens = corpus->tokens + span.first_token + at;
    n = stripe_at(&span, at);
    for (int64_t i = 0; ids && i < n; i++)
      ids[at + i] = weir_token_id(tokens[i]);
    for (int64_t i = 0; is_learnt && i < n; i++)
      is_learnt[at + i] = !weir_token_is_context(tokens[i]);
    drop(corpus, tokens, n);
  }
}

int64_t weir_corpus_supervised(const weir_corpus *corpus, weir_span span) {
  int64_t n_supervised = span.n_tokens - 1;
  if (corpus->counts.n_context_tokens == 0) return n_supervised;
  for (int64_t at = 0, n; at < span.n_tokens; at += n) {
    const uint32_t *tokens = corpus->tokens + span.first_token + at;
    n = stripe_at(&span, at);
    for (int64_t i = at == 0; i < n; i++)
      n_supervised -= weir_token_is_context(tokens[i]);
    drop(corpus, tokens, n);
  }
  return n_supervised;
}

int64_t weir_corpus_ended_documents(const weir_corpus *corpus) {
  return corpus->eos_token_id >= 0 ? corpus->n_documents : 0;
}

uint64_t weir_corpus_bytes(const weir_corpus *corpus) {
  const bool owns_tokens = !corpus->mapping.bytes && !corpus->is_part;
  return (uint64_t)corpus->n_documents * sizeof *corpus->documents +
         (owns_tokens ? (uint64_t)corpus->n_stored_tokens * sizeof *corpus->tokens : 0);
}

uint64_t weir_corpus_window_bytes(const weir_corpus *corpus) {
  const uint64_t most_bytes = STRIPE_TOKENS * sizeof *corpus->tokens + WINDOWS_BYTES;
  const uint64_t mapped_bytes = corpus->mapping.size_bytes;
  return mapped_bytes < most_bytes ? mapped_bytes : most_bytes;
}

uint64_t weir_corpus_fingerprint(const weir_corpus *corpus) {
  return XXH3_64bits_withSeed(corpus->documents,
                              (size_t)corpus->n_documents * sizeof *corpus->documents,
                              corpus->tokens_checksum);
}
