/* SPDX-License-Identifier: Apache-2.0
 *
 * Cases of rotary embedding and attention: sequences, windows, soft caps, late chunks. */
#include "support/operation_builder.h"

#include <math.h>

enum { MAX_HALF_HEAD = 64 };

void operation_run_rope(weir_device *d, const operation_case *c, const weir_tensor *t) {
  static double frequencies[MAX_HALF_HEAD + 1][MAX_HALF_HEAD];
  int64_t half = c->head_size / 2;
  for (int64_t j = 0; j < half; j++)
    frequencies[half][j] = pow(10000, -(double)j / (double)half);
  weir_rope rope = {.inverse_frequencies = frequencies[half], .scale = c->scale};
  d->operations->rope(d, t[0], c->head_size, &rope, &c->sequences, c->first_row, c->direction);
}

void operation_rope_cases(void) {
  static const int64_t head_sizes[] = {2, 8, 16, 64, 80, 128};
  for (size_t i_layout = 0; i_layout < COUNT(operation_layouts); i_layout++)
    for (size_t i_size = 0; i_size < COUNT(head_sizes); i_size++) {
      int64_t K = head_sizes[i_size], n_heads = K > 16 ? 1 : 3;
      operation_case *c =
          operation_case_begin("rope", "layout %zu, head size %lld", i_layout, LL(K));
      set_layout(c, &operation_layouts[i_layout]);
      c->head_size = K;
      c->direction = (i_layout + i_size) % 2 ? 1 : -1;
      c->scale = i_size % 3 ? 1 : 1.25;
      tokens(c, "x", operation_layouts[i_layout].n_rows, n_heads * K);
      added(c);
    }
}

static const struct {
  int64_t n_heads, n_kv_heads, head_size;
  double scale;
  int64_t extra_keys; /* beyond the last query */
  call_layout layout;
  int64_t window;
  double softcap;
} attention_shapes[] = {
    {1, 1, 8, 0, 0, {{1}, 0, 1}, 0, 0},
    {1, 1, 8, 0, 0, {{9}, 0, 9}, 0, 0},
    {2, 2, 64, 0, 0, {{1, 1, 1, 1}, 0, 4}, 0, 0},
    {2, 1, 16, 0, 0, {{257}, 0, 257}, 0, 0},
    {4, 4, 16, 0, 0, {{100, 157}, 0, 257}, 0, 0},
    {2, 1, 64, 0, 0, {{300}, 0, 300}, 0, 0},
    {7, 1, 8, 0, 0, {{255, 1, 44}, 0, 300}, 0, 0},
    {14, 2, 8, 0, 0, {{50, 13}, 0, 63}, 0, 0},
    {2, 2, 80, 0, 0, {{130, 20}, 0, 150}, 0, 0},
    {2, 1, 128, 0, 0, {{70, 60}, 0, 130}, 0, 0},
    {4, 2, 16, 0, 0, {{200, 313}, 256, 257}, 0, 0},
    {2, 1, 16, 0, 157, {{513}, 256, 100}, 0, 0},
    {2, 1, 16, 0, 199, {{100, 60, 140}, 37, 64}, 0, 0},
    {3, 3, 16, 0, 0, {{513}, 512, 1}, 0, 0},
    {2, 1, 80, 0, 0, {{300, 1}, 299, 1}, 0, 0},
    {4, 2, 16, 0, 0, {{200, 1, 312, 187}, 0, 700}, 0, 0},
    {2, 1, 16, 1, 0, {{90, 210}, 0, 300}, 0, 0}, /* scores to about 16: one key takes all */
    {2, 1, 8, 0, 0, {{9}, 0, 9}, 1, 0},
    {2, 1, 8, 0, 0, {{20}, 0, 20}, 3, 0},
    {2, 2, 16, 0, 0, {{300}, 0, 300}, 300, 0},
    {2, 1, 16, 0, 0, {{300}, 0, 300}, 299, 0},
    {4, 2, 16, 0, 0, {{200, 1, 312, 187}, 0, 700}, 64, 0},
    {2, 1, 16, 0, 0, {{700}, 0, 700}, 128, 0},
    {2, 1, 16, 0, 0, {{700}, 0, 700}, 129, 0},
    {3, 1, 16, 0, 0, {{20, 680}, 0, 700}, 300, 0},
    {2, 1, 16, 0, 157, {{513}, 256, 100}, 31, 0},
    {2, 1, 80, 0, 0, {{300, 1}, 299, 1}, 7, 0},
    {3, 3, 16, 0, 0, {{513}, 512, 1}, 200, 0},
    {2, 1, 8, 0, 0, {{9}, 0, 9}, 0, 2},
    {4, 2, 16, 1, 0, {{90, 210}, 0, 300}, 0, 8},
    {2, 1, 16, 0, 0, {{100, 200}, 37, 163}, 50, 50},
    {2, 2, 80, 0.5, 0, {{150}, 0, 150}, 40, 5},
};

