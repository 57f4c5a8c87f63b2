/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of cases that every operation of every device must pass: odd sizes, sequences that
 * straddle blocks, chunks that begin late, absent biases, accumulation, every aliasing that
 * core/device.h allows. */
#ifndef WEIR_TESTS_SUPPORT_OPERATION_CASES_H
#define WEIR_TESTS_SUPPORT_OPERATION_CASES_H

#include "support/operation_harness.h"

/* Every operation that computes; `read` and `write` serve every case. */
enum { OPERATION_COUNT = 29 };
extern const operation_spec operations[OPERATION_COUNT];

/* What a case of attention passes beside its tensors. */
weir_attention operation_attention(const operation_case *c);

/* All cases, those of one operation together.  Built at the first call, owned by the table. */
const operation_case *operation_cases(int *n_cases);

#endif
