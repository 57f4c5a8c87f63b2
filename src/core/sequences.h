/* SPDX-License-Identifier: Apache-2.0
 *
 * How the T tokens of a micro-batch fall into sequences.
 *
 * A micro-batch is one row of tokens with no batch dimension and no padding (I5): sequences stand
 * one after the other, attention never crosses from one to the next, and positions restart at each.
 * `offsets` is what the field calls cu_seqlens: sequence i is tokens [offsets[i], offsets[i+1]),
 * none empty, offsets[0] = 0, offsets[n_sequences] = n_tokens. */
#ifndef WEIR_CORE_SEQUENCES_H
#define WEIR_CORE_SEQUENCES_H

#include <stdint.h>

typedef struct weir_sequences {
  int64_t n_tokens;
  int64_t n_sequences;
  const int64_t *offsets; /* borrowed, n_sequences + 1 of them */
} weir_sequences;

/* First token of the sequence that `token` belongs to, and the token after its last. */
int64_t weir_sequences_begin(const weir_sequences *sequences, int64_t token);
int64_t weir_sequences_end(const weir_sequences *sequences, int64_t token);

/* The first key that causal attention lets `token` see: of its sequence, or of its `window` last
 * tokens where the window is not 0. */
int64_t weir_sequences_first_key(const weir_sequences *sequences, int64_t token, int64_t window);

/* Number of (query, key) pairs that causal attention computes for queries [begin, end). */
int64_t weir_sequences_pairs(const weir_sequences *sequences, int64_t begin, int64_t end,
                             int64_t window);

#endif
