/* SPDX-License-Identifier: Apache-2.0
 *
 * Causal attention tiled in both directions (Dao et al. 2022, arXiv:2205.14135; Dao 2023,
 * arXiv:2307.08691).
 *
 * Query rows fall into tiles counted from row 0 of the call, tiles into *pieces* that each lie in
 * one sequence; keys fall into tiles counted from token 0.  A piece meets the key tiles from the
 * first key that its first row sees to its own last token, and of a tile only the rows that see
 * some of it, so that the masks left are two triangles: at the end, and where a window begins.
 * Every product is one call whose shape depends on nothing outside the query block.
 *
 * Forward, a task is one query tile of one head.  Backward, it is one K/V head, which owns its
 * columns of dK and dV, over the query tiles last to first; where there are more threads than K/V
 * heads, dK and dV are one pass, shared out by key tiles too, and dQ is another.  The products and
 * their order are the same either way, and so are the bits.  All copy the rows of one head they
 * work on into scratch without gaps, where products run faster than on columns of a wide tensor. */
#include "device/cpu/cpu_operations.h"

#include <math.h>
#include <string.h>

/* QUERY_ROWS divides the block. */
enum { QUERY_ROWS = 256, KEY_ROWS = 128 };

/* Tensors of one call; those of backward are absent in forward. */
typedef struct attention_call {
  const weir_cpu_kernels *kernels;
  const weir_attention *attention;
  weir_tensor o, lse, q, k, v;
  weir_tensor dq, dk, dv, dout;
} attention_call;

/* Query rows [begin, begin + n_rows) of the call, tokens [token, token + n_rows) of one sequence,
 * which see no key before first_key. */
typedef struct piece {
  int64_t begin, n_rows, token, first_key;
} piece;

/* Keys [begin, begin + n_keys) as rows [first_row, end_row) of the piece meet them: earlier rows
 * and, beyond the window, later ones see none of them. */
typedef struct key_tile {
  int64_t begin, n_keys, first_row, end_row;
} key_tile;

static piece piece_at(const attention_call *call, int64_t begin, int64_t end) {
  const weir_attention *a = call->attention;
  int64_t token = a->first_row + begin;
  int64_t sequence_end = weir_sequences_end(a->sequences, token);
  return (piece){.begin = begin,
                 .n_rows = cpu_min(end, sequence_end - a->first_row) - begin,
                 .token = token,
                 .first_key = weir_sequences_first_key(a->sequences, token, a->window)};
}

/* The tile that begins with key `begin`; has no keys after the last. */
static key_tile tile_at(const attention_call *call, const piece *p, int64_t begin) {
  int64_t end = cpu_min((begin / KEY_ROWS + 1) * KEY_ROWS, p->token + p->n_rows);
  int64_t window = call->attention->window, last_token = end - 1 + window - 1;
  return (key_tile){
      .begin = begin,
      .n_keys = end - begin,
      .first_row = cpu_max(0, begin - p->token),
      .end_row = window > 0 ? cpu_min(p->n_rows, last_token + 1 - p->token) : p->n_rows,
  };
}

static key_tile next_tile(const attention_call *call, const piece *p, const key_tile *tile) {
  return tile_at(call, p, tile->begin + tile->n_keys);
}

/* The keys of the tile that row `row` of the piece sees: [begin, end), at least one. */
typedef struct key_range {
  int64_t begin, end;
} key_range;

static key_range visible_keys(const attention_call *call, const piece *p, const key_tile *tile,
                              int64_t row) {
  int64_t own = p->token + row - tile->begin, window = call->attention->window;
  return (key_range){.begin = window > 0 ? cpu_max(0, own - window + 1) : 0,
                     .end = cpu_min(tile->n_keys, own + 1)};
}

static void hide_keys(float *row, key_range visible, int64_t n_keys) {
  memset(row, 0, (size_t)visible.begin * sizeof *row);
  memset(row + visible.end, 0, (size_t)(n_keys - visible.end) * sizeof *row);
}

/* Row `row` of query head h; row `token` of the K/V head that h reads. */
static float *query_at(const attention_call *call, weir_tensor q, int64_t row, int64_t h) {
  return cpu_row(q, row) + h * call->attention->head_size;
}
static float *key_at(const attention_call *call, weir_tensor k, int64_t token, int64_t h) {
  const weir_attention *a = call->attention;
  return cpu_row(k, token) + h / (a->n_heads / a->n_kv_heads) * a->head_size;
}

