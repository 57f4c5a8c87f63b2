/* SPDX-License-Identifier: Apache-2.0
 *
 * A small model, loaded from a Hugging Face directory and set up on a device, for tests of whole
 * steps.  Values cross as f64 whatever the device computes in.  Whatever goes wrong fails the
 * running cmocka test. */
#ifndef WEIR_TESTS_SUPPORT_MODEL_CASE_H
#define WEIR_TESTS_SUPPORT_MODEL_CASE_H

#include "formats/safetensors.h"
#include "stream/step.h"

typedef struct model_case_device {
  const char *name;
  weir_status (*create)(weir_device **device);
  void (*destroy)(weir_device *device);
} model_case_device;

extern const model_case_device model_case_ref, model_case_cpu; /* cpu: two threads */

/* How the steps are streamed; zeros stand for defaults. */
typedef struct model_case_settings {
  int64_t chunk_rows, head_rows, head_columns;
  weir_stash_policy stash; /* of every layer */
  weir_precision precision;
} model_case_settings;

typedef struct model_case {
  const model_case_device *kind;
  weir_model_config config;
  weir_parameter_table table;
  weir_safetensors *file;
  weir_stash_policy *stash;
  weir_arena run_arena, step_arena;
  weir_device *device;
  weir_run run;
} model_case;

/* config.json and model.safetensors of `directory`; gradients are held too. */
void model_case_open(model_case *model, const char *directory, const model_case_device *kind,
                     const model_case_settings *settings);
void model_case_close(model_case *model);

/* The elements of a file's tensor (F32, F64 or BF16) that are this parameter's, in memory's order.
 */
void model_case_file_values(const weir_safetensors *file, const weir_parameter *parameter,
                            double *values);

void model_case_write(model_case *model, weir_tensor tensor, const double *values);
void model_case_read(model_case *model, weir_tensor tensor, double *values);

/* A JSON array of ids; caller frees. */
int32_t *model_case_ids(const char *path, int64_t *n_ids);

/* One row of tokens with the mean next-token loss over every sequence's own pairs: `ids` cut at
 * the `offsets` of n_sequences sequences (NULL: one sequence), divided by n_pairs, the supervised
 * pairs of the whole step (0: of this row). */
typedef struct model_case_row {
  weir_micro_batch micro_batch;
  int64_t *offsets;
  int32_t *targets;
  double *weights;
} model_case_row;

void model_case_row_init(model_case_row *row, const int32_t *ids, int64_t n_ids,
                         const int64_t *offsets, int64_t n_sequences, int64_t n_pairs);
void model_case_row_deinit(model_case_row *row);

/* The 2-norm of a vector, and of a difference. */
double model_case_norm(const double *x, int64_t n);
double model_case_distance(const double *x, const double *y, int64_t n);

#endif
