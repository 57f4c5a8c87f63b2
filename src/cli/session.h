/* SPDX-License-Identifier: Apache-2.0
 *
 * What every command that runs a model sets up, in three moments:
 *
 *   open     the configuration, the parameter table, the settings, the device: enough to plan
 *   start    the arenas, of exactly the planned size; the run; the weights from the files
 *   close    all of it
 *
 * Between open and start stands the plan, so nothing large is held or read before it is known to
 * fit.  Here, and only here, concrete devices are named. */
#ifndef WEIR_CLI_SESSION_H
#define WEIR_CLI_SESSION_H

#include "base/option.h"
#include "plan/plan.h"

typedef struct weir_session {
  const char *model_path; /* borrowed from the options */
  weir_model_config config;
  weir_parameter_table table;
  weir_stash_policy *stash;      /* owned, [L] */
  weir_stream_settings settings; /* borrows stash */
  weir_device *device;
  weir_arena run_arena, step_arena;
  weir_run run; /* from start on; points into this struct, which must not move */
} weir_session;

/* Checks the headers of a model directory's weights; reads no weight.
 *
 * Options: --model (or --model-config), --threads, --device, --chunk-rows, --head-rows,
 * --head-columns, --stash and those of precision as far as the command has them; elsewhere their
 * defaults. */
weir_status weir_session_open(const weir_options *options, weir_session *session);

/* A request with everything but the work: the caller adds rows and phases. */
weir_plan_request weir_session_request(const weir_session *session, weir_run_purpose purpose);

/* Saving holds a stripe of converted weights, a stripe of the mapped file, and what stdio and JSON
 * need; with the metrics of a long run it stays below this. */
enum { WEIR_FILE_STRIPES_BYTES = 12 << 20 };

/* What the product library takes and malloc keeps for a thread, beyond the warm-up's other traces.
 */
enum { WEIR_PRODUCT_BYTES_PER_THREAD = 8 << 20 };

/* What the process holds without arenas: the program, its libraries made to take what they will
 * hold in training, thread stacks, WEIR_FILE_STRIPES_BYTES.  Call it before anything large is read.
 */
weir_status weir_session_measure_library(weir_session *session, uint64_t *library_bytes);

/* The arenas and the run, weights undefined; WEIR_DOES_NOT_FIT where the machine has less memory
 * to give than the plan reserves.  For who has them from elsewhere (a checkpoint). */
weir_status weir_session_reserve(weir_session *session, weir_run_purpose purpose,
                                 const weir_plan *plan);
/* Reserves, then loads the model's weights. */
weir_status weir_session_start(weir_session *session, weir_run_purpose purpose,
                               const weir_plan *plan);

/* Fails, naming the model, where a result is not a number that means anything. */
weir_status weir_session_check_finite(const weir_session *session, double loss);

/* Harmless on a zeroed session. */
void weir_session_close(weir_session *session);

#endif
