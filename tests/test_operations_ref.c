/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference device by itself: every backward operation is the derivative of its forward one, by
 * signed central differences, coordinate by coordinate in f64; what has no derivative is what its
 * definition says; chunks of rows are the whole call, and packed sequences are separate ones. */
#include "device/ref/ref.h"
#include "support/operation_cases.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static operation_bench bench;

/* ---- differences ---- */

enum { MAX_ROWS = 9, MAX_VALUES = 1000 };
static const double step = 1e-5, tolerance = 1e-7;

static weir_tensor scratch(int64_t rows, int64_t cols) {
  return weir_tensor_allocate(&bench.arena, WEIR_MEMORY_ACTIVATIONS, WEIR_DTYPE_F64, rows, cols);
}

static double inner_product(weir_tensor a, weir_tensor b) {
  double sum = 0;
  const double *left = weir_tensor_data(a), *right = weir_tensor_data(b);
  for (int64_t i = 0; i < weir_tensor_count(a); i++)
    sum += left[i] * right[i];
  return sum;
}

/* Each loss is the inner product of the forward result with the gradient that backward is given,
 * over the operands of the backward case.  What a gradient is added to serves as the point where it
 * is taken: dw before the operation as w, and so on. */
static double embedding_loss(weir_device *d, const operation_case *c, const weir_tensor *t) {
  (void)c;
  weir_tensor x = scratch(t[1].rows, t[1].cols);
  d->operations->embedding_forward(d, x, t[0], t[2], false);
  return inner_product(x, t[1]);
}

static double position_loss(weir_device *d, const operation_case *c, const weir_tensor *t) {
  weir_tensor x = scratch(t[1].rows, t[1].cols);
  d->operations->zero(d, x);
  d->operations->position_forward(d, x, t[0], &c->sequences, c->first_row);
  return inner_product(x, t[1]);
}

static double norm_loss(weir_device *d, const operation_case *c, const weir_tensor *t) {
  weir_tensor y = scratch(t[4].rows, t[4].cols), b = t[2];
  if (c->norm_kind == WEIR_NORM_LAYER && !weir_tensor_exists(b)) {
    b = scratch(1, t[4].cols);
    d->operations->zero(d, b);
  }
  d->operations->norm_forward(d, c->norm_kind, c->epsilon, y, t[4], t[5], b, false);
  return inner_product(y, t[3]);
}

static double linear_input_loss(weir_device *d, const operation_case *c, const weir_tensor *t) {
  (void)c;
  weir_tensor y = scratch(t[1].rows, t[1].cols);
  d->operations->linear_forward(d, y, t[0], t[2], (weir_tensor){0}, false);
  return inner_product(y, t[1]);
}

static double linear_weight_loss(weir_device *d, const operation_case *c, const weir_tensor *t) {
  (void)c;
  weir_tensor y = scratch(t[2].rows, t[2].cols);
  d->operations->linear_forward(d, y, t[3], t[0], t[1], false);
  return inner_product(y, t[2]);
}

static double attention_loss(weir_device *d, const operation_case *c, const weir_tensor *t) {
  weir_attention attention = operation_attention(c);
  weir_tensor o = scratch(t[7].rows, t[7].cols), lse = scratch(t[8].rows, t[8].cols);
  d->operations->attention_forward(d, &attention, o, lse, t[4], t[5], t[6]);
  return inner_product(o, t[3]);
}

static double activation_loss(weir_device *d, const operation_case *c, const weir_tensor *t) {
  weir_tensor y = scratch(t[2].rows, t[2].cols);
  d->operations->activation_forward(d, c->activation, y, t[2]);
  return inner_product(y, t[1]);
}

static double gated_loss(weir_device *d, const operation_case *c, const weir_tensor *t) {
  weir_tensor y = scratch(t[3].rows, t[3].cols);
  d->operations->gated_forward(d, c->activation, y, t[3], t[4]);
  return inner_product(y, t[2]);
}

