/* SPDX-License-Identifier: Apache-2.0
 *
 * weir train: check everything, say what it will hold, then train.
 *
 * In this order, so that what fails fails early and cheaply: options, model headers, the output
 * folder, data, the checkpoint to resume, the plan, disk space; only then is a new folder made,
 * are arenas reserved and weights read. */
#include "base/directory.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/process.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/training_options.h"
#include "formats/yaml_options.h"
#include "plan/fit.h"
#include "plan/report.h"
#include "train/loop.h"
#include "train/run_folder.h"
#include "train/sealed_json.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Everything of one `weir train`, in the order in which it comes to be. */
typedef struct train_command {
  const weir_options *options;
  const char *output;
  weir_session session;
  weir_run_folder_use folder_use;
  weir_run_folder folder;
  weir_training_settings settings;
  weir_training_data data;
  json_t *recipe, *machine;
  weir_run_identity identity;
  char checkpoint[WEIR_PATH_BYTES]; /* to go on from; "" for a new run */
  weir_progress progress;
  json_t *history; /* the checkpoint's, until the journal takes it over */
  weir_sequences *rows;
  int64_t row_offsets[2][2];
  weir_plan_request request;
  weir_plan plan;
  weir_journal journal;
} train_command;

/* ---- the folder ---- */

static weir_status choose_folder_use(train_command *command) {
  const bool resumes = weir_options_is_given(command->options, "resume_from_checkpoint");
  const bool overwrites = weir_options_boolean(command->options, "overwrite_output_dir");
  if (resumes && overwrites)
    return weir_fail(WEIR_BAD_INPUT,
                     "resume_from_checkpoint and overwrite_output_dir exclude each other");
  command->folder_use = resumes      ? WEIR_RUN_FOLDER_RESUME
                        : overwrites ? WEIR_RUN_FOLDER_OVERWRITE
                                     : WEIR_RUN_FOLDER_NEW;
  return WEIR_OK;
}

/* Checkpoints come and go while the model's directory is read from until the end. */
static weir_status check_model_stays(const train_command *command) {
  char *model = realpath(command->session.model_path, NULL);
  char *output = realpath(command->output, NULL);
  const size_t n_output = output ? strlen(output) : 0;
  const bool is_inside = model && output && strncmp(model, output, n_output) == 0 &&
                         strncmp(model + n_output, "/checkpoint-", strlen("/checkpoint-")) == 0;
  free(model);
  free(output);
  if (!is_inside) return WEIR_OK;
  return weir_fail(WEIR_BAD_INPUT,
                   "%s: is a checkpoint inside --output, which this run may remove: give the model "
                   "the run began with, or another --output",
                   command->session.model_path);
}

/* A folder that is there is held early; one that is not is made when the plan is accepted. */
static weir_status hold_folder(train_command *command) {
  if (weir_options_boolean(command->options, "dry_run")) return WEIR_OK;
  if (access(command->output, F_OK) != 0) return weir_directory_check_writable(command->output);
  return weir_run_folder_open(&command->folder, command->output, command->folder_use);
}

static weir_status make_folder(train_command *command) {
  if (command->folder.path) return WEIR_OK;
  return weir_run_folder_open(&command->folder, command->output, command->folder_use);
}

/* ---- data ---- */

/* What a large tokenizer leaves behind counts as library. */
static void count_what_stays(train_command *command) {
  malloc_trim(0);
  const uint64_t held_bytes = weir_process_resident_bytes() + WEIR_FILE_STRIPES_BYTES;
  const uint64_t data_bytes = weir_training_data_bytes(&command->data);
  uint64_t *library_bytes = &command->request.library_bytes;
  if (held_bytes > *library_bytes + data_bytes) *library_bytes = held_bytes - data_bytes;
}