/* What a thread works on: one piece of one query head and one key tile, without gaps. */
typedef struct attention_scratch {
  float *query, *out, *dout; /* [QUERY_ROWS, K]; in backward `out` is dq */
  float *key, *value;        /* [KEY_ROWS, K] */
  float *scores, *dscores;   /* [QUERY_ROWS, KEY_ROWS] */
  float *max, *sum, *delta;  /* [QUERY_ROWS] */
} attention_scratch;

static attention_scratch scratch_of(const weir_device *device, int64_t K) {
  float *next = weir_cpu_scratch(device), *end = next + WEIR_WORKSPACE_BYTES_PER_THREAD / 4;
  attention_scratch s;
  const struct {
    float **array;
    int64_t n;
  } arrays[] = {
      {&s.query, QUERY_ROWS * K},
      {&s.out, QUERY_ROWS * K},
      {&s.dout, QUERY_ROWS * K},
      {&s.key, KEY_ROWS * K},
      {&s.value, KEY_ROWS * K},
      {&s.scores, QUERY_ROWS * KEY_ROWS},
      {&s.dscores, QUERY_ROWS * KEY_ROWS},
      {&s.max, QUERY_ROWS},
      {&s.sum, QUERY_ROWS},
      {&s.delta, QUERY_ROWS},
  };
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    *arrays[i].array = next;
    next += arrays[i].n;
  }
  WEIR_ASSERT(end - next, >=, 0);
  return s;
}

/* Rows of one head, between a tensor and scratch. */
static void copy_rows(float *to, int64_t to_stride, const float *from, int64_t from_stride,
                      int64_t n_rows, int64_t K) {
  for (int64_t row = 0; row < n_rows; row++)
    memcpy(to + row * to_stride, from + row * from_stride, (size_t)K * sizeof *to);
}

/* scores = alpha * queries keys', both [.,K] in scratch. */
static void compare(const key_tile *tile, int64_t K, float alpha, const float *queries,
                    const float *keys, float *scores) {
  weir_cpu_product('N', 'T', tile->end_row - tile->first_row, tile->n_keys, K, alpha,
                   queries + tile->first_row * K, K, keys, K, 0.0f,
                   scores + tile->first_row * KEY_ROWS, KEY_ROWS);
}

/* out [.,K] += weights values. */
static void combine(const key_tile *tile, int64_t K, const float *weights, const float *values,
                    float *out) {
  weir_cpu_product('N', 'N', tile->end_row - tile->first_row, K, tile->n_keys, 1.0f,
                   weights + tile->first_row * KEY_ROWS, KEY_ROWS, values, K, 1.0f,
                   out + tile->first_row * K, K);
}

/* Rows of dK or dV += weights' queries. */
static void scatter(const key_tile *tile, int64_t K, const float *weights, const float *queries,
                    float *gradient, int64_t gradient_stride) {
  weir_cpu_product('T', 'N', tile->n_keys, K, tile->end_row - tile->first_row, 1.0f,
                   weights + tile->first_row * KEY_ROWS, KEY_ROWS, queries + tile->first_row * K, K,
                   1.0f, gradient, gradient_stride);
}

static void load_piece(const attention_call *call, const piece *p, int64_t h, weir_tensor from,
                       float *to) {
  int64_t K = call->attention->head_size;
  copy_rows(to, K, query_at(call, from, p->begin, h), from.cols, p->n_rows, K);
}

static void load_keys(const attention_call *call, const key_tile *tile, int64_t h,
                      const attention_scratch *s) {
  int64_t K = call->attention->head_size;
  copy_rows(s->key, K, key_at(call, call->k, tile->begin, h), call->k.cols, tile->n_keys, K);
  copy_rows(s->value, K, key_at(call, call->v, tile->begin, h), call->v.cols, tile->n_keys, K);
}

static void cap_scores(const attention_call *call, float *scores, key_range visible) {
  float cap = (float)call->attention->softcap;
  if (cap > 0) call->kernels->softcap(scores + visible.begin, cap, visible.end - visible.begin);
}

