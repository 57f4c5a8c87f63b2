/* SPDX-License-Identifier: Apache-2.0
 *
 * weir generate: the text that a model writes after a prompt.  Standard output has the new text and
 * one newline, or with --output-ids one JSON array; the token that ends a text is among the ids but
 * not in the text. */
#include "base/log.h"
#include "base/number_text.h"
#include "base/read_file.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/session.h"
#include "formats/generation_config.h"
#include "formats/token_ids.h"
#include "formats/tokenizer.h"
#include "generate/generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Everything the command holds; a zeroed one is empty. */
typedef struct generate_work {
  const weir_options *options;
  weir_session session;
  weir_generation_config ends;
  weir_tokenizer *tokenizer; /* NULL where ids go in and out */
  weir_ids prompt;
} generate_work;

/* ---- the prompt ---- */

static weir_status encode_prompt(generate_work *work, const char *name, const char *text,
                                 size_t n_bytes) {
  weir_status status = weir_tokenizer_encode(work->tokenizer, text, n_bytes, true, &work->prompt);
  return status == WEIR_OK ? WEIR_OK : weir_fail_at(status, "%s", name);
}

static weir_status encode_file(generate_work *work, const char *path) {
  weir_file_bytes file;
  WEIR_TRY(weir_file_read(path, INT32_MAX, &file));
  weir_status status = encode_prompt(work, path, file.bytes, file.size_bytes);
  free(file.bytes);
  return status;
}

/* Where a tokenizer puts nothing before a text, an empty prompt still needs a token to follow. */
static weir_status begin_if_empty(generate_work *work) {
  if (work->prompt.count > 0) return WEIR_OK;
  int64_t bos = work->session.config.bos_token_id;
  if (bos < 0 && work->tokenizer) bos = weir_tokenizer_bos_id(work->tokenizer);
  if (bos < 0)
    return weir_fail(WEIR_BAD_INPUT,
                     "the prompt is empty, and %s names no bos_token_id to begin "
                     "with: give at least one token",
                     work->session.model_path);
  return weir_ids_append(&work->prompt, (int32_t)bos);
}

/* Who gives ids gives them all: nothing is put before them. */
static weir_status read_ids(generate_work *work, const char *path) {
  WEIR_TRY(weir_token_ids_read(path, work->session.config.vocab_size, &work->prompt));
  if (work->prompt.count > 0) return WEIR_OK;
  return weir_fail(WEIR_BAD_INPUT, "%s: no ids: generating needs at least one to begin with", path);
}

static weir_status read_prompt(generate_work *work) {
  const char *text = weir_options_string(work->options, "prompt");
  const char *file = weir_options_string(work->options, "prompt_file");
  const char *ids = weir_options_string(work->options, "ids");
  if (!!text + !!file + !!ids != 1)
    return weir_fail(WEIR_BAD_INPUT, "generate needs one of --prompt, --prompt-file and --ids");
  if (!ids || !weir_options_boolean(work->options, "output_ids"))
    WEIR_TRY(weir_tokenizer_open(work->session.model_path, &work->tokenizer));
  if (ids)
    WEIR_TRY(read_ids(work, ids));
  else if (file)
    WEIR_TRY(encode_file(work, file));
  else
    WEIR_TRY(encode_prompt(work, "--prompt", text, strlen(text)));
  return begin_if_empty(work);
}

/* ---- the result, as it is made ---- */

typedef struct text_output {
  weir_token_stream stream;
  weir_bytes text;
  int64_t n_without_text;
  weir_status status;
} text_output;

/* A vocabulary may be padded beyond what the tokenizer knows: those ids have no text. */
static bool put_text(text_output *output, int32_t id, bool is_shown) {
  if (id >= weir_tokenizer_vocab_size(output->stream.tokenizer)) {
    output->n_without_text++;
    return true;
  }
  output->status = weir_token_stream_feed(&output->stream, id, &output->text);
  if (is_shown) weir_print_bytes(output->text.data, output->text.count);
  output->text.count = 0;
  return output->status == WEIR_OK;
}

static bool sink_text(void *context, int32_t id, bool ends_text) {
  if (ends_text) return false;
  bool goes_on = put_text(context, id, true);
  weir_print_flush();
  return goes_on && !weir_print_is_closed();
}

static weir_status write_text(generate_work *work, const weir_generation *generation) {
  text_output output = {.status = WEIR_OK};
  weir_token_stream_init(&output.stream, work->tokenizer, true);
  bool echo = weir_options_boolean(work->options, "echo");
  for (int64_t i = 0; i < generation->n_prompt && output.status == WEIR_OK; i++)
    put_text(&output, generation->prompt[i], echo);
  weir_status status = output.status;
  if (status == WEIR_OK) status = weir_generate(&work->session.run, generation, sink_text, &output);
  if (status == WEIR_OK) status = output.status;
  if (status == WEIR_OK) status = weir_token_stream_finish(&output.stream, &output.text);
  weir_print_bytes(output.text.data, output.text.count);
  weir_print("\n");
  weir_bytes_deinit(&output.text);
  if (output.n_without_text > 0)
    weir_log_warning("%lld tokens have no text in the tokenizer and were left out",
                     (long long)output.n_without_text);
  return status;
}

