/* SPDX-License-Identifier: Apache-2.0 */
#include "generate/decode.h"

#include "core/read_real.h"
#include "model/embedding.h"
#include "model/head.h"
#include "stream/layer.h"

void weir_decoder_open(weir_decoder *decoder, weir_run *run, int64_t max_tokens) {
  weir_dtype real = run->device->real;
  *decoder = (weir_decoder){.run = run, .mark = weir_arena_mark_take(run->step_arena)};
  decoder->cache = weir_kv_cache_allocate(run->step_arena, run->config, real, max_tokens);
  decoder->logits =
      weir_tensor_allocate(run->step_arena, WEIR_MEMORY_LOGITS, real, 1, run->config->vocab_size);
}

void weir_decoder_close(weir_decoder *decoder) {
  weir_arena_release(decoder->run->step_arena, &decoder->mark);
  *decoder = (weir_decoder){0};
}

static void at(const weir_decoder *decoder, const char *phase, int64_t layer) {
  decoder->run->device->position =
      (weir_step_position){.phase = phase, .layer = layer, .first_row = decoder->n_tokens};
}

/* The embedding of tokens that follow the n_tokens already there; `sequence` ends with them. */
static weir_tensor embed(const weir_decoder *decoder, const weir_sequences *sequence,
                         const int32_t *host_ids, int64_t n_ids) {
  weir_run *run = decoder->run;
  weir_tensor ids =
      weir_tensor_allocate(run->step_arena, WEIR_MEMORY_DATA, WEIR_DTYPE_I32, 1, n_ids);
  weir_tensor x = weir_tensor_allocate(run->step_arena, WEIR_MEMORY_HIDDEN, run->device->real,
                                       n_ids, run->config->hidden_size);
  weir_unit unit;
  weir_unit_acquire(run, 0, &unit);
  at(decoder, "embedding", -1);
  run->device->operations->write(run->device, ids, host_ids);
  weir_embedding_run(run->device, run->config, unit.weights, false, x, ids, sequence,
                     decoder->n_tokens);
  return x;
}

static void run_layers(const weir_decoder *decoder, const weir_sequences *sequence, weir_tensor x) {
  weir_run *run = decoder->run;
  for (int64_t layer = 0; layer < run->config->num_hidden_layers; layer++) {
    weir_stash_slot slot = {0};
    slot.kept[WEIR_VALUE_INPUT] = x;
    slot.kept[WEIR_VALUE_K] = weir_kv_cache_keys(&decoder->cache, layer, sequence->n_tokens);
    slot.kept[WEIR_VALUE_V] = weir_kv_cache_values(&decoder->cache, layer, sequence->n_tokens);
    weir_arena_mark mark = weir_arena_mark_take(run->step_arena);
    weir_unit unit;
    weir_unit_acquire(run, layer + 1, &unit);
    at(decoder, "generate", layer);
    weir_layer_forward(run, &unit, sequence, &slot, x);
    weir_arena_release(run->step_arena, &mark);
  }
}

void weir_decoder_feed(weir_decoder *decoder, const int32_t *ids, int64_t n_ids) {
  WEIR_ASSERT(n_ids, >, 0);
  weir_run *run = decoder->run;
  weir_arena_mark mark = weir_arena_mark_take(run->step_arena);
  const int64_t offsets[] = {0, decoder->n_tokens + n_ids};
  const weir_sequences sequence = {.n_tokens = offsets[1], .n_sequences = 1, .offsets = offsets};
  weir_tensor x = embed(decoder, &sequence, ids, n_ids);
  run_layers(decoder, &sequence, x);

  weir_unit unit;
  weir_unit_acquire(run, run->table->n_units - 1, &unit);
  at(decoder, "head", -1);
  weir_head head = {.device = run->device,
                    .arena = run->step_arena,
                    .config = run->config,
                    .weights = unit.weights};
  weir_head_logits(&head, decoder->logits, weir_tensor_rows(x, n_ids - 1, n_ids));
  decoder->n_tokens += n_ids;
  weir_arena_release(run->step_arena, &mark);
}

void weir_decoder_read_logits(const weir_decoder *decoder, double *logits) {
  weir_read_real(decoder->run->device, logits, decoder->logits);
}
