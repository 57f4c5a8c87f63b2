/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of operations is the order of the formulas in the header; backward is its mirror. */
#include "model/block.h"

#include <math.h>

typedef struct chunk_view {
  const weir_block *block;
  int64_t first_row, n_rows;
  const weir_tensor *value; /* [WEIR_VALUE_COUNT] */
} chunk_view;

int64_t weir_value_cols(const weir_model_config *config, weir_value value) {
  switch (value) {
  case WEIR_VALUE_INPUT:
  case WEIR_VALUE_ATTENTION_NORMED:
  case WEIR_VALUE_MIDDLE:
  case WEIR_VALUE_MLP_NORMED:
    return config->hidden_size;
  case WEIR_VALUE_ATTENTION_PROJECTED:
  case WEIR_VALUE_MLP_PROJECTED:
    return config->post_norms ? config->hidden_size : 0;
  case WEIR_VALUE_Q_RAW:
    if (!config->qk_norm) return 0;
    return config->num_attention_heads * config->head_dim;
  case WEIR_VALUE_Q:
  case WEIR_VALUE_ATTENTION:
    return config->num_attention_heads * config->head_dim;
  case WEIR_VALUE_K_RAW:
    if (!config->qk_norm) return 0;
    return config->num_key_value_heads * config->head_dim;
  case WEIR_VALUE_K:
  case WEIR_VALUE_V:
    return config->num_key_value_heads * config->head_dim;
  case WEIR_VALUE_LSE:
    return config->num_attention_heads;
  case WEIR_VALUE_GATE:
    return config->gated_mlp ? config->intermediate_size : 0;
  case WEIR_VALUE_UP:
  case WEIR_VALUE_ACTIVATED:
    return config->intermediate_size;
  case WEIR_VALUE_COUNT:
    break;
  }
  return 0;
}

static bool same_place(weir_tensor a, weir_tensor b) {
  return a.arena == b.arena && a.offset_bytes == b.offset_bytes;
}

static weir_attention attention_of(const chunk_view *chunk) {
  const weir_model_config *config = chunk->block->config;
  double scalar = config->query_pre_attn_scalar;
  return (weir_attention){
      .n_heads = config->num_attention_heads,
      .n_kv_heads = config->num_key_value_heads,
      .head_size = config->head_dim,
      .scale = 1.0 / sqrt(scalar > 0 ? scalar : (double)config->head_dim),
      .softcap = config->attention_softcap,
      .sequences = chunk->block->sequences,
      .first_row = chunk->first_row,
      .window = chunk->block->window,
  };
}

/* A value is rounded once, here, whatever keeps it later: a stash in bf16 is lossless (I4). */
static void born(const chunk_view *chunk, weir_tensor value) {
  weir_device *device = chunk->block->device;
  if (chunk->block->rounds) device->operations->round(device, value, value);
}

/* ---- one operation with the weights of this layer ---- */

static void norm(const chunk_view *chunk, weir_tensor y, weir_tensor x, weir_role weight,
                 weir_role bias) {
  const weir_block *block = chunk->block;
  weir_device *device = block->device;
  device->operations->norm_forward(device, block->config->norm, block->config->norm_epsilon, y, x,
                                   block->weights[weight], block->weights[bias], false);
  born(chunk, y);
}

/* g += norm'(dy) at x. */
static void norm_back(const chunk_view *chunk, weir_tensor g, weir_tensor dy, weir_tensor x,
                      weir_role weight, weir_role bias) {
  const weir_block *block = chunk->block;
  weir_device *device = block->device;
  device->operations->norm_backward(device, block->config->norm, block->config->norm_epsilon, g,
                                    block->gradients[weight], block->gradients[bias], dy, x,
                                    block->weights[weight], true);
}

