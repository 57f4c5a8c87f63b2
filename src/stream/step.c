/* SPDX-License-Identifier: Apache-2.0
 *
 * The step arena during a micro-batch, growing to the right in forward and shrinking in backward:
 *
 *   | row: ids, targets, weights, logprobs | hidden | slot 0 | ... | slot L-1 | layer ... |
 *
 * `hidden` [T,D] receives the last layer's output, is turned by the head into its gradient, and is
 * then the gradient that travels down; it lies below the slots because it outlives them. */
#include "stream/step.h"

#include "core/read_real.h"
#include "model/embedding.h"
#include "model/head.h"
#include "stream/layer.h"

#include <math.h>

/* Keeps these numbers apart from others that are drawn with the same seed. */
static const uint64_t noise_stream = (uint64_t)0x726f756e64 << 24; /* "round" */

/* A micro-batch on the device. */
typedef struct row_tensors {
  const weir_sequences *sequences;
  weir_tensor ids, targets, weights; /* [1,T] */
  weir_token_values tokens;
  weir_tensor hidden; /* [T,D] */
} row_tensors;

static void at(weir_run *run, const char *phase, int64_t layer) {
  run->device->position = (weir_step_position){.phase = phase, .layer = layer};
}

static weir_tensor upload(weir_run *run, weir_dtype dtype, int64_t n, const void *host) {
  weir_tensor tensor = weir_tensor_allocate(run->step_arena, WEIR_MEMORY_DATA, dtype, 1, n);
  run->device->operations->write(run->device, tensor, host);
  return tensor;
}

static row_tensors begin_row(weir_run *run, const weir_micro_batch *micro_batch) {
  int64_t n_tokens = micro_batch->sequences.n_tokens;
  weir_dtype real = run->device->real;
  at(run, "row", -1);
  row_tensors row = {.sequences = &micro_batch->sequences};
  row.ids = upload(run, WEIR_DTYPE_I32, n_tokens, micro_batch->ids);
  row.targets = upload(run, WEIR_DTYPE_I32, n_tokens, micro_batch->targets);
  row.weights = upload(run, WEIR_DTYPE_F64, n_tokens, micro_batch->weights);
  weir_tensor *vectors[] = {&row.tokens.logprob, &row.tokens.entropy, &row.tokens.correct};
  for (int i = 0; i < 3; i++)
    *vectors[i] = weir_tensor_allocate(run->step_arena, WEIR_MEMORY_VECTORS, real, 1, n_tokens);
  row.hidden = weir_tensor_allocate(run->step_arena, WEIR_MEMORY_HIDDEN, real, n_tokens,
                                    run->config->hidden_size);
  return row;
}

/* ---- embedding and head ---- */

static void embed(weir_run *run, const row_tensors *row, weir_tensor x) {
  const weir_precision *precision = &run->settings.precision;
  weir_arena_mark mark = weir_arena_mark_take(run->step_arena);
  weir_unit unit;
  at(run, "embedding", -1);
  weir_unit_acquire(run, 0, &unit);
  weir_embedding_run(run->device, run->config, unit.weights, precision->bf16_weights, x, row->ids,
                     row->sequences, 0);
  if (precision->bf16_activations) run->device->operations->round(run->device, x, x);
  weir_arena_release(run->step_arena, &mark);
}

/* By way of the hidden states, which wait for the last layer, where the slot is narrower. */
static void embed_into(weir_run *run, const row_tensors *row, weir_tensor slot) {
  bool is_real = slot.dtype == run->device->real;
  embed(run, row, is_real ? slot : row->hidden);
  if (!is_real) run->device->operations->copy(run->device, slot, row->hidden);
}

static void embed_backward(weir_run *run, const row_tensors *row, const weir_unit *unit) {
  at(run, "embedding", -1);
  weir_embedding_gradient(run->device, run->config, unit->gradients, row->hidden, row->ids,
                          row->sequences);
}

static void run_head(weir_run *run, const row_tensors *row, const weir_unit *unit,
                     const weir_tensor *gradients) {
  at(run, "head", -1);
  weir_head head = {.device = run->device,
                    .arena = run->step_arena,
                    .config = run->config,
                    .rows_per_block = run->settings.head_rows,
                    .columns_per_tile = run->settings.head_columns,
                    .bf16_weights = run->settings.precision.bf16_weights,
                    .weights = unit->weights,
                    .gradients = gradients};
  weir_head_run(&head, row->hidden, row->targets, row->weights, &row->tokens);
  run->device->operations->token_sums(run->device, run->sums, row->tokens.logprob,
                                      row->tokens.entropy, row->tokens.correct, row->weights);
}

/* ---- one micro-batch ---- */

static void open_slot(weir_run *run, int64_t layer, int64_t n_tokens) {
  run->marks[layer] = weir_arena_mark_take(run->step_arena);
  weir_stash_slot_allocate(&run->slots[layer], run->step_arena, run->config, run->device->real,
                           run->settings.precision.bf16_activations,
                           weir_stash_policy_values(run->settings.stash[layer]), n_tokens);
}