static double head_loss(weir_device *d, const operation_case *c, const weir_tensor *t) {
  int64_t R = t[0].rows;
  weir_tensor statistics = scratch(R, WEIR_HEAD_COLUMNS), logprob = scratch(1, R);
  if (c->first_class > 0) d->operations->head_tile(d, statistics, t[4], t[2], 0);
  d->operations->head_tile(d, statistics, t[0], t[2], c->first_class);
  d->operations->head_finish(d, logprob, scratch(1, R), scratch(1, R), statistics, t[2]);
  return inner_product(logprob, t[3]);
}

typedef struct derivative_spec {
  const char *operation;
  double (*loss)(weir_device *d, const operation_case *c, const weir_tensor *t);
  struct {
    const char *input, *gradient;
  } pairs[4];
  bool in_place; /* the gradient replaces the input */
} derivative_spec;

static const derivative_spec derivatives[] = {
    {"embedding_backward", embedding_loss, {{"dtable", "dtable"}}, false},
    {"position_backward", position_loss, {{"dtable", "dtable"}}, false},
    {"norm_backward", norm_loss, {{"x", "dx"}, {"w", "dw"}, {"db", "db"}}, false},
    {"linear_backward_input", linear_input_loss, {{"dx", "dx"}}, false},
    {"linear_backward_weight", linear_weight_loss, {{"dw", "dw"}, {"db", "db"}}, false},
    {"attention_backward", attention_loss, {{"q", "dq"}, {"k", "dk"}, {"v", "dv"}}, false},
    {"activation_backward", activation_loss, {{"x", "dx"}}, false},
    {"gated_backward", gated_loss, {{"gate", "dgate"}, {"up", "dup"}}, false},
    {"head_gradient", head_loss, {{"logits", "logits"}}, true},
};

static int find_operand(const operation_case *c, const char *name) {
  for (int i = 0; i < c->n_operands; i++)
    if (c->operands[i].name && strcmp(c->operands[i].name, name) == 0) return i;
  return -1;
}

static double loss_at(const derivative_spec *derivative, const operation_case *c,
                      const double *values) {
  operation_placed placed;
  operation_place(&bench, c, values, &placed);
  double loss = derivative->loss(bench.device, c, placed.tensors);
  operation_displace(&bench, &placed);
  return loss;
}

/* An input a step further.  What a soft cap made moves by a step of what the cap was given, whose
 * gradient it is. */
static double moved(const operation_case *c, const derivative_spec *derivative, double x,
                    double h) {
  if (!derivative->in_place || c->softcap == 0) return x + h;
  return c->softcap * tanh(atanh(x / c->softcap) + h / c->softcap);
}

/* Compares the gradient of one operand; returns whether there was one. */
static bool check_gradient(const derivative_spec *derivative, const operation_case *c,
                           double *before, double *after, const char *input, const char *gradient) {
  int i_input = find_operand(c, input), i_gradient = find_operand(c, gradient);
  if (i_input < 0 || i_gradient < 0) return false;
  double *x = operation_operand_values(c, before, i_input);
  if (isnan(x[0])) return false; /* no point to take it at: the gradient is not added to anything */
  const operation_operand *operand = &c->operands[i_gradient];
  int64_t n = operand->rows * operand->cols;
  double numeric[MAX_VALUES], analytic[MAX_VALUES], error;
  for (int64_t k = 0; k < n; k++) {
    double was = operation_operand_values(c, before, i_gradient)[k];
    bool is_added = !operand->alias && !derivative->in_place && !isnan(was);
    analytic[k] = operation_operand_values(c, after, i_gradient)[k] - (is_added ? was : 0);
    double here = x[k];
    x[k] = moved(c, derivative, here, step);
    double above = loss_at(derivative, c, before);
    x[k] = moved(c, derivative, here, -step);
    double below = loss_at(derivative, c, before);
    x[k] = here;
    numeric[k] = (above - below) / (2 * step);
  }
  if (operation_values_agree(analytic, numeric, n, tolerance, 0.1, &error)) return true;
  fail_msg("%s [%s]: %s is off by %g times what is allowed", c->operation->name, c->name, gradient,
           error);
  return false;
}

