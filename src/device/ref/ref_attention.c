/* SPDX-License-Identifier: Apache-2.0
 *
 * RoPE, and causal attention inside each sequence, one query of one head at a time.  For query i
 * and the keys j it sees, with scores s_j, p_j = exp(s_j - lse) and c_j the derivative of s_j by
 * q.k_j:
 *   o = sum p_j v_j
 *   ds_j = c_j p_j (dout.v_j - dout.o);  dv_j += p_j dout;  dk_j += ds_j q;  dq = sum ds_j k_j
 * Scores are computed again wherever they are needed: nothing of size T is ever held. */
#include "device/ref/ref_operations.h"

#include <math.h>

static void rope(weir_device *device, weir_tensor x, int64_t head_size, const weir_rope *rope,
                 const weir_sequences *sequences, int64_t first_row, int direction) {
  int64_t half = head_size / 2;
  REF_ASSERT_SHAPE(x, device->real, x.rows, x.cols / head_size * head_size);
  WEIR_ASSERT(head_size, ==, 2 * half);
  WEIR_ASSERT(first_row + x.rows, <=, sequences->n_tokens);
  WEIR_ASSERT(direction * direction, ==, 1);
  for (int64_t c = 0; c < x.rows; c++) {
    int64_t token = first_row + c, position = token - weir_sequences_begin(sequences, token);
    for (double *head = ref_row(x, c); head < ref_row(x, c + 1); head += head_size) {
      for (int64_t j = 0; j < half; j++) {
        double angle = (double)position * rope->inverse_frequencies[j];
        double cosine = cos(angle) * rope->scale, sine = direction * sin(angle) * rope->scale;
        double a = head[j], b = head[j + half];
        head[j] = a * cosine - b * sine;
        head[j + half] = b * cosine + a * sine;
      }
    }
  }
}

static void assert_shapes(weir_device *device, const weir_attention *a, weir_tensor q,
                          weir_tensor k, weir_tensor v, weir_tensor o, weir_tensor lse) {
  WEIR_ASSERT(a->n_heads % a->n_kv_heads, ==, 0);
  WEIR_ASSERT(a->first_row + q.rows, <=, k.rows);
  WEIR_ASSERT(a->first_row + q.rows, <=, a->sequences->n_tokens);
  REF_ASSERT_SHAPE(q, device->real, q.rows, a->n_heads * a->head_size);
  REF_ASSERT_SHAPE(k, device->real, k.rows, a->n_kv_heads * a->head_size);
  REF_ASSERT_SHAPE(v, device->real, k.rows, a->n_kv_heads * a->head_size);
  REF_ASSERT_SHAPE(o, device->real, q.rows, a->n_heads * a->head_size);
  REF_ASSERT_SHAPE(lse, device->real, q.rows, a->n_heads);
}

/* Row `row` of query head h, in q, o and their gradients. */
static double *query_head(const weir_attention *a, weir_tensor q, int64_t row, int64_t h) {
  return ref_row(q, row) + h * a->head_size;
}

/* Row `token` of the K/V head that query head h reads, in k, v and their gradients. */
static double *key_head(const weir_attention *a, weir_tensor k, int64_t token, int64_t h) {
  return ref_row(k, token) + h / (a->n_heads / a->n_kv_heads) * a->head_size;
}

/* The score of a key, and in *slope its derivative by q.k. */
static double score(const weir_attention *a, const double *query, const double *key,
                    double *slope) {
  double s = a->scale * ref_dot(query, key, a->head_size);
  *slope = a->scale;
  if (a->softcap == 0) return s;
  double t = tanh(s / a->softcap);
  *slope *= 1 - t * t;
  return a->softcap * t;
}

