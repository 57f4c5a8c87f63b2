/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs one case of one device operation and judges what came out.
 *
 * A case is plain data: the operation's tensors ("operands", in the order of its arguments) and its
 * other arguments.  Values travel as doubles on the host, rounded to f32 where they are made, so
 * that a device in f32 and `ref` in f64 start from the very same numbers.  What an operation
 * overwrites starts as NaN, what it must leave alone is compared bit for bit, and a guard stands
 * behind every operand.  An error is accepted as `!(error <= tolerance)` is false, finiteness
 * comes first, and comparing nothing fails. */
#ifndef WEIR_TESTS_SUPPORT_OPERATION_HARNESS_H
#define WEIR_TESTS_SUPPORT_OPERATION_HARNESS_H

#include "core/device.h"

typedef enum operand_type {
  OPERAND_REAL, /* the device's arithmetic type */
  OPERAND_F64,
  OPERAND_BF16,
  OPERAND_I32,
} operand_type;

typedef enum operand_fill {
  FILL_NORMAL,  /* mean 0, deviation 1 */
  FILL_UNSET,   /* NaN: the operation must overwrite it, or `prepare` sets it */
  FILL_WEIGHT,  /* mean 1, deviation 1/4: norm weights */
  FILL_SQUARE,  /* squares of normal numbers */
  FILL_LOGITS,  /* deviation 4 */
  FILL_EQUAL,   /* every element 3: ties */
  FILL_SPARSE,  /* normal, a third of them zero: token weights */
  FILL_IDS,     /* 0 .. bound-1 */
  FILL_TARGETS, /* -1 .. bound-1, about a fifth -1 */
} operand_fill;

/* What a call for rows [begin, end) of the case sees of the operand. */
typedef enum operand_split {
  SPLIT_NONE,   /* all of it */
  SPLIT_ROWS,   /* rows [begin, end) */
  SPLIT_COLS,   /* of a vector, elements [begin, end) */
  SPLIT_PREFIX, /* rows [0, first_row + end): keys and values */
} operand_split;

typedef struct operation_operand {
  const char *name; /* NULL: absent */
  int64_t rows, cols;
  operand_type type;
  operand_fill fill;
  operand_split split;
  int64_t bound;     /* of FILL_IDS and FILL_TARGETS */
  bool output;       /* compared; everything else must stay as it was */
  const char *alias; /* lies in the memory of the operand of this name; NULL: its own */
} operation_operand;

typedef struct operation_case operation_case;

typedef struct operation_spec {
  const char *name;
  /* The allowed error of an f32 device.  In the 2-norm, relative to |want| + floor per element; in
   * the largest element ten times that.  The floor is for results that cancel. */
  double tolerance, floor;
  void (*run)(weir_device *device, const operation_case *c, const weir_tensor *t);
  /* Makes operands that come from other operations; run on `ref` before rounding.  May be NULL. */
  void (*prepare)(weir_device *device, const operation_case *c, const weir_tensor *t);
} operation_spec;

enum { MAX_OPERANDS = 10, MAX_SEQUENCES = 8 };

struct operation_case {
  const operation_spec *operation;
  char name[120];
  operation_operand operands[MAX_OPERANDS];
  int n_operands;

  int64_t n_rows;    /* of the call; 0 where it has no rows to split */
  int64_t first_row; /* of the call in its sequences */
  int64_t offsets[MAX_SEQUENCES + 1];
  weir_sequences sequences; /* borrows offsets */
  bool accumulate;
  weir_norm_kind norm_kind;
  double epsilon;
  weir_activation activation;
  int64_t n_heads, n_kv_heads, head_size, window;
  double scale;   /* of the scores, or of RoPE */
  double softcap; /* of scores or logits */
  int direction;
  int64_t first_class;
  double max_norm;
  weir_adamw adamw;
};

/* A device with memory to run cases in. */
typedef struct operation_bench {
  weir_device *device;
  weir_arena arena;
} operation_bench;

void operation_bench_init(operation_bench *bench, weir_device *device);
void operation_bench_deinit(operation_bench *bench);

/* The values of all operands of a case, one after the other; free() them. */
int64_t operation_value_count(const operation_case *c);
double *operation_operand_values(const operation_case *c, double *values, int i_operand);

/* The operands of a case on a device. */
typedef struct operation_placed {
  weir_tensor tensors[MAX_OPERANDS];
  weir_tensor guards[MAX_OPERANDS];
  weir_arena_mark mark;
} operation_placed;

void operation_place(operation_bench *bench, const operation_case *c, const double *values,
                     operation_placed *placed);
void operation_displace(operation_bench *bench, const operation_placed *placed);

/* Between a tensor of any dtype and doubles on the host. */
void operation_store(weir_device *device, weir_tensor tensor, const double *values);
void operation_load(weir_device *device, double *values, weir_tensor tensor);

/* Fills and prepares the operands; `rounded`: to f32.  The seed is the case's name. */
double *operation_values_create(const operation_case *c, operation_bench *ref, bool rounded);

/* The operands after the operation, called once (chunk_rows 0) or chunk by chunk from last to
 * first.  Prints and returns NULL where it wrote what it must not. */
double *operation_run(operation_bench *bench, const operation_case *c, const double *values,
                      int64_t chunk_rows);

/* Whether the n values agree; *error is the larger of the two errors over its own bound. */
bool operation_values_agree(const double *got, const double *want, int64_t n, double tolerance,
                            double floor, double *error);

/* The outputs of the case against those of `ref`.  Prints what disagrees; raises *worst. */
bool operation_outputs_agree(const operation_case *c, double *got, double *want, double tolerance,
                             double *worst);

/* The whole check: the same values through the device and through ref. */
bool operation_check(const operation_case *c, operation_bench *bench, operation_bench *ref,
                     double *worst);

/* One way of running a case: chunk_rows 0 is a single call. */
typedef struct operation_way {
  operation_bench *bench;
  int64_t chunk_rows;
} operation_way;

/* Whether all ways of running the case, two at least, give the same bits (I4). */
bool operation_check_bits(const operation_case *c, operation_bench *ref, const operation_way *ways,
                          int n_ways);

#endif