static void test_derivative(void **state) {
  const derivative_spec *derivative = *state;
  int n_cases, n_checked = 0;
  const operation_case *all = operation_cases(&n_cases);
  for (const operation_case *c = all; c < all + n_cases; c++) {
    bool is_small = c->n_rows <= MAX_ROWS && operation_value_count(c) <= 8 * MAX_VALUES;
    for (int i = 0; i < c->n_operands; i++)
      is_small = is_small && c->operands[i].rows * c->operands[i].cols <= MAX_VALUES;
    if (strcmp(c->operation->name, derivative->operation) != 0 || !is_small) continue;
    double *before = operation_values_create(c, &bench, false);
    double *after = operation_run(&bench, c, before, 0);
    assert_non_null(after);
    for (int i = 0; derivative->pairs[i].input; i++)
      n_checked += check_gradient(derivative, c, before, after, derivative->pairs[i].input,
                                  derivative->pairs[i].gradient);
    free(before);
    free(after);
  }
  assert_true(n_checked >= 2);
}

/* RoPE backward is the transpose of RoPE forward: <g, R x> = <R' g, x>. */
static void test_rope_transpose(void **state) {
  (void)state;
  int n_cases, n_checked = 0;
  const operation_case *all = operation_cases(&n_cases);
  for (const operation_case *c = all; c < all + n_cases; c++) {
    if (strcmp(c->operation->name, "rope") != 0) continue;
    operation_case there = *c, back = *c;
    there.direction = 1;
    back.direction = -1;
    snprintf(back.name, sizeof back.name, "another seed");
    double *x = operation_values_create(&there, &bench, false);
    double *g = operation_values_create(&back, &bench, false);
    double *turned_x = operation_run(&bench, &there, x, 0);
    double *turned_g = operation_run(&bench, &back, g, 0);
    double left = 0, right = 0, size = 0;
    for (int64_t i = 0; i < operation_value_count(c); i++) {
      left += g[i] * turned_x[i];
      right += turned_g[i] * x[i];
      size += fabs(g[i] * x[i]);
    }
    assert_true(size > 0 && fabs(left - right) <= 1e-13 * size);
    n_checked++;
    free(x);
    free(g);
    free(turned_x);
    free(turned_g);
  }
  assert_true(n_checked > 0);
}

/* ---- definitions ---- */

/* Tiles of logits against the softmax of the whole row; row 2 has no target, row 3 is a tie. */
static void test_head_definition(void **state) {
  (void)state;
  enum { R = 5, V = 23, TILE = 7 };
  const weir_device_operations *device_operations = bench.device->operations;
  double logits[R][V], logprob[R], entropy[R], correct[R];
  const int32_t targets[R] = {0, 22, -1, 13, 7};
  for (int r = 0; r < R; r++)
    for (int j = 0; j < V; j++)
      logits[r][j] = r == 3 ? -2 : 3 * sin(1 + 7 * r + 1.7 * j * j);
  logits[4][7] = 5; /* above all others */

  weir_arena_mark mark = weir_arena_mark_take(&bench.arena);
  weir_tensor statistics = scratch(R, WEIR_HEAD_COLUMNS);
  weir_tensor outputs[3] = {scratch(1, R), scratch(1, R), scratch(1, R)};
  weir_tensor classes = weir_tensor_allocate(&bench.arena, WEIR_MEMORY_DATA, WEIR_DTYPE_I32, 1, R);
  device_operations->write(bench.device, classes, targets);
  for (int first = 0; first < V; first += TILE) {
    weir_tensor tile = scratch(R, first + TILE < V ? TILE : V - first);
    for (int r = 0; r < R; r++)
      operation_store(bench.device, weir_tensor_rows(tile, r, r + 1), &logits[r][first]);
    device_operations->head_tile(bench.device, statistics, tile, classes, first);
  }
  device_operations->head_finish(bench.device, outputs[0], outputs[1], outputs[2], statistics,
                                 classes);
  operation_load(bench.device, logprob, outputs[0]);
  operation_load(bench.device, entropy, outputs[1]);
  operation_load(bench.device, correct, outputs[2]);
  weir_arena_release(&bench.arena, &mark);

  for (int r = 0; r < R; r++) {
    double sum = 0, want_entropy = 0;
    bool is_best = true;
    for (int j = 0; j < V; j++)
      sum += exp(logits[r][j]);
    for (int j = 0; j < V; j++) {
      want_entropy -= exp(logits[r][j]) / sum * log(exp(logits[r][j]) / sum);
      is_best = is_best && targets[r] >= 0 && logits[r][j] <= logits[r][targets[r]];
    }
    double want_logprob = targets[r] < 0 ? 0 : log(exp(logits[r][targets[r]]) / sum);
    assert_true(fabs(logprob[r] - want_logprob) <= 1e-13);
    assert_true(fabs(entropy[r] - (targets[r] < 0 ? 0 : want_entropy)) <= 1e-13);
    assert_true(correct[r] == is_best);
  }
  assert_true(correct[3] == 1 && correct[4] == 1 && correct[2] == 0);
}

