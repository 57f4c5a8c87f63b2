/* SPDX-License-Identifier: Apache-2.0
 *
 * weir init: a model with random weights, as a Hugging Face directory.
 *
 * config.json comes last: a directory without it is not a model, so an interrupted init leaves
 * nothing that could be taken for one. */
#include "base/directory.h"
#include "base/files.h"
#include "base/log.h"
#include "cli/commands.h"
#include "formats/tokenizer.h"
#include "formats/tokenizer_files.h"
#include "model/initialize.h"
#include "model/weights.h"

#include <inttypes.h>
#include <stdlib.h>

/* The ids of the tokenizer must be rows of the embedding; its end and begin tokens stand in where
 * the configuration names none. */
static weir_status join_tokenizer(const char *path, weir_model_config *config) {
  weir_tokenizer *tokenizer;
  WEIR_TRY(weir_tokenizer_open(path, &tokenizer));
  int64_t vocab_size = weir_tokenizer_vocab_size(tokenizer);
  int64_t bos = weir_tokenizer_bos_id(tokenizer), eos = weir_tokenizer_eos_id(tokenizer);
  weir_tokenizer_close(tokenizer);
  if (vocab_size > config->vocab_size)
    return weir_fail(WEIR_BAD_INPUT,
                     "%s: has %" PRId64 " tokens, the model configuration a vocab_size of %" PRId64
                     "; raise vocab_size to at least the number of tokens",
                     path, vocab_size, config->vocab_size);
  if (config->bos_token_id < 0) config->bos_token_id = bos;
  if (config->n_eos_tokens == 0 && eos >= 0) {
    config->eos_token_ids[0] = eos;
    config->n_eos_tokens = 1;
  }
  return WEIR_OK;
}

static weir_status prepare_output(const char *directory) {
  bool is_empty;
  WEIR_TRY(weir_directory_is_empty(directory, &is_empty));
  if (!is_empty)
    return weir_fail(WEIR_BAD_INPUT, "%s: is not empty; init writes into a new directory",
                     directory);
  WEIR_TRY(weir_directory_check_writable(directory));
  return weir_directory_make(directory);
}

static void allocate_weights(const weir_parameter_table *table, weir_arena *arena,
                             weir_tensor *weights) {
  for (int64_t i = 0; i < table->n_parameters; i++)
    weights[i] = weir_tensor_allocate(arena, WEIR_MEMORY_WEIGHTS, WEIR_DTYPE_F32,
                                      table->parameters[i].rows, table->parameters[i].cols);
}

static weir_status write_weights(const char *directory, const weir_model_config *config,
                                 const weir_parameter_table *table, uint64_t seed, int n_threads,
                                 uint64_t max_shard_bytes) {
  weir_arena arena;
  weir_tensor *weights = calloc((size_t)table->n_parameters, sizeof *weights);
  weir_status status = weights ? WEIR_OK : weir_fail(WEIR_FAILED, "no memory for weights");
  if (status == WEIR_OK) {
    weir_arena_init_dry(&arena, "weights"); /* counts what the real one must hold */
    allocate_weights(table, &arena, weights);
    status = weir_arena_init(&arena, "weights", arena.used_bytes);
  }
  if (status == WEIR_OK) {
    allocate_weights(table, &arena, weights);
    weir_weights_initialize(config, table, weights, seed, n_threads);
    status = weir_weights_save_directory(directory, table, weights, config->dtype, max_shard_bytes);
    weir_arena_deinit(&arena);
  }
  free(weights);
  return status;
}

static weir_status write_model(const char *directory, const char *tokenizer_path,
                               const weir_model_config *config, uint64_t seed, int n_threads,
                               uint64_t max_shard_bytes) {
  weir_parameter_table table;
  WEIR_TRY(weir_parameter_table_create(config, &table));
  weir_status status = write_weights(directory, config, &table, seed, n_threads, max_shard_bytes);
  weir_parameter_table_destroy(&table);
  if (status != WEIR_OK) return status;
  WEIR_TRY(weir_tokenizer_files_copy(tokenizer_path, directory));
  return weir_model_config_write(directory, config, config->dtype);
}

weir_status weir_command_init(const weir_options *options) {
  const char *config_path = weir_options_string(options, "model_config");
  const char *tokenizer_path = weir_options_string(options, "tokenizer");
  const char *directory = weir_options_string(options, "output_dir");
  int64_t seed = weir_options_integer(options, "seed");
  int n_threads = (int)weir_options_integer(options, "threads");
  weir_model_config config;
  WEIR_TRY(weir_model_config_read(config_path, &config));
  weir_model_config_warn(&config, config_path);
  WEIR_TRY(join_tokenizer(tokenizer_path, &config));
  WEIR_TRY(prepare_output(directory));
  WEIR_TRY(write_model(directory, tokenizer_path, &config, (uint64_t)seed, n_threads,
                       weir_options_bytes(options, "max_shard_size")));
  weir_log_info("%s: %" PRId64 " parameters in %s, seed %" PRId64, directory,
                weir_model_config_parameters(&config), weir_dtype_name(config.dtype), seed);
  return WEIR_OK;
}
