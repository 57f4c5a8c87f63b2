/* SPDX-License-Identifier: Apache-2.0
 *
 * Operands stand in the order of the operation's arguments, so `run` reads like the call in a step.
 * Operands after the arguments are what `prepare` makes others from. */
#include "support/operation_cases.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CASES = 1024 };
static operation_case cases[MAX_CASES];
static int n_cases_built;

/* ---- building ---- */

__attribute__((format(printf, 2, 3))) static operation_case *begin(const char *operation_name,
                                                                   const char *format, ...) {
  WEIR_ASSERT(n_cases_built, <, MAX_CASES);
  operation_case *c = &cases[n_cases_built++];
  *c = (operation_case){.epsilon = 1e-5, .direction = 1, .scale = 1};
  for (int i = 0; i < OPERATION_COUNT; i++)
    if (strcmp(operations[i].name, operation_name) == 0) c->operation = &operations[i];
  WEIR_ASSERT(c->operation != NULL, ==, true);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(c->name, sizeof c->name, format, arguments);
  va_end(arguments);
  return c;
}

static void append(operation_case *c, operation_operand operand) {
  WEIR_ASSERT(c->n_operands, <, MAX_OPERANDS);
  c->operands[c->n_operands++] = operand;
}

static void absent(operation_case *c) {
  append(c, (operation_operand){0});
}

/* Tokens by columns, seen chunk by chunk. */
static void tokens(operation_case *c, const char *name, int64_t rows, int64_t cols) {
  c->n_rows = rows;
  append(c, (operation_operand){.name = name, .rows = rows, .cols = cols, .split = SPLIT_ROWS});
}

/* One number per token. */
static void per_token(operation_case *c, const char *name, int64_t n, operand_fill fill) {
  c->n_rows = n;
  append(c, (operation_operand){
                .name = name, .rows = 1, .cols = n, .split = SPLIT_COLS, .fill = fill});
}

static void token_ids(operation_case *c, const char *name, int64_t n, operand_fill fill,
                      int64_t bound) {
  per_token(c, name, n, fill);
  c->operands[c->n_operands - 1].type = OPERAND_I32;
  c->operands[c->n_operands - 1].bound = bound;
}

/* A weight, table or other tensor that every chunk sees whole. */
static void whole(operation_case *c, const char *name, int64_t rows, int64_t cols,
                  operand_fill fill) {
  append(c, (operation_operand){.name = name, .rows = rows, .cols = cols, .fill = fill});
}

static void whole_f64(operation_case *c, const char *name, int64_t cols, operand_fill fill) {
  whole(c, name, 1, cols, fill);
  c->operands[c->n_operands - 1].type = OPERAND_F64;
}

/* Keys and values: those of the tokens up to the last query are enough. */
static void keys(operation_case *c, const char *name, int64_t rows, int64_t cols) {
  append(c, (operation_operand){.name = name, .rows = rows, .cols = cols, .split = SPLIT_PREFIX});
}

/* The operand just appended is written: added to, or made afresh. */
static void added(operation_case *c) {
  c->operands[c->n_operands - 1].output = true;
}

static void made(operation_case *c) {
  added(c);
  c->operands[c->n_operands - 1].fill = FILL_UNSET;
}

static void made_or_added(operation_case *c) {
  if (c->accumulate)
    added(c);
  else
    made(c);
}

/* Operand `name` lies in the memory of operand `alias`. */
static void alias(operation_case *c, const char *name, const char *alias_name) {
  for (int i = 0; i < c->n_operands && alias_name; i++)
    if (c->operands[i].name && strcmp(c->operands[i].name, name) == 0)
      c->operands[i].alias = alias_name;
}

typedef struct call_layout {
  int64_t lengths[MAX_SEQUENCES]; /* of the sequences; 0 ends */
  int64_t first_row, n_rows;      /* of the call */
} call_layout;