static void forward_layer(weir_run *run, const char *phase, int64_t layer,
                          const weir_sequences *sequences, const weir_stash_slot *slot,
                          weir_tensor output) {
  weir_arena_mark mark = weir_arena_mark_take(run->step_arena);
  weir_unit unit;
  at(run, phase, layer);
  weir_unit_acquire(run, layer + 1, &unit);
  weir_layer_forward(run, &unit, sequences, slot, output);
  weir_arena_release(run->step_arena, &mark);
}

static void forward_layers(weir_run *run, const row_tensors *row) {
  int64_t n_layers = run->config->num_hidden_layers, n_tokens = row->sequences->n_tokens;
  open_slot(run, 0, n_tokens);
  embed_into(run, row, run->slots[0].kept[WEIR_VALUE_INPUT]);
  for (int64_t layer = 0; layer < n_layers; layer++) {
    bool last = layer + 1 == n_layers;
    if (!last) open_slot(run, layer + 1, n_tokens);
    weir_tensor output = last ? row->hidden : run->slots[layer + 1].kept[WEIR_VALUE_INPUT];
    forward_layer(run, "forward", layer, row->sequences, &run->slots[layer], output);
  }
}

static void backward_layers(weir_run *run, const row_tensors *row, int64_t i_micro_batch) {
  for (int64_t layer = run->config->num_hidden_layers - 1; layer >= 0; layer--) {
    weir_unit unit;
    at(run, "backward", layer);
    weir_unit_acquire(run, layer + 1, &unit);
    weir_unit_acquire_gradients(run, i_micro_batch, &unit);
    weir_layer_backward(run, &unit, row->sequences, &run->slots[layer], row->hidden);
    weir_unit_commit(run, i_micro_batch, &unit);
    weir_arena_release(run->step_arena, &run->marks[layer]);
  }
}

/* Tied, the embedding's gradient begins in the head and must wait below the slots for the end. */
static void micro_batch_gradients(weir_run *run, const weir_micro_batch *micro_batch,
                                  int64_t i_micro_batch) {
  weir_arena_mark mark = weir_arena_mark_take(run->step_arena);
  row_tensors row = begin_row(run, micro_batch);
  bool tied = run->config->tie_word_embeddings;
  weir_unit embedding = {.index = 0}, head; /* of the embedding only gradients are wanted below */
  if (tied) weir_unit_acquire_gradients(run, i_micro_batch, &embedding);

  forward_layers(run, &row);

  weir_arena_mark head_mark = weir_arena_mark_take(run->step_arena);
  weir_unit_acquire(run, run->table->n_units - 1, &head);
  weir_unit_acquire_gradients(run, i_micro_batch, &head);
  if (tied) head.gradients[WEIR_ROLE_HEAD] = embedding.gradients[WEIR_ROLE_EMBEDDING];
  run_head(run, &row, &head, head.gradients);
  weir_unit_commit(run, i_micro_batch, &head);
  weir_arena_release(run->step_arena, &head_mark);

  backward_layers(run, &row, i_micro_batch);

  if (!tied) weir_unit_acquire_gradients(run, i_micro_batch, &embedding);
  embed_backward(run, &row, &embedding);
  weir_unit_commit(run, i_micro_batch, &embedding);
  weir_arena_release(run->step_arena, &mark);
}

/* ---- steps ---- */

static weir_step_result read_result(weir_run *run) {
  double sums[WEIR_SUM_COUNT] = {0};
  run->device->operations->read(run->device, sums, run->sums);
  double n_rows = sums[WEIR_SUM_ROWS];
  return (weir_step_result){.loss = sums[WEIR_SUM_LOSS],
                            .n_rows = n_rows,
                            .n_correct = sums[WEIR_SUM_CORRECT],
                            .entropy = n_rows > 0 ? sums[WEIR_SUM_ENTROPY] / n_rows : 0};
}

void weir_step_evaluate(weir_run *run, const weir_micro_batch *micro_batch,
                        weir_step_result *result, double *logprobs) {
  weir_arena_mark mark = weir_arena_mark_take(run->step_arena);
  run->device->operations->zero(run->device, run->sums);
  row_tensors row = begin_row(run, micro_batch);
  embed(run, &row, row.hidden);
  weir_stash_slot in_place = {.kept = {[WEIR_VALUE_INPUT] = row.hidden}};
  for (int64_t layer = 0; layer < run->config->num_hidden_layers; layer++)
    forward_layer(run, "evaluate", layer, row.sequences, &in_place, row.hidden);
  weir_unit head;
  weir_unit_acquire(run, run->table->n_units - 1, &head);
  run_head(run, &row, &head, NULL);
  if (logprobs) weir_read_real(run->device, logprobs, row.tokens.logprob);
  *result = read_result(run);
  weir_arena_release(run->step_arena, &mark);
}

