/* SPDX-License-Identifier: Apache-2.0
 *
 * Final norm and language-model head, streamed: rows in blocks, classes in tiles.
 *
 * No row of logits exists whole.  For each block of rows the tiles pass once for the log-sum-exp
 * and, for the gradient, once more (one V x D product recomputed unless one tile holds all). */
#ifndef WEIR_MODEL_HEAD_H
#define WEIR_MODEL_HEAD_H

#include "core/device.h"
#include "formats/model_config.h"
#include "model/parameter.h"

typedef struct weir_head {
  weir_device *device;
  weir_arena *arena; /* for temporaries, released before return */
  const weir_model_config *config;
  int64_t rows_per_block, columns_per_tile;
  bool bf16_weights;            /* HEAD is as held, and is made ready tile by tile */
  const weir_tensor *weights;   /* [WEIR_ROLE_COUNT]; HEAD is the embedding where tied */
  const weir_tensor *gradients; /* likewise; NULL for forward only */
} weir_head;

/* What the head says of each token: [1,T], `real`. */
typedef struct weir_token_values {
  weir_tensor logprob, entropy, correct;
} weir_token_values;

/* x [T,D]: hidden states in; where gradients are wanted, their gradient out.
 * targets [1,T] i32, weights [1,T] f64 (only read for gradients).  Blocks go last to first. */
void weir_head_run(const weir_head *head, weir_tensor x, weir_tensor targets, weir_tensor weights,
                   const weir_token_values *tokens);

/* Weights of bf16 as they compute: ready `real` = held, `real` and then rounded, or bf16. */
void weir_weights_ready(weir_device *device, weir_tensor ready, weir_tensor held);

/* logits [R,V] of the rows of x [R,D], whole: for generation, where R is small and weights
 * are not bf16. */
void weir_head_logits(const weir_head *head, weir_tensor logits, weir_tensor x);

#endif
