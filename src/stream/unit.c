/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/unit.h"

void weir_unit_acquire(const weir_run *run, int64_t index, weir_unit *unit) {
  *unit = (weir_unit){.index = index};
  for (weir_role role = 0; role < WEIR_ROLE_COUNT; role++) {
    int64_t i = weir_parameter_find(run->table, index, role);
    if (i >= 0) unit->weights[role] = run->weights[i];
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
