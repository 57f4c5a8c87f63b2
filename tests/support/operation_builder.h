/* SPDX-License-Identifier: Apache-2.0
 *
 * How the files of the table of cases say what a case is: operands in the order of the operation's
 * arguments, each call appending one or saying more of the last. */
#ifndef WEIR_TESTS_SUPPORT_OPERATION_BUILDER_H
#define WEIR_TESTS_SUPPORT_OPERATION_BUILDER_H

#include "support/operation_cases.h"

#include <string.h>

/* A new case of the table, named by the format. */
__attribute__((format(printf, 2, 3))) operation_case *
operation_case_begin(const char *operation_name, const char *format, ...);

static inline void append(operation_case *c, operation_operand operand) {
  WEIR_ASSERT(c->n_operands, <, MAX_OPERANDS);
  c->operands[c->n_operands++] = operand;
}

static inline void absent(operation_case *c) {
  append(c, (operation_operand){0});
}

/* Tokens by columns, seen chunk by chunk. */
static inline void tokens(operation_case *c, const char *name, int64_t rows, int64_t cols) {
  c->n_rows = rows;
  append(c, (operation_operand){.name = name, .rows = rows, .cols = cols, .split = SPLIT_ROWS});
}

/* One number per token. */
static inline void per_token(operation_case *c, const char *name, int64_t n, operand_fill fill) {
  c->n_rows = n;
  append(c, (operation_operand){
                .name = name, .rows = 1, .cols = n, .split = SPLIT_COLS, .fill = fill});
}

static inline void token_ids(operation_case *c, const char *name, int64_t n, operand_fill fill,
                             int64_t bound) {
  per_token(c, name, n, fill);
  c->operands[c->n_operands - 1].type = OPERAND_I32;
  c->operands[c->n_operands - 1].bound = bound;
}

/* A weight, table or other tensor that every chunk sees whole. */
static inline void whole(operation_case *c, const char *name, int64_t rows, int64_t cols,
                         operand_fill fill) {
  append(c, (operation_operand){.name = name, .rows = rows, .cols = cols, .fill = fill});
}

static inline void whole_f64(operation_case *c, const char *name, int64_t cols, operand_fill fill) {
  whole(c, name, 1, cols, fill);
  c->operands[c->n_operands - 1].type = OPERAND_F64;
}

/* Keys and values: those of the tokens up to the last query are enough. */
static inline void keys(operation_case *c, const char *name, int64_t rows, int64_t cols) {
  append(c, (operation_operand){.name = name, .rows = rows, .cols = cols, .split = SPLIT_PREFIX});
}

/* The operand just appended is written: added to, or made afresh. */
static inline void added(operation_case *c) {
  c->operands[c->n_operands - 1].output = true;
}

static inline void made(operation_case *c) {
  added(c);
  c->operands[c->n_operands - 1].fill = FILL_UNSET;
}

static inline void made_or_added(operation_case *c) {
  if (c->accumulate)
    added(c);
  else
    made(c);
}

/* Operand `name` lies in the memory of operand `alias`. */
static inline void alias(operation_case *c, const char *name, const char *alias_name) {
  for (int i = 0; i < c->n_operands && alias_name; i++)
    if (c->operands[i].name && strcmp(c->operands[i].name, name) == 0)
      c->operands[i].alias = alias_name;
}

typedef struct call_layout {
  int64_t lengths[MAX_SEQUENCES]; /* of the sequences; 0 ends */
  int64_t first_row, n_rows;      /* of the call */
} call_layout;

static inline void set_layout(operation_case *c, const call_layout *layout) {
  int64_t n = 0;
  for (; n < MAX_SEQUENCES && layout->lengths[n]; n++)
    c->offsets[n + 1] = c->offsets[n] + layout->lengths[n];
  c->sequences = (weir_sequences){c->offsets[n], n, c->offsets};
  c->first_row = layout->first_row;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define LL(x)        (long long)(x)

/* Rows that fall into sequences in ways that cross blocks. */
static const call_layout operation_layouts[] = {
    {{1}, 0, 1},
    {{9}, 3, 4},
    {{257}, 0, 257},
    {{1, 1, 1, 5}, 0, 8},
    {{255, 1, 44}, 0, 300},
    {{100, 60, 140}, 37, 101},
    {{200, 313}, 256, 257},
    {{200, 1, 312, 187}, 0, 700},
};

/* Of operation_cases_attention.c: its cases, and what runs them. */
void operation_rope_cases(void);
void operation_attention_cases(void);
void operation_run_rope(weir_device *d, const operation_case *c, const weir_tensor *t);
void operation_run_attention_forward(weir_device *d, const operation_case *c, const weir_tensor *t);
void operation_run_attention_backward(weir_device *d, const operation_case *c,
                                      const weir_tensor *t);
void operation_prepare_attention_backward(weir_device *d, const operation_case *c,
                                          const weir_tensor *t);

#endif
