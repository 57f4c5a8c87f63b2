/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/unit.h"

#include "model/head.h"

/* Tables of the vocabulary are too large to be made ready whole: what looks up in them does it row
 * by row, and the head tile by tile. */
static bool is_left_as_held(weir_role role) {
  return role == WEIR_ROLE_EMBEDDING || role == WEIR_ROLE_HEAD;
}

static weir_tensor make_ready(const weir_run *run, weir_tensor held) {
  weir_tensor ready = weir_tensor_allocate(run->step_arena, WEIR_MEMORY_WEIGHTS, run->device->real,
                                           held.rows, held.cols);
  weir_weights_ready(run->device, ready, held);
  return ready;
}

void weir_unit_acquire(const weir_run *run, int64_t index, weir_unit *unit) {
  const bool are_ready = !run->settings.precision.bf16_weights;
  *unit = (weir_unit){.index = index};
  for (weir_role role = 0; role < WEIR_ROLE_COUNT; role++) {
    int64_t i = weir_parameter_find(run->table, index, role);
    if (i < 0) continue;
    bool as_held = are_ready || is_left_as_held(role);
    unit->weights[role] = as_held ? run->weights[i] : make_ready(run, run->weights[i]);
  }
  bool is_head = index == run->table->n_units - 1;
  if (is_head && run->config->tie_word_embeddings)
    unit->weights[WEIR_ROLE_HEAD] =
        run->weights[weir_parameter_find(run->table, 0, WEIR_ROLE_EMBEDDING)];
}

void weir_unit_acquire_gradients(const weir_run *run, int64_t i_micro_batch, weir_unit *unit) {
  weir_device *device = run->device;
  for (weir_role role = 0; role < WEIR_ROLE_COUNT; role++) {
    int64_t i = weir_parameter_find(run->table, unit->index, role);
    if (i < 0) continue;
    weir_tensor *gradient = &unit->gradients[role];
    *gradient = run->gradients[i];
    if (i_micro_batch == 0) continue;
    *gradient = weir_tensor_allocate(run->step_arena, WEIR_MEMORY_GRADIENTS, gradient->dtype,
                                     gradient->rows, gradient->cols);
    device->operations->zero(device, *gradient);
  }
}

void weir_unit_commit(const weir_run *run, int64_t i_micro_batch, const weir_unit *unit) {
  if (i_micro_batch == 0) return;
  for (weir_role role = 0; role < WEIR_ROLE_COUNT; role++) {
    int64_t i = weir_parameter_find(run->table, unit->index, role);
    if (i >= 0) run->device->operations->add(run->device, run->gradients[i], unit->gradients[role]);
  }
}
