/* SPDX-License-Identifier: Apache-2.0
 *
 * Operands stand in the order of the operation's arguments, so `run` reads like the call in a step.
 * Operands after the arguments are what `prepare` makes others from. */
#include "support/operation_builder.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CASES = 1024 };
static operation_case cases[MAX_CASES];
static int n_cases_built;

operation_case *operation_case_begin(const char *operation_name, const char *format, ...) {
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

static void run_scale(weir_device *d, const operation_case *c, const weir_tensor *t) {
  d->operations->scale(d, t[0], c->scale);
}

/* To bf16 go any numbers, from bf16 come those it can hold; every other rounding is in place. */
static void memory_cases(const char *name, operand_type dst, operand_type src) {
  for (size_t i_rows = 0; i_rows < COUNT(row_counts); i_rows++) {
    int64_t N = row_counts[i_rows];
    operation_case *c =
        operation_case_begin(name, "%lld x 37, types %d, %d", LL(N), (int)dst, (int)src);
    tokens(c, "dst", N, 37);
    c->operands[0].type = dst;
    if (strcmp(name, "copy") == 0 || strcmp(name, "round") == 0)
      made(c);
    else
      added(c);
    c->scale = -5.656854249492381;
    if (strcmp(name, "zero") == 0 || strcmp(name, "scale") == 0) continue;
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
      operation_case *c =
          operation_case_begin("embedding_forward", "%lld x 19, accumulate %d", LL(C), accumulate);
      c->accumulate = accumulate;
      tokens(c, "x", C, 19);
      made_or_added(c);
      whole(c, "table", 41, 19, FILL_NORMAL);
      token_ids(c, "ids", C, FILL_IDS, 41);
    }
  for (size_t i_rows = 0; i_rows < COUNT(row_counts); i_rows++) {
    int64_t C = row_counts[i_rows];
    operation_case *c = operation_case_begin("embedding_backward", "%lld x 19", LL(C));
    whole(c, "dtable", 41, 19, FILL_NORMAL);
    added(c);
    tokens(c, "dx", C, 19);
    token_ids(c, "ids", C, FILL_IDS, 41);
  }
}

static void run_position_forward(weir_device *d, const operation_case *c, const weir_tensor *t) {
  d->operations->position_forward(d, t[0], t[1], &c->sequences, c->first_row);
}

static void run_position_backward(weir_device *d, const operation_case *c, const weir_tensor *t) {
  d->operations->position_backward(d, t[0], t[1], &c->sequences, c->first_row);
}

static void position_cases(const char *name, bool is_forward) {
  for (size_t i_layout = 0; i_layout < COUNT(operation_layouts); i_layout++) {
    const call_layout *layout = &operation_layouts[i_layout];
    operation_case *c = operation_case_begin(name, "layout %zu", i_layout);
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

static const struct {
  weir_norm_kind kind;
  const char *name;
} norm_kinds[] = {
    {WEIR_NORM_RMS, "rms"}, {WEIR_NORM_LAYER, "layer"}, {WEIR_NORM_RMS_PLUS_ONE, "rms plus one"}};

static void run_norm_forward(weir_device *d, const operation_case *c, const weir_tensor *t) {
  d->operations->norm_forward(d, c->norm_kind, c->epsilon, t[0], t[1], t[2], t[3], c->accumulate);
}

static void norm_forward_case(int64_t N, int64_t D, size_t i_kind, bool accumulate,
                              const char *y_alias) {
  operation_case *c =
      operation_case_begin("norm_forward", "%s %lld x %lld%s, y in %s", norm_kinds[i_kind].name,
                           LL(N), LL(D), accumulate ? ", accumulate" : "", y_alias ? y_alias : "y");
  c->norm_kind = norm_kinds[i_kind].kind;
  c->accumulate = accumulate;
  tokens(c, "y", N, D);
  made_or_added(c);
  tokens(c, "x", N, D);
  whole(c, "w", 1, D, FILL_WEIGHT);
  if (c->norm_kind == WEIR_NORM_LAYER)
    whole(c, "b", 1, D, FILL_NORMAL);
  else
    absent(c);
  alias(c, "y", y_alias);
}

static void run_norm_backward(weir_device *d, const operation_case *c, const weir_tensor *t) {
  d->operations->norm_backward(d, c->norm_kind, c->epsilon, t[0], t[1], t[2], t[3], t[4], t[5],
                               c->accumulate);
}

static void norm_backward_case(int64_t N, int64_t D, size_t i_kind, bool wants_dw, bool accumulate,
                               const char *dx_alias) {
  operation_case *c = operation_case_begin(
      "norm_backward", "%s %lld x %lld%s%s, dx in %s", norm_kinds[i_kind].name, LL(N), LL(D),
      wants_dw ? "" : ", no dw", accumulate ? ", accumulate" : "", dx_alias ? dx_alias : "dx");
  c->norm_kind = norm_kinds[i_kind].kind;
  c->accumulate = accumulate;
  tokens(c, "dx", N, D);
  made_or_added(c);
  for (int bias = 0; bias < 2; bias++) {
    if (wants_dw && (!bias || c->norm_kind == WEIR_NORM_LAYER)) {
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
  static const char *const backward_aliases[] = {NULL, "dy", "x"};
  for (size_t i_shape = 0; i_shape < COUNT(norm_shapes); i_shape++)
    for (size_t i_kind = 0; i_kind < COUNT(norm_kinds); i_kind++) {
      int64_t N = norm_shapes[i_shape].rows, D = norm_shapes[i_shape].cols;
      if (D == 1 && norm_kinds[i_kind].kind == WEIR_NORM_LAYER) continue; /* the bias is left */
      norm_forward_case(N, D, i_kind, false, NULL);
      norm_forward_case(N, D, i_kind, false, "x");
      norm_forward_case(N, D, i_kind, true, NULL);
      for (size_t i_alias = 0; i_alias < COUNT(backward_aliases); i_alias++)
        norm_backward_case(N, D, i_kind, true, false, backward_aliases[i_alias]);
      norm_backward_case(N, D, i_kind, true, true, NULL);
      norm_backward_case(N, D, i_kind, false, N % 2, NULL);
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
    operation_case *c =
        operation_case_begin("linear_forward", "%lld x %lld to %lld%s%s", LL(N), LL(I), LL(O),
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
    operation_case *c = operation_case_begin("linear_backward_input", "%lld x %lld to %lld%s",
                                             LL(N), LL(I), LL(O), variant ? ", accumulate" : "");
    c->accumulate = variant;
    tokens(c, "dx", N, I);
    made_or_added(c);
    tokens(c, "dy", N, O);
    whole(c, "w", O, I, FILL_NORMAL);

    c = operation_case_begin("linear_backward_weight", "%lld x %lld to %lld%s", LL(N), LL(I), LL(O),
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
  operation_case *c =
      operation_case_begin(name, "f %d, %lld x %lld, outputs in %s, %s", (int)f, LL(N), LL(cols),
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
  d->operations->head_gradient(d, t[0], t[1], t[2], t[3], c->first_class, c->softcap);
}

/* The softmax of all classes up to the tile's, whose logits are capped where the case says so. */
static void prepare_head_gradient(weir_device *d, const operation_case *c, const weir_tensor *t) {
  for (int i = 0; c->softcap > 0 && i < c->n_operands; i++)
    if (strcmp(c->operands[i].name, "logits") == 0 || strcmp(c->operands[i].name, "earlier") == 0)
      d->operations->softcap(d, t[i], c->softcap);
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

static void run_softcap(weir_device *d, const operation_case *c, const weir_tensor *t) {
  d->operations->softcap(d, t[0], c->softcap);
}

static void softcap_case(int64_t R, int64_t cols, double cap) {
  operation_case *c = operation_case_begin("softcap", "%lld x %lld, cap %g", LL(R), LL(cols), cap);
  c->softcap = cap;
  logits(c, "x", R, cols, FILL_LOGITS);
  added(c);
}

static void head_gradient_case(int64_t R, int64_t tile, int64_t first_class, operand_fill fill,
                               double cap) {
  operation_case *c = operation_case_begin("head_gradient", "%lld x %lld at %lld, fill %d, cap %g",
                                           LL(R), LL(tile), LL(first_class), (int)fill, cap);
  c->first_class = first_class;
  c->softcap = cap;
  logits(c, "logits", R, tile, fill);
  added(c);
  statistics(c, R);
  token_ids(c, "targets", R, FILL_TARGETS, first_class + tile);
  per_token(c, "weights", R, FILL_SPARSE);
  c->operands[c->n_operands - 1].type = OPERAND_F64;
  logits(c, "earlier", R, first_class, fill);
}

static void head_case(int64_t R, int64_t tile, int64_t first_class, operand_fill fill) {
  const char *kind = fill == FILL_EQUAL ? ", ties" : "";
  operation_case *c = operation_case_begin("head_tile", "%lld x %lld at %lld%s", LL(R), LL(tile),
                                           LL(first_class), kind);
  c->first_class = first_class;
  statistics(c, R);
  added(c);
  logits(c, "logits", R, tile, fill);
  token_ids(c, "targets", R, FILL_TARGETS, first_class + tile);
  logits(c, "earlier", R, first_class, fill);

  c = operation_case_begin("head_finish", "%lld x %lld%s", LL(R), LL(tile), kind);
  per_token(c, "logprob", R, FILL_UNSET);
  made(c);
  per_token(c, "entropy", R, FILL_UNSET);
  made(c);
  per_token(c, "correct", R, FILL_UNSET);
  made(c);
  statistics(c, R);
  token_ids(c, "targets", R, FILL_TARGETS, tile);
  logits(c, "logits", R, tile, fill);

  head_gradient_case(R, tile, first_class, fill, 0);
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
  static const double caps[] = {0.5, 5, 30};
  for (size_t i_cap = 0; i_cap < COUNT(caps); i_cap++) {
    softcap_case(3, 37, caps[i_cap]);
    softcap_case(257, 100, caps[i_cap]);
    head_gradient_case(5, 33, 17, FILL_LOGITS, caps[i_cap]);
    head_gradient_case(257, 30, 0, FILL_LOGITS, caps[i_cap]);
  }
  for (size_t i_rows = 0; i_rows < COUNT(row_counts); i_rows++) {
    int64_t T = row_counts[i_rows];
    operation_case *c = operation_case_begin("token_sums", "%lld", LL(T));
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
  operation_case *c =
      operation_case_begin("adamw", "%lld x %lld, step %lld", LL(rows), LL(cols), LL(adamw.step));
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
    operation_case *c = operation_case_begin("sum_squares", "%lld x %lld", LL(shapes[i_shape][0]),
                                             LL(shapes[i_shape][1]));
    whole_f64(c, "sum", 1, FILL_NORMAL);
    added(c);
    whole(c, "x", shapes[i_shape][0], shapes[i_shape][1], FILL_NORMAL);
    for (size_t i_setting = 0; i_setting < COUNT(settings); i_setting++)
      adamw_case(shapes[i_shape][0], shapes[i_shape][1], settings[i_setting]);
  }
  static const double max_norms[] = {-1, 0, 1e-3, 0.5, 1e6};
  for (size_t i_norm = 0; i_norm < COUNT(max_norms); i_norm++) {
    operation_case *c = operation_case_begin("clip_factor", "max norm %g", max_norms[i_norm]);
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
    {"scale", 1e-7, 0, run_scale, NULL},
    {"embedding_forward", 1e-7, 0, run_embedding_forward, NULL},
    {"embedding_backward", 3e-7, 0, run_embedding_backward, NULL},
    {"position_forward", 1e-7, 0, run_position_forward, NULL},
    {"position_backward", 2e-7, 0, run_position_backward, NULL},
    {"norm_forward", 3e-7, 0, run_norm_forward, NULL},
    {"norm_backward", 2e-6, 0.5, run_norm_backward, NULL},
    {"linear_forward", 1e-6, 0, run_linear_forward, NULL},
    {"linear_backward_input", 1e-6, 0, run_linear_backward_input, NULL},
    {"linear_backward_weight", 1e-6, 0, run_linear_backward_weight, NULL},
    {"rope", 2e-7, 0, operation_run_rope, NULL},
    {"attention_forward", 1e-6, 0, operation_run_attention_forward, NULL},
    {"attention_backward", 3e-6, 0.1, operation_run_attention_backward,
     operation_prepare_attention_backward},
    {"activation_forward", 5e-7, 0, run_activation_forward, NULL},
    {"activation_backward", 5e-7, 0, run_activation_backward, NULL},
    {"gated_forward", 5e-7, 0, run_gated_forward, NULL},
    {"gated_backward", 1e-6, 0, run_gated_backward, NULL},
    {"softcap", 3e-7, 0, run_softcap, NULL},
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
    memory_cases("scale", OPERAND_REAL, OPERAND_REAL);
    embedding_cases();
    position_cases("position_forward", true);
    position_cases("position_backward", false);
    norm_cases();
    linear_cases();
    operation_rope_cases();
    operation_attention_cases();
    activation_cases();
    head_cases();
    optimizer_cases();
  }
  *n_cases = n_cases_built;
  return cases;
}
