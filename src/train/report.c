/* SPDX-License-Identifier: Apache-2.0 */
#include "train/report.h"

#include "base/files.h"
#include "base/process.h"
#include "train/run_folder.h"
#include "train/sealed_json.h"

#include <math.h>
#include <stdio.h>

double weir_training_epoch(const weir_training *training) {
  return (double)training->progress.step / (double)training->batches->steps_per_epoch;
}

json_t *weir_step_metrics(const weir_training *training, const weir_step_report *report) {
  const weir_progress *progress = &training->progress;
  const double n_rows = progress->interval_rows > 0 ? (double)progress->interval_rows : 1;
  const double n_steps = progress->interval_steps > 0 ? (double)progress->interval_steps : 1;
  return json_pack(
      "{s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:f, s:f, s:I}", "step",
      (json_int_t)progress->step, "epoch", weir_training_epoch(training), "loss",
      progress->interval_loss / n_steps, "grad_norm",
      isfinite(report->result.grad_norm) ? report->result.grad_norm : 0.0, "learning_rate",
      report->learning_rate, "mean_token_accuracy", (double)progress->interval_correct / n_rows,
      "entropy", progress->interval_entropy / n_rows, "num_tokens", (json_int_t)progress->n_tokens,
      "num_supervised_tokens", (json_int_t)progress->n_supervised, "step_seconds", report->seconds,
      "tokens_per_second", (double)report->n_tokens / report->seconds, "skipped_steps",
      (json_int_t)progress->n_skipped);
}

json_t *weir_evaluation_metrics(const weir_training *training, double seconds) {
  const weir_evaluation *evaluation = &training->evaluation;
  return json_pack(
      "{s:I, s:f, s:f, s:f, s:f, s:I, s:f}", "step", (json_int_t)training->progress.step, "epoch",
      weir_training_epoch(training), "eval_loss", evaluation->loss, "eval_mean_token_accuracy",
      evaluation->mean_token_accuracy, "eval_entropy", evaluation->entropy, "eval_num_tokens",
      (json_int_t)evaluation->n_supervised, "eval_runtime", seconds);
}

/* The checkpoint of the lowest validation loss, where one was or is being saved at that step. */
static json_t *best_checkpoint_json(const weir_training *training) {
  const int64_t step = training->progress.best_step;
  char path[WEIR_PATH_BYTES];
  if (step < 0 ||
      weir_run_folder_name(path, training->folder, "checkpoint-%lld", (long long)step) != WEIR_OK)
    return json_null();
  const bool is_there = step == training->progress.step || weir_path_is_directory(path);
  return is_there ? json_string(path) : json_null();
}

json_t *weir_trainer_state(const weir_training *training) {
  const weir_progress *progress = &training->progress;
  const bool has_best = progress->best_step >= 0;
  return json_pack("{s:I, s:I, s:I, s:f, s:I, s:I, s:I, s:o, s:o, s:O}", "global_step",
                   (json_int_t)progress->step, "max_steps",
                   (json_int_t)training->settings->schedule.n_steps, "num_train_epochs",
                   (json_int_t)ceil((double)training->settings->schedule.n_steps /
                                    (double)training->batches->steps_per_epoch),
                   "epoch", weir_training_epoch(training), "logging_steps",
                   (json_int_t)training->settings->logging_steps, "save_steps",
                   (json_int_t)training->settings->save_steps, "num_input_tokens_seen",
                   (json_int_t)progress->n_tokens, "best_metric",
                   has_best ? json_real(progress->best_eval_loss) : json_null(),
                   "best_model_checkpoint", best_checkpoint_json(training), "log_history",
                   training->journal->history);
}

static json_t *bytes_json(uint64_t bytes) {
  return json_integer((json_int_t)bytes);
}

/* What one epoch holds, and what became of the rest. */
static json_t *data_json(const weir_batches *batches) {
  const weir_corpus *corpus = batches->corpus;
  const weir_rows *rows = batches->rows;
  return json_pack(
      "{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "documents", (json_int_t)corpus->n_documents, "tokens",
      (json_int_t)(corpus->n_tokens - rows->n_left_out_tokens), "supervised_tokens",
      (json_int_t)rows->n_supervised, "dropped_tokens", (json_int_t)rows->n_left_out_tokens,
      "truncated_tokens", (json_int_t)0, "cut_documents", (json_int_t)rows->n_cut_documents,
      "empty_documents", (json_int_t)corpus->counts.n_empty_documents);
}

static json_t *result_json(const weir_training *training) {
  const weir_run *run = training->run;
  const weir_progress *progress = &training->progress;
  const int64_t n_taken = progress->step - progress->n_skipped;
  return json_pack(
      "{s:{s:o, s:o}, s:{s:o, s:o}, s:o, s:o, s:f, s:I, s:f, s:I, s:I, s:I, s:f, s:o, s:o}",
      "planned_bytes", "run", bytes_json(training->plan->run_arena_bytes), "step",
      bytes_json(training->plan->step_arena_bytes), "used_bytes", "run",
      bytes_json(run->run_arena->high_water_bytes), "step",
      bytes_json(run->step_arena->high_water_bytes), "planned_peak_bytes",
      bytes_json(training->plan->peak_bytes), "process_peak_bytes",
      bytes_json(weir_process_peak_bytes()), "seconds_per_step", training->seconds_per_step,
      "steps", (json_int_t)progress->step, "epoch", weir_training_epoch(training), "num_tokens",
      (json_int_t)progress->n_tokens, "num_supervised_tokens", (json_int_t)progress->n_supervised,
      "skipped_steps", (json_int_t)progress->n_skipped, "train_loss",
      n_taken > 0 ? progress->loss_sum / (double)n_taken : 0.0, "eval_loss",
      training->has_evaluation ? json_real(training->evaluation.loss) : json_null(), "data",
      data_json(training->batches));
}

weir_status weir_training_write_result(const weir_training *training) {
  char path[WEIR_PATH_BYTES];
  WEIR_TRY(weir_run_folder_name(path, training->folder, "result.json"));
  json_t *result = result_json(training);
  if (!result) return weir_fail(WEIR_FAILED, "%s: no memory to write it", path);
  weir_status status = weir_json_write(path, result);
  json_decref(result);
  return status;
}
