/* SPDX-License-Identifier: Apache-2.0
 *
 * weir gradients: the exact gradient of the mean next-token loss of one sequence, as a file. */
#include "base/files.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/session.h"
#include "formats/token_ids.h"
#include "model/weights.h"
#include "objective/sft.h"

#include <stdlib.h>

typedef struct labelled_sequence {
  weir_ids ids;
  int32_t *targets;
  double *weights;
  int64_t offsets[2];
} labelled_sequence;

static weir_status read_sequence(const char *path, const weir_model_config *config,
                                 labelled_sequence *row) {
  WEIR_TRY(weir_token_ids_read(path, config->vocab_size, &row->ids));
  size_t n = row->ids.count;
  if (n < 2)
    return weir_fail(WEIR_BAD_INPUT,
                     "%s: %zu id%s; a next-token loss needs a sequence of at least 2", path, n,
                     n == 1 ? "" : "s");
  if (config->learned_positions && (int64_t)n > config->max_position_embeddings)
    return weir_fail(WEIR_BAD_INPUT,
                     "%s: %zu ids, but the model has only %lld positions; shorten the sequence",
                     path, n, (long long)config->max_position_embeddings);
  row->offsets[1] = (int64_t)n;
  row->targets = malloc(n * sizeof *row->targets);
  row->weights = malloc(n * sizeof *row->weights);
  if (!row->targets || !row->weights) return weir_fail(WEIR_FAILED, "no memory for %zu ids", n);
  return WEIR_OK;
}

static weir_status compute(const weir_options *options, weir_session *session,
                           labelled_sequence *row) {
  WEIR_TRY(weir_replacement_check(weir_options_string(options, "output_dir")));
  WEIR_TRY(read_sequence(weir_options_string(options, "ids"), &session->config, row));
  weir_micro_batch micro_batch = {.sequences = {row->offsets[1], 1, row->offsets},
                                  .ids = row->ids.data,
                                  .targets = row->targets,
                                  .weights = row->weights};
  weir_sft_fill(&micro_batch.sequences, row->ids.data, NULL,
                weir_sft_count(&micro_batch.sequences, NULL), row->targets, row->weights);
  weir_plan_request request = weir_session_request(session, WEIR_RUN_GRADIENTS);
  request.rows = &micro_batch.sequences;
  request.n_rows = 1;
  weir_plan plan;
  WEIR_TRY(weir_plan_make(&request, &plan));
  WEIR_TRY(weir_session_start(session, WEIR_RUN_GRADIENTS, &plan));
  weir_step_result result;
  weir_step_gradients(&session->run, &micro_batch, 1, &result);
  WEIR_TRY(weir_session_check_finite(session, result.loss));
  WEIR_TRY(weir_weights_save(weir_options_string(options, "output_dir"), &session->table,
                             session->run.gradients, session->device->real));
  weir_print("loss %.17g\n", result.loss);
  return WEIR_OK;
}

weir_status weir_command_gradients(const weir_options *options) {
  weir_session session;
  WEIR_TRY(weir_session_open(options, &session));
  labelled_sequence row = {0};
  weir_status status = compute(options, &session, &row);
  weir_ids_deinit(&row.ids);
  free(row.targets);
  free(row.weights);
  weir_session_close(&session);
  return status;
}