static void linear(const chunk_view *chunk, weir_tensor y, weir_tensor x, weir_role weight,
                   weir_role bias, bool accumulate) {
  const weir_block *block = chunk->block;
  weir_device *device = block->device;
  device->operations->linear_forward(device, y, x, block->weights[weight], block->weights[bias],
                                     accumulate);
}

/* A value that is a product and nothing more. */
static void linear_value(const chunk_view *chunk, weir_tensor y, weir_tensor x, weir_role weight,
                         weir_role bias) {
  linear(chunk, y, x, weight, bias, false);
  born(chunk, y);
}

/* dx (+)= dy w, and the weight's gradient from dy and x. */
static void linear_back(const chunk_view *chunk, weir_tensor dx, weir_tensor dy, weir_tensor x,
                        weir_role weight, weir_role bias, bool accumulate) {
  const weir_block *block = chunk->block;
  weir_device *device = block->device;
  device->operations->linear_backward_weight(device, block->gradients[weight],
                                             block->gradients[bias], dy, x);
  device->operations->linear_backward_input(device, dx, dy, block->weights[weight], accumulate);
}

static weir_tensor by_head(const chunk_view *chunk, weir_tensor x) {
  int64_t head_size = chunk->block->config->head_dim;
  return weir_tensor_reshape(x, x.rows * x.cols / head_size, head_size);
}

static void rope(const chunk_view *chunk, weir_tensor x, int direction) {
  const weir_block *block = chunk->block;
  if (block->config->learned_positions) return;
  block->device->operations->rope(block->device, x, block->config->head_dim, block->rope,
                                  block->sequences, chunk->first_row, direction);
}

/* q or k from its product: head norm, then RoPE. */
static void finish_heads(const chunk_view *chunk, weir_tensor y, weir_tensor raw,
                         weir_role weight) {
  const weir_block *block = chunk->block;
  if (block->config->qk_norm)
    block->device->operations->norm_forward(
        block->device, block->config->norm, block->config->norm_epsilon, by_head(chunk, y),
        by_head(chunk, raw), block->weights[weight], (weir_tensor){0}, false);
  rope(chunk, y, +1);
  born(chunk, y);
}

/* Mirror of finish_heads, in place. */
static void finish_heads_back(const chunk_view *chunk, weir_tensor dy, weir_tensor raw,
                              weir_role weight) {
  const weir_block *block = chunk->block;
  rope(chunk, dy, -1);
  if (block->config->qk_norm)
    block->device->operations->norm_backward(
        block->device, block->config->norm, block->config->norm_epsilon, by_head(chunk, dy),
        block->gradients[weight], (weir_tensor){0}, by_head(chunk, dy), by_head(chunk, raw),
        block->weights[weight], false);
}

/* ---- forward ---- */

/* The product that K and Q start from lands in the raw value where there is a head norm. */
static weir_tensor raw_or(const chunk_view *chunk, weir_value raw, weir_tensor otherwise) {
  return chunk->block->config->qk_norm ? chunk->value[raw] : otherwise;
}

static void linear_heads(const chunk_view *chunk, weir_tensor raw, weir_role weight,
                         weir_role bias) {
  linear(chunk, raw, chunk->value[WEIR_VALUE_ATTENTION_NORMED], weight, bias, false);
  if (chunk->block->config->qk_norm) born(chunk, raw);
}

static void forward_keys_values(const chunk_view *chunk, weir_value_set present) {
  const weir_tensor *value = chunk->value;
  bool needs_k = !(present & weir_value_bit(WEIR_VALUE_K));
  bool needs_raw = chunk->block->config->qk_norm && !(present & weir_value_bit(WEIR_VALUE_K_RAW));
  weir_tensor raw = raw_or(chunk, WEIR_VALUE_K_RAW, value[WEIR_VALUE_K]);
  if (needs_raw || (needs_k && !chunk->block->config->qk_norm))
    linear_heads(chunk, raw, WEIR_ROLE_K, WEIR_ROLE_K_BIAS);
  if (needs_k) finish_heads(chunk, value[WEIR_VALUE_K], raw, WEIR_ROLE_K_NORM);
  if (!(present & weir_value_bit(WEIR_VALUE_V)))
    linear_value(chunk, value[WEIR_VALUE_V], value[WEIR_VALUE_ATTENTION_NORMED], WEIR_ROLE_V,
                 WEIR_ROLE_V_BIAS);
}

