/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"

#include <math.h>

void weir_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t block[4]) {
  uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; round++) {
    uint64_t left = (uint64_t)0xD2511F53 * c[0], right = (uint64_t)0xCD9E8D57 * c[2];
    uint32_t c1 = c[1], c3 = c[3];
    c[0] = (uint32_t)(right >> 32) ^ c1 ^ k0;
    c[1] = (uint32_t)right;
    c[2] = (uint32_t)(left >> 32) ^ c3 ^ k1;
    c[3] = (uint32_t)left;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  for (int i = 0; i < 4; i++)
    block[i] = c[i];
}

/* 128 random bits. */
static void random_words(uint64_t seed, uint64_t stream, uint64_t index, uint64_t words[2]) {
  const uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)stream,
                               (uint32_t)(stream >> 32)};
  const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  uint32_t block[4];
  weir_philox(counter, key, block);
  words[0] = block[0] | (uint64_t)block[1] << 32;
  words[1] = block[2] | (uint64_t)block[3] << 32;
}

static double to_uniform(uint64_t word) {
  return (double)(word >> 11) * 0x1p-53;
}

uint64_t weir_random_u64(uint64_t seed, uint64_t stream, uint64_t index) {
  uint64_t words[2];
  random_words(seed, stream, index, words);
  return words[0];
}

double weir_random_uniform(uint64_t seed, uint64_t stream, uint64_t index) {
  return to_uniform(weir_random_u64(seed, stream, index));
}

double weir_random_normal(uint64_t seed, uint64_t stream, uint64_t index) {
  uint64_t words[2];
  random_words(seed, stream, index, words);
  const double turn = 6.28318530717958647692 * to_uniform(words[1]);
  return sqrt(-2 * log(1 - to_uniform(words[0]))) * cos(turn); /* 1 - u is never 0 */
}

/* In [0, n): the high half of a product; its bias, n / 2^64, is below anything observable. */
static int64_t below(uint64_t word, int64_t n) {
  uint64_t high = (word >> 32) * (uint64_t)n, low = (word & 0xFFFFFFFF) * (uint64_t)n;
  return (int64_t)((high + (low >> 32)) >> 32);
}

void weir_random_permutation(uint64_t seed, uint64_t stream, int64_t n, int64_t *order) {
  for (int64_t i = 0; i < n; i++) {
    int64_t j = below(weir_random_u64(seed, stream, (uint64_t)i), i + 1);
    order[i] = order[j];
    order[j] = i;
  }
}
