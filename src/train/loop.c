/* SPDX-License-Identifier: Apache-2.0 */
#include "train/loop.h"

#include "base/interrupt.h"
#include "base/log.h"
#include "base/number_text.h"
#include "train/model_directory.h"
#include "train/progress_line.h"
#include "train/report.h"
#include "train/run_folder.h"

#include <math.h>
#include <time.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool is_last(const weir_training *training) {
  return training->progress.step == training->settings->schedule.n_steps;
}

/* Whether something done every `n_steps`, and at the end, is due. */
static bool is_due(const weir_training *training, int64_t n_steps) {
  return is_last(training) || (n_steps > 0 && training->progress.step % n_steps == 0);
}

/* ---- one step ---- */

/* The device has not taken the step; here it is named. */
static weir_status refuse_step(weir_training *training, const weir_step_result *result) {
  const long long step = (long long)training->progress.step + 1;
  const weir_nonfinite found = weir_step_find_nonfinite(training->run);
  const weir_parameter *parameter =
      found.i_parameter < 0 ? NULL : &training->run->table->parameters[found.i_parameter];
  const char *what = !parameter        ? "the loss alone is not finite"
                     : found.is_weight ? "not finite is the weight "
                                       : "the first gradient not finite is that of ";
  const char *name = parameter ? parameter->file_name : "";
  if (training->settings->skips_nonfinite && !isfinite(result->grad_norm)) {
    weir_log_warning("step %lld skipped: loss %g, grad_norm %g: %s%s", step, result->loss,
                     result->grad_norm, what, name);
    return WEIR_OK;
  }
  return weir_fail(WEIR_FAILED,
                   "step %lld: loss %g, grad_norm %g: %s%s; nothing was saved over the last "
                   "checkpoint; try a smaller learning_rate, a longer warm-up, or --on-nonfinite "
                   "skip",
                   step, result->loss, result->grad_norm, what, name);
}

static void report_spikes(weir_training *training, const weir_step_result *result) {
  const long long step = (long long)training->progress.step + 1;
  double median;
  if (weir_spikes_add(&training->loss_spikes, result->loss, &median))
    weir_log_warning("step %lld: the loss jumped to %.4g, after a median of %.4g", step,
                     result->loss, median);
  if (weir_spikes_add(&training->norm_spikes, result->grad_norm, &median))
    weir_log_warning("step %lld: grad_norm jumped to %.4g, after a median of %.4g", step,
                     result->grad_norm, median);
}

static void count_skipped(weir_progress *progress, const weir_batches *batches, double seconds) {
  progress->step++;
  progress->n_skipped++;
  progress->n_tokens += batches->n_tokens;
  progress->n_supervised += batches->n_supervised;
  progress->seconds += seconds;
}

static void count_step(weir_progress *progress, const weir_batches *batches,
                       const weir_step_result *result, double seconds) {
  progress->step++;
  progress->n_tokens += batches->n_tokens;
  progress->n_supervised += batches->n_supervised;
  progress->loss_sum += result->loss;
  progress->seconds += seconds;
  progress->interval_steps++;
  progress->interval_loss += result->loss;
  progress->interval_rows += (int64_t)result->n_rows;
  progress->interval_correct += (int64_t)result->n_correct;
  progress->interval_entropy += result->entropy * result->n_rows;
}

static weir_status run_step(weir_training *training, weir_step_report *report) {
  const double begin = now();
  weir_adamw adamw = training->settings->adamw;
  adamw.learning_rate =
      weir_schedule_learning_rate(&training->settings->schedule, training->progress.step);
  adamw.step = training->progress.step + 1;
  weir_batches_load(training->batches, training->progress.step);
  weir_step_train(training->run, training->batches->micro_batches,
                  training->batches->n_micro_batches, &adamw, training->settings->max_grad_norm,
                  &report->result);
  const bool is_taken = isfinite(report->result.loss) && isfinite(report->result.grad_norm);
  if (is_taken)
    report_spikes(training, &report->result);
  else
    WEIR_TRY(refuse_step(training, &report->result));
  report->learning_rate = adamw.learning_rate;
  report->n_tokens = training->batches->n_tokens;
  report->seconds = now() - begin;
  if (is_taken)
    count_step(&training->progress, training->batches, &report->result, report->seconds);
  else
    count_skipped(&training->progress, training->batches, report->seconds);
  return WEIR_OK;
}

/* ---- what follows a step ---- */

static weir_status log_metrics(weir_training *training, const weir_step_report *report) {
  weir_progress *progress = &training->progress;
  WEIR_TRY(weir_journal_add(training->journal, weir_step_metrics(training, report)));
  weir_progress_line_log(training, report);
  progress->interval_steps = progress->interval_rows = progress->interval_correct = 0;
  progress->interval_loss = progress->interval_entropy = 0;
  return WEIR_OK;
}

/* The history ends with an evaluation of this step: a finished run was resumed. */
static bool is_evaluation_known(const weir_training *training) {
  const json_t *history = training->journal->history;
  const size_t n = json_array_size(history);
  const json_t *last = n > 0 ? json_array_get(history, n - 1) : NULL;
  return json_object_get(last, "eval_loss") &&
         json_integer_value(json_object_get(last, "step")) == training->progress.step;
}

