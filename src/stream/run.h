/* SPDX-License-Identifier: Apache-2.0
 *
 * A run: a model's tensors on a device, and how its steps are to be streamed.
 *
 * The same struct holds a real run (cpu, ref) and a dry one: only the device and the arenas differ.
 * The run arena holds what lives from start to end; the step arena is empty between steps. */
#ifndef WEIR_STREAM_RUN_H
#define WEIR_STREAM_RUN_H

#include "core/device.h"
#include "core/precision.h"
#include "model/parameter.h"
#include "stream/stash.h"

/* Part of the plan: none of it changes results beyond the order of additions, and multiples of
 * WEIR_BLOCK_ROWS not even that (I1, I4).  Precision alone is the recipe's. */
typedef struct weir_stream_settings {
  int64_t chunk_rows;             /* rows of a chunk inside layers */
  int64_t head_rows;              /* rows of a block of the head */
  int64_t head_columns;           /* classes of a tile of logits */
  const weir_stash_policy *stash; /* [L], borrowed; one policy per layer */
  weir_precision precision;
} weir_stream_settings;

enum {
  WEIR_DEFAULT_CHUNK_ROWS = 512,
  WEIR_DEFAULT_HEAD_ROWS = 512,
  WEIR_DEFAULT_HEAD_COLUMNS = 8192
};

/* What a run is for decides what it holds. */
typedef enum weir_run_purpose {
  WEIR_RUN_FORWARD,   /* weights */
  WEIR_RUN_GRADIENTS, /* and gradients */
  WEIR_RUN_TRAIN,     /* and the optimizer's two moments */
} weir_run_purpose;

typedef struct weir_run {
  weir_device *device;
  weir_arena *run_arena, *step_arena;
  const weir_model_config *config;
  const weir_parameter_table *table;
  weir_stream_settings settings;
  weir_rope ropes[2]; /* of layers without and with a window */
  /* [n_parameters], in the table's order; absent tensors where the purpose needs none.  `real`, but
   * for weights that are bf16 and have no masters. */
  weir_tensor *weights, *gradients, *first_moments, *second_moments;
  weir_tensor sums;            /* [1, WEIR_SUM_COUNT] f64, of the step */
  weir_tensor squares;         /* [1,1] f64: sum of squared gradients */
  weir_tensor clip;            /* [1,1] f64: the factor applied to gradients */
  weir_stash_slot *slots;      /* [L] */
  weir_arena_mark *marks;      /* [L]: the step arena below each layer's slot */
  double *inverse_frequencies; /* [2][K/2], what `ropes` borrow */
} weir_run;

/* Takes the run's tensors from run_arena; their contents are undefined, but moments start at zero.
 * Everything passed is borrowed and must outlive the run.  Fails only for want of host memory. */
weir_status weir_run_create(weir_run *run, weir_device *device, weir_arena *run_arena,
                            weir_arena *step_arena, const weir_model_config *config,
                            const weir_parameter_table *table, const weir_stream_settings *settings,
                            weir_run_purpose purpose);
void weir_run_destroy(weir_run *run);

#endif