static weir_status read_data(train_command *command) {
  const weir_options *options = command->options;
  weir_tokenizer *tokenizer;
  weir_data_request request = {
      .validation_file = weir_options_string(options, "validation_file"),
      .validation_split = weir_options_real(options, "validation_split"),
  };
  request.train_files = weir_options_strings(options, "train_file", &request.n_train_files);
  weir_log_progress("reading the training data");
  WEIR_TRY(weir_training_options_corpus(options, &command->session, &tokenizer, &request.corpus));
  char *cache;
  weir_status status =
      weir_training_options_cache(options, request.train_files, request.n_train_files, &cache);
  request.corpus.cache = cache;
  if (status == WEIR_OK)
    status = weir_training_data_read(&command->data, &request, &command->settings);
  free(cache);
  weir_tokenizer_close(tokenizer);
  WEIR_TRY(status);
  if (command->settings.eval_on_start && !command->data.has_validation)
    return weir_fail(WEIR_BAD_INPUT,
                     "eval_on_start needs something to evaluate: give --validation-file or "
                     "--validation-split");
  count_what_stays(command);
  WEIR_TRY(
      weir_training_options_check_length(&command->session, command->data.train.rows.longest_span));
  return weir_training_settings_settle(&command->settings,
                                       command->data.train.batches.steps_per_epoch);
}

/* ---- resuming ---- */

static weir_status find_checkpoint(train_command *command) {
  const char *from = weir_options_string(command->options, "resume_from_checkpoint");
  if (!from) return WEIR_OK;
  if (strcmp(from, "latest") != 0) {
    if (!weir_path_is_directory(from))
      return weir_fail(WEIR_BAD_INPUT,
                       "%s: no such checkpoint directory; 'latest' finds the "
                       "newest one in --output",
                       from);
    if (snprintf(command->checkpoint, WEIR_PATH_BYTES, "%s", from) < WEIR_PATH_BYTES)
      return WEIR_OK;
    return weir_fail(WEIR_BAD_INPUT, "%.80s...: the path is too long", from);
  }
  int64_t step = -1;
  if (weir_path_is_directory(command->output))
    WEIR_TRY(weir_run_folder_latest(command->output, &step));
  if (step < 0)
    return weir_fail(WEIR_BAD_INPUT, "%s: holds no checkpoint to resume from", command->output);
  return weir_run_folder_name(command->checkpoint, command->output, "checkpoint-%lld",
                              (long long)step);
}

/* Of the plan, what cuts sums elsewhere changes bits: tiles of logits, chunks that are not whole
 * blocks.  A resumed run has to repeat it. */
static void add_cuts(json_t *recipe, const weir_session *session) {
  const weir_stream_settings *settings = &session->settings;
  const struct {
    const char *key;
    int64_t value;
    bool is_whole;
  } cuts[] = {
      {"chunk_rows", settings->chunk_rows, settings->chunk_rows % WEIR_BLOCK_ROWS == 0},
      {"head_rows", settings->head_rows, settings->head_rows % WEIR_BLOCK_ROWS == 0},
      {"head_columns", settings->head_columns, false},
  };
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
    json_object_set_new(recipe, cuts[i].key,
                        cuts[i].is_whole ? json_string("whole blocks")
                                         : json_integer((json_int_t)cuts[i].value));
}

static weir_status open_checkpoint(train_command *command) {
  weir_session *session = &command->session;
  command->recipe = weir_training_settings_recipe(&command->settings, &session->settings.precision,
                                                  session->device->real);
  command->machine = weir_training_options_machine();
  if (!command->recipe || !command->machine)
    return weir_fail(WEIR_FAILED, "no memory for the recipe");
  add_cuts(command->recipe, session);
  command->identity = (weir_run_identity){
      .recipe = command->recipe,
      .machine = command->machine,
      .data_fingerprint = weir_corpus_fingerprint(&command->data.train.corpus),
      .model_fingerprint = weir_model_fingerprint(&session->config, &session->table),
  };
  command->progress = (weir_progress){.best_step = -1};
  if (!*command->checkpoint) return WEIR_OK;
  WEIR_TRY(weir_checkpoint_open(command->checkpoint, &command->identity, &command->progress,
                                &command->history));
  if (command->progress.step <= command->settings.schedule.n_steps) return WEIR_OK;
  return weir_fail(WEIR_BAD_INPUT, "%s is at step %lld, but the run has only %lld",
                   command->checkpoint, (long long)command->progress.step,
                   (long long)command->settings.schedule.n_steps);
}