static void put_id(int64_t *n_written, int32_t id) {
  weir_print("%s%d", (*n_written)++ ? ", " : "[", (int)id);
}

static bool sink_ids(void *context, int32_t id, bool ends_text) {
  (void)ends_text;
  put_id(context, id);
  return !weir_print_is_closed();
}

static weir_status write_ids(generate_work *work, const weir_generation *generation) {
  int64_t n_written = 0;
  if (weir_options_boolean(work->options, "echo"))
    for (int64_t i = 0; i < generation->n_prompt; i++)
      put_id(&n_written, generation->prompt[i]);
  WEIR_TRY(weir_generate(&work->session.run, generation, sink_ids, &n_written));
  weir_print("]\n");
  return WEIR_OK;
}

/* ---- the command ---- */

static weir_generation describe(const generate_work *work) {
  return (weir_generation){
      .prompt = work->prompt.data,
      .n_prompt = (int64_t)work->prompt.count,
      .max_new_tokens = weir_options_integer(work->options, "max_new_tokens"),
      .eos_ids = work->ends.eos_token_ids,
      .n_eos = work->ends.n_eos_tokens,
      .sampling = {.temperature = weir_options_real(work->options, "temperature"),
                   .top_k = weir_options_integer(work->options, "top_k"),
                   .top_p = weir_options_real(work->options, "top_p"),
                   .seed = (uint64_t)weir_options_integer(work->options, "seed")},
  };
}

/* The likeliest token is among any k, and within any p. */
static void warn_of_unused(const weir_options *options) {
  static const char *const only_sampling[] = {"top_k", "top_p"};
  if (weir_options_real(options, "temperature") > 0) return;
  for (size_t i = 0; i < sizeof only_sampling / sizeof *only_sampling; i++)
    if (weir_options_is_given(options, only_sampling[i]))
      weir_log_warning("%s changes nothing at temperature 0, where the likeliest token is taken",
                       only_sampling[i]);
}

static weir_status make_plan(const generate_work *work, const weir_generation *generation,
                             weir_plan *plan) {
  weir_plan_request request = weir_session_request(&work->session, WEIR_RUN_FORWARD);
  request.prompt_tokens = generation->n_prompt;
  request.new_tokens = generation->max_new_tokens;
  request.data_bytes = weir_generate_host_bytes(&work->session.config);
  return weir_plan_make(&request, plan);
}

static void announce(const generate_work *work, const weir_generation *generation,
                     const weir_plan *plan) {
  const weir_sampling *sampling = &generation->sampling;
  char memory[WEIR_BYTES_TEXT], how[128] = "always the likeliest";
  if (sampling->temperature > 0)
    snprintf(how, sizeof how, "temperature %g, top_k %lld, top_p %g, seed %llu",
             sampling->temperature, (long long)sampling->top_k, sampling->top_p,
             (unsigned long long)sampling->seed);
  weir_log_info("%lld token%s of prompt, at most %lld new (%s); %s of memory",
                (long long)generation->n_prompt, generation->n_prompt == 1 ? "" : "s",
                (long long)generation->max_new_tokens, how,
                weir_bytes_to_text(plan->peak_bytes, memory));
  int64_t n_tokens = generation->n_prompt + generation->max_new_tokens;
  int64_t n_positions = work->session.config.max_position_embeddings;
  if (n_tokens > n_positions && !work->session.config.learned_positions)
    weir_log_warning("%lld tokens are more than the %lld this model was made for "
                     "(max_position_embeddings): expect worse text beyond them",
                     (long long)n_tokens, (long long)n_positions);
}

static weir_status generate(generate_work *work) {
  warn_of_unused(work->options);
  WEIR_TRY(weir_session_open(work->options, &work->session));
  WEIR_TRY(
      weir_generation_config_read(work->session.model_path, &work->session.config, &work->ends));
  WEIR_TRY(read_prompt(work));
  weir_generation generation = describe(work);
  WEIR_TRY(weir_generate_check(&work->session.config, &generation));
  weir_plan plan;
  WEIR_TRY(make_plan(work, &generation, &plan));
  announce(work, &generation, &plan);
  WEIR_TRY(weir_session_start(&work->session, WEIR_RUN_FORWARD, &plan));
  bool as_ids = weir_options_boolean(work->options, "output_ids");
  return as_ids ? write_ids(work, &generation) : write_text(work, &generation);
}

weir_status weir_command_generate(const weir_options *options) {
  generate_work work = {.options = options};
  weir_status status = generate(&work);
  weir_ids_deinit(&work.prompt);
  weir_tokenizer_close(work.tokenizer);
  weir_session_close(&work.session);
  return status;
}