static weir_status evaluate(weir_training *training) {
  const double begin = now();
  weir_progress *progress = &training->progress;
  if (!training->validation) return WEIR_OK;
  WEIR_TRY(weir_evaluate(training->run, training->validation, &training->evaluation, NULL));
  training->has_evaluation = true;
  if (progress->step > 0 &&
      (progress->best_step < 0 || training->evaluation.loss < progress->best_eval_loss)) {
    progress->best_step = progress->step;
    progress->best_eval_loss = training->evaluation.loss;
  }
  weir_log_info("step %lld  eval_loss %.4f  perplexity %.2f", (long long)progress->step,
                training->evaluation.loss, exp(training->evaluation.loss));
  if (is_evaluation_known(training)) return WEIR_OK;
  return weir_journal_add(training->journal, weir_evaluation_metrics(training, now() - begin));
}

static weir_status save_checkpoint(weir_training *training) {
  json_t *trainer_state = weir_trainer_state(training);
  if (!trainer_state) return weir_fail(WEIR_FAILED, "no memory for the state of the trainer");
  weir_status status = weir_checkpoint_save(
      training->folder, training->source, training->run, training->save_dtype,
      training->settings->max_shard_bytes, &training->progress, training->identity, trainer_state);
  json_decref(trainer_state);
  WEIR_TRY(status);
  weir_log_info("step %lld  saved %s/checkpoint-%lld", (long long)training->progress.step,
                training->folder, (long long)training->progress.step);
  const int64_t limit = training->settings->save_total_limit;
  return limit > 0 ? weir_run_folder_prune(training->folder, limit) : WEIR_OK;
}

/* Saves, unless the step just has been, and says how to go on. */
static weir_status stop(weir_training *training, weir_status signal, bool is_saved) {
  if (!is_saved) WEIR_TRY(save_checkpoint(training));
  return weir_fail(signal,
                   "stopped by a signal after step %lld; --resume-from-checkpoint latest "
                   "goes on from there",
                   (long long)training->progress.step);
}

static bool is_signal(weir_status status) {
  return status == WEIR_INTERRUPTED || status == WEIR_TERMINATED;
}

static weir_status after_step(weir_training *training, const weir_step_report *report) {
  const weir_training_settings *settings = training->settings;
  bool is_saved = false;
  if (is_due(training, settings->logging_steps)) WEIR_TRY(log_metrics(training, report));
  if (is_due(training, settings->eval_steps)) {
    weir_status status = evaluate(training);
    if (is_signal(status)) return stop(training, status, is_saved);
    WEIR_TRY(status);
  }
  if (is_due(training, settings->save_steps)) {
    WEIR_TRY(save_checkpoint(training));
    is_saved = true;
  }
  weir_status status = weir_interrupt_status();
  return status == WEIR_OK || is_last(training) ? WEIR_OK : stop(training, status, is_saved);
}

/* ---- the run ---- */

static weir_status run_steps(weir_training *training) {
  const int64_t first_step = training->progress.step;
  const double seconds_before = training->progress.seconds;
  while (!is_last(training)) {
    weir_step_report report;
    WEIR_TRY(run_step(training, &report));
    report.steps_here = training->progress.step - first_step;
    training->seconds_per_step =
        (training->progress.seconds - seconds_before) / (double)report.steps_here;
    weir_progress_line_show(training, &report);
    WEIR_TRY(after_step(training, &report));
  }
  return WEIR_OK;
}

weir_status weir_training_run(weir_training *training) {
  const bool is_finished = is_last(training);
  if (training->settings->eval_on_start && training->progress.step == 0)
    WEIR_TRY(evaluate(training));
  WEIR_TRY(run_steps(training));
  if (is_finished) WEIR_TRY(evaluate(training)); /* resumed after the last step */
  WEIR_TRY(weir_model_directory_save(training->folder, training->source, training->run,
                                     training->save_dtype, training->settings->max_shard_bytes));
  weir_log_info("saved the model in %s", training->folder);
  return weir_training_write_result(training);
}

int64_t weir_training_n_checkpoints(const weir_training_settings *settings, int64_t step) {
  const int64_t n_steps = settings->schedule.n_steps - step;
  int64_t n_checkpoints =
      settings->save_steps > 0 ? (n_steps + settings->save_steps - 1) / settings->save_steps : 1;
  if (settings->save_total_limit > 0 && n_checkpoints > settings->save_total_limit + 1)
    n_checkpoints = settings->save_total_limit + 1; /* the newest is written before one goes */
  return n_checkpoints;
}

weir_status weir_training_check_space(const weir_training *training,
                                      const weir_parameter_table *table, weir_dtype real) {
  const int64_t n_checkpoints =
      weir_training_n_checkpoints(training->settings, training->progress.step);
  const uint64_t checkpoint_bytes =
      weir_checkpoint_bytes(training->source, table, real, training->save_dtype);
  uint64_t needed_bytes;
  if (__builtin_mul_overflow((uint64_t)n_checkpoints, checkpoint_bytes, &needed_bytes) ||
      __builtin_add_overflow(
          needed_bytes, weir_model_directory_bytes(training->source, table, training->save_dtype),
          &needed_bytes))
    needed_bytes = UINT64_MAX;
  uint64_t free_bytes;
  WEIR_TRY(weir_directory_free_bytes(training->folder, &free_bytes));
  if (needed_bytes <= free_bytes) return WEIR_OK;
  char needed[WEIR_BYTES_TEXT], is_free[WEIR_BYTES_TEXT];
  return weir_fail(WEIR_FAILED,
                   "%s: %lld checkpoint%s and the model take %s, %s are free: make room, or save "
                   "less with --save-total-limit or --save-steps",
                   training->folder, (long long)n_checkpoints, n_checkpoints == 1 ? "" : "s",
                   weir_bytes_to_text(needed_bytes, needed),
                   weir_bytes_to_text(free_bytes, is_free));
}