/* ---- the plan ---- */

/* The worst row of a step's first micro-batch, and of the later ones. */
static weir_status plan_rows(train_command *command, const weir_batch_extent *extent) {
  const int64_t n_most = command->settings.gradient_accumulation_steps;
  command->rows = calloc((size_t)n_most, sizeof *command->rows);
  if (!command->rows) return weir_fail(WEIR_FAILED, "no memory for %lld rows", (long long)n_most);
  command->row_offsets[0][1] = extent->first_tokens;
  command->row_offsets[1][1] = extent->later_tokens;
  int64_t n_rows = 0;
  for (int64_t i = 0; i < n_most; i++) {
    const int64_t *offsets = command->row_offsets[i > 0];
    if (offsets[1] > 0) command->rows[n_rows++] = (weir_sequences){offsets[1], 1, offsets};
  }
  command->request.rows = command->rows;
  command->request.n_rows = n_rows;
  return WEIR_OK;
}

static weir_status plan_data(train_command *command) {
  weir_plan_request *request = &command->request;
  weir_training_data *data = &command->data;
  weir_batch_extent extent = weir_batches_survey(&data->train.batches, command->progress.step,
                                                 command->settings.schedule.n_steps);
  WEIR_TRY(plan_rows(command, &extent));
  WEIR_TRY(weir_batches_reserve(&data->train.batches, &extent));
  request->data_bytes = weir_data_part_bytes(&data->train, &extent);
  if (!data->has_validation) return WEIR_OK;
  WEIR_TRY(weir_evaluate_reserve(&data->validation.batches, &request->evaluate_tokens));
  request->data_bytes +=
      weir_data_part_bytes(&data->validation, &data->validation.batches.reserved);
  return WEIR_OK;
}

static weir_status check_memory(const train_command *command, const weir_plan_request *request,
                                const weir_plan *plan) {
  if (!weir_options_is_set(command->options, "memory")) return WEIR_OK;
  return weir_plan_check_memory(request, plan, weir_options_bytes(command->options, "memory"));
}

/* A model that does not fit with the shortest row there is need not wait for its data. */
static weir_status check_model_fits(const train_command *command) {
  static const int64_t offsets[] = {0, 2};
  const weir_sequences shortest = {2, 1, offsets};
  weir_plan_request request = command->request;
  request.rows = &shortest;
  request.n_rows = 1;
  weir_plan plan;
  WEIR_TRY(weir_plan_make(&request, &plan));
  return check_memory(command, &request, &plan);
}

static weir_status make_plan(train_command *command) {
  WEIR_TRY(plan_data(command));
  WEIR_TRY(weir_plan_make(&command->request, &command->plan));
  /* Reading a tokenizer can hold more than training a small model does. */
  const uint64_t peak_bytes = weir_process_peak_bytes();
  if (command->plan.peak_bytes < peak_bytes) command->plan.peak_bytes = peak_bytes;
  return check_memory(command, &command->request, &command->plan);
}

static weir_status show_plan(train_command *command) {
  weir_training_data_log(&command->data, command->settings.max_length);
  char *text = weir_plan_text(&command->request, &command->plan);
  if (!text) return weir_fail(WEIR_FAILED, "no memory for the plan's text");
  if (weir_options_boolean(command->options, "dry_run"))
    weir_print("%s", text);
  else
    weir_log_info("%.*s", (int)(strlen(text) - 1), text); /* its last newline is the log's */
  free(text);
  return WEIR_OK;
}

/* ---- the run ---- */

static weir_dtype save_dtype(const train_command *command) {
  static const weir_dtype dtypes[] = {WEIR_DTYPE_F32, WEIR_DTYPE_BF16, WEIR_DTYPE_F16,
                                      WEIR_DTYPE_F64};
  const char *name = weir_options_string(command->options, "save_dtype");
  for (size_t i = 0; name && i < sizeof dtypes / sizeof *dtypes; i++)
    if (strcmp(name, weir_dtype_name(dtypes[i])) == 0) return dtypes[i];
  return command->session.config.dtype;
}