static void test_sums_definition(void **state) {
  (void)state;
  const weir_device_operations *device_operations = bench.device->operations;
  weir_arena_mark mark = weir_arena_mark_take(&bench.arena);
  weir_tensor logprob = scratch(1, 4), entropy = scratch(1, 4), correct = scratch(1, 4);
  weir_tensor weights = scratch(1, 4), sums = scratch(1, WEIR_SUM_COUNT), factor = scratch(1, 1);
  operation_store(bench.device, logprob, (double[]){-1, -2, -4, -8});
  operation_store(bench.device, entropy, (double[]){1, 2, 3, 4});
  operation_store(bench.device, correct, (double[]){1, 1, 0, 1});
  operation_store(bench.device, weights, (double[]){-0.5, 0, -0.25, -1});
  operation_store(bench.device, sums, (double[]){100, 200, 300, 400});
  device_operations->token_sums(bench.device, sums, logprob, entropy, correct, weights);
  double got[WEIR_SUM_COUNT], square[1] = {0}, clipped;
  operation_load(bench.device, got, sums);
  assert_true(got[WEIR_SUM_LOSS] == 109.5 && got[WEIR_SUM_CORRECT] == 202);
  assert_true(got[WEIR_SUM_ENTROPY] == 308 && got[WEIR_SUM_ROWS] == 403);

  weir_tensor sum = scratch(1, 1);
  operation_store(bench.device, sum, square);
  device_operations->sum_squares(bench.device, sum, logprob);
  operation_load(bench.device, square, sum);
  assert_true(square[0] == 85);
  static const struct {
    double max_norm, sum, factor;
  } clips[] = {{1, 85, 0},  {0, 85, 1},  {-1, 85, 1},     {100, 85, 1},
               {1, NAN, 0}, {0, NAN, 0}, {1, INFINITY, 0}};
  for (size_t i = 0; i < sizeof clips / sizeof *clips; i++) {
    operation_store(bench.device, sum, &clips[i].sum);
    device_operations->clip_factor(bench.device, factor, sum, clips[i].max_norm);
    operation_load(bench.device, &clipped, factor);
    double want = i == 0 ? 1 / (sqrt(85) + 1e-6) : clips[i].factor;
    assert_true(clipped == want);
  }
  weir_arena_release(&bench.arena, &mark);
}

/* ---- chunks ---- */

/* Chunks of whole blocks give the same bits; any other chunks the same numbers (I1). */
static void test_chunks(void **state) {
  const operation_spec *operation = *state;
  int n_cases, n_checked = 0;
  const operation_case *all = operation_cases(&n_cases);
  for (const operation_case *c = all; c < all + n_cases; c++) {
    if (c->operation != operation || c->n_rows <= 100) continue;
    n_checked++;
    const operation_way ways[] = {{&bench, 0}, {&bench, WEIR_BLOCK_ROWS}};
    assert_true(operation_check_bits(c, &bench, ways, 2));
    double worst = 0, *values = operation_values_create(c, &bench, false);
    double *whole = operation_run(&bench, c, values, 0);
    double *chunked = operation_run(&bench, c, values, 100);
    assert_true(whole && chunked && operation_outputs_agree(c, chunked, whole, 1e-13, &worst));
    free(values);
    free(whole);
    free(chunked);
  }
  assert_true(n_checked > 0);
}

/* ---- sequences ---- */

/* Rows [begin, end) of everything that has a row per token. */
static weir_tensor sequence_rows(const operation_operand *operand, weir_tensor tensor,
                                 int64_t begin, int64_t end) {
  return operand->split == SPLIT_NONE ? tensor : weir_tensor_rows(tensor, begin, end);
}

