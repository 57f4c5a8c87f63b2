/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/layer.h"

/* In forward a value is needed only until a later one is computed from it, so what no stash keeps
 * lives where that later value will be; core/device.h allows each of these aliases. */
static weir_value forward_home(weir_value value) {
  switch (value) {
  case WEIR_VALUE_ATTENTION_NORMED:
  case WEIR_VALUE_ATTENTION_PROJECTED:
    return WEIR_VALUE_MLP_NORMED;
  case WEIR_VALUE_MLP_NORMED:
    return WEIR_VALUE_MLP_PROJECTED;
  case WEIR_VALUE_Q_RAW:
    return WEIR_VALUE_Q;
  case WEIR_VALUE_K_RAW:
    return WEIR_VALUE_K;
  case WEIR_VALUE_GATE:
    return WEIR_VALUE_ACTIVATED;
  default:
    return value;
  }
}

static weir_value own_home(weir_value value) {
  return value;
}

typedef struct layer_pass {
  weir_run *run;
  weir_block block;
  const weir_stash_slot *slot;
  int64_t n_tokens, first_token; /* of the row, and the first of those that pass through */
} layer_pass;

/* Rows of the input and output; + first_token, tokens. */
typedef struct chunk_range {
  int64_t begin, end;
} chunk_range;

static int64_t row_count(const layer_pass *pass) {
  return pass->n_tokens - pass->first_token;
}

static chunk_range chunk_at(const layer_pass *pass, int64_t i) {
  int64_t rows = pass->run->settings.chunk_rows, begin = i * rows;
  int64_t end = begin + rows < row_count(pass) ? begin + rows : row_count(pass);
  pass->run->device->position.first_row = pass->first_token + begin;
  return (chunk_range){begin, end};
}

static int64_t chunk_count(const layer_pass *pass) {
  int64_t rows = pass->run->settings.chunk_rows;
  return (row_count(pass) + rows - 1) / rows;
}

/* Kept in the dtype of arithmetic: the slot itself is worked on. */
static bool in_place(const layer_pass *pass, weir_value value) {
  weir_tensor kept = pass->slot->kept[value];
  return weir_tensor_exists(kept) && kept.dtype == pass->run->device->real;
}

/* Kept in fewer bits: copied from the slot, or to it. */
static bool is_narrow(const layer_pass *pass, weir_value value) {
  return weir_tensor_exists(pass->slot->kept[value]) && !in_place(pass, value);
}

static void copy(const layer_pass *pass, weir_tensor to, weir_tensor from) {
  pass->run->device->operations->copy(pass->run->device, to, from);
}

static weir_tensor layer_tensor(const layer_pass *pass, weir_value kept_as) {
  if (in_place(pass, kept_as)) return pass->slot->kept[kept_as];
  return weir_tensor_allocate(pass->run->step_arena, WEIR_MEMORY_KEYS_VALUES,
                              pass->run->device->real, pass->n_tokens,
                              weir_value_cols(pass->run->config, kept_as));
}

static layer_pass begin_pass(weir_run *run, const weir_unit *unit, const weir_sequences *sequences,
                             const weir_stash_slot *slot, int64_t n_rows) {
  layer_pass pass = {
      .run = run,
      .slot = slot,
      .n_tokens = sequences->n_tokens,
      .first_token = sequences->n_tokens - n_rows,
      .block = {.device = run->device,
                .arena = run->step_arena,
                .config = run->config,
                .rope = &run->ropes[weir_model_config_window(run->config, unit->index - 1) > 0],
                .sequences = sequences,
                .window = weir_model_config_window(run->config, unit->index - 1),
                .weights = unit->weights,
                .gradients = unit->gradients,
                .rounds = run->settings.precision.bf16_activations},
  };
  pass.block.keys = layer_tensor(&pass, WEIR_VALUE_K);
  pass.block.values = layer_tensor(&pass, WEIR_VALUE_V);
  return pass;
}

