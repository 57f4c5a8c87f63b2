/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/session.h"

#include "base/files.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/number_text.h"
#include "base/process.h"
#include "device/cpu/cpu.h"
#include "device/ref/ref.h"
#include "model/weights.h"

#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- options that a command may lack ---- */

static const char *text_of(const weir_options *options, const char *name, const char *otherwise) {
  bool has = weir_options_find(options, name) && weir_options_is_set(options, name);
  return has ? weir_options_string(options, name) : otherwise;
}

static int64_t integer_of(const weir_options *options, const char *name, int64_t otherwise) {
  bool has = weir_options_find(options, name) && weir_options_is_set(options, name);
  return has ? weir_options_integer(options, name) : otherwise;
}

/* ---- devices ---- */

static bool is_ref(const char *name) {
  return strcmp(name, "ref") == 0;
}

static weir_status open_device(const char *name, int n_threads, weir_device **device) {
  if (is_ref(name)) return weir_ref_create(device);
  return weir_cpu_create(n_threads, NULL, device);
}

static void close_device(weir_device *device) {
  if (!device) return;
  if (is_ref(device->name))
    weir_ref_destroy(device);
  else
    weir_cpu_destroy(device);
}

/* ---- the model ---- */

static weir_status find_model(const weir_options *options, const char **path) {
  *path = text_of(options, "model_name_or_path", NULL);
  const char *config = text_of(options, "model_config", NULL);
  if (!*path == !config)
    return weir_fail(WEIR_BAD_INPUT, "needs either --model DIR or --model-config FILE");
  if (*path && !weir_path_is_directory(*path))
    return weir_fail(WEIR_BAD_INPUT,
                     "no directory '%s': --model is a directory on this machine that holds "
                     "config.json and model.safetensors; nothing is ever downloaded",
                     *path);
  if (!*path) *path = config;
  return WEIR_OK;
}

static bool is_true(const weir_options *options, const char *name, bool otherwise) {
  return weir_options_find(options, name) ? weir_options_boolean(options, name) : otherwise;
}

/* --bf16 stands for both dtypes; what is said beside it must agree. */
static weir_status read_bf16(const weir_options *options, const char *name, bool *is_bf16) {
  *is_bf16 = strcmp(text_of(options, name, "f32"), "bf16") == 0;
  if (*is_bf16 || !is_true(options, "bf16", false)) return WEIR_OK;
  *is_bf16 = true;
  if (!weir_options_is_set(options, name)) return WEIR_OK;
  return weir_fail(WEIR_BAD_INPUT, "bf16 and %s f32 contradict each other: leave one of them out",
                   name);
}

static weir_status read_precision(const weir_options *options, weir_precision *precision) {
  WEIR_TRY(read_bf16(options, "weight_dtype", &precision->bf16_weights));
  WEIR_TRY(read_bf16(options, "activation_dtype", &precision->bf16_activations));
  precision->without_masters = !is_true(options, "master_weights", true);
  precision->stochastic_rounding = is_true(options, "stochastic_rounding", false);
  precision->seed = (uint64_t)integer_of(options, "seed", 42);
  if (precision->without_masters && !precision->bf16_weights)
    return weir_fail(WEIR_BAD_INPUT,
                     "master_weights false needs weight_dtype bf16: f32 weights are their own "
                     "masters");
  if (precision->stochastic_rounding && !precision->without_masters)
    return weir_fail(WEIR_BAD_INPUT,
                     "stochastic_rounding needs weight_dtype bf16 and master_weights false: "
                     "nothing else is rounded after an update");
  return WEIR_OK;
}

static weir_status read_settings(const weir_options *options, weir_session *session) {
  int64_t n_layers = session->config.num_hidden_layers;
  weir_stash_policy policy = WEIR_STASH_ATTN;
  const char *name = text_of(options, "stash", "attn");
  if (!weir_stash_policy_parse(name, &policy))
    return weir_fail(WEIR_BAD_INPUT, "no stash policy '%s'", name);
  session->stash = calloc((size_t)n_layers, sizeof *session->stash);
  if (!session->stash) return weir_fail(WEIR_FAILED, "no memory for the stash policies");
  for (int64_t i = 0; i < n_layers; i++)
    session->stash[i] = policy;
  session->settings = (weir_stream_settings){
      .chunk_rows = integer_of(options, "chunk_rows", WEIR_DEFAULT_CHUNK_ROWS),
      .head_rows = integer_of(options, "head_rows", WEIR_DEFAULT_HEAD_ROWS),
      .head_columns = integer_of(options, "head_columns", WEIR_DEFAULT_HEAD_COLUMNS),
      .stash = session->stash,
  };
  return read_precision(options, &session->settings.precision);
}

