/* SPDX-License-Identifier: Apache-2.0
 *
 * weir eval: the mean next-token loss of a model on a text, or on one sequence of ids.
 *
 * Text is read, ended and cut exactly as `weir train` does its validation file, so both print the
 * same loss to the last bit. */
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/training_options.h"
#include "formats/token_ids.h"
#include "train/evaluate.h"

#include <math.h>
#include <stdlib.h>

typedef struct eval_command {
  const weir_options *options;
  weir_session session;
  weir_data_part part;
  weir_evaluation evaluation;
  double *token_losses; /* [tokens], with --per-token */
} eval_command;

/* ---- what to evaluate ---- */

/* One sequence, whole: returns the length of the only row. */
static weir_status read_ids(eval_command *command, const char *path, int64_t *max_length) {
  const int64_t vocab_size = command->session.config.vocab_size;
  weir_ids ids = {0};
  weir_status status = weir_token_ids_read(path, vocab_size, &ids);
  if (status == WEIR_OK && ids.count < 2)
    status =
        weir_fail(WEIR_BAD_INPUT, "%s: %zu ids, but a loss takes at least two", path, ids.count);
  if (status == WEIR_OK)
    status =
        weir_corpus_from_ids(&command->part.corpus, path, ids.data, (int64_t)ids.count, vocab_size);
  *max_length = (int64_t)ids.count;
  weir_ids_deinit(&ids);
  return status;
}

static weir_status read_text(eval_command *command, const char *path) {
  weir_tokenizer *tokenizer;
  weir_corpus_settings settings;
  WEIR_TRY(
      weir_training_options_corpus(command->options, &command->session, &tokenizer, &settings));
  char *cache;
  weir_status status = weir_training_options_cache(command->options, &path, 1, &cache);
  settings.cache = cache;
  if (status == WEIR_OK) status = weir_corpus_read(&command->part.corpus, &settings, &path, 1);
  free(cache);
  weir_tokenizer_close(tokenizer);
  return status;
}

static weir_status read_data(eval_command *command) {
  const char *file = weir_options_string(command->options, "file");
  const char *ids = weir_options_string(command->options, "ids");
  if (!file == !ids)
    return weir_fail(WEIR_BAD_INPUT, "needs either --file FILE or --ids FILE.json");
  int64_t max_length = weir_options_integer(command->options, "max_length");
  WEIR_TRY(ids ? read_ids(command, ids, &max_length) : read_text(command, file));
  const weir_batch_settings settings = {1, 1, 0, true};
  WEIR_TRY(weir_data_part_pack(&command->part, max_length, &settings));
  if (file) weir_data_part_log(&command->part, file, max_length);
  return weir_training_options_check_length(&command->session, command->part.rows.longest_span);
}

/* ---- results ---- */

/* JSON knows no infinity, and a token that nothing predicts has no loss. */
static json_t *real_json(double real) {
  return isfinite(real) ? json_real(real) : json_null();
}

static json_t *token_losses_json(const eval_command *command) {
  json_t *losses = json_array();
  for (int64_t i = 0; i < command->part.corpus.n_tokens; i++)
    json_array_append_new(losses, real_json(command->token_losses[i]));
  return losses;
}

static weir_status print_json(const eval_command *command) {
  const weir_evaluation *evaluation = &command->evaluation;
  json_t *root = json_pack("{s:o, s:o, s:I, s:f, s:f}", "loss", real_json(evaluation->loss),
                           "perplexity", real_json(exp(evaluation->loss)), "tokens",
                           (json_int_t)evaluation->n_supervised, "mean_token_accuracy",
                           evaluation->mean_token_accuracy, "entropy", evaluation->entropy);
  if (root && command->token_losses)
    json_object_set_new(root, "token_losses", token_losses_json(command));
  char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
  json_decref(root);
  if (!text) return weir_fail(WEIR_FAILED, "no memory for the result");
  weir_print("%s\n", text);
  free(text);
  return WEIR_OK;
}

/* A line of id and loss for every token, "-" where nothing predicts it; then the summary. */
static weir_status print_text(const eval_command *command) {
  const weir_evaluation *evaluation = &command->evaluation;
  for (int64_t i = 0; command->token_losses && i < command->part.corpus.n_tokens; i++) {
    int32_t id;
    weir_corpus_copy(&command->part.corpus, (weir_span){i, 1}, &id, NULL);
    if (isnan(command->token_losses[i]))
      weir_print("%d\t-\n", id);
    else
      weir_print("%d\t%.9g\n", id, command->token_losses[i]);
  }
  weir_print("loss %.17g\nperplexity %.9g\ntokens %lld\n", evaluation->loss, exp(evaluation->loss),
             (long long)evaluation->n_supervised);
  return WEIR_OK;
}

/* ---- the run ---- */

static weir_status evaluate(eval_command *command) {
  weir_session *session = &command->session;
  weir_plan_request request = weir_session_request(session, WEIR_RUN_FORWARD);
  weir_plan plan;
  WEIR_TRY(weir_evaluate_reserve(&command->part.batches, &request.evaluate_tokens));
  WEIR_TRY(weir_plan_make(&request, &plan));
  if (weir_options_boolean(command->options, "per_token")) {
    const size_t n_tokens = (size_t)command->part.corpus.n_tokens;
    command->token_losses = malloc(n_tokens * sizeof *command->token_losses);
    if (!command->token_losses) return weir_fail(WEIR_FAILED, "no memory for %zu losses", n_tokens);
  }
  WEIR_TRY(weir_session_start(session, WEIR_RUN_FORWARD, &plan));
  WEIR_TRY(weir_evaluate(&session->run, &command->part.batches, &command->evaluation,
                         command->token_losses));
  return weir_session_check_finite(session, command->evaluation.loss);
}

static weir_status run(eval_command *command) {
  WEIR_TRY(weir_session_open(command->options, &command->session));
  WEIR_TRY(read_data(command));
  WEIR_TRY(evaluate(command));
  return weir_options_boolean(command->options, "json") ? print_json(command) : print_text(command);
}

weir_status weir_command_eval(const weir_options *options) {
  eval_command command = {.options = options};
  weir_status status = run(&command);
  free(command.token_losses);
  weir_data_part_deinit(&command.part);
  weir_session_close(&command.session);
  return status;
}
