/* SPDX-License-Identifier: Apache-2.0 */
#include "generate/generate.h"

#include "generate/decode.h"

#include <stdlib.h>

/* What sampling needs on the host. */
typedef struct host_buffers {
  double *logits;             /* [V] */
  weir_candidate *candidates; /* [V] */
} host_buffers;

uint64_t weir_generate_host_bytes(const weir_model_config *config) {
  return (uint64_t)config->vocab_size * (sizeof(double) + sizeof(weir_candidate));
}

weir_status weir_generate_check(const weir_model_config *config,
                                const weir_generation *generation) {
  WEIR_ASSERT(generation->n_prompt, >=, 1);
  WEIR_ASSERT(generation->max_new_tokens, >=, 1);
  for (int64_t i = 0; i < generation->n_prompt; i++)
    if (generation->prompt[i] < 0 || generation->prompt[i] >= config->vocab_size)
      return weir_fail(WEIR_BAD_INPUT,
                       "token %lld of the prompt is id %d: the model knows 0 to %lld", (long long)i,
                       generation->prompt[i], (long long)config->vocab_size - 1);
  int64_t n_tokens = generation->n_prompt + generation->max_new_tokens;
  if (config->learned_positions && n_tokens > config->max_position_embeddings)
    return weir_fail(
        WEIR_BAD_INPUT,
        "%lld tokens of prompt and %lld new ones are more than the %lld positions this "
        "model has learned; ask for fewer with --max-new-tokens, or shorten the prompt",
        (long long)generation->n_prompt, (long long)generation->max_new_tokens,
        (long long)config->max_position_embeddings);
  return WEIR_OK;
}

static bool is_eos(const weir_generation *generation, int32_t id) {
  for (int64_t i = 0; i < generation->n_eos; i++)
    if (generation->eos_ids[i] == id) return true;
  return false;
}

static weir_status decode(weir_decoder *decoder, const weir_generation *generation,
                          const host_buffers *host, weir_token_sink *sink, void *context) {
  int64_t n_classes = decoder->run->config->vocab_size;
  weir_decoder_feed(decoder, generation->prompt, generation->n_prompt);
  for (int64_t i = 0;; i++) {
    int32_t id;
    weir_decoder_read_logits(decoder, host->logits);
    WEIR_TRY(weir_sample(&generation->sampling, host->logits, n_classes, decoder->n_tokens,
                         host->candidates, &id));
    bool ends_text = is_eos(generation, id), goes_on = sink(context, id, ends_text);
    if (ends_text || !goes_on || i + 1 == generation->max_new_tokens) return WEIR_OK;
    weir_decoder_feed(decoder, &id, 1);
  }
}

weir_status weir_generate(weir_run *run, const weir_generation *generation, weir_token_sink *sink,
                          void *context) {
  WEIR_TRY(weir_generate_check(run->config, generation));
  size_t n_classes = (size_t)run->config->vocab_size;
  host_buffers host = {calloc(n_classes, sizeof *host.logits),
                       calloc(n_classes, sizeof *host.candidates)};
  weir_status status = WEIR_OK;
  if (!host.logits || !host.candidates)
    status = weir_fail(WEIR_FAILED, "no memory for the logits of one token");
  if (status == WEIR_OK) {
    weir_decoder decoder;
    weir_decoder_open(&decoder, run,
                      weir_generate_positions(generation->n_prompt, generation->max_new_tokens));
    status = decode(&decoder, generation, &host, sink, context);
    weir_decoder_close(&decoder);
  }
  free(host.logits);
  free(host.candidates);
  return status;
}

void weir_generate_rehearse(weir_run *run, int64_t n_prompt, int64_t max_new_tokens) {
  weir_decoder decoder;
  weir_decoder_open(&decoder, run, weir_generate_positions(n_prompt, max_new_tokens));
  weir_decoder_feed(&decoder, NULL, n_prompt);
  if (max_new_tokens > 1) weir_decoder_feed(&decoder, NULL, 1);
  weir_decoder_close(&decoder);
}