static void forward_attention(const chunk_view *chunk, weir_value_set present) {
  const weir_block *block = chunk->block;
  const weir_tensor *value = chunk->value;
  if (!(present & weir_value_bit(WEIR_VALUE_ATTENTION_NORMED)))
    norm(chunk, value[WEIR_VALUE_ATTENTION_NORMED], value[WEIR_VALUE_INPUT],
         WEIR_ROLE_ATTENTION_NORM, WEIR_ROLE_ATTENTION_NORM_BIAS);
  if (!(present & weir_value_bit(WEIR_VALUE_Q))) {
    weir_tensor raw = raw_or(chunk, WEIR_VALUE_Q_RAW, value[WEIR_VALUE_Q]);
    linear_heads(chunk, raw, WEIR_ROLE_Q, WEIR_ROLE_Q_BIAS);
    finish_heads(chunk, value[WEIR_VALUE_Q], raw, WEIR_ROLE_Q_NORM);
  }
  forward_keys_values(chunk, present);
  if (!(present & weir_value_bit(WEIR_VALUE_ATTENTION))) {
    weir_attention attention = attention_of(chunk);
    block->device->operations->attention_forward(block->device, &attention,
                                                 value[WEIR_VALUE_ATTENTION], value[WEIR_VALUE_LSE],
                                                 value[WEIR_VALUE_Q], block->keys, block->values);
    born(chunk, value[WEIR_VALUE_ATTENTION]);
  }
}

static void activate(const chunk_view *chunk) {
  const weir_block *block = chunk->block;
  const weir_device_operations *operations = block->device->operations;
  const weir_tensor *value = chunk->value;
  weir_activation f = block->config->hidden_act;
  if (block->config->gated_mlp)
    operations->gated_forward(block->device, f, value[WEIR_VALUE_ACTIVATED], value[WEIR_VALUE_GATE],
                              value[WEIR_VALUE_UP]);
  else
    operations->activation_forward(block->device, f, value[WEIR_VALUE_ACTIVATED],
                                   value[WEIR_VALUE_UP]);
  born(chunk, value[WEIR_VALUE_ACTIVATED]);
}

static void forward_mlp(const chunk_view *chunk, weir_value_set present) {
  const weir_tensor *value = chunk->value;
  weir_tensor normed = value[WEIR_VALUE_MLP_NORMED];
  if (!(present & weir_value_bit(WEIR_VALUE_MLP_NORMED)))
    norm(chunk, normed, value[WEIR_VALUE_MIDDLE], WEIR_ROLE_MLP_NORM, WEIR_ROLE_MLP_NORM_BIAS);
  if (present & weir_value_bit(WEIR_VALUE_ACTIVATED)) return;
  if (chunk->block->config->gated_mlp)
    linear_value(chunk, value[WEIR_VALUE_GATE], normed, WEIR_ROLE_GATE, WEIR_ROLE_GATE_BIAS);
  linear_value(chunk, value[WEIR_VALUE_UP], normed, WEIR_ROLE_UP, WEIR_ROLE_UP_BIAS);
  activate(chunk);
}

/* How a branch of the layer joins the residual stream: sum = residual + x w, and with post-norms
 * residual + norm(projected), projected = x w. */
typedef struct branch {
  weir_value x, projected;
  weir_role weight, bias, post_norm;
} branch;

static const branch attention_branch = {WEIR_VALUE_ATTENTION, WEIR_VALUE_ATTENTION_PROJECTED,
                                        WEIR_ROLE_O, WEIR_ROLE_O_BIAS,
                                        WEIR_ROLE_ATTENTION_POST_NORM};
