/* SPDX-License-Identifier: Apache-2.0 */
#include "train/corpus_builder.h"

#include <stdlib.h>
#include <string.h>

weir_status weir_corpus_builder_init(weir_corpus_builder *builder,
                                     const weir_corpus_settings *settings, weir_replacement *file) {
  *builder = (weir_corpus_builder){.settings = settings, .file = file};
  builder->checksum = XXH3_createState();
  if (!builder->checksum) return weir_fail(WEIR_FAILED, "no memory for a checksum");
  XXH3_64bits_reset(builder->checksum);
  return WEIR_OK;
}

void weir_corpus_builder_deinit(weir_corpus_builder *builder) {
  XXH3_freeState(builder->checksum);
  weir_ids_deinit(&builder->ids);
  free(builder->tokens);
  free(builder->documents);
  *builder = (weir_corpus_builder){0};
}

static weir_status check_ids(const int32_t *ids, size_t n_ids, int64_t vocab_size) {
  for (size_t i = 0; i < n_ids; i++)
    if (ids[i] < 0 || ids[i] >= vocab_size)
      return weir_fail(WEIR_BAD_INPUT,
                       "token id %d is beyond the model's vocabulary of %lld: the ids or the "
                       "tokenizer belong to another model",
                       ids[i], (long long)vocab_size);
  return WEIR_OK;
}

weir_status weir_corpus_builder_add(weir_corpus_builder *builder, const int32_t *ids, size_t n_ids,
                                    size_t n_context_ids) {
  WEIR_TRY(check_ids(ids, n_ids, builder->settings->vocab_size));
  if (n_ids == 0) {
    builder->counts.n_empty_documents++;
    return WEIR_OK;
  }
  const size_t at = builder->file ? 0 : (size_t)builder->n_tokens;
  WEIR_TRY(weir_grow(&builder->documents, &builder->documents_capacity,
                     (size_t)builder->n_documents + 1, sizeof *builder->documents));
  WEIR_TRY(
      weir_grow(&builder->tokens, &builder->tokens_capacity, at + n_ids, sizeof *builder->tokens));
  uint32_t *tokens = builder->tokens + at;
  for (size_t i = 0; i < n_ids; i++)
    tokens[i] = (uint32_t)ids[i] | (i < n_context_ids ? WEIR_TOKEN_IS_CONTEXT : 0);
  if (builder->file)
    WEIR_TRY(weir_replacement_append(builder->file, tokens, n_ids * sizeof *tokens));
  XXH3_64bits_update(builder->checksum, tokens, n_ids * sizeof *tokens);
  builder->documents[builder->n_documents++] = (weir_span){builder->n_tokens, (int64_t)n_ids};
  builder->n_tokens += (int64_t)n_ids;
  builder->counts.n_context_tokens += (int64_t)n_context_ids;
  return WEIR_OK;
}

static weir_status encode(weir_corpus_builder *builder, const weir_document *document,
                          size_t *n_prompt_ids) {
  const weir_tokenizer *tokenizer = builder->settings->tokenizer;
  bool apart;
  *n_prompt_ids = 0;
  if (!document->prompt)
    return weir_tokenizer_encode(tokenizer, document->text, document->n_bytes, true, &builder->ids);
  WEIR_TRY(weir_tokenizer_encode_pair(tokenizer, document, &builder->ids, n_prompt_ids, &apart));
  builder->counts.n_pairs++;
  builder->counts.n_apart += apart;
  return WEIR_OK;
}

static weir_status add_document(void *context, const weir_document *document) {
  weir_corpus_builder *builder = context;
  const int32_t eos_token_id = builder->settings->eos_token_id;
  weir_ids *ids = &builder->ids;
  size_t n_prompt_ids = 0;
  ids->count = 0;
  if (document->n_prompt_bytes + document->n_bytes > 0)
    WEIR_TRY(encode(builder, document, &n_prompt_ids));
  /* An end token of the prompt ends nothing. */
  const bool is_ended = ids->count > n_prompt_ids && ids->data[ids->count - 1] == eos_token_id;
  if (ids->count > 0 && eos_token_id >= 0 && !is_ended)
    WEIR_TRY(weir_ids_append(ids, eos_token_id));
  return weir_corpus_builder_add(builder, ids->data, ids->count,
                                 builder->settings->learn_prompts ? 0 : n_prompt_ids);
}

weir_status weir_corpus_builder_read(weir_corpus_builder *builder, const char *const *paths,
                                     size_t n_paths) {
  for (size_t i = 0; i < n_paths; i++)
    WEIR_TRY(weir_documents_read(paths[i], builder->settings->separator, add_document, builder));
  if (builder->n_documents > 0) return WEIR_OK;
  return weir_fail(WEIR_BAD_INPUT, "%s%s: no text: there is nothing to learn from", paths[0],
                   n_paths > 1 ? " and the other files" : "");
}

/* Gives back what was reserved for more. */
static void shrink(void *data, size_t n_bytes) {
  void *old, *smaller;
  memcpy(&old, data, sizeof old);
  smaller = realloc(old, n_bytes);
  if (smaller) memcpy(data, &smaller, sizeof smaller);
}

void weir_corpus_builder_take(weir_corpus_builder *builder, weir_corpus *corpus) {
  shrink(&builder->tokens, (size_t)builder->n_tokens * sizeof *builder->tokens);
  shrink(&builder->documents, (size_t)builder->n_documents * sizeof *builder->documents);
  *corpus = (weir_corpus){
      .tokens = builder->tokens,
      .n_stored_tokens = builder->n_tokens,
      .documents = builder->documents,
      .n_documents = builder->n_documents,
      .n_tokens = builder->n_tokens,
      .counts = builder->counts,
      .tokens_checksum = XXH3_64bits_digest(builder->checksum),
  };
  builder->tokens = NULL;
  builder->documents = NULL;
}
