/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameter table: every weight of a model, what it is called in files, and which unit holds
 * it.
 *
 * A *unit* is a group of parameters used together: the embedding, each layer, and the final norm
 * with the head.  Roles name a parameter inside its unit.  In memory a linear weight is always
 * [outputs, inputs]; `file_transposed` and `file_row` say where it lies in the file's tensor, so
 * that GPT-2's [inputs, outputs] storage and fused tensors are table entries, not code paths.
 * The table, in its order, also fixes the order of optimizer updates and of gradient-norm sums. */
#ifndef WEIR_MODEL_PARAMETER_H
#define WEIR_MODEL_PARAMETER_H

#include "formats/model_config.h"

#include <stdbool.h>
#include <stdint.h>

/* X(constant): roles, layer roles between ATTENTION_NORM and MLP_POST_NORM */
#define WEIR_ROLES(X)                                                                              \
  X(EMBEDDING) /* [V,D] */                                                                         \
  X(POSITIONS) /* [P,D] */                                                                         \
  X(ATTENTION_NORM)                                                                                \
  X(ATTENTION_NORM_BIAS)                                                                           \
  X(Q) /* [H*K,D] */                                                                               \
  X(Q_BIAS)                                                                                        \
  X(K) /* [G*K,D] */                                                                               \
  X(K_BIAS)                                                                                        \
  X(V) /* [G*K,D] */                                                                               \
  X(V_BIAS)                                                                                        \
  X(Q_NORM) /* [1,K] */                                                                            \
  X(K_NORM) /* [1,K] */                                                                            \
  X(O)      /* [D,H*K] */                                                                          \
  X(O_BIAS)                                                                                        \
  X(ATTENTION_POST_NORM)                                                                           \
  X(MLP_NORM)                                                                                      \
  X(MLP_NORM_BIAS)                                                                                 \
  X(GATE) /* [F,D] */                                                                              \
  X(GATE_BIAS)                                                                                     \
  X(UP) /* [F,D] */                                                                                \
  X(UP_BIAS)                                                                                       \
  X(DOWN) /* [D,F] */                                                                              \
  X(DOWN_BIAS)                                                                                     \
  X(MLP_POST_NORM)                                                                                 \
  X(FINAL_NORM)                                                                                    \
  X(FINAL_NORM_BIAS)                                                                               \
  X(HEAD) /* [V,D]; absent from the table when tied */

typedef enum weir_role {
#define X(constant) WEIR_ROLE_##constant,
  WEIR_ROLES(X)
#undef X
      WEIR_ROLE_COUNT
} weir_role;

enum { WEIR_PARAMETER_NAME_BYTES = 96 };

typedef struct weir_parameter {
  weir_role role;
  int64_t unit;       /* 0 embedding, 1 .. L layers, L+1 final norm and head */
  int64_t rows, cols; /* in memory; vectors are [1, n] */
  bool is_vector;     /* one dimension in the file */
  char file_name[WEIR_PARAMETER_NAME_BYTES]; /* the tensor in the file that holds it */
  bool file_transposed;                      /* the file stores [cols, rows] */
  int64_t file_row;  /* first of our rows (outputs) in the file's tensor; 0 unless fused */
  int64_t file_rows; /* outputs of the file's tensor; == rows (or cols of a vector) unless fused */
} weir_parameter;

typedef struct weir_parameter_table {
  int64_t n_units;
  int64_t n_parameters;
  weir_parameter *parameters; /* owned; units in rising order, roles in rising order inside */
  int64_t *index;             /* owned; [n_units][WEIR_ROLE_COUNT], -1 for none */
} weir_parameter_table;

weir_status weir_parameter_table_create(const weir_model_config *config,
                                        weir_parameter_table *table);
void weir_parameter_table_destroy(weir_parameter_table *table);

/* Index of the parameter, or -1 where the model has none. */
int64_t weir_parameter_find(const weir_parameter_table *table, int64_t unit, weir_role role);

/* The shape of the file's tensor that holds the parameter, with all its other parts; returns the
 * number of dimensions. */
int weir_parameter_file_shape(const weir_parameter *parameter, int64_t shape[2]);

#endif
