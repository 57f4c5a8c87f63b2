/* SPDX-License-Identifier: Apache-2.0 */
#include "train/batches.h"

#include "base/rng.h"
#include "objective/sft.h"

#include <stdlib.h>

static int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

static void raise_to(int64_t *most, int64_t value) {
  if (value > *most) *most = value;
}

/* ---- which rows ---- */

static void set_epoch(weir_batches *batches, int64_t epoch) {
  if (batches->order_epoch == epoch) return;
  batches->order_epoch = epoch;
  if (!batches->settings.evaluate)
    weir_random_permutation(batches->settings.seed, (uint64_t)epoch, batches->rows->n_rows,
                            batches->order);
  else
    for (int64_t i = 0; i < batches->rows->n_rows; i++)
      batches->order[i] = i;
}

/* The places in the epoch's order that one micro-batch takes: [first, end), empty past the end. */
typedef struct places {
  int64_t first, end;
} places;

static places places_of(weir_batches *batches, int64_t step, int64_t i_micro_batch) {
  const weir_batch_settings *settings = &batches->settings;
  set_epoch(batches, step / batches->steps_per_epoch);
  int64_t i = step % batches->steps_per_epoch * settings->micro_batches_per_step + i_micro_batch;
  int64_t n_rows = batches->rows->n_rows;
  places p = {i * settings->rows_per_micro_batch, (i + 1) * settings->rows_per_micro_batch};
  if (p.first > n_rows) p.first = n_rows;
  if (p.end > n_rows) p.end = n_rows;
  return p;
}

/* ---- set-up ---- */

weir_status weir_batches_create(weir_batches *batches, const weir_corpus *corpus,
                                const weir_rows *rows, const weir_batch_settings *settings) {
  const int64_t n_micro_batches = divide_up(rows->n_rows, settings->rows_per_micro_batch);
  *batches = (weir_batches){
      .corpus = corpus,
      .rows = rows,
      .settings = *settings,
      .steps_per_epoch = divide_up(n_micro_batches, settings->micro_batches_per_step),
      .n_supervised_epoch = rows->n_supervised,
      .order = malloc((size_t)(rows->n_rows + 1) * sizeof *batches->order),
      .order_epoch = -1,
      .micro_batches =
          calloc((size_t)settings->micro_batches_per_step, sizeof *batches->micro_batches),
      .is_learnt = calloc((size_t)settings->micro_batches_per_step, sizeof *batches->is_learnt),
  };
  if (batches->order && batches->micro_batches && batches->is_learnt) return WEIR_OK;
  weir_batches_destroy(batches);
  return weir_fail(WEIR_FAILED, "no memory for the order of %lld rows", (long long)rows->n_rows);
}

void weir_batches_destroy(weir_batches *batches) {
  for (int64_t i = 0; batches->micro_batches && i < batches->settings.micro_batches_per_step; i++) {
    weir_micro_batch *micro_batch = &batches->micro_batches[i];
    free((void *)micro_batch->sequences.offsets);
    free((void *)micro_batch->ids);
    free((void *)micro_batch->targets);
    free((void *)micro_batch->weights);
  }
  for (int64_t i = 0; batches->is_learnt && i < batches->settings.micro_batches_per_step; i++)
    free(batches->is_learnt[i]);
  free(batches->is_learnt);
  free(batches->micro_batches);
  free(batches->order);
  *batches = (weir_batches){0};
}

weir_batch_extent weir_batches_survey(weir_batches *batches, int64_t first_step, int64_t end_step) {
  weir_batch_extent extent = {0};
  const weir_rows *rows = batches->rows;
  for (int64_t step = first_step; step < end_step; step++)
    for (int64_t i = 0; i < batches->settings.micro_batches_per_step; i++) {
      places p = places_of(batches, step, i);
      int64_t n_tokens = 0, n_sequences = 0;
      for (int64_t at = p.first; at < p.end; at++) {
        int64_t row = batches->order[at];
        n_tokens += weir_rows_tokens(rows, row);
        n_sequences += rows->offsets[row + 1] - rows->offsets[row];
      }
      raise_to(i == 0 ? &extent.first_tokens : &extent.later_tokens, n_tokens);
      raise_to(&extent.n_sequences, n_sequences);
    }
  return extent;
}

static int64_t tokens_of(const weir_batch_extent *extent, int64_t i_micro_batch) {
  return i_micro_batch == 0 ? extent->first_tokens : extent->later_tokens;
}

