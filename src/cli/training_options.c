/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/training_options.h"

#include "base/log.h"
#include "base/machine.h"
#include "cli/library_versions.h"
#include "train/token_cache.h"

#include <string.h>
#include <sys/stat.h>

static int64_t integer_or(const weir_options *options, const char *name, int64_t otherwise) {
  return weir_options_is_set(options, name) ? weir_options_integer(options, name) : otherwise;
}

void weir_training_options_settings(const weir_options *options, weir_training_settings *settings) {
  *settings = (weir_training_settings){
      .max_length = weir_options_integer(options, "max_length"),
      .per_device_train_batch_size = weir_options_integer(options, "per_device_train_batch_size"),
      .gradient_accumulation_steps = weir_options_integer(options, "gradient_accumulation_steps"),
      .num_train_epochs = weir_options_real(options, "num_train_epochs"),
      .max_steps = weir_options_integer(options, "max_steps"),
      .warmup_ratio = weir_options_real(options, "warmup_ratio"),
      .schedule = {.learning_rate = weir_options_real(options, "learning_rate"),
                   .min_lr_rate = weir_options_real(options, "min_lr_rate"),
                   .warmup_steps = weir_options_integer(options, "warmup_steps")},
      .adamw = {.beta1 = weir_options_real(options, "adam_beta1"),
                .beta2 = weir_options_real(options, "adam_beta2"),
                .epsilon = weir_options_real(options, "adam_epsilon"),
                .weight_decay = weir_options_real(options, "weight_decay")},
      .max_grad_norm = weir_options_real(options, "max_grad_norm"),
      .seed = (uint64_t)weir_options_integer(options, "seed"),
      .skips_nonfinite = strcmp(weir_options_string(options, "on_nonfinite"), "skip") == 0,
      .logging_steps = weir_options_integer(options, "logging_steps"),
      .eval_steps = weir_options_integer(options, "eval_steps"),
      .eval_on_start = weir_options_boolean(options, "eval_on_start"),
      .save_steps = weir_options_integer(options, "save_steps"),
      .max_shard_bytes = weir_options_bytes(options, "max_shard_size"),
      .save_total_limit = integer_or(options, "save_total_limit", 0),
  };
  /* The option's choices are the schedule's own names. */
  const char *kind = weir_options_string(options, "lr_scheduler_type");
  WEIR_ASSERT(weir_schedule_kind_parse(kind, &settings->schedule.kind), ==, true);
}

weir_status weir_training_options_corpus(const weir_options *options, const weir_session *session,
                                         weir_tokenizer **tokenizer,
                                         weir_corpus_settings *settings) {
  WEIR_TRY(weir_tokenizer_open(session->model_path, tokenizer));
  const bool appends_end = weir_options_boolean(options, "append_eos");
  *settings = (weir_corpus_settings){
      .tokenizer = *tokenizer,
      .eos_token_id = appends_end ? weir_tokenizer_eos_id(*tokenizer) : -1,
      .vocab_size = session->config.vocab_size,
      .separator = weir_options_string(options, "document_separator"),
      .learn_prompts = !weir_options_boolean(options, "completion_only_loss"),
  };
  if (appends_end && settings->eos_token_id < 0)
    weir_log_warning("%s: the tokenizer has no end token, so documents end without one",
                     session->model_path);
  if (settings->eos_token_id < session->config.vocab_size) return WEIR_OK;
  weir_tokenizer_close(*tokenizer);
  return weir_fail(
      WEIR_BAD_INPUT, "%s: the tokenizer's end token %d is beyond the model's vocabulary of %lld",
      session->model_path, settings->eos_token_id, (long long)session->config.vocab_size);
}

/* Below this, tokens fit into any memory that a model fits into. */
static const uint64_t least_cached_bytes = UINT64_C(64) << 20;

static uint64_t total_bytes(const char *const *paths, size_t n_paths) {
  uint64_t bytes = 0;
  struct stat about;
  for (size_t i = 0; i < n_paths; i++)
    if (stat(paths[i], &about) == 0) bytes += (uint64_t)about.st_size;
  return bytes; /* of a file that is not there, its reader will tell */
}

weir_status weir_training_options_cache(const weir_options *options, const char *const *paths,
                                        size_t n_paths, char **directory) {
  const char *use = weir_options_string(options, "token_cache");
  const bool is_automatic = strcmp(use, "auto") == 0;
  *directory = NULL;
  if (strcmp(use, "never") == 0) return WEIR_OK;
  if (is_automatic && total_bytes(paths, n_paths) < least_cached_bytes) return WEIR_OK;
  *directory = weir_token_cache_directory();
  if (!*directory)
    return weir_fail(WEIR_BAD_INPUT, "there is no place for the token cache: set XDG_CACHE_HOME, "
                                     "or give --token-cache never to keep tokens in memory");
  return WEIR_OK;
}

weir_status weir_training_options_check_length(const weir_session *session,
                                               int64_t longest_sequence) {
  const int64_t limit = session->config.max_position_embeddings;
  if (longest_sequence <= limit) return WEIR_OK;
  if (session->config.learned_positions)
    return weir_fail(WEIR_BAD_INPUT,
                     "a sequence of %lld tokens, but %s has positions for %lld: --max-length %lld "
                     "cuts longer documents",
                     (long long)longest_sequence, session->model_path, (long long)limit,
                     (long long)limit);
  weir_log_warning("sequences of %lld tokens are longer than %s was made for "
                   "(max_position_embeddings %lld)",
                   (long long)longest_sequence, session->model_path, (long long)limit);
  return WEIR_OK;
}

static bool bits_depend_on(const char *library) {
  static const char *const names[] = {"oneDNN", "libc", "compiler"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(library, names[i]) == 0) return true;
  return false;
}

json_t *weir_training_options_machine(void) {
  weir_library_version libraries[WEIR_MAX_LIBRARIES];
  const size_t n_libraries = weir_library_versions(libraries);
  json_t *machine = json_pack("{s:s, s:s}", "weir", WEIR_VERSION, "isa", weir_machine_isa());
  for (size_t i = 0; machine && i < n_libraries; i++)
    if (bits_depend_on(libraries[i].name))
      json_object_set_new(machine, libraries[i].name, json_string(libraries[i].version));
  return machine;
}
