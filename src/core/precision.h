/* SPDX-License-Identifier: Apache-2.0
 *
 * What is held in fewer bits than the device computes in (docs/precision.md).  Part of the recipe:
 * it changes numbers, so the plan never chooses it.  Zeros stand for "as the device computes". */
#ifndef WEIR_CORE_PRECISION_H
#define WEIR_CORE_PRECISION_H

#include "core/tensor.h"

typedef struct weir_precision {
  bool bf16_activations; /* values of the layers are rounded to bf16 where they are born */
} weir_precision;

/* The dtype table of a run: what is held in which dtype. */
enum { WEIR_MAX_HOLDINGS = 8 };

typedef struct weir_holding {
  const char *what; /* "weights", "stash", ...: one word, a literal */
  weir_dtype dtype;
} weir_holding;

/* Fills the table for a device that computes in `real`; returns the number of rows. */
int weir_precision_table(const weir_precision *precision, weir_dtype real,
                         weir_holding table[WEIR_MAX_HOLDINGS]);

#endif
