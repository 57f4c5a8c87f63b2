/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference device by itself: every backward operation is the derivative of its forward one, by
 * signed central differences, coordinate by coordinate in f64; and a call split into chunks of rows
 * is the whole call. */
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
  d->operations->norm_forward(d, c->norm_kind, c->epsilon, y, t[4], t[5], b);
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
  weir_attention attention = {.n_heads = c->n_heads,
                              .n_kv_heads = c->n_kv_heads,
                              .head_size = c->head_size,
                              .scale = c->scale,
                              .sequences = &c->sequences,
                              .first_row = c->first_row};
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
    x[k] = here + step;
    double above = loss_at(derivative, c, before);
    x[k] = here - step;
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

static bool has_rows(const operation_spec *operation) {
  int n_cases;
  const operation_case *all = operation_cases(&n_cases);
  for (const operation_case *c = all; c < all + n_cases; c++)
    if (c->operation == operation && c->n_rows > 0) return true;
  return false;
}

int main(void) {
  enum { N_DERIVATIVES = sizeof derivatives / sizeof *derivatives };
  struct CMUnitTest tests[N_DERIVATIVES + 1 + OPERATION_COUNT];
  char names[N_DERIVATIVES + OPERATION_COUNT][64];
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
  tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_rope_transpose);

  weir_device *device;
  if (weir_ref_create(&device) != WEIR_OK) return 1;
  operation_bench_init(&bench, device);
  int n_failed = _cmocka_run_group_tests("operations on ref", tests, (size_t)n, NULL, NULL);
  operation_bench_deinit(&bench);
  weir_ref_destroy(device);
  return n_failed;
}