static weir_status open_parts(const weir_options *options, weir_session *session) {
  WEIR_TRY(find_model(options, &session->model_path));
  WEIR_TRY(weir_model_config_read(session->model_path, &session->config));
  weir_model_config_warn(&session->config, session->model_path);
  WEIR_TRY(weir_parameter_table_create(&session->config, &session->table));
  if (weir_path_is_directory(session->model_path))
    WEIR_TRY(weir_weights_check(session->model_path, &session->config, &session->table));
  WEIR_TRY(read_settings(options, session));
  return open_device(text_of(options, "device", "cpu"),
                     (int)weir_options_integer(options, "threads"), &session->device);
}

weir_status weir_session_open(const weir_options *options, weir_session *session) {
  *session = (weir_session){0};
  weir_status status = open_parts(options, session);
  if (status != WEIR_OK) weir_session_close(session);
  return status;
}

weir_plan_request weir_session_request(const weir_session *session, weir_run_purpose purpose) {
  return (weir_plan_request){
      .config = &session->config,
      .table = &session->table,
      .settings = session->settings,
      .purpose = purpose,
      .real = session->device->real,
      .n_threads = session->device->n_threads,
  };
}

weir_status weir_session_measure_library(weir_session *session, uint64_t *library_bytes) {
  if (!is_ref(session->device->name)) WEIR_TRY(weir_cpu_warm_up(session->device));
  /* What the warm-up gave back may or may not have gone back to the system: count none of it, then
   * as much as every thread may take again. */
  malloc_trim(0);
  *library_bytes = weir_process_resident_bytes() + WEIR_FILE_STRIPES_BYTES +
                   (uint64_t)session->device->n_threads * WEIR_PRODUCT_BYTES_PER_THREAD;
  return WEIR_OK;
}

/* Reserving touches every page, and too many of them would have the system end the process.  What
 * a control group has charged already is no measure: most of it may be cached files. */
static weir_status check_machine(const weir_plan *plan) {
  weir_machine machine;
  weir_machine_read(&machine, "");
  uint64_t free_bytes = machine.available_bytes ? machine.available_bytes : WEIR_NO_LIMIT;
  if (machine.limit_bytes < free_bytes) free_bytes = machine.limit_bytes;
  uint64_t needed_bytes = plan->run_arena_bytes + plan->step_arena_bytes;
  if (needed_bytes <= free_bytes) return WEIR_OK;
  char needed[WEIR_BYTES_TEXT], is_free[WEIR_BYTES_TEXT];
  return weir_fail(WEIR_DOES_NOT_FIT,
                   "the plan reserves %s, and this machine has %s to give: ask for fewer tokens or "
                   "smaller chunks",
                   weir_bytes_to_text(needed_bytes, needed),
                   weir_bytes_to_text(free_bytes, is_free));
}

weir_status weir_session_reserve(weir_session *session, weir_run_purpose purpose,
                                 const weir_plan *plan) {
  WEIR_TRY(check_machine(plan));
  WEIR_TRY(weir_arena_init(&session->run_arena, "run", plan->run_arena_bytes));
  WEIR_TRY(weir_arena_init(&session->step_arena, "step", plan->step_arena_bytes));
  return weir_run_create(&session->run, session->device, &session->run_arena, &session->step_arena,
                         &session->config, &session->table, &session->settings, purpose);
}

weir_status weir_session_start(weir_session *session, weir_run_purpose purpose,
                               const weir_plan *plan) {
  WEIR_TRY(weir_session_reserve(session, purpose, plan));
  return weir_weights_load(session->model_path, &session->config, &session->table,
                           session->run.weights);
}

weir_status weir_session_check_finite(const weir_session *session, double loss) {
  if (isfinite(loss)) return WEIR_OK;
  return weir_fail(WEIR_FAILED,
                   "%s: the loss is %g: its weights are not all finite, or too large for %s",
                   session->model_path, loss, weir_dtype_name(session->device->real));
}

void weir_session_close(weir_session *session) {
  if (session->run.device) weir_run_destroy(&session->run);
  weir_arena_deinit(&session->run_arena);
  weir_arena_deinit(&session->step_arena);
  close_device(session->device);
  weir_parameter_table_destroy(&session->table);
  free(session->stash);
  *session = (weir_session){0};
}
