/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan as people and programs read it. */
#ifndef WEIR_PLAN_REPORT_H
#define WEIR_PLAN_REPORT_H

#include "plan/plan.h"

#include <jansson.h>

/* A screenful: settings, bytes by kind, the peak and what makes it, FLOPs.  Several lines, each
 * ended; malloc'ed, NULL only for want of memory. */
char *weir_plan_text(const weir_plan_request *request, const weir_plan *plan);

/* The schema of docs/plan.md; new reference, NULL only for want of memory. */
json_t *weir_plan_json(const weir_plan_request *request, const weir_plan *plan);

/* "backward, layer 3, row 512": where the peak is, for messages. */
void weir_step_position_text(const weir_step_position *position, char *text, size_t text_bytes);

#endif
