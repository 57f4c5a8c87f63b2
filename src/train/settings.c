/* SPDX-License-Identifier: Apache-2.0 */
#include "train/settings.h"

#include <math.h>
#include <stdio.h>

weir_status weir_training_settings_settle(weir_training_settings *settings,
                                          int64_t steps_per_epoch) {
  weir_schedule *schedule = &settings->schedule;
  if (settings->max_steps == 0)
    return weir_fail(WEIR_BAD_INPUT, "max_steps is 0: give a number of steps, or -1 to train for "
                                     "num_train_epochs");
  const double n_steps = settings->max_steps > 0
                             ? (double)settings->max_steps
                             : ceil(settings->num_train_epochs * (double)steps_per_epoch);
  if (!(n_steps >= 1 && n_steps <= 1e15))
    return weir_fail(WEIR_BAD_INPUT, "num_train_epochs %g of %lld steps: no usable number of steps",
                     settings->num_train_epochs, (long long)steps_per_epoch);
  schedule->n_steps = (int64_t)n_steps;
  schedule->warmup_steps =
      weir_schedule_warmup_steps(schedule->warmup_steps, settings->warmup_ratio, schedule->n_steps);
  return weir_schedule_check(schedule);
}

static bool depends_on_n_steps(weir_schedule_kind kind) {
  return kind != WEIR_SCHEDULE_CONSTANT && kind != WEIR_SCHEDULE_CONSTANT_WITH_WARMUP;
}

/* The whole dtype table, so that a checkpoint says what it is made of. */
static void add_dtypes(json_t *recipe, const weir_precision *precision, weir_dtype real) {
  weir_holding table[WEIR_HOLDINGS];
  weir_precision_table(precision, real, table);
  for (int i = 0; i < WEIR_HOLDINGS; i++) {
    char key[64];
    snprintf(key, sizeof key, "%s_dtype", table[i].what);
    json_object_set_new(recipe, key, json_string(weir_dtype_name(table[i].dtype)));
  }
  json_object_set_new(recipe, "stochastic_rounding", json_boolean(precision->stochastic_rounding));
}

json_t *weir_training_settings_recipe(const weir_training_settings *settings,
                                      const weir_precision *precision, weir_dtype real) {
  const weir_schedule *schedule = &settings->schedule;
  const weir_adamw *adamw = &settings->adamw;
  json_t *recipe = json_pack(
      "{s:I, s:I, s:I, s:f, s:s, s:f, s:I, s:f, s:f, s:f, s:f, s:f, s:I}", "max_length",
      (json_int_t)settings->max_length, "per_device_train_batch_size",
      (json_int_t)settings->per_device_train_batch_size, "gradient_accumulation_steps",
      (json_int_t)settings->gradient_accumulation_steps, "learning_rate", schedule->learning_rate,
      "lr_scheduler_type", weir_schedule_kind_name(schedule->kind), "min_lr_rate",
      schedule->min_lr_rate, "warmup_steps", (json_int_t)schedule->warmup_steps, "weight_decay",
      adamw->weight_decay, "adam_beta1", adamw->beta1, "adam_beta2", adamw->beta2, "adam_epsilon",
      adamw->epsilon, "max_grad_norm", settings->max_grad_norm, "seed", (json_int_t)settings->seed);
  if (recipe) add_dtypes(recipe, precision, real);
  if (recipe && depends_on_n_steps(schedule->kind))
    json_object_set_new(recipe, "max_steps", json_integer((json_int_t)schedule->n_steps));
  return recipe;
}