static void queue_gradients(weir_run *run, const weir_micro_batch *micro_batches,
                            int64_t n_micro_batches) {
  at(run, "step", -1);
  run->device->operations->zero(run->device, run->sums);
  for (int64_t i = 0; i < run->table->n_parameters; i++)
    run->device->operations->zero(run->device, run->gradients[i]);
  for (int64_t i = 0; i < n_micro_batches; i++)
    micro_batch_gradients(run, &micro_batches[i], i);
}

static void queue_norm(weir_run *run, double max_grad_norm) {
  const weir_device_operations *operations = run->device->operations;
  at(run, "optimizer", -1);
  operations->zero(run->device, run->squares);
  for (int64_t i = 0; i < run->table->n_parameters; i++)
    operations->sum_squares(run->device, run->squares, run->gradients[i]);
  operations->clip_factor(run->device, run->clip, run->squares, max_grad_norm);
}

/* Widened, updated, rounded again, a few rows at a time. */
static void update_bf16(weir_run *run, int64_t i, const weir_adamw *adamw) {
  enum { SLICE_ELEMENTS = 1 << 18 };
  const weir_precision *precision = &run->settings.precision;
  const weir_device_operations *operations = run->device->operations;
  weir_tensor weights = run->weights[i];
  int64_t n_rows = (SLICE_ELEMENTS / weights.cols + 4) / 4 * 4; /* noise comes in fours */
  if (n_rows > weights.rows) n_rows = weights.rows;
  weir_arena_mark mark = weir_arena_mark_take(run->step_arena);
  weir_tensor wide = weir_tensor_allocate(run->step_arena, WEIR_MEMORY_WEIGHTS, run->device->real,
                                          n_rows, weights.cols);
  for (int64_t begin = 0; begin < weights.rows; begin += n_rows) {
    int64_t end = begin + n_rows < weights.rows ? begin + n_rows : weights.rows;
    weir_tensor w = weir_tensor_rows(wide, 0, end - begin);
    weir_tensor narrow = weir_tensor_rows(weights, begin, end);
    operations->copy(run->device, w, narrow);
    operations->adamw(run->device, adamw, w, weir_tensor_rows(run->first_moments[i], begin, end),
                      weir_tensor_rows(run->second_moments[i], begin, end),
                      weir_tensor_rows(run->gradients[i], begin, end), run->clip);
    const weir_noise noise = {
        .seed = precision->seed,
        .stream = noise_stream + (uint64_t)(adamw->step * run->table->n_parameters + i),
        .first = begin * weights.cols,
    };
    if (precision->stochastic_rounding)
      operations->round_randomly(run->device, narrow, w, &noise);
    else
      operations->copy(run->device, narrow, w);
  }
  weir_arena_release(run->step_arena, &mark);
}

/* Norm weights and biases do not decay, as in Transformers' Trainer. */
static void queue_update(weir_run *run, const weir_adamw *adamw) {
  for (int64_t i = 0; i < run->table->n_parameters; i++) {
    weir_adamw own = *adamw;
    if (run->table->parameters[i].is_vector) own.weight_decay = 0;
    if (run->weights[i].dtype == run->device->real)
      run->device->operations->adamw(run->device, &own, run->weights[i], run->first_moments[i],
                                     run->second_moments[i], run->gradients[i], run->clip);
    else
      update_bf16(run, i, &own);
  }
}

static double read_norm(weir_run *run) {
  double squares = 0;
  run->device->operations->read(run->device, &squares, run->squares);
  return sqrt(squares);
}

void weir_step_gradients(weir_run *run, const weir_micro_batch *micro_batches,
                         int64_t n_micro_batches, weir_step_result *result) {
  queue_gradients(run, micro_batches, n_micro_batches);
  queue_norm(run, 0);
  *result = read_result(run);
  result->grad_norm = read_norm(run);
}

void weir_step_train(weir_run *run, const weir_micro_batch *micro_batches, int64_t n_micro_batches,
                     const weir_adamw *adamw, double max_grad_norm, weir_step_result *result) {
  queue_gradients(run, micro_batches, n_micro_batches);
  queue_norm(run, max_grad_norm);
  queue_update(run, adamw);
  *result = read_result(run);
  result->grad_norm = read_norm(run);
}

/* ---- after a step that was not taken ---- */

static bool is_finite(weir_run *run, weir_tensor tensor) {
  double squares = 0;
  if (tensor.dtype != run->device->real) return true; /* bf16: shows in the gradients */
  run->device->operations->zero(run->device, run->squares);
  run->device->operations->sum_squares(run->device, run->squares, tensor);
  run->device->operations->read(run->device, &squares, run->squares);
  return isfinite(squares);
}

weir_nonfinite weir_step_find_nonfinite(weir_run *run) {
  const int64_t n = run->table->n_parameters;
  at(run, "optimizer", -1);
  for (int64_t i = 0; i < n; i++)
    if (!is_finite(run, run->weights[i])) return (weir_nonfinite){i, true};
  for (int64_t i = n - 1; i >= 0; i--)
    if (!is_finite(run, run->gradients[i])) return (weir_nonfinite){i, false};
  return (weir_nonfinite){-1, false};
}