static weir_status load(train_command *command) {
  weir_session *session = &command->session;
  if (!*command->checkpoint) return weir_session_start(session, WEIR_RUN_TRAIN, &command->plan);
  WEIR_TRY(weir_session_reserve(session, WEIR_RUN_TRAIN, &command->plan));
  weir_log_info("going on from %s, step %lld", command->checkpoint,
                (long long)command->progress.step);
  return weir_checkpoint_load(command->checkpoint, &session->table, &session->run);
}

static weir_status write_reports(train_command *command) {
  char path[WEIR_PATH_BYTES];
  WEIR_TRY(weir_run_folder_name(path, command->output, "options.yaml"));
  WEIR_TRY(weir_yaml_options_write(command->options, path));
  json_t *plan = weir_plan_json(&command->request, &command->plan);
  if (!plan) return weir_fail(WEIR_FAILED, "no memory for the plan");
  weir_status status = weir_run_folder_name(path, command->output, "plan.json");
  if (status == WEIR_OK) status = weir_json_write(path, plan);
  json_decref(plan);
  return status;
}

static weir_status open_journal(train_command *command) {
  json_t *history = command->history;
  command->history = NULL;
  return weir_journal_open(&command->journal, command->output, history);
}

static weir_training describe(train_command *command) {
  weir_session *session = &command->session;
  return (weir_training){
      .settings = &command->settings,
      .identity = &command->identity,
      .plan = &command->plan,
      .folder = command->output,
      .source = session->model_path,
      .save_dtype = save_dtype(command),
      .run = &session->run,
      .batches = &command->data.train.batches,
      .validation = command->data.has_validation ? &command->data.validation.batches : NULL,
      .journal = &command->journal,
      .progress = command->progress,
  };
}

static weir_status check_space(train_command *command) {
  const weir_training training = describe(command);
  return weir_training_check_space(&training, &command->session.table,
                                   command->session.device->real);
}

static weir_status train(train_command *command) {
  weir_training training = describe(command);
  weir_log_info("the model is saved as %s; seed %llu", weir_dtype_name(training.save_dtype),
                (unsigned long long)command->settings.seed);
  weir_interrupt_begin();
  WEIR_TRY(weir_training_run(&training));
  weir_print("%s\n", command->output);
  return WEIR_OK;
}

static weir_status prepare(train_command *command) {
  WEIR_TRY(weir_session_open(command->options, &command->session));
  WEIR_TRY(choose_folder_use(command));
  WEIR_TRY(check_model_stays(command));
  WEIR_TRY(hold_folder(command));
  WEIR_TRY(find_checkpoint(command));
  command->request = weir_session_request(&command->session, WEIR_RUN_TRAIN);
  WEIR_TRY(weir_session_measure_library(&command->session, &command->request.library_bytes));
  WEIR_TRY(check_model_fits(command));
  WEIR_TRY(read_data(command));
  WEIR_TRY(open_checkpoint(command));
  return make_plan(command);
}

static weir_status run(train_command *command) {
  weir_training_options_settings(command->options, &command->settings);
  WEIR_TRY(prepare(command));
  if (weir_options_boolean(command->options, "dry_run")) return show_plan(command);
  WEIR_TRY(check_space(command));
  WEIR_TRY(make_folder(command));
  WEIR_TRY(load(command));
  if (command->folder_use == WEIR_RUN_FOLDER_OVERWRITE)
    WEIR_TRY(weir_run_folder_clear(command->output));
  WEIR_TRY(open_journal(command));
  WEIR_TRY(show_plan(command));
  WEIR_TRY(write_reports(command));
  return train(command);
}

weir_status weir_command_train(const weir_options *options) {
  train_command command = {.options = options,
                           .output = weir_options_string(options, "output_dir")};
  weir_status status = run(&command);
  if (status != WEIR_OK) weir_journal_note(&command.journal, weir_status_message());
  weir_journal_close(&command.journal);
  weir_training_data_deinit(&command.data);
  weir_session_close(&command.session);
  weir_run_folder_close(&command.folder);
  free(command.rows);
  json_decref(command.history);
  json_decref(command.recipe);
  json_decref(command.machine);
  return status;
}