weir_attention operation_attention(const operation_case *c) {
  return (weir_attention){.n_heads = c->n_heads,
                          .n_kv_heads = c->n_kv_heads,
                          .head_size = c->head_size,
                          .scale = c->scale,
                          .sequences = &c->sequences,
                          .first_row = c->first_row,
                          .window = c->window,
                          .softcap = c->softcap};
}

void operation_run_attention_forward(weir_device *d, const operation_case *c,
                                     const weir_tensor *t) {
  weir_attention attention = operation_attention(c);
  d->operations->attention_forward(d, &attention, t[0], t[1], t[2], t[3], t[4]);
}

void operation_run_attention_backward(weir_device *d, const operation_case *c,
                                      const weir_tensor *t) {
  weir_attention attention = operation_attention(c);
  d->operations->attention_backward(d, &attention, t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7],
                                    t[8]);
}

void operation_prepare_attention_backward(weir_device *d, const operation_case *c,
                                          const weir_tensor *t) {
  weir_attention attention = operation_attention(c);
  d->operations->attention_forward(d, &attention, t[7], t[8], t[4], t[5], t[6]);
}

static operation_case *begin_attention(const char *name, size_t i_shape, const char *more) {
  operation_case *c = operation_case_begin(name, "shape %zu%s", i_shape, more);
  c->n_heads = attention_shapes[i_shape].n_heads;
  c->n_kv_heads = attention_shapes[i_shape].n_kv_heads;
  c->head_size = attention_shapes[i_shape].head_size;
  c->window = attention_shapes[i_shape].window;
  c->softcap = attention_shapes[i_shape].softcap;
  double scale = attention_shapes[i_shape].scale;
  c->scale = scale > 0 ? scale : 1 / sqrt((double)c->head_size);
  set_layout(c, &attention_shapes[i_shape].layout);
  return c;
}

void operation_attention_cases(void) {
  for (size_t i_shape = 0; i_shape < COUNT(attention_shapes); i_shape++) {
    operation_case *c = begin_attention("attention_forward", i_shape, "");
    int64_t C = attention_shapes[i_shape].layout.n_rows;
    int64_t n_keys = c->first_row + C + attention_shapes[i_shape].extra_keys;
    int64_t q_cols = c->n_heads * c->head_size, k_cols = c->n_kv_heads * c->head_size;
    tokens(c, "o", C, q_cols);
    made(c);
    tokens(c, "lse", C, c->n_heads);
    made(c);
    tokens(c, "q", C, q_cols);
    keys(c, "k", n_keys, k_cols);
    keys(c, "v", n_keys, k_cols);

    for (int aliased = 0; aliased < 2; aliased++) {
      c = begin_attention("attention_backward", i_shape, aliased ? ", dq in dout" : "");
      tokens(c, "dq", C, q_cols);
      made(c);
      keys(c, "dk", n_keys, k_cols);
      added(c);
      keys(c, "dv", n_keys, k_cols);
      added(c);
      tokens(c, "dout", C, q_cols);
      tokens(c, "q", C, q_cols);
      keys(c, "k", n_keys, k_cols);
      keys(c, "v", n_keys, k_cols);
      tokens(c, "o", C, q_cols);
      tokens(c, "lse", C, c->n_heads);
      if (aliased) alias(c, "dq", "dout");
    }
  }
}
