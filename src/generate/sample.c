/* SPDX-License-Identifier: Apache-2.0
 *
 * Candidates stand in a heap, the likeliest on top, and are taken off it, to the end of the array,
 * only as long as the cuts ask for more: V + k log V comparisons, and no memory but the caller's.
 */
#include "generate/sample.h"

#include "base/rng.h"

#include <math.h>
#include <stdbool.h>

/* Tells these random numbers from all others of the same seed. */
#define SAMPLING_STREAM 0x67656e6572617465u /* "generate" */

static bool is_likelier(weir_candidate a, weir_candidate b) {
  return a.weight > b.weight || (a.weight == b.weight && a.id < b.id);
}

static void swap(weir_candidate *a, weir_candidate *b) {
  weir_candidate held = *a;
  *a = *b;
  *b = held;
}

static void sift_down(weir_candidate *heap, int64_t n, int64_t i) {
  for (;;) {
    int64_t best = i;
    for (int64_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
      if (is_likelier(heap[child], heap[best])) best = child;
    if (best == i) return;
    swap(&heap[i], &heap[best]);
    i = best;
  }
}

/* Moves the likeliest of the n to their end. */
static void take_likeliest(weir_candidate *heap, int64_t n) {
  swap(&heap[0], &heap[n - 1]);
  sift_down(heap, n - 1, 0);
}

static double sum(const weir_candidate *candidates, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n; i++)
    total += candidates[i].weight;
  return total;
}

/* Returns how many may be drawn: they are then the last ones of the array. */
static int64_t cut(const weir_sampling *sampling, weir_candidate *candidates, int64_t n) {
  bool by_rank = sampling->top_k > 0 && sampling->top_k < n, by_mass = sampling->top_p < 1;
  if (!by_rank && !by_mass) return n;
  for (int64_t i = n / 2 - 1; i >= 0; i--)
    sift_down(candidates, n, i);
  int64_t n_ranked = by_rank ? sampling->top_k : n;
  for (int64_t i = 0; by_rank && i < n_ranked; i++)
    take_likeliest(candidates, n - i);
  if (!by_mass) return n_ranked;

  double wanted = sampling->top_p * sum(candidates + n - n_ranked, n_ranked), mass = 0;
  int64_t n_kept = 0;
  while (n_kept == 0 || (n_kept < n_ranked && mass < wanted)) {
    if (!by_rank) take_likeliest(candidates, n - n_kept);
    n_kept++;
    mass += candidates[n - n_kept].weight;
  }
  return n_kept;
}

static int32_t draw(const weir_candidate *candidates, int64_t n, double uniform) {
  double left = uniform * sum(candidates, n);
  int64_t i = n - 1;
  while (i > 0 && left >= candidates[i].weight)
    left -= candidates[i--].weight;
  return candidates[i].id;
}

static int32_t arg_max(const double *logits, int64_t n) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; i++)
    if (logits[i] > logits[best]) best = i;
  return (int32_t)best;
}

weir_status weir_sample(const weir_sampling *sampling, const double *logits, int64_t n_classes,
                        int64_t position, weir_candidate *candidates, int32_t *id) {
  for (int64_t i = 0; i < n_classes; i++)
    if (!isfinite(logits[i]))
      return weir_fail(WEIR_FAILED,
                       "the logit of token %lld at position %lld is %g: the weights are damaged",
                       (long long)i, (long long)position, logits[i]);
  *id = arg_max(logits, n_classes);
  if (sampling->temperature == 0) return WEIR_OK;
  double top = logits[*id];
  for (int64_t i = 0; i < n_classes; i++)
    candidates[i] = (weir_candidate){exp((logits[i] - top) / sampling->temperature), (int32_t)i};
  int64_t n_kept = cut(sampling, candidates, n_classes);
  double uniform = weir_random_uniform(sampling->seed, SAMPLING_STREAM, (uint64_t)position);
  *id = draw(candidates + n_classes - n_kept, n_kept, uniform);
  return WEIR_OK;
}