/* Scores of one tile become their exponentials; what earlier tiles left in `out` is rescaled. */
static void tile_softmax(const attention_call *call, const piece *p, const key_tile *tile,
                         const attention_scratch *s) {
  int64_t K = call->attention->head_size;
  for (int64_t row = tile->first_row; row < tile->end_row; row++) {
    float *scores = s->scores + row * KEY_ROWS;
    key_range visible = visible_keys(call, p, tile, row);
    cap_scores(call, scores, visible);
    float rescale = call->kernels->softmax(scores + visible.begin, visible.end - visible.begin,
                                           &s->max[row], &s->sum[row]);
    hide_keys(scores, visible, tile->n_keys);
    if (rescale != 1) call->kernels->scale(s->out + row * K, rescale, K);
  }
}

static void piece_forward(const attention_call *call, const piece *p, int64_t h,
                          const attention_scratch *s) {
  int64_t K = call->attention->head_size;
  load_piece(call, p, h, call->q, s->query);
  memset(s->out, 0, (size_t)(p->n_rows * K) * sizeof *s->out);
  for (int64_t row = 0; row < p->n_rows; row++) {
    s->max[row] = -INFINITY;
    s->sum[row] = 0;
  }
  for (key_tile tile = tile_at(call, p, p->first_key); tile.n_keys > 0;
       tile = next_tile(call, p, &tile)) {
    load_keys(call, &tile, h, s);
    compare(&tile, K, (float)call->attention->scale, s->query, s->key, s->scores);
    tile_softmax(call, p, &tile, s);
    combine(&tile, K, s->scores, s->value, s->out);
  }
  for (int64_t row = 0; row < p->n_rows; row++) {
    call->kernels->scale(s->out + row * K, 1 / s->sum[row], K);
    cpu_row(call->lse, p->begin + row)[h] = (float)(s->max[row] + log((double)s->sum[row]));
  }
  copy_rows(query_at(call, call->o, p->begin, h), call->o.cols, s->out, K, p->n_rows, K);
}

/* Scores of one tile become p, dscores from dp become scale * ds. */
static void tile_softmax_backward(const attention_call *call, const piece *p, const key_tile *tile,
                                  int64_t h, const attention_scratch *s) {
  for (int64_t row = tile->first_row; row < tile->end_row; row++) {
    float *scores = s->scores + row * KEY_ROWS, *dscores = s->dscores + row * KEY_ROWS;
    key_range visible = visible_keys(call, p, tile, row);
    cap_scores(call, scores, visible);
    call->kernels->softmax_backward(scores + visible.begin, dscores + visible.begin,
                                    cpu_row(call->lse, p->begin + row)[h], s->delta[row],
                                    (float)call->attention->scale, (float)call->attention->softcap,
                                    visible.end - visible.begin);
    hide_keys(scores, visible, tile->n_keys);
    hide_keys(dscores, visible, tile->n_keys);
  }
}

/* The part of a backward pass that a task does: every n-th key tile, and what it sums. */
typedef struct backward_share {
  int64_t i_part, n_parts;
  bool keys, queries; /* dK and dV; dQ */
} backward_share;

static void tile_backward(const attention_call *call, const piece *p, const key_tile *tile,
                          int64_t h, const backward_share *share, const attention_scratch *s) {
  int64_t K = call->attention->head_size;
  load_keys(call, tile, h, s);
  compare(tile, K, (float)call->attention->scale, s->query, s->key, s->scores);
  compare(tile, K, 1.0f, s->dout, s->value, s->dscores);
  tile_softmax_backward(call, p, tile, h, s);
  if (share->keys) {
    scatter(tile, K, s->scores, s->dout, key_at(call, call->dv, tile->begin, h), call->dv.cols);
    scatter(tile, K, s->dscores, s->query, key_at(call, call->dk, tile->begin, h), call->dk.cols);
  }
  if (share->queries) combine(tile, K, s->dscores, s->key, s->out);
}

