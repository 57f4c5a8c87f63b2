/* SPDX-License-Identifier: Apache-2.0
 *
 * RoPE, and causal attention tiled in both directions (Dao et al. 2022, arXiv:2205.14135; Dao 2023,
 * arXiv:2307.08691).
 *
 * Query rows fall into tiles counted from row 0 of the call, tiles into *pieces* that each lie in
 * one sequence; keys fall into tiles counted from token 0.  A piece meets the key tiles from the
 * first key of its sequence to its own last token, and of a tile only what some query sees, so that
 * the one mask left is the triangle at the end.  Every product is one call whose shape depends on
 * nothing outside the query block.
 *
 * Forward, a task is one query tile of one head.  Backward, it is one K/V head, which owns its
 * columns of dK and dV, over the query tiles last to first.  K and V are read where they are. */
#include "device/cpu/cpu_operations.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* QUERY_ROWS divides the block. */
enum { QUERY_ROWS = 128, KEY_ROWS = 256 };

static void rope(weir_device *device, weir_tensor x, int64_t head_size, const weir_rope *rope,
                 const weir_sequences *sequences, int64_t first_row, int direction) {
  int64_t half = head_size / 2;
  CPU_ASSERT_SHAPE(x, device->real, x.rows, x.cols / head_size * head_size);
  WEIR_ASSERT(head_size, ==, 2 * half);
  WEIR_ASSERT(first_row + x.rows, <=, sequences->n_tokens);
  WEIR_ASSERT(direction * direction, ==, 1);
  WEIR_ASSERT(head_size * (int64_t)sizeof(float), <=, WEIR_WORKSPACE_BYTES_PER_THREAD);
  const weir_cpu_kernels *kernels = cpu_kernels(device);
#pragma omp parallel for num_threads(device->n_threads) if (weir_tensor_count(x) >                 \
                                                            CPU_PARALLEL_ELEMENTS)
  for (int64_t c = 0; c < x.rows; c++) {
    int64_t token = first_row + c, position = token - weir_sequences_begin(sequences, token);
    float *cosine = weir_cpu_scratch(device), *sine = cosine + half;
    for (int64_t j = 0; j < half; j++) {
      double angle = (double)position * rope->inverse_frequencies[j];
      cosine[j] = (float)(cos(angle) * rope->scale);
      sine[j] = (float)(direction * sin(angle) * rope->scale);
    }
    for (int64_t column = 0; column < x.cols; column += head_size)
      kernels->rope(cpu_row(x, c) + column, cosine, sine, half);
  }
}

/* Tensors of one call; those of backward are absent in forward. */
typedef struct attention_call {
  const weir_cpu_kernels *kernels;
  const weir_attention *attention;
  weir_tensor o, lse, q, k, v;
  weir_tensor dq, dk, dv, dout;
} attention_call;

/* Query rows [begin, begin + n_rows) of the call, tokens [token, token + n_rows) of the sequence
 * whose first token is first_key. */
typedef struct piece {
  int64_t begin, n_rows, token, first_key;
} piece;

/* Keys [begin, begin + n_keys) as rows [first_row, n_rows) of the piece meet them: earlier rows see
 * none of them. */
typedef struct key_tile {
  int64_t begin, n_keys, first_row;
} key_tile;

static piece piece_at(const attention_call *call, int64_t begin, int64_t end) {
  const weir_attention *a = call->attention;
  int64_t token = a->first_row + begin;
  int64_t sequence_end = weir_sequences_end(a->sequences, token);
  return (piece){.begin = begin,
                 .n_rows = cpu_min(end, sequence_end - a->first_row) - begin,
                 .token = token,
                 .first_key = weir_sequences_begin(a->sequences, token)};
}

/* The tile that begins with key `begin`; has no keys after the last. */
static key_tile tile_at(const piece *p, int64_t begin) {
  int64_t end = cpu_min((begin / KEY_ROWS + 1) * KEY_ROWS, p->token + p->n_rows);
  return (key_tile){
      .begin = begin, .n_keys = end - begin, .first_row = cpu_max(0, begin - p->token)};
}

static key_tile next_tile(const piece *p, const key_tile *tile) {
  return tile_at(p, tile->begin + tile->n_keys);
}

/* How many keys of the tile row `row` of the piece sees. */
static int64_t visible_keys(const piece *p, const key_tile *tile, int64_t row) {
  return cpu_min(tile->n_keys, p->token + row - tile->begin + 1);
}

static void hide_keys(float *row, int64_t n_visible, int64_t n_keys) {
  memset(row + n_visible, 0, (size_t)(n_keys - n_visible) * sizeof *row);
}

/* Row `row` of query head h; row `token` of the K/V head that h reads. */
static float *query_at(const attention_call *call, weir_tensor q, int64_t row, int64_t h) {
  return cpu_row(q, row) + h * call->attention->head_size;
}
static float *key_at(const attention_call *call, weir_tensor k, int64_t token, int64_t h) {
  const weir_attention *a = call->attention;
  return cpu_row(k, token) + h / (a->n_heads / a->n_kv_heads) * a->head_size;
}