static void set_layout(operation_case *c, const call_layout *layout) {
  int64_t n = 0;
  for (; n < MAX_SEQUENCES && layout->lengths[n]; n++)
    c->offsets[n + 1] = c->offsets[n] + layout->lengths[n];
  c->sequences = (weir_sequences){c->offsets[n], n, c->offsets};
  c->first_row = layout->first_row;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define LL(x)        (long long)(x)

static const int64_t row_counts[] = {1, 5, 255, 256, 257, 513, 700};

/* ---- memory, tables ---- */

static void run_zero(weir_device *d, const operation_case *c, const weir_tensor *t) {
  (void)c;
  d->operations->zero(d, t[0]);
}

static void run_copy(weir_device *d, const operation_case *c, const weir_tensor *t) {
  (void)c;
  d->operations->copy(d, t[0], t[1]);
}

static void run_add(weir_device *d, const operation_case *c, const weir_tensor *t) {
  (void)c;
  d->operations->add(d, t[0], t[1]);
}

static void run_round(weir_device *d, const operation_case *c, const weir_tensor *t) {
  (void)c;
  d->operations->round(d, t[0], t[1]);
}

/* To bf16 go any numbers, from bf16 come those it can hold; every other rounding is in place. */
static void memory_cases(const char *name, operand_type dst, operand_type src) {
  for (size_t i_rows = 0; i_rows < COUNT(row_counts); i_rows++) {
    int64_t N = row_counts[i_rows];
    operation_case *c = begin(name, "%lld x 37, types %d, %d", LL(N), (int)dst, (int)src);
    tokens(c, "dst", N, 37);
    c->operands[0].type = dst;
    if (strcmp(name, "copy") == 0 || strcmp(name, "round") == 0)
      made(c);
    else
      added(c);
    if (strcmp(name, "zero") == 0) continue;
    tokens(c, "src", N, 37);
    if (strcmp(name, "round") == 0 && i_rows % 2) alias(c, "dst", "src");
    c->operands[1].type = src;
    if (src != OPERAND_BF16) continue;
    c->operands[1].fill = FILL_IDS;
    c->operands[1].bound = 200;
  }
}

static void run_embedding_forward(weir_device *d, const operation_case *c, const weir_tensor *t) {
  d->operations->embedding_forward(d, t[0], t[1], t[2], c->accumulate);
}

static void run_embedding_backward(weir_device *d, const operation_case *c, const weir_tensor *t) {
  (void)c;
  d->operations->embedding_backward(d, t[0], t[1], t[2]);
}

static void embedding_cases(void) {
  for (size_t i_rows = 0; i_rows < COUNT(row_counts); i_rows++)
    for (int accumulate = 0; accumulate < 2; accumulate++) {
      int64_t C = row_counts[i_rows];
      operation_case *c = begin("embedding_forward", "%lld x 19, accumulate %d", LL(C), accumulate);
      c->accumulate = accumulate;
      tokens(c, "x", C, 19);
      made_or_added(c);
      whole(c, "table", 41, 19, FILL_NORMAL);
      token_ids(c, "ids", C, FILL_IDS, 41);
    }
  for (size_t i_rows = 0; i_rows < COUNT(row_counts); i_rows++) {
    int64_t C = row_counts[i_rows];
    operation_case *c = begin("embedding_backward", "%lld x 19", LL(C));
    whole(c, "dtable", 41, 19, FILL_NORMAL);
    added(c);
    tokens(c, "dx", C, 19);
    token_ids(c, "ids", C, FILL_IDS, 41);
  }
}

static const call_layout layouts[] = {
    {{1}, 0, 1},
    {{9}, 3, 4},
    {{257}, 0, 257},
    {{1, 1, 1, 5}, 0, 8},
    {{255, 1, 44}, 0, 300},
    {{100, 60, 140}, 37, 101},
    {{200, 313}, 256, 257},
    {{200, 1, 312, 187}, 0, 700},
};

static void run_position_forward(weir_device *d, const operation_case *c, const weir_tensor *t) {
  d->operations->position_forward(d, t[0], t[1], &c->sequences, c->first_row);
}

static void run_position_backward(weir_device *d, const operation_case *c, const weir_tensor *t) {
  d->operations->position_backward(d, t[0], t[1], &c->sequences, c->first_row);
}

static void position_cases(const char *name, bool is_forward) {
  for (size_t i_layout = 0; i_layout < COUNT(layouts); i_layout++) {
    const call_layout *layout = &layouts[i_layout];
    operation_case *c = begin(name, "layout %zu", i_layout);
    set_layout(c, layout);
    if (is_forward) {
      tokens(c, "x", layout->n_rows, 23);
      added(c);
      whole(c, "table", c->sequences.n_tokens + 3, 23, FILL_NORMAL);
    } else {
      whole(c, "dtable", c->sequences.n_tokens + 3, 23, FILL_NORMAL);
      added(c);
      tokens(c, "dx", layout->n_rows, 23);
    }
  }
}

/* ---- norms ---- */

static const struct {
  int64_t rows, cols;
} norm_shapes[] = {{1, 1},   {1, 16},   {5, 17},   {255, 64}, {256, 80},
                   {257, 8}, {300, 33}, {513, 40}, {70, 128}, {700, 1}};

static void run_norm_forward(weir_device *d, const operation_case *c, const weir_tensor *t) {
  d->operations->norm_forward(d, c->norm_kind, c->epsilon, t[0], t[1], t[2], t[3]);
}

static void norm_forward_case(int64_t N, int64_t D, bool is_layer, const char *y_alias) {
  operation_case *c = begin("norm_forward", "%s %lld x %lld, y in %s", is_layer ? "layer" : "rms",
                            LL(N), LL(D), y_alias ? y_alias : "y");
  c->norm_kind = is_layer ? WEIR_NORM_LAYER : WEIR_NORM_RMS;
  tokens(c, "y", N, D);
  made(c);
  tokens(c, "x", N, D);
  whole(c, "w", 1, D, FILL_WEIGHT);
  if (is_layer)
    whole(c, "b", 1, D, FILL_NORMAL);
  else
    absent(c);
  alias(c, "y", y_alias);
}

static void run_norm_backward(weir_device *d, const operation_case *c, const weir_tensor *t) {
  d->operations->norm_backward(d, c->norm_kind, c->epsilon, t[0], t[1], t[2], t[3], t[4], t[5],
                               c->accumulate);
}

static void norm_backward_case(int64_t N, int64_t D, bool is_layer, bool wants_dw, bool accumulate,
                               const char *dx_alias) {
  operation_case *c = begin("norm_backward", "%s %lld x %lld%s%s, dx in %s",
                            is_layer ? "layer" : "rms", LL(N), LL(D), wants_dw ? "" : ", no dw",
                            accumulate ? ", accumulate" : "", dx_alias ? dx_alias : "dx");
  c->norm_kind = is_layer ? WEIR_NORM_LAYER : WEIR_NORM_RMS;
  c->accumulate = accumulate;
  tokens(c, "dx", N, D);
  made_or_added(c);
  for (int bias = 0; bias < 2; bias++) {
    if (wants_dw && (!bias || is_layer)) {
      whole(c, bias ? "db" : "dw", 1, D, FILL_NORMAL);
      added(c);
    } else {
      absent(c);
    }
  }
  tokens(c, "dy", N, D);
  tokens(c, "x", N, D);
  whole(c, "w", 1, D, FILL_WEIGHT);
  alias(c, "dx", dx_alias);
}

static void norm_cases(void) {
  static const char *const forward_aliases[] = {NULL, "x"};
  static const char *const backward_aliases[] = {NULL, "dy", "x"};
  for (size_t i_shape = 0; i_shape < COUNT(norm_shapes); i_shape++)
    for (int is_layer = 0; is_layer < 2; is_layer++) {
      int64_t N = norm_shapes[i_shape].rows, D = norm_shapes[i_shape].cols;
      if (D == 1 && is_layer) continue; /* nothing but the bias is left */
      for (size_t i_alias = 0; i_alias < COUNT(forward_aliases); i_alias++)
        norm_forward_case(N, D, is_layer, forward_aliases[i_alias]);
      for (size_t i_alias = 0; i_alias < COUNT(backward_aliases); i_alias++)
        norm_backward_case(N, D, is_layer, true, false, backward_aliases[i_alias]);
      norm_backward_case(N, D, is_layer, true, true, NULL);
      norm_backward_case(N, D, is_layer, false, N % 2, NULL);
    }
}

/* ---- products ---- */

static const struct {
  int64_t rows, inputs, outputs;
} linear_shapes[] = {{1, 1, 1},      {1, 7, 130},     {3, 64, 1},     {5, 1, 33},
                     {255, 48, 17},  {256, 64, 96},   {257, 16, 8},   {513, 33, 65},
                     {700, 130, 70}, {300, 140, 260}, {513, 1030, 9}, {520, 9, 1030}};

static void run_linear_forward(weir_device *d, const operation_case *c, const weir_tensor *t) {
  d->operations->linear_forward(d, t[0], t[1], t[2], t[3], c->accumulate);
}

static void run_linear_backward_input(weir_device *d, const operation_case *c,
                                      const weir_tensor *t) {
  d->operations->linear_backward_input(d, t[0], t[1], t[2], c->accumulate);
}

static void run_linear_backward_weight(weir_device *d, const operation_case *c,
                                       const weir_tensor *t) {
  (void)c;
  d->operations->linear_backward_weight(d, t[0], t[1], t[2], t[3]);
}

static void linear_forward_cases(int64_t N, int64_t I, int64_t O) {
  for (int variant = 0; variant < 4; variant++) {
    bool has_bias = variant & 1, accumulate = variant & 2;
    operation_case *c = begin("linear_forward", "%lld x %lld to %lld%s%s", LL(N), LL(I), LL(O),
                              has_bias ? ", bias" : "", accumulate ? ", accumulate" : "");
    c->accumulate = accumulate;
    tokens(c, "y", N, O);
    made_or_added(c);
    tokens(c, "x", N, I);
    whole(c, "w", O, I, FILL_NORMAL);
    if (has_bias)
      whole(c, "b", 1, O, FILL_NORMAL);
    else
      absent(c);
  }
}

static void linear_backward_cases(int64_t N, int64_t I, int64_t O) {
  for (int variant = 0; variant < 2; variant++) {
    operation_case *c = begin("linear_backward_input", "%lld x %lld to %lld%s", LL(N), LL(I), LL(O),
                              variant ? ", accumulate" : "");
    c->accumulate = variant;
    tokens(c, "dx", N, I);
    made_or_added(c);
    tokens(c, "dy", N, O);
    whole(c, "w", O, I, FILL_NORMAL);

    c = begin("linear_backward_weight", "%lld x %lld to %lld%s", LL(N), LL(I), LL(O),
              variant ? ", bias" : "");
    whole(c, "dw", O, I, FILL_NORMAL);
    added(c);
    if (variant) {
      whole(c, "db", 1, O, FILL_NORMAL);
      added(c);
    } else {
      absent(c);
    }
    tokens(c, "dy", N, O);
    tokens(c, "x", N, I);
  }
}

static void linear_cases(void) {
  for (size_t i_shape = 0; i_shape < COUNT(linear_shapes); i_shape++) {
    int64_t N = linear_shapes[i_shape].rows, I = linear_shapes[i_shape].inputs;
    int64_t O = linear_shapes[i_shape].outputs;
    linear_forward_cases(N, I, O);
    linear_backward_cases(N, I, O);
  }
}

/* ---- attention ---- */

enum { MAX_HALF_HEAD = 64 };

static void run_rope(weir_device *d, const operation_case *c, const weir_tensor *t) {
  static double frequencies[MAX_HALF_HEAD + 1][MAX_HALF_HEAD];
  int64_t half = c->head_size / 2;
  for (int64_t j = 0; j < half; j++)
    frequencies[half][j] = pow(10000, -(double)j / (double)half);
  weir_rope rope = {.inverse_frequencies = frequencies[half], .scale = c->scale};
  d->operations->rope(d, t[0], c->head_size, &rope, &c->sequences, c->first_row, c->direction);
}

static void rope_cases(void) {
  static const int64_t head_sizes[] = {2, 8, 16, 64, 80, 128};
  for (size_t i_layout = 0; i_layout < COUNT(layouts); i_layout++)
    for (size_t i_size = 0; i_size < COUNT(head_sizes); i_size++) {
      int64_t K = head_sizes[i_size], n_heads = K > 16 ? 1 : 3;
      operation_case *c = begin("rope", "layout %zu, head size %lld", i_layout, LL(K));
      set_layout(c, &layouts[i_layout]);
      c->head_size = K;
      c->direction = (i_layout + i_size) % 2 ? 1 : -1;
      c->scale = i_size % 3 ? 1 : 1.25;
      tokens(c, "x", layouts[i_layout].n_rows, n_heads * K);
      added(c);
    }
}

static const struct {
  int64_t n_heads, n_kv_heads, head_size;
  double scale;
  int64_t extra_keys; /* beyond the last query */
  call_layout layout;
  int64_t window;
} attention_shapes[] = {
    {1, 1, 8, 0, 0, {{1}, 0, 1}, 0},
    {1, 1, 8, 0, 0, {{9}, 0, 9}, 0},
    {2, 2, 64, 0, 0, {{1, 1, 1, 1}, 0, 4}, 0},
    {2, 1, 16, 0, 0, {{257}, 0, 257}, 0},
    {4, 4, 16, 0, 0, {{100, 157}, 0, 257}, 0},
    {2, 1, 64, 0, 0, {{300}, 0, 300}, 0},
    {7, 1, 8, 0, 0, {{255, 1, 44}, 0, 300}, 0},
    {14, 2, 8, 0, 0, {{50, 13}, 0, 63}, 0},
    {2, 2, 80, 0, 0, {{130, 20}, 0, 150}, 0},
    {2, 1, 128, 0, 0, {{70, 60}, 0, 130}, 0},
    {4, 2, 16, 0, 0, {{200, 313}, 256, 257}, 0},
    {2, 1, 16, 0, 157, {{513}, 256, 100}, 0},
    {2, 1, 16, 0, 199, {{100, 60, 140}, 37, 64}, 0},
    {3, 3, 16, 0, 0, {{513}, 512, 1}, 0},
    {2, 1, 80, 0, 0, {{300, 1}, 299, 1}, 0},
    {4, 2, 16, 0, 0, {{200, 1, 312, 187}, 0, 700}, 0},
    {2, 1, 16, 1, 0, {{90, 210}, 0, 300}, 0}, /* scores to about 16: one key takes all */
    {2, 1, 8, 0, 0, {{9}, 0, 9}, 1},
    {2, 1, 8, 0, 0, {{20}, 0, 20}, 3},
    {2, 2, 16, 0, 0, {{300}, 0, 300}, 300},
    {2, 1, 16, 0, 0, {{300}, 0, 300}, 299},
    {4, 2, 16, 0, 0, {{200, 1, 312, 187}, 0, 700}, 64},
    {2, 1, 16, 0, 0, {{700}, 0, 700}, 128},
    {2, 1, 16, 0, 0, {{700}, 0, 700}, 129},
    {3, 1, 16, 0, 0, {{20, 680}, 0, 700}, 300},
    {2, 1, 16, 0, 157, {{513}, 256, 100}, 31},
    {2, 1, 80, 0, 0, {{300, 1}, 299, 1}, 7},
    {3, 3, 16, 0, 0, {{513}, 512, 1}, 200},
};

weir_attention operation_attention(const operation_case *c) {
  return (weir_attention){.n_heads = c->n_heads,
                          .n_kv_heads = c->n_kv_heads,
                          .head_size = c->head_size,
                          .scale = c->scale,
                          .sequences = &c->sequences,
                          .first_row = c->first_row,
                          .window = c->window};
}

static void run_attention_forward(weir_device *d, const operation_case *c, const weir_tensor *t) {
  weir_attention attention = operation_attention(c);
  d->operations->attention_forward(d, &attention, t[0], t[1], t[2], t[3], t[4]);
}

static void run_attention_backward(weir_device *d, const operation_case *c, const weir_tensor *t) {
  weir_attention attention = operation_attention(c);
  d->operations->attention_backward(d, &attention, t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7],
                                    t[8]);
}

