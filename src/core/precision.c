/* SPDX-License-Identifier: Apache-2.0 */
#include "core/precision.h"

int weir_precision_table(const weir_precision *precision, weir_dtype real,
                         weir_holding table[WEIR_MAX_HOLDINGS]) {
  const weir_dtype activations = precision->bf16_activations ? WEIR_DTYPE_BF16 : real;
  const weir_holding rows[] = {
      {"arithmetic", real},   {"weights", real},    {"activations", activations},
      {"stash", activations}, {"statistics", real}, {"gradients", real},
      {"moments", real},
  };
  enum { N_ROWS = sizeof rows / sizeof *rows };
  for (int i = 0; i < N_ROWS; i++)
    table[i] = rows[i];
  return N_ROWS;
}
