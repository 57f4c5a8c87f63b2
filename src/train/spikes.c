/* SPDX-License-Identifier: Apache-2.0 */
#include "train/spikes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* Of a whole window, which it sorts. */
static double median_of(double values[WEIR_SPIKE_WINDOW]) {
  qsort(values, WEIR_SPIKE_WINDOW, sizeof *values, by_value);
  return (values[WEIR_SPIKE_WINDOW / 2 - 1] + values[WEIR_SPIKE_WINDOW / 2]) / 2;
}

bool weir_spikes_add(weir_spikes *spikes, double value, double *median) {
  double window[WEIR_SPIKE_WINDOW];
  bool is_spike = false;
  if (spikes->n_values >= WEIR_SPIKE_WINDOW) {
    memcpy(window, spikes->values, sizeof window);
    *median = median_of(window);
    for (int i = 0; i < WEIR_SPIKE_WINDOW; i++)
      window[i] = fabs(window[i] - *median);
    is_spike = value > 2 * *median && value > *median + 10 * median_of(window);
  }
  spikes->values[spikes->n_values++ % WEIR_SPIKE_WINDOW] = value;
  spikes->n_spikes += is_spike;
  return is_spike;
}
