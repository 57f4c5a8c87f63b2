/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers that stand out: the loss or the gradient norm of a step against those before it.
 *
 * The rule: over the last WEIR_SPIKE_WINDOW values, once they are there, a value is a spike where
 * it is above  median + 10 MAD  and above twice the median; MAD is the median of the distances to
 * the median, which one earlier spike cannot move.  It only tells: nothing depends on it, and a
 * resumed run begins with an empty window. */
#ifndef WEIR_TRAIN_SPIKES_H
#define WEIR_TRAIN_SPIKES_H

#include <stdbool.h>
#include <stdint.h>

enum { WEIR_SPIKE_WINDOW = 32 };

typedef struct weir_spikes {
  double values[WEIR_SPIKE_WINDOW]; /* a ring */
  int64_t n_values, n_spikes;
} weir_spikes;

/* Judges a value, which then joins the window; where it is a spike, *median is what it stands out
 * from.  `value` is finite. */
bool weir_spikes_add(weir_spikes *spikes, double value, double *median);

#endif
