/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents into rows of at most max_length tokens.
 *
 * A document longer than a row is cut into parts, each a sequence of its own: attention and
 * positions start anew there, and its first token is not predicted.  Documents and parts are then
 * packed by first-fit decreasing (Johnson 1974: at most 11/9 of the fewest rows), whole, each a
 * sequence of its row.  Rows end where they end: there is no padding, and every token is in
 * exactly one row, but for sequences in which nothing is supervised (one token, or a part that is
 * all prompt): those are left out and counted, so every row teaches something. */
#ifndef WEIR_TRAIN_PACKING_H
#define WEIR_TRAIN_PACKING_H

#include "train/corpus.h"

typedef struct weir_rows {
  weir_span *spans; /* [n_spans], row by row */
  int64_t *offsets; /* [n_rows + 1]: row i is spans [offsets[i], offsets[i + 1]) */
  int64_t n_spans, n_rows;
  int64_t n_cut_documents; /* documents longer than a row */
  int64_t n_left_out_spans, n_left_out_tokens;
  int64_t n_supervised; /* tokens */
  int64_t longest_span; /* tokens */
} weir_rows;

weir_status weir_rows_pack(weir_rows *rows, const weir_corpus *corpus, int64_t max_length);
/* Harmless on zeroed rows. */
void weir_rows_deinit(weir_rows *rows);

int64_t weir_rows_tokens(const weir_rows *rows, int64_t i_row);
uint64_t weir_rows_bytes(const weir_rows *rows);

#endif
