/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights and activations in bf16 against PyTorch in bf16 (tools/golden.py), and both against the
 * exact gradient at the same weights, rounded to bf16: that of `ref` in f64, which
 * tests/test_golden.c holds to 1e-9 of other people's.
 *
 * Bounds, in 2-norms over all gradients together: 0.1 |g*| between ours and PyTorch's; and ours is
 * nearer to the exact one than PyTorch's is, as a whole and in most tensors. */
#include "support/golden_models.h"
#include "support/model_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const double largest_difference = 0.1;

static const model_case_settings exact = {.stash = WEIR_STASH_ALL};
static const model_case_settings rounded = {
    .chunk_rows = 16,
    .head_rows = 8,
    .head_columns = 40,
    .stash = WEIR_STASH_ATTN,
    .precision = {.bf16_activations = true, .bf16_weights = true}};

typedef struct gradients {
  double loss;
  int64_t n_parameters;
  int64_t *counts; /* [n_parameters] */
  double **values; /* [n_parameters][count] */
} gradients;

static void take(gradients *all, const weir_parameter_table *table) {
  *all = (gradients){.n_parameters = table->n_parameters};
  all->counts = calloc((size_t)table->n_parameters, sizeof *all->counts);
  all->values = calloc((size_t)table->n_parameters, sizeof *all->values);
  assert_true(all->counts && all->values);
  for (int64_t i = 0; i < table->n_parameters; i++) {
    all->counts[i] = table->parameters[i].rows * table->parameters[i].cols;
    all->values[i] = calloc((size_t)all->counts[i], sizeof **all->values);
    assert_non_null(all->values[i]);
  }
}

static void drop(gradients *all) {
  for (int64_t i = 0; i < all->n_parameters; i++)
    free(all->values[i]);
  free(all->values);
  free(all->counts);
}

/* At weights rounded to bf16. */
static void compute(const char *directory, const model_case_device *device,
                    const model_case_settings *settings, gradients *all) {
  model_case model;
  model_case_row row;
  char path[600];
  int64_t n_ids;
  model_case_open(&model, directory, device, settings);
  for (int64_t i = 0; i < model.table.n_parameters && !settings->precision.bf16_weights; i++)
    model.device->operations->round(model.device, model.run.weights[i], model.run.weights[i]);
  snprintf(path, sizeof path, "%s/ids.json", directory);
  int32_t *ids = model_case_ids(path, &n_ids);
  model_case_row_init(&row, ids, n_ids, NULL, 1, 0);
  weir_step_result result;
  weir_step_gradients(&model.run, &row.micro_batch, 1, &result);
  take(all, &model.table);
  all->loss = result.loss;
  for (int64_t i = 0; i < model.table.n_parameters; i++)
    model_case_read(&model, model.run.gradients[i], all->values[i]);
  model_case_row_deinit(&row);
  free(ids);
  model_case_close(&model);
}

static void read_theirs(const char *directory, gradients *all) {
  char path[600];
  weir_safetensors *file;
  model_case model;
  model_case_open(&model, directory, &model_case_ref, &exact);
  snprintf(path, sizeof path, "%s/bf16.safetensors", directory);
  assert_int_equal(weir_safetensors_open(path, &file), WEIR_OK);
  take(all, &model.table);
  const weir_safetensors_entry *loss = weir_safetensors_find(file, "loss");
  assert_non_null(loss);
  assert_string_equal(loss->dtype, "F32");
  all->loss = (double)*(const float *)weir_safetensors_data(file, loss);
  for (int64_t i = 0; i < model.table.n_parameters; i++)
    model_case_file_values(file, &model.table.parameters[i], all->values[i]);
  weir_safetensors_close(file);
  model_case_close(&model);
}

/* Of all tensors together. */
static double distance(const gradients *a, const gradients *b) {
  double sum = 0;
  for (int64_t i = 0; i < a->n_parameters; i++)
    sum = hypot(sum, model_case_distance(a->values[i], b->values[i], a->counts[i]));
  return sum;
}

static double norm(const gradients *all) {
  double sum = 0;
  for (int64_t i = 0; i < all->n_parameters; i++)
    sum = hypot(sum, model_case_norm(all->values[i], all->counts[i]));
  return sum;
}

static int64_t count_nearer(const gradients *ours, const gradients *theirs,
                            const gradients *truth) {
  int64_t n = 0;
  for (int64_t i = 0; i < ours->n_parameters; i++)
    n += model_case_distance(ours->values[i], truth->values[i], truth->counts[i]) <
         model_case_distance(theirs->values[i], truth->values[i], truth->counts[i]);
  return n;
}

static void nearer_than_pytorch(void **state) {
  char directory[512];
  gradients truth, ours, theirs;
  snprintf(directory, sizeof directory, "%s/golden/%s", WEIR_TEST_DIR, (const char *)*state);
  compute(directory, &model_case_ref, &exact, &truth);
  compute(directory, &model_case_cpu, &rounded, &ours);
  read_theirs(directory, &theirs);
  double size = norm(&truth), between = distance(&ours, &theirs) / size;
  double our_error = distance(&ours, &truth) / size;
  double their_error = distance(&theirs, &truth) / size;
  double our_loss_error = fabs(ours.loss - truth.loss) / truth.loss;
  double their_loss_error = fabs(theirs.loss - truth.loss) / truth.loss;
  int64_t n_nearer = count_nearer(&ours, &theirs, &truth);
  printf("%s: gradients off by %.2g, PyTorch's by %.2g, nearer in %lld of %lld; from PyTorch's "
         "%.2g; loss off by %.2g, PyTorch's by %.2g\n",
         (const char *)*state, our_error, their_error, (long long)n_nearer,
         (long long)truth.n_parameters, between, our_loss_error, their_loss_error);
  assert_true(isfinite(size) && size > 0);
  assert_true(isfinite(our_error) && isfinite(their_error));
  assert_true(our_error > 1e-4); /* something was rounded */
  if (!(our_error < their_error) || !(between <= largest_difference) || !(our_loss_error <= 2e-3) ||
      !(2 * n_nearer > truth.n_parameters))
    fail_msg("%s: not within the bounds", (const char *)*state);
  drop(&truth);
  drop(&ours);
  drop(&theirs);
}

int main(void) {
  struct CMUnitTest tests[N_GOLDEN_MODELS];
  for (int i = 0; i < N_GOLDEN_MODELS; i++)
    tests[i] = (struct CMUnitTest){golden_models[i], nearer_than_pytorch, NULL, NULL,
                                   (void *)golden_models[i]};
  return _cmocka_run_group_tests("golden_bf16", tests, N_GOLDEN_MODELS, NULL, NULL);
}
