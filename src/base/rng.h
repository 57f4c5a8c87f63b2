/* SPDX-License-Identifier: Apache-2.0
 *
 * Random numbers without a state: each is a function of (seed, stream, index), so whoever resumes,
 * or computes them in another order or on another thread, gets the same ones (I4d).
 *
 * Philox4x32-10: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3". */
#ifndef WEIR_BASE_RNG_H
#define WEIR_BASE_RNG_H

#include <stdint.h>

/* Ten rounds on one counter. */
void weir_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t block[4]);

/* `stream` tells apart what the numbers are for: a tensor, an epoch, a step. */
uint64_t weir_random_u64(uint64_t seed, uint64_t stream, uint64_t index);
/* In [0, 1), 53 bits. */
double weir_random_uniform(uint64_t seed, uint64_t stream, uint64_t index);
/* Mean 0, variance 1 (Box & Muller 1958). */
double weir_random_normal(uint64_t seed, uint64_t stream, uint64_t index);

/* order [n], out: a uniformly chosen permutation of 0 .. n-1 (Fisher & Yates). */
void weir_random_permutation(uint64_t seed, uint64_t stream, int64_t n, int64_t *order);

#endif
