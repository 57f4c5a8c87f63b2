/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/fit.h"

#include "base/number_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { TEXT_BYTES = 1024, MAX_HOLDERS = 3 };

typedef struct text {
  char bytes[TEXT_BYTES];
  size_t used;
} text;

__attribute__((format(printf, 2, 3))) static void append(text *to, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(to->bytes + to->used, TEXT_BYTES - to->used, format, arguments);
  va_end(arguments);
  if (n > 0) to->used += (size_t)n;
  if (to->used >= TEXT_BYTES) to->used = TEXT_BYTES - 1;
}

/* A way to need less: a policy for all layers, smaller chunks, shorter rows. */
typedef struct remedy {
  weir_stash_policy stash;
  int64_t chunk_rows, head_rows;
  int64_t max_tokens;
} remedy;

static int64_t shorter(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Peak bytes with the remedy applied; UINT64_MAX where there is no memory to find out. */
static uint64_t peak_with(const weir_plan_request *request, const remedy *change) {
  size_t n_layers = (size_t)request->config->num_hidden_layers, n_rows = (size_t)request->n_rows;
  weir_stash_policy *stash = malloc(n_layers * sizeof *stash);
  weir_sequences *rows = malloc((n_rows + 1) * sizeof *rows);
  int64_t *offsets = malloc((n_rows + 1) * 2 * sizeof *offsets);
  uint64_t peak_bytes = UINT64_MAX;
  if (stash && rows && offsets) {
    weir_plan_request changed = *request;
    for (size_t i = 0; i < n_layers; i++)
      stash[i] = change->stash;
    for (size_t i = 0; i < n_rows; i++) {
      int64_t n_tokens = shorter(request->rows[i].n_tokens, change->max_tokens);
      offsets[2 * i] = 0;
      offsets[2 * i + 1] = n_tokens;
      rows[i] = (weir_sequences){n_tokens, 1, offsets + 2 * i};
    }
    changed.settings.stash = stash;
    changed.settings.chunk_rows = change->chunk_rows;
    changed.settings.head_rows = change->head_rows;
    changed.rows = rows;
    changed.evaluate_tokens = shorter(request->evaluate_tokens, change->max_tokens);
    weir_plan plan;
    if (weir_plan_make(&changed, &plan) == WEIR_OK) peak_bytes = plan.peak_bytes;
  }
  free(stash);
  free(rows);
  free(offsets);
  return peak_bytes;
}

static int64_t longest_row(const weir_plan_request *request) {
  int64_t longest = request->evaluate_tokens;
  for (int64_t i = 0; i < request->n_rows; i++)
    if (request->rows[i].n_tokens > longest) longest = request->rows[i].n_tokens;
  return longest;
}

/* The longest row, in whole blocks, that fits; 0 where not even one block does. */
static int64_t longest_that_fits(const weir_plan_request *request, remedy change,
                                 uint64_t memory_bytes) {
  int64_t low = 0, high = change.max_tokens / WEIR_BLOCK_ROWS + 1;
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    change.max_tokens = middle * WEIR_BLOCK_ROWS;
    if (peak_with(request, &change) <= memory_bytes)
      low = middle;
    else
      high = middle;
  }
  return low * WEIR_BLOCK_ROWS;
}

static void append_holders(text *to, const weir_plan *plan) {
  struct {
    const char *name;
    uint64_t bytes;
  } holders[WEIR_MEMORY_KIND_COUNT + 2];
  int n_holders = 0;
  for (int kind = 0; kind < WEIR_MEMORY_KIND_COUNT; kind++, n_holders++) {
    holders[n_holders].name = weir_memory_kind_name((weir_memory_kind)kind);
    holders[n_holders].bytes = plan->dry.bytes_by_kind[kind];
  }
  holders[n_holders].name = "rows";
  holders[n_holders++].bytes = plan->data_bytes;
  holders[n_holders].name = "library";
  holders[n_holders++].bytes = plan->library_bytes;
  for (int rank = 0; rank < MAX_HOLDERS; rank++) {
    int largest = 0;
    for (int i = 1; i < n_holders; i++)
      if (holders[i].bytes > holders[largest].bytes) largest = i;
    if (holders[largest].bytes == 0) return;
    char size[WEIR_BYTES_TEXT];
    append(to, "%s%s %s", rank ? ", " : "", holders[largest].name,
           weir_bytes_to_text(holders[largest].bytes, size));
    holders[largest].bytes = 0;
  }
}

static void append_fit(text *to, const char *change, uint64_t peak_bytes) {
  char size[WEIR_BYTES_TEXT];
  append(to, "%s%s (%s)", to->used ? "; " : "", change, weir_bytes_to_text(peak_bytes, size));
}

/* Each change that fits on its own, mildest first; else the longest micro-batch that fits with the
 * last one; else the least this model can be trained in. */
static void append_remedies(text *to, const weir_plan_request *request, uint64_t memory_bytes) {
  int64_t longest = longest_row(request), chunk_rows = request->settings.chunk_rows;
  int64_t small_rows = shorter(chunk_rows, WEIR_BLOCK_ROWS);
  int64_t head_rows = request->settings.head_rows;
  int64_t small_head = shorter(head_rows, WEIR_BLOCK_ROWS);
  char smallest[96];
  snprintf(smallest, sizeof smallest, "--stash input --chunk-rows %lld --head-rows %lld",
           (long long)small_rows, (long long)small_head);
  const struct {
    remedy change;
    const char *flags;
  } candidates[] = {
      {{WEIR_STASH_ATTN, chunk_rows, head_rows, longest}, "--stash attn"},
      {{WEIR_STASH_INPUT, chunk_rows, head_rows, longest}, "--stash input"},
      {{WEIR_STASH_INPUT, small_rows, small_head, longest}, smallest},
  };
  for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
    uint64_t peak_bytes = peak_with(request, &candidates[i].change);
    if (peak_bytes <= memory_bytes) append_fit(to, candidates[i].flags, peak_bytes);
  }
  if (to->used) return;
  remedy change = candidates[2].change;
  change.max_tokens = longest_that_fits(request, change, memory_bytes);
  char flags[224];
  if (change.max_tokens > 0) {
    snprintf(flags, sizeof flags,
             "%s with micro-batches of at most %lld tokens (--max-length times "
             "--per-device-train-batch-size)",
             smallest, (long long)change.max_tokens);
  } else {
    change.max_tokens = shorter(longest, WEIR_BLOCK_ROWS);
    snprintf(flags, sizeof flags,
             "nothing but more memory or a smaller model; %s and rows of %lld "
             "tokens need",
             smallest, (long long)change.max_tokens);
  }
  append_fit(to, flags, peak_with(request, &change));
}

weir_status weir_plan_check_memory(const weir_plan_request *request, const weir_plan *plan,
                                   uint64_t memory_bytes) {
  if (plan->peak_bytes <= memory_bytes) return WEIR_OK;
  text holders = {0}, remedies = {0};
  append_holders(&holders, plan);
  append_remedies(&remedies, request, memory_bytes);
  char needed[WEIR_BYTES_TEXT], figure[WEIR_BYTES_TEXT];
  return weir_fail(WEIR_DOES_NOT_FIT,
                   "does not fit: needs %s (%llu bytes), --memory is %s (%llu bytes); largest "
                   "holders: %s; what would fit: %s",
                   weir_bytes_to_text(plan->peak_bytes, needed),
                   (unsigned long long)plan->peak_bytes, weir_bytes_to_text(memory_bytes, figure),
                   (unsigned long long)memory_bytes, holders.bytes, remedies.bytes);
}
