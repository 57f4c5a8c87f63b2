/* SPDX-License-Identifier: Apache-2.0 */
#include "train/packing.h"

#include <stdlib.h>
#include <string.h>

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* ---- parts ---- */

static int64_t count_parts(const weir_corpus *corpus, int64_t max_length) {
  int64_t n = 0;
  for (int64_t i = 0; i < corpus->n_documents; i++)
    n += (corpus->documents[i].n_tokens + max_length - 1) / max_length;
  return n;
}

static void add_part(weir_rows *rows, const weir_corpus *corpus, weir_span part) {
  const int64_t n_supervised = weir_corpus_supervised(corpus, part);
  if (n_supervised == 0) {
    rows->n_left_out_spans++;
    rows->n_left_out_tokens += part.n_tokens;
    return;
  }
  rows->n_supervised += n_supervised;
  rows->spans[rows->n_spans++] = part;
}

static void cut(weir_rows *rows, const weir_corpus *corpus, int64_t max_length) {
  for (int64_t i = 0; i < corpus->n_documents; i++) {
    const int64_t begin = corpus->documents[i].first_token;
    const int64_t end = begin + corpus->documents[i].n_tokens;
    rows->n_cut_documents += end - begin > max_length;
    for (int64_t at = begin; at < end; at += max_length)
      add_part(rows, corpus, (weir_span){at, smaller(max_length, end - at)});
  }
}

/* Longest first; ties stay in the order of the corpus. */
static int by_length(const void *left, const void *right) {
  const weir_span *a = left, *b = right;
  if (a->n_tokens != b->n_tokens) return a->n_tokens < b->n_tokens ? 1 : -1;
  return (a->first_token > b->first_token) - (a->first_token < b->first_token);
}

/* ---- first fit ----
 *
 * A tournament over rows: node i holds the most room of any row below it, so the first row with
 * enough room is found in log2 steps.  Rows not yet opened have all the room. */

typedef struct room_tree {
  int64_t n_leaves; /* a power of two; leaf r is room[n_leaves + r] */
  int64_t *room;
} room_tree;

static weir_status room_tree_init(room_tree *tree, int64_t n_rows, int64_t max_length) {
  tree->n_leaves = 1;
  while (tree->n_leaves < n_rows)
    tree->n_leaves *= 2;
  tree->room = malloc((size_t)tree->n_leaves * 2 * sizeof *tree->room);
  if (!tree->room) return weir_fail(WEIR_FAILED, "no memory to pack %lld parts", (long long)n_rows);
  for (int64_t i = 0; i < tree->n_leaves * 2; i++)
    tree->room[i] = max_length;
  return WEIR_OK;
}

static int64_t take_first_fit(room_tree *tree, int64_t n_tokens) {
  int64_t i = 1;
  while (i < tree->n_leaves)
    i = tree->room[2 * i] >= n_tokens ? 2 * i : 2 * i + 1;
  const int64_t row = i - tree->n_leaves;
  tree->room[i] -= n_tokens;
  for (i /= 2; i >= 1; i /= 2) {
    const int64_t left = tree->room[2 * i], right = tree->room[2 * i + 1];
    tree->room[i] = left > right ? left : right;
  }
  return row;
}

/* Chooses the row of every span, longest first; counts the spans of row r in offsets[r + 1]. */
static weir_status choose_rows(weir_rows *rows, int64_t max_length, int64_t *row_of) {
  room_tree tree;
  WEIR_TRY(room_tree_init(&tree, rows->n_spans, max_length));
  for (int64_t i = 0; i < rows->n_spans; i++) {
    row_of[i] = take_first_fit(&tree, rows->spans[i].n_tokens);
    rows->offsets[row_of[i] + 1]++;
    if (row_of[i] >= rows->n_rows) rows->n_rows = row_of[i] + 1;
  }
  free(tree.room);
  return WEIR_OK;
}

/* Turns counts into offsets and puts the spans row by row, in the order in which they came. */
static weir_status gather(weir_rows *rows, const int64_t *row_of) {
  weir_span *gathered = malloc((size_t)(rows->n_spans + 1) * sizeof *gathered);
  int64_t *next = malloc((size_t)(rows->n_rows + 1) * sizeof *next);
  weir_status status = WEIR_OK;
  if (!gathered || !next) {
    status = weir_fail(WEIR_FAILED, "no memory to pack %lld parts", (long long)rows->n_spans);
    free(gathered);
  } else {
    for (int64_t r = 0; r < rows->n_rows; r++)
      rows->offsets[r + 1] += rows->offsets[r];
    memcpy(next, rows->offsets, (size_t)(rows->n_rows + 1) * sizeof *next);
    for (int64_t i = 0; i < rows->n_spans; i++)
      gathered[next[row_of[i]]++] = rows->spans[i];
    free(rows->spans);
    rows->spans = gathered;
  }
  free(next);
  return status;
}

weir_status weir_rows_pack(weir_rows *rows, const weir_corpus *corpus, int64_t max_length) {
  const size_t n_parts = (size_t)count_parts(corpus, max_length);
  *rows = (weir_rows){.spans = malloc((n_parts + 1) * sizeof *rows->spans),
                      .offsets = calloc(n_parts + 1, sizeof *rows->offsets)};
  int64_t *row_of = malloc((n_parts + 1) * sizeof *row_of);
  weir_status status = WEIR_OK;
  if (!rows->spans || !rows->offsets || !row_of) {
    status = weir_fail(WEIR_FAILED, "no memory to pack %zu parts", n_parts);
  } else {
    cut(rows, corpus, max_length);
    qsort(rows->spans, (size_t)rows->n_spans, sizeof *rows->spans, by_length);
    rows->longest_span = rows->n_spans > 0 ? rows->spans[0].n_tokens : 0;
    status = choose_rows(rows, max_length, row_of);
  }
  if (status == WEIR_OK) status = gather(rows, row_of);
  free(row_of);
  if (status != WEIR_OK) weir_rows_deinit(rows);
  return status;
}

void weir_rows_deinit(weir_rows *rows) {
  free(rows->spans);
  free(rows->offsets);
  *rows = (weir_rows){0};
}

int64_t weir_rows_tokens(const weir_rows *rows, int64_t i_row) {
  int64_t n = 0;
  for (int64_t i = rows->offsets[i_row]; i < rows->offsets[i_row + 1]; i++)
    n += rows->spans[i].n_tokens;
  return n;
}

uint64_t weir_rows_bytes(const weir_rows *rows) {
  return (uint64_t)rows->n_spans * (sizeof *rows->spans + sizeof *rows->offsets);
}
