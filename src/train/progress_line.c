/* SPDX-License-Identifier: Apache-2.0 */
#include "train/progress_line.h"

#include "base/log.h"
#include "base/number_text.h"
#include "base/process.h"

#include <stdio.h>

enum { LINE_BYTES = 256 };

/* "1:02:03", "2:03". */
static const char *duration_text(double seconds, char text[32]) {
  const long long s = (long long)(seconds + 0.5);
  if (s >= 3600)
    snprintf(text, 32, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
  else
    snprintf(text, 32, "%lld:%02lld", s / 60, s % 60);
  return text;
}

static const char *line_text(const weir_training *training, const weir_step_report *report,
                             double loss, char text[LINE_BYTES]) {
  const int64_t n_steps = training->settings->schedule.n_steps;
  const int64_t n_left = n_steps - training->progress.step;
  char memory[WEIR_BYTES_TEXT], left[32];
  snprintf(text, LINE_BYTES,
           "step %lld/%lld  loss %.4f  lr %.3g  %.0f tokens/s  memory %s  %s left",
           (long long)training->progress.step, (long long)n_steps, loss, report->learning_rate,
           (double)report->n_tokens / report->seconds,
           weir_bytes_to_text(weir_process_resident_bytes(), memory),
           duration_text((double)n_left * training->seconds_per_step, left));
  return text;
}

void weir_progress_line_show(const weir_training *training, const weir_step_report *report) {
  char text[LINE_BYTES];
  weir_log_progress("%s", line_text(training, report, report->result.loss, text));
}

void weir_progress_line_log(const weir_training *training, const weir_step_report *report) {
  const weir_progress *progress = &training->progress;
  const double n_steps = (double)progress->interval_steps; /* 0 where all were skipped */
  char text[LINE_BYTES];
  weir_log_info("%s", line_text(training, report,
                                progress->interval_loss / (n_steps > 0 ? n_steps : 1), text));
}