static weir_tensor temporary(const layer_pass *pass, chunk_range range, int64_t cols) {
  return weir_tensor_allocate(pass->run->step_arena, WEIR_MEMORY_ACTIVATIONS,
                              pass->run->device->real, range.end - range.begin, cols);
}

static weir_tensor kept_rows(const layer_pass *pass, weir_value value, chunk_range range) {
  return weir_tensor_rows(pass->slot->kept[value], range.begin, range.end);
}

static bool is_for_all_rows(weir_value value) {
  return value == WEIR_VALUE_K || value == WEIR_VALUE_V;
}

/* Rows of what is kept, or room for them where it is narrow, and rows of K and V; the rest stays
 * absent. */
static void bind_kept(const layer_pass *pass, chunk_range range,
                      weir_tensor chunk[WEIR_VALUE_COUNT]) {
  for (weir_value value = 0; value < WEIR_VALUE_COUNT; value++) {
    chunk[value] = kept_rows(pass, value, range);
    if (is_narrow(pass, value) && !is_for_all_rows(value))
      chunk[value] = temporary(pass, range, chunk[value].cols);
  }
  int64_t begin = pass->first_token + range.begin, end = pass->first_token + range.end;
  chunk[WEIR_VALUE_K] = weir_tensor_rows(pass->block.keys, begin, end);
  chunk[WEIR_VALUE_V] = weir_tensor_rows(pass->block.values, begin, end);
}

/* Widens `values` of the chunk from where they are kept. */
static void restore(const layer_pass *pass, chunk_range range, weir_value_set values,
                    const weir_tensor chunk[WEIR_VALUE_COUNT]) {
  for (weir_value value = 0; value < WEIR_VALUE_COUNT; value++)
    if ((values & weir_value_bit(value)) && is_narrow(pass, value))
      copy(pass, chunk[value], kept_rows(pass, value, range));
}

/* The chunk's values to where they are kept; its input came from there. */
static void keep(const layer_pass *pass, chunk_range range,
                 const weir_tensor chunk[WEIR_VALUE_COUNT]) {
  for (weir_value value = 0; value < WEIR_VALUE_COUNT; value++)
    if (value != WEIR_VALUE_INPUT && is_narrow(pass, value))
      copy(pass, kept_rows(pass, value, range), chunk[value]);
}

/* A place for every value that has none: a temporary, or the home it shares with a later value if
 * the model has that (bound already, because values are visited in reverse). */
static void bind_rest(const layer_pass *pass, chunk_range range, weir_value (*home_of)(weir_value),
                      weir_tensor chunk[WEIR_VALUE_COUNT]) {
  for (int i = WEIR_VALUE_COUNT - 1; i >= 0; i--) {
    weir_value value = (weir_value)i, home = home_of(value);
    int64_t cols = weir_value_cols(pass->run->config, value);
    if (!cols || weir_tensor_exists(chunk[value])) continue;
    chunk[value] = weir_tensor_exists(chunk[home]) ? chunk[home] : temporary(pass, range, cols);
  }
}

void weir_layer_forward(weir_run *run, const weir_unit *unit, const weir_sequences *sequences,
                        const weir_stash_slot *slot, weir_tensor output) {
  weir_arena_mark layer_mark = weir_arena_mark_take(run->step_arena);
  layer_pass pass = begin_pass(run, unit, sequences, slot, output.rows);
  for (int64_t i = 0; i < chunk_count(&pass); i++) {
    weir_arena_mark chunk_mark = weir_arena_mark_take(run->step_arena);
    chunk_range range = chunk_at(&pass, i);
    weir_tensor chunk[WEIR_VALUE_COUNT];
    weir_tensor output_rows = weir_tensor_rows(output, range.begin, range.end), y = output_rows;
    if (output.dtype != run->device->real) y = temporary(&pass, range, output.cols);
    bind_kept(&pass, range, chunk);
    if (!weir_tensor_exists(chunk[WEIR_VALUE_MIDDLE])) chunk[WEIR_VALUE_MIDDLE] = y;
    bind_rest(&pass, range, forward_home, chunk);
    restore(&pass, range, weir_value_bit(WEIR_VALUE_INPUT), chunk);
    weir_block_forward(&pass.block, pass.first_token + range.begin, chunk, 0, y);
    keep(&pass, range, chunk);
    if (output.dtype != run->device->real) copy(&pass, output_rows, y);
    weir_arena_release(run->step_arena, &chunk_mark);
  }
  weir_arena_release(run->step_arena, &layer_mark);
}

