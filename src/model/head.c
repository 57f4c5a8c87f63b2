/* SPDX-License-Identifier: Apache-2.0 */
#include "model/head.h"

/* One block of rows and what it needs while its tiles pass. */
typedef struct row_block {
  weir_tensor x, normed, dnormed, statistics, logits;
  weir_tensor ready;            /* a tile of weights, where they are not ready as held */
  weir_tensor targets, weights; /* [1,R] */
} row_block;

static weir_tensor columns(weir_tensor vector, int64_t begin, int64_t end) {
  weir_tensor as_rows = weir_tensor_reshape(vector, vector.cols, 1);
  return weir_tensor_reshape(weir_tensor_rows(as_rows, begin, end), 1, end - begin);
}

static int64_t minimum(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static weir_tensor final_norm(const weir_head *head, weir_tensor x) {
  weir_tensor normed = weir_tensor_allocate(head->arena, WEIR_MEMORY_ACTIVATIONS,
                                            head->device->real, x.rows, x.cols);
  head->device->operations->norm_forward(
      head->device, head->config->norm, head->config->norm_epsilon, normed, x,
      head->weights[WEIR_ROLE_FINAL_NORM], head->weights[WEIR_ROLE_FINAL_NORM_BIAS], false);
  return normed;
}

/* logits [R,Vt] of the classes whose rows of the head's weight are given. */
static void compute_logits(const weir_head *head, weir_tensor logits, weir_tensor normed,
                           weir_tensor weight) {
  const weir_device_operations *operations = head->device->operations;
  operations->linear_forward(head->device, logits, normed, weight, (weir_tensor){0}, false);
  if (head->config->logit_softcap > 0)
    operations->softcap(head->device, logits, head->config->logit_softcap);
}

void weir_weights_ready(weir_device *device, weir_tensor ready, weir_tensor held) {
  if (held.dtype == device->real)
    device->operations->round(device, ready, held);
  else
    device->operations->copy(device, ready, held);
}

/* Weights of classes [begin, end), which the last call for them may have made ready already. */
static weir_tensor tile_weights(const weir_head *head, const row_block *block, int64_t begin,
                                int64_t end, bool again) {
  weir_tensor held = weir_tensor_rows(head->weights[WEIR_ROLE_HEAD], begin, end);
  if (!head->bf16_weights) return held;
  weir_tensor ready = weir_tensor_rows(block->ready, 0, end - begin);
  if (!again) weir_weights_ready(head->device, ready, held);
  return ready;
}

/* Logits of the tile's classes into the block's tile buffer. */
static weir_tensor tile_logits(const weir_head *head, const row_block *block, weir_tensor weights) {
  weir_tensor logits = block->logits;
  logits.cols = weights.rows;
  compute_logits(head, logits, block->normed, weights);
  return logits;
}

static void block_forward(const weir_head *head, const row_block *block,
                          const weir_token_values *tokens, int64_t first_row) {
  const weir_device_operations *operations = head->device->operations;
  int64_t n_classes = head->config->vocab_size, end_row = first_row + block->x.rows;
  for (int64_t begin = 0; begin < n_classes; begin += head->columns_per_tile) {
    int64_t end = minimum(begin + head->columns_per_tile, n_classes);
    weir_tensor logits = tile_logits(head, block, tile_weights(head, block, begin, end, false));
    operations->head_tile(head->device, block->statistics, logits, block->targets, begin);
  }
  operations->head_finish(head->device, columns(tokens->logprob, first_row, end_row),
                          columns(tokens->entropy, first_row, end_row),
                          columns(tokens->correct, first_row, end_row), block->statistics,
                          block->targets);
}

static void block_backward(const weir_head *head, const row_block *block) {
  const weir_device_operations *operations = head->device->operations;
  int64_t n_classes = head->config->vocab_size;
  bool one_tile = head->columns_per_tile >= n_classes;
  for (int64_t begin = 0; begin < n_classes; begin += head->columns_per_tile) {
    int64_t end = minimum(begin + head->columns_per_tile, n_classes);
    weir_tensor weights = tile_weights(head, block, begin, end, one_tile);
    weir_tensor logits = block->logits;
    logits.cols = end - begin;
    if (!one_tile) logits = tile_logits(head, block, weights);
    operations->head_gradient(head->device, logits, block->statistics, block->targets,
                              block->weights, begin, head->config->logit_softcap);
    operations->linear_backward_weight(
        head->device, weir_tensor_rows(head->gradients[WEIR_ROLE_HEAD], begin, end),
        (weir_tensor){0}, logits, block->normed);
    operations->linear_backward_input(head->device, block->dnormed, logits, weights, begin > 0);
  }
  operations->norm_backward(head->device, head->config->norm, head->config->norm_epsilon, block->x,
                            head->gradients[WEIR_ROLE_FINAL_NORM],
                            head->gradients[WEIR_ROLE_FINAL_NORM_BIAS], block->dnormed, block->x,
                            head->weights[WEIR_ROLE_FINAL_NORM], false);
}

void weir_head_run(const weir_head *head, weir_tensor x, weir_tensor targets, weir_tensor weights,
                   const weir_token_values *tokens) {
  weir_dtype real = head->device->real;
  int64_t tile = minimum(head->columns_per_tile, head->config->vocab_size);
  int64_t n_blocks = (x.rows + head->rows_per_block - 1) / head->rows_per_block;
  for (int64_t i = n_blocks - 1; i >= 0; i--) {
    int64_t begin = i * head->rows_per_block;
    int64_t end = minimum(begin + head->rows_per_block, x.rows), n_rows = end - begin;
    head->device->position.first_row = begin;
    weir_arena_mark mark = weir_arena_mark_take(head->arena);
    row_block block = {.x = weir_tensor_rows(x, begin, end)};
    block.normed = final_norm(head, block.x);
    if (head->gradients)
      block.dnormed =
          weir_tensor_allocate(head->arena, WEIR_MEMORY_ACTIVATIONS, real, n_rows, x.cols);
    block.statistics =
        weir_tensor_allocate(head->arena, WEIR_MEMORY_VECTORS, real, n_rows, WEIR_HEAD_COLUMNS);
    block.logits = weir_tensor_allocate(head->arena, WEIR_MEMORY_LOGITS, real, n_rows, tile);
    if (head->bf16_weights)
      block.ready = weir_tensor_allocate(head->arena, WEIR_MEMORY_WEIGHTS, real, tile, x.cols);
    block.targets = columns(targets, begin, end);
    block.weights = columns(weights, begin, end);
    block_forward(head, &block, tokens, begin);
    if (head->gradients) block_backward(head, &block);
    weir_arena_release(head->arena, &mark);
  }
}

void weir_head_logits(const weir_head *head, weir_tensor logits, weir_tensor x) {
  WEIR_ASSERT(head->bf16_weights, ==, false);
  weir_arena_mark mark = weir_arena_mark_take(head->arena);
  weir_tensor normed = final_norm(head, x);
  compute_logits(head, logits, normed, head->weights[WEIR_ROLE_HEAD]);
  weir_arena_release(head->arena, &mark);
}