static void run_separately(weir_device *device, const operation_case *c, const weir_tensor *t) {
  for (int64_t i = c->sequences.n_sequences - 1; i >= 0; i--) {
    int64_t begin = c->sequences.offsets[i], end = c->sequences.offsets[i + 1];
    const int64_t offsets[] = {0, end - begin};
    operation_case alone = *c;
    alone.sequences = (weir_sequences){end - begin, 1, offsets};
    weir_tensor views[MAX_OPERANDS];
    for (int k = 0; k < c->n_operands; k++)
      views[k] = sequence_rows(&c->operands[k], t[k], begin, end);
    for (int k = 0; k < OPERATION_COUNT; k++)
      if (strcmp(operations[k].name, c->operation->name) == 0)
        operations[k].run(device, &alone, views);
  }
}

/* Sequences packed into one row are what each would be alone (I5). */
static void test_packed(void **state) {
  const operation_spec *operation = *state;
  int n_cases, n_checked = 0;
  const operation_case *all = operation_cases(&n_cases);
  for (const operation_case *c = all; c < all + n_cases; c++) {
    bool is_whole = c->first_row == 0 && c->n_rows == c->sequences.n_tokens;
    if (c->operation != operation || !is_whole || c->sequences.n_sequences < 2) continue;
    operation_spec separate = *operation;
    separate.run = run_separately;
    operation_case apart = *c;
    apart.operation = &separate;
    double worst = 0, *values = operation_values_create(c, &bench, false);
    double *packed = operation_run(&bench, c, values, 0);
    double *alone = operation_run(&bench, &apart, values, 0);
    assert_true(packed && alone && operation_outputs_agree(c, packed, alone, 1e-13, &worst));
    n_checked++;
    free(values);
    free(packed);
    free(alone);
  }
  assert_true(n_checked > 0);
}

static bool has_sequences(const operation_spec *operation) {
  int n_cases;
  const operation_case *all = operation_cases(&n_cases);
  for (const operation_case *c = all; c < all + n_cases; c++)
    if (c->operation == operation && c->sequences.n_sequences > 1) return true;
  return false;
}

static bool has_rows(const operation_spec *operation) {
  int n_cases;
  const operation_case *all = operation_cases(&n_cases);
  for (const operation_case *c = all; c < all + n_cases; c++)
    if (c->operation == operation && c->n_rows > 0) return true;
  return false;
}

int main(void) {
  enum { N_DERIVATIVES = sizeof derivatives / sizeof *derivatives };
  struct CMUnitTest tests[N_DERIVATIVES + 3 + 2 * OPERATION_COUNT];
  char names[N_DERIVATIVES + 2 * OPERATION_COUNT][64];
  int n = 0;
  for (int i = 0; i < N_DERIVATIVES; i++) {
    snprintf(names[n], sizeof names[n], "%s_is_a_derivative", derivatives[i].operation);
    tests[n] = (struct CMUnitTest){names[n], test_derivative, NULL, NULL, (void *)&derivatives[i]};
    n++;
  }
  for (int i = 0; i < OPERATION_COUNT; i++) {
    if (!has_rows(&operations[i])) continue;
    snprintf(names[n], sizeof names[n], "%s_in_chunks", operations[i].name);
    tests[n] = (struct CMUnitTest){names[n], test_chunks, NULL, NULL, (void *)&operations[i]};
    n++;
  }
  for (int i = 0; i < OPERATION_COUNT; i++) {
    if (!has_sequences(&operations[i])) continue;
    snprintf(names[n], sizeof names[n], "%s_packed", operations[i].name);
    tests[n] = (struct CMUnitTest){names[n], test_packed, NULL, NULL, (void *)&operations[i]};
    n++;
  }
  tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_rope_transpose);
  tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_head_definition);
  tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_sums_definition);

  weir_device *device;
  if (weir_ref_create(&device) != WEIR_OK) return 1;
  operation_bench_init(&bench, device);
  int n_failed = _cmocka_run_group_tests("operations on ref", tests, (size_t)n, NULL, NULL);
  operation_bench_deinit(&bench);
  weir_ref_destroy(device);
  return n_failed;
}