/* scores [n_rows, KEY_ROWS] = alpha * (rows of a query-side tensor) (rows of a key-side one)'. */
static void compare(const attention_call *call, const piece *p, const key_tile *tile, int64_t h,
                    float alpha, weir_tensor query_side, weir_tensor key_side, float *scores) {
  weir_cpu_product('N', 'T', p->n_rows - tile->first_row, tile->n_keys, call->attention->head_size,
                   alpha, query_at(call, query_side, p->begin + tile->first_row, h),
                   query_side.cols, key_at(call, key_side, tile->begin, h), key_side.cols, 0.0f,
                   scores + tile->first_row * KEY_ROWS, KEY_ROWS);
}

/* Rows of `out` (+)= weights (rows of a key-side tensor). */
static void combine(const attention_call *call, const piece *p, const key_tile *tile, int64_t h,
                    const float *weights, weir_tensor key_side, float *out, int64_t out_stride) {
  weir_cpu_product('N', 'N', p->n_rows - tile->first_row, call->attention->head_size, tile->n_keys,
                   1.0f, weights + tile->first_row * KEY_ROWS, KEY_ROWS,
                   key_at(call, key_side, tile->begin, h), key_side.cols,
                   tile->begin > p->first_key ? 1.0f : 0.0f, out + tile->first_row * out_stride,
                   out_stride);
}

/* Rows of a key-side gradient += weights' (rows of a query-side tensor). */
static void scatter(const attention_call *call, const piece *p, const key_tile *tile, int64_t h,
                    const float *weights, weir_tensor query_side, weir_tensor key_side) {
  weir_cpu_product('T', 'N', tile->n_keys, call->attention->head_size, p->n_rows - tile->first_row,
                   1.0f, weights + tile->first_row * KEY_ROWS, KEY_ROWS,
                   query_at(call, query_side, p->begin + tile->first_row, h), query_side.cols, 1.0f,
                   key_at(call, key_side, tile->begin, h), key_side.cols);
}

typedef struct forward_scratch {
  float scores[QUERY_ROWS * KEY_ROWS];
  float max[QUERY_ROWS], sum[QUERY_ROWS];
} forward_scratch;

static_assert(sizeof(forward_scratch) <= WEIR_WORKSPACE_BYTES_PER_THREAD, "scratch fits");

static void piece_forward(const attention_call *call, const piece *p, int64_t h,
                          forward_scratch *scratch) {
  int64_t K = call->attention->head_size;
  float *out = query_at(call, call->o, p->begin, h);
  for (int64_t row = 0; row < p->n_rows; row++) {
    scratch->max[row] = -INFINITY;
    scratch->sum[row] = 0;
  }
  for (key_tile tile = tile_at(p, p->first_key); tile.n_keys > 0; tile = next_tile(p, &tile)) {
    compare(call, p, &tile, h, (float)call->attention->scale, call->q, call->k, scratch->scores);
    for (int64_t row = tile.first_row; row < p->n_rows; row++) {
      float *scores = scratch->scores + row * KEY_ROWS;
      int64_t n_visible = visible_keys(p, &tile, row);
      float rescale =
          call->kernels->softmax(scores, n_visible, &scratch->max[row], &scratch->sum[row]);
      hide_keys(scores, n_visible, tile.n_keys);
      if (tile.begin > p->first_key && rescale != 1)
        call->kernels->scale(out + row * call->o.cols, rescale, K);
    }
    combine(call, p, &tile, h, scratch->scores, call->v, out, call->o.cols);
  }
  for (int64_t row = 0; row < p->n_rows; row++) {
    call->kernels->scale(out + row * call->o.cols, 1 / scratch->sum[row], K);
    cpu_row(call->lse, p->begin + row)[h] =
        (float)(scratch->max[row] + log((double)scratch->sum[row]));
  }
}

/* dq is gathered in scratch, because it may alias dout, which every key tile needs. */
typedef struct backward_scratch {
  float scores[QUERY_ROWS * KEY_ROWS], dp[QUERY_ROWS * KEY_ROWS];
  float delta[QUERY_ROWS];
  float dq[]; /* [QUERY_ROWS, K] */
} backward_scratch;

