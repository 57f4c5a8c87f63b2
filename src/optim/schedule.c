/* SPDX-License-Identifier: Apache-2.0 */
#include "optim/schedule.h"

#include <math.h>
#include <string.h>

static const char *const kind_names[WEIR_SCHEDULE_KIND_COUNT] = {
    [WEIR_SCHEDULE_CONSTANT] = "constant",
    [WEIR_SCHEDULE_CONSTANT_WITH_WARMUP] = "constant_with_warmup",
    [WEIR_SCHEDULE_LINEAR] = "linear",
    [WEIR_SCHEDULE_COSINE] = "cosine",
    [WEIR_SCHEDULE_COSINE_WITH_MIN_LR] = "cosine_with_min_lr",
};

static const double pi = 3.14159265358979323846;

const char *weir_schedule_kind_name(weir_schedule_kind kind) {
  return kind_names[kind];
}

bool weir_schedule_kind_parse(const char *name, weir_schedule_kind *kind) {
  for (int i = 0; i < WEIR_SCHEDULE_KIND_COUNT; i++) {
    if (strcmp(kind_names[i], name) != 0) continue;
    *kind = (weir_schedule_kind)i;
    return true;
  }
  return false;
}

int64_t weir_schedule_warmup_steps(int64_t warmup_steps, double warmup_ratio, int64_t n_steps) {
  if (warmup_steps > 0) return warmup_steps;
  return (int64_t)ceil((double)n_steps * warmup_ratio);
}

weir_status weir_schedule_check(const weir_schedule *schedule) {
  if (schedule->kind == WEIR_SCHEDULE_CONSTANT && schedule->warmup_steps > 0)
    return weir_fail(WEIR_BAD_INPUT, "lr_scheduler_type constant has no warm-up: use "
                                     "constant_with_warmup, or leave out the warm-up");
  if (schedule->kind != WEIR_SCHEDULE_COSINE_WITH_MIN_LR && schedule->min_lr_rate != 0)
    return weir_fail(WEIR_BAD_INPUT,
                     "min_lr_rate is %g, but lr_scheduler_type %s has no minimum: use "
                     "cosine_with_min_lr",
                     schedule->min_lr_rate, kind_names[schedule->kind]);
  if (schedule->warmup_steps > schedule->n_steps)
    return weir_fail(WEIR_BAD_INPUT, "warmup_steps is %lld, but the run has only %lld steps",
                     (long long)schedule->warmup_steps, (long long)schedule->n_steps);
  return WEIR_OK;
}

/* The share of the way from the end of the warm-up to step T, in [0, 1]. */
static double progress_at(const weir_schedule *schedule, int64_t step) {
  int64_t n_left = schedule->n_steps - schedule->warmup_steps;
  if (step >= schedule->n_steps || n_left < 1) return 1;
  return (double)(step - schedule->warmup_steps) / (double)n_left;
}

static double factor_at(const weir_schedule *schedule, int64_t step) {
  if (schedule->kind == WEIR_SCHEDULE_CONSTANT) return 1;
  if (step < schedule->warmup_steps) return (double)step / (double)schedule->warmup_steps;
  if (schedule->kind == WEIR_SCHEDULE_CONSTANT_WITH_WARMUP) return 1;

  double progress = progress_at(schedule, step);
  if (schedule->kind == WEIR_SCHEDULE_LINEAR) return 1 - progress;
  double cosine = 0.5 * (1 + cos(pi * progress));
  if (schedule->kind == WEIR_SCHEDULE_COSINE) return cosine;
  return schedule->min_lr_rate + (1 - schedule->min_lr_rate) * cosine;
}

double weir_schedule_learning_rate(const weir_schedule *schedule, int64_t step) {
  return schedule->learning_rate * factor_at(schedule, step);
}