static const branch mlp_branch = {WEIR_VALUE_ACTIVATED, WEIR_VALUE_MLP_PROJECTED, WEIR_ROLE_DOWN,
                                  WEIR_ROLE_DOWN_BIAS, WEIR_ROLE_MLP_POST_NORM};

static void project(const chunk_view *chunk, const branch *b, weir_value_set present) {
  if (chunk->block->config->post_norms && !(present & weir_value_bit(b->projected)))
    linear_value(chunk, chunk->value[b->projected], chunk->value[b->x], b->weight, b->bias);
}

/* `sum` may be the residual itself. */
static void join(const chunk_view *chunk, const branch *b, weir_tensor sum, weir_tensor residual) {
  const weir_block *block = chunk->block;
  weir_device *device = block->device;
  if (!same_place(sum, residual)) device->operations->copy(device, sum, residual);
  if (block->config->post_norms)
    device->operations->norm_forward(device, block->config->norm, block->config->norm_epsilon, sum,
                                     chunk->value[b->projected], block->weights[b->post_norm],
                                     (weir_tensor){0}, true);
  else
    linear(chunk, sum, chunk->value[b->x], b->weight, b->bias, true);
  born(chunk, sum);
}

/* The gradient of x w: that of the sum, or what the post-norm makes of it, in `room`. */
static weir_tensor join_back(const chunk_view *chunk, const branch *b, weir_tensor g,
                             weir_tensor room) {
  const weir_block *block = chunk->block;
  weir_device *device = block->device;
  if (!block->config->post_norms) return g;
  device->operations->norm_backward(device, block->config->norm, block->config->norm_epsilon, room,
                                    block->gradients[b->post_norm], (weir_tensor){0}, g,
                                    chunk->value[b->projected], block->weights[b->post_norm],
                                    false);
  return room;
}

void weir_block_keys_values(const weir_block *block, int64_t first_row,
                            const weir_tensor value[WEIR_VALUE_COUNT]) {
  chunk_view chunk = {block, first_row, value[WEIR_VALUE_INPUT].rows, value};
  norm(&chunk, value[WEIR_VALUE_ATTENTION_NORMED], value[WEIR_VALUE_INPUT],
       WEIR_ROLE_ATTENTION_NORM, WEIR_ROLE_ATTENTION_NORM_BIAS);
  forward_keys_values(&chunk, 0);
}

void weir_block_forward(const weir_block *block, int64_t first_row,
                        const weir_tensor value[WEIR_VALUE_COUNT], weir_value_set present,
                        weir_tensor output) {
  chunk_view chunk = {block, first_row, value[WEIR_VALUE_INPUT].rows, value};
  forward_attention(&chunk, present);
  project(&chunk, &attention_branch, present);
  if (!(present & weir_value_bit(WEIR_VALUE_MIDDLE)))
    join(&chunk, &attention_branch, value[WEIR_VALUE_MIDDLE], value[WEIR_VALUE_INPUT]);
  forward_mlp(&chunk, present);
  project(&chunk, &mlp_branch, present);
  if (weir_tensor_exists(output)) join(&chunk, &mlp_branch, output, value[WEIR_VALUE_MIDDLE]);
}

/* ---- backward ---- */

static weir_tensor temporary(const chunk_view *chunk, int64_t cols) {
  const weir_block *block = chunk->block;
  return weir_tensor_allocate(block->arena, WEIR_MEMORY_ACTIVATIONS, block->device->real,
                              chunk->n_rows, cols);
}

