/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/plan.h"

#include "generate/generate.h"

#include <stdlib.h>

/* The phases of the run, in order, over the same arenas. */
static void run_phases(const weir_plan_request *request, weir_run *run,
                       const weir_micro_batch *rows) {
  weir_step_result result;
  const weir_adamw adamw = {.step = 1};
  switch (request->purpose) {
  case WEIR_RUN_TRAIN:
    weir_step_train(run, rows, request->n_rows, &adamw, 1.0, &result);
    break;
  case WEIR_RUN_GRADIENTS:
    weir_step_gradients(run, rows, request->n_rows, &result);
    break;
  case WEIR_RUN_FORWARD:
    for (int64_t i = 0; i < request->n_rows; i++)
      weir_step_evaluate(run, &rows[i], &result, NULL);
    break;
  }
  if (request->evaluate_tokens) {
    int64_t offsets[2] = {0, request->evaluate_tokens};
    weir_micro_batch row = {.sequences = {request->evaluate_tokens, 1, offsets}};
    weir_step_evaluate(run, &row, &result, NULL);
  }
  if (request->new_tokens) weir_generate_rehearse(run, request->prompt_tokens, request->new_tokens);
}

static weir_status run_dry(const weir_plan_request *request, weir_device *device,
                           weir_arena *run_arena, weir_arena *step_arena) {
  weir_run run;
  weir_dry_watch_arenas(device, run_arena, step_arena);
  WEIR_TRY(weir_run_create(&run, device, run_arena, step_arena, request->config, request->table,
                           &request->settings, request->purpose));
  weir_micro_batch *rows = calloc((size_t)request->n_rows + 1, sizeof *rows);
  if (!rows) {
    weir_run_destroy(&run);
    return weir_fail(WEIR_FAILED, "no memory for the rows of the plan");
  }
  for (int64_t i = 0; i < request->n_rows; i++)
    rows[i].sequences = request->rows[i];
  run_phases(request, &run, rows);
  free(rows);
  weir_run_destroy(&run);
  return WEIR_OK;
}

weir_status weir_plan_make(const weir_plan_request *request, weir_plan *plan) {
  weir_arena run_arena, step_arena;
  weir_arena_init_dry(&run_arena, "run");
  weir_arena_init_dry(&step_arena, "step");
  weir_device *device;
  WEIR_TRY(weir_dry_create(request->real, request->n_threads, &device));
  weir_status status = run_dry(request, device, &run_arena, &step_arena);
  if (status == WEIR_OK) {
    *plan = (weir_plan){
        .run_arena_bytes = run_arena.high_water_bytes,
        .step_arena_bytes = step_arena.high_water_bytes,
        .data_bytes = request->data_bytes,
        .library_bytes = request->library_bytes,
        .dry = *weir_dry_report_of(device),
    };
    plan->peak_bytes =
        plan->run_arena_bytes + plan->step_arena_bytes + plan->data_bytes + plan->library_bytes;
  }
  weir_dry_destroy(device);
  return status;
}
