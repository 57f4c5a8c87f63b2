/* SPDX-License-Identifier: Apache-2.0
 *
 * Learning-rate schedules, with the names and formulas of Hugging Face Transformers.
 *
 * With w warm-up steps of T, update number `step` (the first is 0) uses learning_rate times
 *
 *   constant              1
 *   any other, step < w   step / w: the very first update of a warm-up uses 0
 *   constant_with_warmup  1
 *   linear                (T - step) / (T - w)
 *   cosine                c = (1 + cos(pi (step - w) / (T - w))) / 2
 *   cosine_with_min_lr    r + (1 - r) c,  r = min_lr_rate
 *
 * linear and cosine would reach their end at update T, one past the last; from there on they stay
 * at it.  All in f64. */
#ifndef WEIR_OPTIM_SCHEDULE_H
#define WEIR_OPTIM_SCHEDULE_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum weir_schedule_kind {
  WEIR_SCHEDULE_CONSTANT,
  WEIR_SCHEDULE_CONSTANT_WITH_WARMUP,
  WEIR_SCHEDULE_LINEAR,
  WEIR_SCHEDULE_COSINE,
  WEIR_SCHEDULE_COSINE_WITH_MIN_LR,
  WEIR_SCHEDULE_KIND_COUNT,
} weir_schedule_kind;

typedef struct weir_schedule {
  weir_schedule_kind kind;
  double learning_rate; /* the peak */
  double min_lr_rate;   /* where cosine_with_min_lr ends, as a part of the peak */
  int64_t warmup_steps;
  int64_t n_steps;
} weir_schedule;

const char *weir_schedule_kind_name(weir_schedule_kind kind);
/* False where no schedule has that name. */
bool weir_schedule_kind_parse(const char *name, weir_schedule_kind *kind);

/* As Transformers: warmup_steps where it is positive, else the ratio of all steps, rounded up. */
int64_t weir_schedule_warmup_steps(int64_t warmup_steps, double warmup_ratio, int64_t n_steps);

/* Refuses settings that the kind would ignore, and a warm-up that never ends. */
weir_status weir_schedule_check(const weir_schedule *schedule);

double weir_schedule_learning_rate(const weir_schedule *schedule, int64_t step);

#endif