static void piece_backward(const attention_call *call, const piece *p, int64_t h,
                           const backward_share *share, const attention_scratch *s) {
  int64_t K = call->attention->head_size;
  load_piece(call, p, h, call->q, s->query);
  load_piece(call, p, h, call->dout, s->dout);
  memset(s->out, 0, (size_t)(p->n_rows * K) * sizeof *s->out);
  for (int64_t row = 0; row < p->n_rows; row++)
    s->delta[row] =
        call->kernels->dot(s->dout + row * K, query_at(call, call->o, p->begin + row, h), K);
  for (key_tile tile = tile_at(call, p, p->first_key); tile.n_keys > 0;
       tile = next_tile(call, p, &tile))
    if (tile.begin / KEY_ROWS % share->n_parts == share->i_part)
      tile_backward(call, p, &tile, h, share, s);
  if (share->queries)
    copy_rows(query_at(call, call->dq, p->begin, h), call->dq.cols, s->out, K, p->n_rows, K);
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

static int64_t tile_end(const attention_call *call, int64_t tile) {
  return cpu_min((tile + 1) * QUERY_ROWS, call->q.rows);
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
    attention_scratch scratch = scratch_of(device, a->head_size);
    int64_t tile = n_tiles - 1 - i / a->n_heads, end = tile_end(&call, tile);
    for (int64_t row = tile * QUERY_ROWS; row < end;) {
      piece p = piece_at(&call, row, end);
      piece_forward(&call, &p, i % a->n_heads, &scratch);
      row += p.n_rows;
    }
  }
}

/* Query heads [h_begin, h_end) of one query tile. */
static void query_tile_backward(const attention_call *call, int64_t tile, int64_t h_begin,
                                int64_t h_end, const backward_share *share,
                                const attention_scratch *scratch) {
  int64_t end = tile_end(call, tile);
  for (int64_t row = tile * QUERY_ROWS; row < end;) {
    piece p = piece_at(call, row, end);
    for (int64_t h = h_begin; h < h_end; h++)
      piece_backward(call, &p, h, share, scratch);
    row += p.n_rows;
  }
}

/* dK and dV, and with `queries` dQ too, in n_parts tasks per K/V head. */
static void key_side_backward(weir_device *device, const attention_call *call, int64_t n_parts,
                              bool queries) {
  const weir_attention *a = call->attention;
  int64_t group = a->n_heads / a->n_kv_heads, n_tiles = cpu_pieces(call->q.rows, QUERY_ROWS);
#pragma omp parallel for schedule(dynamic, 1) num_threads(device->n_threads)
  for (int64_t i = 0; i < a->n_kv_heads * n_parts; i++) {
    attention_scratch scratch = scratch_of(device, a->head_size);
    const backward_share share = {
        .i_part = i % n_parts, .n_parts = n_parts, .keys = true, .queries = queries};
    int64_t h = i / n_parts * group;
    for (int64_t tile = n_tiles - 1; tile >= 0; tile--)
      query_tile_backward(call, tile, h, h + group, &share, &scratch);
  }
}

/* dQ alone. */
static void query_side_backward(weir_device *device, const attention_call *call) {
  const weir_attention *a = call->attention;
  const backward_share share = {.n_parts = 1, .queries = true};
  int64_t n_tiles = cpu_pieces(call->q.rows, QUERY_ROWS);
#pragma omp parallel for schedule(dynamic, 1) num_threads(device->n_threads)
  for (int64_t i = 0; i < n_tiles * a->n_heads; i++) {
    attention_scratch scratch = scratch_of(device, a->head_size);
    int64_t tile = n_tiles - 1 - i / a->n_heads, h = i % a->n_heads;
    query_tile_backward(call, tile, h, h + 1, &share, &scratch);
  }
}

static void attention_backward(weir_device *device, const weir_attention *a, weir_tensor dq,
                               weir_tensor dk, weir_tensor dv, weir_tensor dout, weir_tensor q,
                               weir_tensor k, weir_tensor v, weir_tensor o, weir_tensor lse) {
  assert_shapes(device, a, q, k, v, o, lse);
  assert_shapes(device, a, dq, dk, dv, dout, lse);
  WEIR_ASSERT(dk.rows, ==, k.rows);
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
  if (a->n_kv_heads >= device->n_threads) {
    key_side_backward(device, &call, 1, true);
  } else {
    key_side_backward(device, &call, cpu_pieces(device->n_threads, a->n_kv_heads), false);
    query_side_backward(device, &call);
  }
}

void weir_cpu_operations_attention(weir_device_operations *operations) {
  operations->attention_forward = attention_forward;
  operations->attention_backward = attention_backward;
}