static bool has_context(const weir_batches *batches) {
  return batches->corpus->counts.n_context_tokens > 0;
}

uint64_t weir_batches_bytes(const weir_batches *batches, const weir_batch_extent *extent) {
  uint64_t bytes = (uint64_t)batches->rows->n_rows * sizeof *batches->order;
  const uint64_t bytes_per_token =
      2 * sizeof(int32_t) + sizeof(double) + (has_context(batches) ? sizeof(uint8_t) : 0);
  for (int64_t i = 0; i < batches->settings.micro_batches_per_step; i++)
    bytes += (uint64_t)tokens_of(extent, i) * bytes_per_token +
             (uint64_t)(extent->n_sequences + 1) * sizeof(int64_t) + sizeof(weir_micro_batch);
  return bytes;
}

weir_status weir_batches_reserve(weir_batches *batches, const weir_batch_extent *extent) {
  batches->reserved = *extent;
  for (int64_t i = 0; i < batches->settings.micro_batches_per_step; i++) {
    const size_t n_tokens = (size_t)tokens_of(extent, i) + 1;
    weir_micro_batch *micro_batch = &batches->micro_batches[i];
    micro_batch->sequences.offsets = calloc((size_t)extent->n_sequences + 1, sizeof(int64_t));
    micro_batch->ids = calloc(n_tokens, sizeof(int32_t));
    micro_batch->targets = calloc(n_tokens, sizeof(int32_t));
    micro_batch->weights = calloc(n_tokens, sizeof(double));
    if (has_context(batches)) batches->is_learnt[i] = calloc(n_tokens, sizeof(uint8_t));
    if ((has_context(batches) && !batches->is_learnt[i]) || !micro_batch->sequences.offsets ||
        !micro_batch->ids || !micro_batch->targets || !micro_batch->weights)
      return weir_fail(WEIR_FAILED, "no memory for a micro-batch of %zu tokens", n_tokens);
  }
  return WEIR_OK;
}

/* ---- one step ---- */

/* Ids and boundaries.  The tables are ours; the step sees them as constant. */
static void load_rows(weir_batches *batches, places p, weir_micro_batch *micro_batch,
                      uint8_t *is_learnt) {
  int32_t *ids = (int32_t *)micro_batch->ids;
  int64_t *offsets = (int64_t *)micro_batch->sequences.offsets;
  int64_t n_tokens = 0, n_sequences = 0;
  for (int64_t at = p.first; at < p.end; at++) {
    const int64_t row = batches->order[at];
    for (int64_t i = batches->rows->offsets[row]; i < batches->rows->offsets[row + 1]; i++) {
      const weir_span span = batches->rows->spans[i];
      weir_corpus_copy(batches->corpus, span, ids + n_tokens,
                       is_learnt ? is_learnt + n_tokens : NULL);
      n_tokens += span.n_tokens;
      offsets[++n_sequences] = n_tokens;
    }
  }
  micro_batch->sequences.n_tokens = n_tokens;
  micro_batch->sequences.n_sequences = n_sequences;
}

void weir_batches_load(weir_batches *batches, int64_t step) {
  batches->n_micro_batches = batches->n_supervised = batches->n_tokens = 0;
  for (int64_t i = 0; i < batches->settings.micro_batches_per_step; i++) {
    places p = places_of(batches, step, i);
    if (p.first == p.end) break;
    weir_micro_batch *micro_batch = &batches->micro_batches[i];
    load_rows(batches, p, micro_batch, batches->is_learnt[i]);
    WEIR_ASSERT(micro_batch->sequences.n_tokens, <=, tokens_of(&batches->reserved, i));
    WEIR_ASSERT(micro_batch->sequences.n_sequences, <=, batches->reserved.n_sequences);
    batches->n_micro_batches++;
    batches->n_supervised += weir_sft_count(&micro_batch->sequences, batches->is_learnt[i]);
    batches->n_tokens += micro_batch->sequences.n_tokens;
  }
  const int64_t divisor =
      batches->settings.evaluate ? batches->n_supervised_epoch : batches->n_supervised;
  for (int64_t i = 0; i < batches->n_micro_batches; i++) {
    weir_micro_batch *micro_batch = &batches->micro_batches[i];
    weir_sft_fill(&micro_batch->sequences, micro_batch->ids, batches->is_learnt[i], divisor,
                  (int32_t *)micro_batch->targets, (double *)micro_batch->weights);
  }
}
