/* SPDX-License-Identifier: Apache-2.0
 *
 * A step on one line for people: step, loss, learning rate, tokens a second, memory, time left. */
#ifndef WEIR_TRAIN_PROGRESS_LINE_H
#define WEIR_TRAIN_PROGRESS_LINE_H

#include "train/report.h"

/* The line that a terminal overwrites. */
void weir_progress_line_show(const weir_training *training, const weir_step_report *report);
/* The line that stays, with the mean loss since the last one. */
void weir_progress_line_log(const weir_training *training, const weir_step_report *report);

#endif
