/* SPDX-License-Identifier: Apache-2.0
 *
 * "Did you mean ...?": the nearest of several known words, by the optimal string alignment
 * distance (insert, delete, replace, swap two neighbours).  Too far a word is not offered at all:
 * a wrong guess is worse than none. */
#ifndef WEIR_BASE_NEAREST_H
#define WEIR_BASE_NEAREST_H

#include <stddef.h>

typedef struct weir_nearest {
  const char *wanted; /* borrowed */
  const char *best;   /* borrowed; NULL: nothing is near */
  size_t distance;    /* that a word has to stay below */
} weir_nearest;

weir_nearest weir_nearest_begin(const char *wanted);
void weir_nearest_offer(weir_nearest *nearest, const char *word);

#endif