static void attend(const weir_attention *a, int64_t row, int64_t h, weir_tensor o, weir_tensor lse,
                   weir_tensor q, weir_tensor k, weir_tensor v) {
  int64_t K = a->head_size, token = a->first_row + row;
  int64_t begin = weir_sequences_first_key(a->sequences, token, a->window);
  const double *query = query_head(a, q, row, h);
  double *out = query_head(a, o, row, h), largest = -INFINITY, sum = 0, slope;
  for (int64_t j = begin; j <= token; j++)
    largest = fmax(largest, score(a, query, key_head(a, k, j, h), &slope));
  for (int64_t j = begin; j <= token; j++)
    sum += exp(score(a, query, key_head(a, k, j, h), &slope) - largest);
  double log_sum_exp = largest + log(sum);
  for (int64_t i = 0; i < K; i++)
    out[i] = 0;
  for (int64_t j = begin; j <= token; j++) {
    double p = exp(score(a, query, key_head(a, k, j, h), &slope) - log_sum_exp);
    ref_add_scaled(out, p, key_head(a, v, j, h), K);
  }
  ref_row(lse, row)[h] = log_sum_exp;
}

static void attention_forward(weir_device *device, const weir_attention *attention, weir_tensor o,
                              weir_tensor lse, weir_tensor q, weir_tensor k, weir_tensor v) {
  assert_shapes(device, attention, q, k, v, o, lse);
  for (int64_t row = 0; row < q.rows; row++)
    for (int64_t h = 0; h < attention->n_heads; h++)
      attend(attention, row, h, o, lse, q, k, v);
}

/* dq is gathered in scratch [K], because it may alias dout, which every key needs. */
static void attend_backward(const weir_attention *a, int64_t row, int64_t h, double *scratch,
                            weir_tensor dq, weir_tensor dk, weir_tensor dv, weir_tensor dout,
                            weir_tensor q, weir_tensor k, weir_tensor v, weir_tensor o,
                            weir_tensor lse) {
  int64_t K = a->head_size, token = a->first_row + row;
  int64_t begin = weir_sequences_first_key(a->sequences, token, a->window);
  const double *query = query_head(a, q, row, h), *g = query_head(a, dout, row, h);
  double delta = ref_dot(g, query_head(a, o, row, h), K);
  for (int64_t i = 0; i < K; i++)
    scratch[i] = 0;
  for (int64_t j = begin; j <= token; j++) {
    const double *key = key_head(a, k, j, h);
    double slope, p = exp(score(a, query, key, &slope) - ref_row(lse, row)[h]);
    double ds = slope * p * (ref_dot(g, key_head(a, v, j, h), K) - delta);
    ref_add_scaled(key_head(a, dv, j, h), p, g, K);
    ref_add_scaled(key_head(a, dk, j, h), ds, query, K);
    ref_add_scaled(scratch, ds, key, K);
  }
  for (int64_t i = 0; i < K; i++)
    query_head(a, dq, row, h)[i] = scratch[i];
}

static void attention_backward(weir_device *device, const weir_attention *attention, weir_tensor dq,
                               weir_tensor dk, weir_tensor dv, weir_tensor dout, weir_tensor q,
                               weir_tensor k, weir_tensor v, weir_tensor o, weir_tensor lse) {
  assert_shapes(device, attention, q, k, v, o, lse);
  assert_shapes(device, attention, dq, dk, dv, dout, lse);
  WEIR_ASSERT(dk.rows, ==, k.rows);
  WEIR_ASSERT(attention->head_size * 8, <=, weir_tensor_bytes(device->workspace));
  for (int64_t i = 0; i < q.rows; i++)
    for (int64_t h = 0; h < attention->n_heads; h++)
      attend_backward(attention, ref_row_in_sum_order(i, q.rows), h,
                      weir_tensor_data(device->workspace), dq, dk, dv, dout, q, k, v, o, lse);
}

void weir_ref_operations_attention(weir_device_operations *operations) {
  operations->rope = rope;
  operations->attention_forward = attention_forward;
  operations->attention_backward = attention_backward;
}