static void piece_backward(const attention_call *call, const piece *p, int64_t h,
                           backward_scratch *scratch) {
  int64_t K = call->attention->head_size;
  float scale = (float)call->attention->scale;
  for (int64_t row = 0; row < p->n_rows; row++)
    scratch->delta[row] = call->kernels->dot(query_at(call, call->dout, p->begin + row, h),
                                             query_at(call, call->o, p->begin + row, h), K);
  for (key_tile tile = tile_at(p, p->first_key); tile.n_keys > 0; tile = next_tile(p, &tile)) {
    compare(call, p, &tile, h, scale, call->q, call->k, scratch->scores);
    compare(call, p, &tile, h, 1.0f, call->dout, call->v, scratch->dp);
    for (int64_t row = tile.first_row; row < p->n_rows; row++) {
      float *scores = scratch->scores + row * KEY_ROWS, *dp = scratch->dp + row * KEY_ROWS;
      int64_t n_visible = visible_keys(p, &tile, row);
      call->kernels->softmax_backward(scores, dp, cpu_row(call->lse, p->begin + row)[h],
                                      scratch->delta[row], scale, n_visible);
      hide_keys(scores, n_visible, tile.n_keys);
      hide_keys(dp, n_visible, tile.n_keys);
    }
    scatter(call, p, &tile, h, scratch->scores, call->dout, call->dv);
    scatter(call, p, &tile, h, scratch->dp, call->q, call->dk);
    combine(call, p, &tile, h, scratch->dp, call->k, scratch->dq, K);
  }
  for (int64_t row = 0; row < p->n_rows; row++)
    memcpy(query_at(call, call->dq, p->begin + row, h), scratch->dq + row * K,
           (size_t)K * sizeof *scratch->dq);
}

static void assert_shapes(weir_device *device, const weir_attention *a, weir_tensor q,
                          weir_tensor k, weir_tensor v, weir_tensor o, weir_tensor lse) {
  WEIR_ASSERT(a->n_heads % a->n_kv_heads, ==, 0);
  WEIR_ASSERT(a->first_row + q.rows, <=, k.rows);
  WEIR_ASSERT(a->first_row + q.rows, <=, a->sequences->n_tokens);
  CPU_ASSERT_SHAPE(q, device->real, q.rows, a->n_heads * a->head_size);
  CPU_ASSERT_SHAPE(k, device->real, k.rows, a->n_kv_heads * a->head_size);
  CPU_ASSERT_SHAPE(v, device->real, k.rows, a->n_kv_heads * a->head_size);
  CPU_ASSERT_SHAPE(o, device->real, q.rows, a->n_heads * a->head_size);
  CPU_ASSERT_SHAPE(lse, device->real, q.rows, a->n_heads);
}

/* Tasks run from the last query tile, which meets the most keys, so that the short ones fill in. */
static void attention_forward(weir_device *device, const weir_attention *a, weir_tensor o,
                              weir_tensor lse, weir_tensor q, weir_tensor k, weir_tensor v) {
  assert_shapes(device, a, q, k, v, o, lse);
  const attention_call call = {
      .kernels = cpu_kernels(device), .attention = a, .o = o, .lse = lse, .q = q, .k = k, .v = v};
  int64_t n_tiles = cpu_pieces(q.rows, QUERY_ROWS);
#pragma omp parallel for schedule(dynamic, 1) num_threads(device->n_threads)
  for (int64_t i = 0; i < n_tiles * a->n_heads; i++) {
    int64_t tile = n_tiles - 1 - i / a->n_heads;
    int64_t end = cpu_min((tile + 1) * QUERY_ROWS, q.rows);
    for (int64_t row = tile * QUERY_ROWS; row < end;) {
      piece p = piece_at(&call, row, end);
      piece_forward(&call, &p, i % a->n_heads, (forward_scratch *)weir_cpu_scratch(device));
      row += p.n_rows;
    }
  }
}

static void attention_backward(weir_device *device, const weir_attention *a, weir_tensor dq,
                               weir_tensor dk, weir_tensor dv, weir_tensor dout, weir_tensor q,
                               weir_tensor k, weir_tensor v, weir_tensor o, weir_tensor lse) {
  assert_shapes(device, a, q, k, v, o, lse);
  assert_shapes(device, a, dq, dk, dv, dout, lse);
  WEIR_ASSERT(dk.rows, ==, k.rows);
  WEIR_ASSERT(sizeof(backward_scratch) + sizeof(float) * QUERY_ROWS * (uint64_t)a->head_size, <=,
              WEIR_WORKSPACE_BYTES_PER_THREAD);
  const attention_call call = {.kernels = cpu_kernels(device),
                               .attention = a,
                               .o = o,
                               .lse = lse,
                               .q = q,
                               .k = k,
                               .v = v,
                               .dq = dq,
                               .dk = dk,
                               .dv = dv,
                               .dout = dout};
  int64_t group = a->n_heads / a->n_kv_heads;
#pragma omp parallel for schedule(dynamic, 1) num_threads(device->n_threads)
  for (int64_t g = 0; g < a->n_kv_heads; g++) {
    for (int64_t tile = cpu_pieces(q.rows, QUERY_ROWS) - 1; tile >= 0; tile--) {
      int64_t end = cpu_min((tile + 1) * QUERY_ROWS, q.rows);
      for (int64_t row = tile * QUERY_ROWS; row < end;) {
        piece p = piece_at(&call, row, end);
        for (int64_t h = g * group; h < (g + 1) * group; h++)
          piece_backward(&call, &p, h, (backward_scratch *)weir_cpu_scratch(device));
        row += p.n_rows;
      }
    }
  }
}

void weir_cpu_operations_attention(weir_device_operations *operations) {
  operations->rope = rope;
  operations->attention_forward = attention_forward;
  operations->attention_backward = attention_backward;
}
