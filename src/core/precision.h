/* SPDX-License-Identifier: Apache-2.0
 *
 * What is held in fewer bits than the device computes in (docs/precision.md).  Part of the recipe:
 * it changes numbers, so the plan never chooses it.  Zeros stand for "as the device computes". */
#ifndef WEIR_CORE_PRECISION_H
#define WEIR_CORE_PRECISION_H

#include "core/tensor.h"

typedef struct weir_precision {
  bool bf16_activations; /* values of the layers are rounded to bf16 where they are born */
  bool bf16_weights;     /* whatever computes sees weights rounded to bf16 */
  /* Where weights are bf16: nothing wider is held, and every update is rounded to bf16, at random
   * (in the mean the update itself) or to the nearest. */
  bool without_masters, stochastic_rounding;
  uint64_t seed; /* of the rounding */
} weir_precision;

/* The dtype that weights are held in, in a run that trains them (or does not). */
weir_dtype weir_precision_weights(const weir_precision *precision, weir_dtype real, bool trains);

/* The dtype table of a run: what is held in which dtype. */
enum { WEIR_HOLDINGS = 8 };

typedef struct weir_holding {
  const char *what; /* "weights", "stash", ...: one word, a literal */
  weir_dtype dtype;
} weir_holding;

/* Fills the table for a training on a device that computes in `real`. */
void weir_precision_table(const weir_precision *precision, weir_dtype real,
                          weir_holding table[WEIR_HOLDINGS]);

#endif
