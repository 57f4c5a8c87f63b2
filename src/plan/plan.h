/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan: what a run will hold, found by running it dry.
 *
 * Not a formula beside the program: the very step function runs on the dry device over dry arenas,
 * and their high-water marks are the answer (I2). */
#ifndef WEIR_PLAN_PLAN_H
#define WEIR_PLAN_PLAN_H

#include "device/dry/dry.h"
#include "stream/step.h"

/* The work to plan for: the longest rows of each phase. */
typedef struct weir_plan_request {
  const weir_model_config *config;
  const weir_parameter_table *table;
  weir_stream_settings settings;
  weir_run_purpose purpose;
  weir_dtype real;
  int n_threads;
  const weir_sequences *rows; /* [n_rows]: micro-batches of one step, the longest there are */
  int64_t n_rows;
  int64_t evaluate_tokens; /* longest row of an evaluation in between; 0 for none */
  int64_t prompt_tokens;   /* of the longest text to generate in between */
  int64_t new_tokens;      /* of the same; 0 for none */
  uint64_t data_bytes;     /* host tables of rows and tokens */
  uint64_t library_bytes;  /* measured, of the process before any arena; 0 where unknown */
} weir_plan_request;

typedef struct weir_plan {
  uint64_t run_arena_bytes, step_arena_bytes; /* high-water marks: what will be reserved */
  uint64_t data_bytes, library_bytes;
  uint64_t peak_bytes; /* of the process: arenas + data + library */
  weir_dry_report dry; /* held by kind at the peak, the peak's operation, FLOPs */
} weir_plan;

weir_status weir_plan_make(const weir_plan_request *request, weir_plan *plan);

#endif
