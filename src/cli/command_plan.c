/* SPDX-License-Identifier: Apache-2.0
 *
 * weir plan: what a training step will hold, before anything is held. */
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/session.h"
#include "plan/fit.h"
#include "plan/report.h"

#include <stdlib.h>

/* A dry run visits every chunk of every layer; more of them than this (ten seconds) are rather a
 * slip of the pen than a plan. */
static const double most_visits = 1 << 22;

static weir_status check_visits(const weir_options *options, const weir_plan_request *request,
                                int64_t n_tokens, int64_t n_rows) {
  const weir_stream_settings *settings = &request->settings;
  const double n_layers = (double)request->config->num_hidden_layers;
  const double n_visits =
      (double)n_rows * (n_layers * (double)n_tokens / (double)settings->chunk_rows +
                        (double)n_tokens / (double)settings->head_rows);
  if (n_visits <= most_visits) return WEIR_OK;
  return weir_fail(
      WEIR_BAD_INPUT,
      "a step of %lld micro-batches of %lld tokens is %.3g chunks over all layers; at "
      "most %.3g are planned: lower --max-length, --per-device-train-batch-size (%lld) "
      "or --gradient-accumulation-steps, or raise --chunk-rows and --head-rows",
      (long long)n_rows, (long long)n_tokens, n_visits, most_visits,
      (long long)weir_options_integer(options, "per_device_train_batch_size"));
}

/* The worst rows: every micro-batch full, one sequence each. */
typedef struct full_rows {
  weir_sequences *rows;
  int64_t offsets[2];
} full_rows;

static weir_status fill_rows(const weir_options *options, full_rows *full,
                             weir_plan_request *request) {
  int64_t n_rows = weir_options_integer(options, "gradient_accumulation_steps");
  full->offsets[1] = weir_options_integer(options, "max_length") *
                     weir_options_integer(options, "per_device_train_batch_size");
  WEIR_TRY(check_visits(options, request, full->offsets[1], n_rows));
  full->rows = calloc((size_t)n_rows, sizeof *full->rows);
  if (!full->rows) return weir_fail(WEIR_FAILED, "no memory for %lld rows", (long long)n_rows);
  for (int64_t i = 0; i < n_rows; i++)
    full->rows[i] = (weir_sequences){full->offsets[1], 1, full->offsets};
  request->rows = full->rows;
  request->n_rows = n_rows;
  return WEIR_OK;
}

static weir_status print_json(const weir_plan_request *request, const weir_plan *plan) {
  json_t *json = weir_plan_json(request, plan);
  char *text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
  json_decref(json);
  if (!text) return weir_fail(WEIR_FAILED, "no memory for the plan's text");
  weir_print("%s\n", text);
  free(text);
  return WEIR_OK;
}

static weir_status print_text(const weir_plan_request *request, const weir_plan *plan) {
  char *text = weir_plan_text(request, plan);
  if (!text) return weir_fail(WEIR_FAILED, "no memory for the plan's text");
  weir_print("%s", text);
  free(text);
  return WEIR_OK;
}

static weir_status plan_and_print(const weir_options *options, weir_session *session,
                                  full_rows *full) {
  weir_plan_request request = weir_session_request(session, WEIR_RUN_TRAIN);
  WEIR_TRY(fill_rows(options, full, &request));
  WEIR_TRY(weir_session_measure_library(session, &request.library_bytes));
  weir_plan plan;
  WEIR_TRY(weir_plan_make(&request, &plan));
  WEIR_TRY(weir_options_boolean(options, "json") ? print_json(&request, &plan)
                                                 : print_text(&request, &plan));
  if (!weir_options_is_set(options, "memory")) return WEIR_OK;
  return weir_plan_check_memory(&request, &plan, weir_options_bytes(options, "memory"));
}

weir_status weir_command_plan(const weir_options *options) {
  weir_session session;
  WEIR_TRY(weir_session_open(options, &session));
  full_rows full = {0};
  weir_status status = plan_and_print(options, &session, &full);
  free(full.rows);
  weir_session_close(&session);
  return status;
}
