/* SPDX-License-Identifier: Apache-2.0
 *
 * From a prompt to new tokens, one after the other: decode, sample, hand over, decode. */
#ifndef WEIR_GENERATE_GENERATE_H
#define WEIR_GENERATE_GENERATE_H

#include "generate/sample.h"
#include "stream/run.h"

#include <stdbool.h>

typedef struct weir_generation {
  const int32_t *prompt; /* [n_prompt], at least one */
  int64_t n_prompt;
  int64_t max_new_tokens; /* at least one */
  const int64_t *eos_ids; /* [n_eos]; any of them ends the text */
  int64_t n_eos;
  weir_sampling sampling;
} weir_generation;

/* Receives each new token as soon as it is known; `ends_text` for an eos, the last one then.
 * Returns whether more are wanted. */
typedef bool weir_token_sink(void *context, int32_t id, bool ends_text);

/* Positions that are fed: the last new token is not. */
static inline int64_t weir_generate_positions(int64_t n_prompt, int64_t max_new_tokens) {
  return n_prompt + max_new_tokens - 1;
}

/* Fails on an id beyond the vocabulary, and on more tokens than a table of learned positions has.
 * RoPE has no such limit, only texts longer than the model has seen. */
weir_status weir_generate_check(const weir_model_config *config, const weir_generation *generation);

/* Checks as above, then generates.  Fails also on logits that are not finite and for want of host
 * memory. */
weir_status weir_generate(weir_run *run, const weir_generation *generation, weir_token_sink *sink,
                          void *context);

/* What planning runs on a dry device: the prompt and one token of those after it, each of which
 * holds the same. */
void weir_generate_rehearse(weir_run *run, int64_t n_prompt, int64_t max_new_tokens);

/* Memory of the host for one generation. */
uint64_t weir_generate_host_bytes(const weir_model_config *config);

#endif
