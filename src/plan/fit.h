/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a plan keeps to a memory figure, and what to change where it does not. */
#ifndef WEIR_PLAN_FIT_H
#define WEIR_PLAN_FIT_H

#include "plan/plan.h"

/* WEIR_OK where plan->peak_bytes <= memory_bytes.  Otherwise WEIR_DOES_NOT_FIT, with a message that
 * names the largest holders and the changes that would fit (each planned, not estimated): another
 * stash, smaller chunks, the longest row. */
weir_status weir_plan_check_memory(const weir_plan_request *request, const weir_plan *plan,
                                   uint64_t memory_bytes);

#endif
