/* SPDX-License-Identifier: Apache-2.0 */
#include "core/precision.h"

#include <string.h>

/* What nothing updates needs no master. */
weir_dtype weir_precision_weights(const weir_precision *precision, weir_dtype real, bool trains) {
  if (!precision->bf16_weights || (trains && !precision->without_masters)) return real;
  return WEIR_DTYPE_BF16;
}

void weir_precision_table(const weir_precision *precision, weir_dtype real,
                          weir_holding table[WEIR_HOLDINGS]) {
  const weir_dtype activations = precision->bf16_activations ? WEIR_DTYPE_BF16 : real;
  const weir_dtype weights = precision->bf16_weights ? WEIR_DTYPE_BF16 : real;
  const weir_dtype masters = weir_precision_weights(precision, real, true);
  const weir_holding rows[WEIR_HOLDINGS] = {
      {"arithmetic", real},         {"weights", weights},   {"master_weights", masters},
      {"activations", activations}, {"stash", activations}, {"statistics", real},
      {"gradients", real},          {"moments", real},
  };
  memcpy(table, rows, sizeof rows);
}