static void backward_mlp(const chunk_view *chunk, weir_tensor g) {
  const weir_block *block = chunk->block;
  const weir_device_operations *operations = block->device->operations;
  const weir_tensor *value = chunk->value;
  weir_arena_mark mark = weir_arena_mark_take(block->arena);
  weir_tensor da = temporary(chunk, block->config->intermediate_size);
  weir_tensor dn = temporary(chunk, block->config->hidden_size);
  weir_tensor gate = value[WEIR_VALUE_GATE], up = value[WEIR_VALUE_UP];
  linear_back(chunk, da, join_back(chunk, &mlp_branch, g, dn), value[WEIR_VALUE_ACTIVATED],
              WEIR_ROLE_DOWN, WEIR_ROLE_DOWN_BIAS, false);
  if (block->config->gated_mlp)
    operations->gated_backward(block->device, block->config->hidden_act, gate, up, da, gate, up);
  else
    operations->activation_backward(block->device, block->config->hidden_act, up, da, up);
  linear_back(chunk, dn, up, value[WEIR_VALUE_MLP_NORMED], WEIR_ROLE_UP, WEIR_ROLE_UP_BIAS, false);
  if (block->config->gated_mlp)
    linear_back(chunk, dn, gate, value[WEIR_VALUE_MLP_NORMED], WEIR_ROLE_GATE, WEIR_ROLE_GATE_BIAS,
                true);
  norm_back(chunk, g, dn, value[WEIR_VALUE_MIDDLE], WEIR_ROLE_MLP_NORM, WEIR_ROLE_MLP_NORM_BIAS);
  weir_arena_release(block->arena, &mark);
}

static void backward_attention(const chunk_view *chunk, weir_tensor g) {
  const weir_block *block = chunk->block;
  const weir_tensor *value = chunk->value;
  int64_t begin = chunk->first_row, end = begin + chunk->n_rows;
  weir_arena_mark mark = weir_arena_mark_take(block->arena);
  weir_tensor dq = temporary(chunk, weir_value_cols(block->config, WEIR_VALUE_Q));
  weir_tensor dn = temporary(chunk, block->config->hidden_size);
  linear_back(chunk, dq, join_back(chunk, &attention_branch, g, dn), value[WEIR_VALUE_ATTENTION],
              WEIR_ROLE_O, WEIR_ROLE_O_BIAS, false);
  weir_attention attention = attention_of(chunk);
  block->device->operations->attention_backward(
      block->device, &attention, dq, block->dkeys, block->dvalues, dq, value[WEIR_VALUE_Q],
      block->keys, block->values, value[WEIR_VALUE_ATTENTION], value[WEIR_VALUE_LSE]);
  weir_tensor dk = weir_tensor_rows(block->dkeys, begin, end);
  weir_tensor dv = weir_tensor_rows(block->dvalues, begin, end);
  finish_heads_back(chunk, dq, value[WEIR_VALUE_Q_RAW], WEIR_ROLE_Q_NORM);
  finish_heads_back(chunk, dk, value[WEIR_VALUE_K_RAW], WEIR_ROLE_K_NORM);
  weir_tensor normed = value[WEIR_VALUE_ATTENTION_NORMED];
  linear_back(chunk, dn, dq, normed, WEIR_ROLE_Q, WEIR_ROLE_Q_BIAS, false);
  linear_back(chunk, dn, dk, normed, WEIR_ROLE_K, WEIR_ROLE_K_BIAS, true);
  linear_back(chunk, dn, dv, normed, WEIR_ROLE_V, WEIR_ROLE_V_BIAS, true);
  norm_back(chunk, g, dn, value[WEIR_VALUE_INPUT], WEIR_ROLE_ATTENTION_NORM,
            WEIR_ROLE_ATTENTION_NORM_BIAS);
  weir_arena_release(block->arena, &mark);
}

void weir_block_backward(const weir_block *block, int64_t first_row,
                         const weir_tensor value[WEIR_VALUE_COUNT], weir_tensor g) {
  chunk_view chunk = {block, first_row, g.rows, value};
  backward_mlp(&chunk, g);
  backward_attention(&chunk, g);
}