/* K and V of all rows, which every chunk's attention needs whole, before backward begins. */
static void rebuild_keys_values(const layer_pass *pass) {
  weir_arena *arena = pass->run->step_arena;
  for (int64_t i = 0; i < chunk_count(pass); i++) {
    weir_arena_mark mark = weir_arena_mark_take(arena);
    chunk_range range = chunk_at(pass, i);
    weir_tensor chunk[WEIR_VALUE_COUNT];
    bind_kept(pass, range, chunk);
    restore(pass, range, weir_value_bit(WEIR_VALUE_INPUT), chunk);
    chunk[WEIR_VALUE_K_RAW] = chunk[WEIR_VALUE_K];
    chunk[WEIR_VALUE_ATTENTION_NORMED] = temporary(pass, range, pass->run->config->hidden_size);
    weir_block_keys_values(&pass->block, range.begin, chunk);
    weir_arena_release(arena, &mark);
  }
}

static void restore_keys_values(const layer_pass *pass) {
  if (is_narrow(pass, WEIR_VALUE_K)) copy(pass, pass->block.keys, pass->slot->kept[WEIR_VALUE_K]);
  if (is_narrow(pass, WEIR_VALUE_V)) copy(pass, pass->block.values, pass->slot->kept[WEIR_VALUE_V]);
}

void weir_layer_backward(weir_run *run, const weir_unit *unit, const weir_sequences *sequences,
                         const weir_stash_slot *slot, weir_tensor g) {
  const weir_device_operations *operations = run->device->operations;
  weir_arena_mark layer_mark = weir_arena_mark_take(run->step_arena);
  layer_pass pass = begin_pass(run, unit, sequences, slot, g.rows);
  const weir_value_set keys_values = weir_value_bit(WEIR_VALUE_K) | weir_value_bit(WEIR_VALUE_V);
  weir_value_set present = keys_values;
  for (weir_value value = 0; value < WEIR_VALUE_COUNT; value++)
    if (weir_tensor_exists(slot->kept[value])) present |= weir_value_bit(value);
  if (!weir_tensor_exists(slot->kept[WEIR_VALUE_K]))
    rebuild_keys_values(&pass);
  else
    restore_keys_values(&pass);

  int64_t key_cols = weir_value_cols(run->config, WEIR_VALUE_K);
  weir_tensor *sums[] = {&pass.block.dkeys, &pass.block.dvalues};
  for (int i = 0; i < 2; i++) {
    *sums[i] = weir_tensor_allocate(run->step_arena, WEIR_MEMORY_KEYS_VALUES, run->device->real,
                                    pass.n_tokens, key_cols);
    operations->zero(run->device, *sums[i]);
  }
  for (int64_t i = chunk_count(&pass) - 1; i >= 0; i--) {
    weir_arena_mark chunk_mark = weir_arena_mark_take(run->step_arena);
    chunk_range range = chunk_at(&pass, i);
    weir_tensor chunk[WEIR_VALUE_COUNT];
    bind_kept(&pass, range, chunk);
    bind_rest(&pass, range, own_home, chunk);
    restore(&pass, range, present & ~keys_values, chunk);
    weir_block_forward(&pass.block, range.begin, chunk, present, (weir_tensor){0});
    weir_block_backward(&pass.block, range.begin, chunk,
                        weir_tensor_rows(g, range.begin, range.end));
    weir_arena_release(run->step_arena, &chunk_mark);
  }
  weir_arena_release(run->step_arena, &layer_mark);
}