static void prepare_attention_backward(weir_device *d, const operation_case *c,
                                       const weir_tensor *t) {
  weir_attention attention = operation_attention(c);
  d->operations->attention_forward(d, &attention, t[7], t[8], t[4], t[5], t[6]);
}

static operation_case *begin_attention(const char *name, size_t i_shape, const char *more) {
  operation_case *c = begin(name, "shape %zu%s", i_shape, more);
  c->n_heads = attention_shapes[i_shape].n_heads;
  c->n_kv_heads = attention_shapes[i_shape].n_kv_heads;
  c->head_size = attention_shapes[i_shape].head_size;
  c->window = attention_shapes[i_shape].window;
  double scale = attention_shapes[i_shape].scale;
  c->scale = scale > 0 ? scale : 1 / sqrt((double)c->head_size);
  set_layout(c, &attention_shapes[i_shape].layout);
  return c;
}

static void attention_cases(void) {
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

/* ---- activations ---- */

static void run_activation_forward(weir_device *d, const operation_case *c, const weir_tensor *t) {
  d->operations->activation_forward(d, c->activation, t[0], t[1]);
}

static void run_activation_backward(weir_device *d, const operation_case *c, const weir_tensor *t) {
  d->operations->activation_backward(d, c->activation, t[0], t[1], t[2]);
}

static void run_gated_forward(weir_device *d, const operation_case *c, const weir_tensor *t) {
  d->operations->gated_forward(d, c->activation, t[0], t[1], t[2]);
}

static void run_gated_backward(weir_device *d, const operation_case *c, const weir_tensor *t) {
  d->operations->gated_backward(d, c->activation, t[0], t[1], t[2], t[3], t[4]);
}

/* Operands of one shape, the first n_outputs made; `first` and `second` say where outputs lie. */
static void elementwise_case(const char *name, weir_activation f, int64_t N, int64_t cols,
                             const char *const *operand_names, int n_outputs, const char *first,
                             const char *second) {
  operation_case *c = begin(name, "f %d, %lld x %lld, outputs in %s, %s", (int)f, LL(N), LL(cols),
                            first ? first : "own", second ? second : "own");
  c->activation = f;
  for (int i = 0; operand_names[i]; i++) {
    tokens(c, operand_names[i], N, cols);
    if (i < n_outputs) made(c);
  }
  alias(c, operand_names[0], first);
  if (n_outputs > 1) alias(c, operand_names[1], second);
}

static void activation_cases(void) {
  static const struct {
    const char *operation, *names[6];
    int n_outputs;
    const char *first, *second; /* where the outputs lie */
  } variants[] = {
      {"activation_forward", {"y", "x"}, 1, NULL, NULL},
      {"activation_forward", {"y", "x"}, 1, "x", NULL},
      {"activation_backward", {"dx", "dy", "x"}, 1, NULL, NULL},
      {"activation_backward", {"dx", "dy", "x"}, 1, "dy", NULL},
      {"activation_backward", {"dx", "dy", "x"}, 1, "x", NULL},
      {"gated_forward", {"y", "gate", "up"}, 1, NULL, NULL},
      {"gated_forward", {"y", "gate", "up"}, 1, "gate", NULL},
      {"gated_forward", {"y", "gate", "up"}, 1, "up", NULL},
      {"gated_backward", {"dgate", "dup", "dy", "gate", "up"}, 2, NULL, NULL},
      {"gated_backward", {"dgate", "dup", "dy", "gate", "up"}, 2, "gate", "up"},
      {"gated_backward", {"dgate", "dup", "dy", "gate", "up"}, 2, "gate", NULL},
      {"gated_backward", {"dgate", "dup", "dy", "gate", "up"}, 2, NULL, "up"},
      {"gated_backward", {"dgate", "dup", "dy", "gate", "up"}, 2, "dy", NULL},
      {"gated_backward", {"dgate", "dup", "dy", "gate", "up"}, 2, NULL, "dy"},
      {"gated_backward", {"dgate", "dup", "dy", "gate", "up"}, 2, "dy", "up"},
      {"gated_backward", {"dgate", "dup", "dy", "gate", "up"}, 2, "gate", "dy"},
  };
  static const weir_activation functions[] = {WEIR_ACTIVATION_SILU, WEIR_ACTIVATION_GELU,
                                              WEIR_ACTIVATION_GELU_TANH};
  static const int64_t shapes[][2] = {{1, 1}, {3, 37}, {257, 33}, {513, 16}};
  for (size_t i_variant = 0; i_variant < COUNT(variants); i_variant++)
    for (size_t i_f = 0; i_f < COUNT(functions); i_f++)
      for (size_t i_shape = 0; i_shape < COUNT(shapes); i_shape++)
        elementwise_case(variants[i_variant].operation, functions[i_f], shapes[i_shape][0],
                         shapes[i_shape][1], variants[i_variant].names,
                         variants[i_variant].n_outputs, variants[i_variant].first,
                         variants[i_variant].second);
}

/* ---- head ---- */

static const struct {
  int64_t rows, tile, first_class;
} head_shapes[] = {{1, 1, 0},    {1, 50, 0},   {5, 33, 17},    {255, 31, 0},
                   {256, 64, 1}, {257, 7, 30}, {513, 100, 64}, {300, 257, 0}};

static void run_head_tile(weir_device *d, const operation_case *c, const weir_tensor *t) {
  d->operations->head_tile(d, t[0], t[1], t[2], c->first_class);
}

/* Statistics of the classes before the tile, if any. */
static void prepare_head_tile(weir_device *d, const operation_case *c, const weir_tensor *t) {
  if (c->first_class > 0) d->operations->head_tile(d, t[0], t[3], t[2], 0);
}

static void run_head_finish(weir_device *d, const operation_case *c, const weir_tensor *t) {
  (void)c;
  d->operations->head_finish(d, t[0], t[1], t[2], t[3], t[4]);
}

static void prepare_head_finish(weir_device *d, const operation_case *c, const weir_tensor *t) {
  (void)c;
  d->operations->head_tile(d, t[3], t[5], t[4], 0);
}

static void run_head_gradient(weir_device *d, const operation_case *c, const weir_tensor *t) {
  d->operations->head_gradient(d, t[0], t[1], t[2], t[3], c->first_class);
}

static void prepare_head_gradient(weir_device *d, const operation_case *c, const weir_tensor *t) {
  if (c->first_class > 0) d->operations->head_tile(d, t[1], t[4], t[2], 0);
  d->operations->head_tile(d, t[1], t[0], t[2], c->first_class);
}

static void logits(operation_case *c, const char *name, int64_t rows, int64_t cols,
                   operand_fill fill) {
  if (cols == 0) return;
  tokens(c, name, rows, cols);
  c->operands[c->n_operands - 1].fill = fill;
}

static void statistics(operation_case *c, int64_t rows) {
  tokens(c, "statistics", rows, WEIR_HEAD_COLUMNS);
  c->operands[c->n_operands - 1].fill = FILL_UNSET;
}

static void head_case(int64_t R, int64_t tile, int64_t first_class, operand_fill fill) {
  const char *kind = fill == FILL_EQUAL ? ", ties" : "";
  operation_case *c =
      begin("head_tile", "%lld x %lld at %lld%s", LL(R), LL(tile), LL(first_class), kind);
  c->first_class = first_class;
  statistics(c, R);
  added(c);
  logits(c, "logits", R, tile, fill);
  token_ids(c, "targets", R, FILL_TARGETS, first_class + tile);
  logits(c, "earlier", R, first_class, fill);

  c = begin("head_finish", "%lld x %lld%s", LL(R), LL(tile), kind);
  per_token(c, "logprob", R, FILL_UNSET);
  made(c);
  per_token(c, "entropy", R, FILL_UNSET);
  made(c);
  per_token(c, "correct", R, FILL_UNSET);
  made(c);
  statistics(c, R);
  token_ids(c, "targets", R, FILL_TARGETS, tile);
  logits(c, "logits", R, tile, fill);

  c = begin("head_gradient", "%lld x %lld at %lld%s", LL(R), LL(tile), LL(first_class), kind);
  c->first_class = first_class;
  logits(c, "logits", R, tile, fill);
  added(c);
  statistics(c, R);
  token_ids(c, "targets", R, FILL_TARGETS, first_class + tile);
  per_token(c, "weights", R, FILL_SPARSE);
  c->operands[c->n_operands - 1].type = OPERAND_F64;
  logits(c, "earlier", R, first_class, fill);
}

static void run_token_sums(weir_device *d, const operation_case *c, const weir_tensor *t) {
  (void)c;
  d->operations->token_sums(d, t[0], t[1], t[2], t[3], t[4]);
}

static void head_cases(void) {
  for (size_t i_shape = 0; i_shape < COUNT(head_shapes); i_shape++)
    head_case(head_shapes[i_shape].rows, head_shapes[i_shape].tile,
              head_shapes[i_shape].first_class, FILL_LOGITS);
  head_case(9, 20, 0, FILL_EQUAL);
  for (size_t i_rows = 0; i_rows < COUNT(row_counts); i_rows++) {
    int64_t T = row_counts[i_rows];
    operation_case *c = begin("token_sums", "%lld", LL(T));
    whole_f64(c, "sums", WEIR_SUM_COUNT, FILL_NORMAL);
    added(c);
    whole(c, "logprob", 1, T, FILL_NORMAL);
    whole(c, "entropy", 1, T, FILL_SQUARE);
    whole(c, "correct", 1, T, FILL_EQUAL);
    whole_f64(c, "weights", T, FILL_SPARSE);
  }
}

/* ---- optimizer ---- */

static void run_sum_squares(weir_device *d, const operation_case *c, const weir_tensor *t) {
  (void)c;
  d->operations->sum_squares(d, t[0], t[1]);
}

static void run_clip_factor(weir_device *d, const operation_case *c, const weir_tensor *t) {
  d->operations->clip_factor(d, t[0], t[1], c->max_norm);
}

static void run_adamw(weir_device *d, const operation_case *c, const weir_tensor *t) {
  d->operations->adamw(d, &c->adamw, t[0], t[1], t[2], t[3], t[4]);
}

static void adamw_case(int64_t rows, int64_t cols, weir_adamw adamw) {
  operation_case *c = begin("adamw", "%lld x %lld, step %lld", LL(rows), LL(cols), LL(adamw.step));
  c->adamw = adamw;
  whole(c, "w", rows, cols, FILL_NORMAL);
  added(c);
  whole(c, "m", rows, cols, FILL_NORMAL);
  added(c);
  whole(c, "v", rows, cols, FILL_SQUARE);
  added(c);
  whole(c, "g", rows, cols, FILL_NORMAL);
  whole_f64(c, "factor", 1, FILL_SQUARE);
}

static void optimizer_cases(void) {
  static const int64_t shapes[][2] = {{1, 1}, {1, 37}, {257, 33}, {300, 700}};
  static const weir_adamw settings[] = {
      {.learning_rate = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .step = 1},
      {.learning_rate = 0.1,
       .beta1 = 0.8,
       .beta2 = 0.95,
       .epsilon = 1e-6,
       .weight_decay = 0.1,
       .step = 1000},
  };
  for (size_t i_shape = 0; i_shape < COUNT(shapes); i_shape++) {
    operation_case *c =
        begin("sum_squares", "%lld x %lld", LL(shapes[i_shape][0]), LL(shapes[i_shape][1]));
    whole_f64(c, "sum", 1, FILL_NORMAL);
    added(c);
    whole(c, "x", shapes[i_shape][0], shapes[i_shape][1], FILL_NORMAL);
    for (size_t i_setting = 0; i_setting < COUNT(settings); i_setting++)
      adamw_case(shapes[i_shape][0], shapes[i_shape][1], settings[i_setting]);
  }
  static const double max_norms[] = {-1, 0, 1e-3, 0.5, 1e6};
  for (size_t i_norm = 0; i_norm < COUNT(max_norms); i_norm++) {
    operation_case *c = begin("clip_factor", "max norm %g", max_norms[i_norm]);
    c->max_norm = max_norms[i_norm];
    whole_f64(c, "factor", 1, FILL_UNSET);
    made(c);
    whole_f64(c, "sum", 1, FILL_SQUARE);
  }
}

/* ---- the tables ---- */

const operation_spec operations[OPERATION_COUNT] = {
    {"zero", 0, 0, run_zero, NULL},
    {"copy", 0, 0, run_copy, NULL},
    {"add", 1e-7, 0, run_add, NULL},
    {"round", 0, 0, run_round, NULL},
    {"embedding_forward", 1e-7, 0, run_embedding_forward, NULL},
    {"embedding_backward", 3e-7, 0, run_embedding_backward, NULL},
    {"position_forward", 1e-7, 0, run_position_forward, NULL},
    {"position_backward", 2e-7, 0, run_position_backward, NULL},
    {"norm_forward", 3e-7, 0, run_norm_forward, NULL},
    {"norm_backward", 2e-6, 0.5, run_norm_backward, NULL},
    {"linear_forward", 1e-6, 0, run_linear_forward, NULL},
    {"linear_backward_input", 1e-6, 0, run_linear_backward_input, NULL},
    {"linear_backward_weight", 1e-6, 0, run_linear_backward_weight, NULL},
    {"rope", 2e-7, 0, run_rope, NULL},
    {"attention_forward", 1e-6, 0, run_attention_forward, NULL},
    {"attention_backward", 3e-6, 0.1, run_attention_backward, prepare_attention_backward},
    {"activation_forward", 5e-7, 0, run_activation_forward, NULL},
    {"activation_backward", 5e-7, 0, run_activation_backward, NULL},
    {"gated_forward", 5e-7, 0, run_gated_forward, NULL},
    {"gated_backward", 1e-6, 0, run_gated_backward, NULL},
    {"head_tile", 3e-7, 0, run_head_tile, prepare_head_tile},
    {"head_finish", 1e-7, 1, run_head_finish, prepare_head_finish},
    {"head_gradient", 2e-7, 0.1, run_head_gradient, prepare_head_gradient},
    {"token_sums", 1e-12, 0, run_token_sums, NULL},
    {"sum_squares", 1e-12, 0, run_sum_squares, NULL},
    {"clip_factor", 1e-12, 0, run_clip_factor, NULL},
    {"adamw", 3e-7, 0, run_adamw, NULL},
};

const operation_case *operation_cases(int *n_cases) {
  if (n_cases_built == 0) {
    memory_cases("zero", OPERAND_REAL, OPERAND_REAL);
    memory_cases("copy", OPERAND_REAL, OPERAND_REAL);
    memory_cases("copy", OPERAND_BF16, OPERAND_REAL);
    memory_cases("copy", OPERAND_REAL, OPERAND_BF16);
    memory_cases("add", OPERAND_REAL, OPERAND_REAL);
    memory_cases("round", OPERAND_REAL, OPERAND_REAL);
    embedding_cases();
    position_cases("position_forward", true);
    position_cases("position_backward", false);
    norm_cases();
    linear_cases();
    rope_cases();
    attention_cases();
    activation_cases();
    head_cases();
    optimizer_cases();
  }
  *n_cases = n_cases_built;
  return cases;
}
