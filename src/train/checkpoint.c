/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint.h"

#include "base/log.h"
#include "formats/safetensors.h"
#include "model/weights.h"
#include "train/model_directory.h"
#include "train/run_folder.h"
#include "train/sealed_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define STATE_FILE     "weir_state.json"
#define OPTIMIZER_FILE "optimizer.safetensors"
#define TRAINER_FILE   "trainer_state.json"

/* ---- tensors of the optimizer ---- */

static const char *const role_names[WEIR_ROLE_COUNT] = {
#define X(constant) [WEIR_ROLE_##constant] = #constant,
    WEIR_ROLES(X)
#undef X
};

/* One list of tensors beside the weights file. */
typedef struct tensor_group {
  const char *name;
  const weir_tensor *tensors;
} tensor_group;

enum { MAX_GROUPS = 3 };

/* The weights are here a second time only where the model's file rounds them. */
static bool file_rounds(const weir_run *run, weir_dtype dtype) {
  const weir_dtype held = run->weights[0].dtype;
  return dtype != held && !(held == WEIR_DTYPE_BF16 && dtype <= WEIR_DTYPE_F64);
}

static int list_groups(const weir_run *run, bool has_master, tensor_group groups[MAX_GROUPS]) {
  int n = 0;
  groups[n++] = (tensor_group){"exp_avg", run->first_moments};
  groups[n++] = (tensor_group){"exp_avg_sq", run->second_moments};
  if (has_master) groups[n++] = (tensor_group){"master", run->weights};
  return n;
}

/* Fused file tensors hold several parameters, so names are made of unit and role. */
static const char *tensor_name(const tensor_group *group, const weir_parameter *parameter,
                               char name[64]) {
  snprintf(name, 64, "%s.%lld.%s", group->name, (long long)parameter->unit,
           role_names[parameter->role]);
  return name;
}

static const char *file_dtype(weir_tensor tensor) {
  return tensor.dtype == WEIR_DTYPE_F64 ? "F64" : tensor.dtype == WEIR_DTYPE_BF16 ? "BF16" : "F32";
}

static weir_status declare_groups(weir_safetensors_writer *writer, const weir_run *run,
                                  const tensor_group *groups, int n_groups) {
  char name[64];
  WEIR_TRY(weir_safetensors_writer_metadata(writer, "format", "pt"));
  for (int g = 0; g < n_groups; g++)
    for (int64_t i = 0; i < run->table->n_parameters; i++) {
      const weir_parameter *parameter = &run->table->parameters[i];
      const int64_t shape[] = {parameter->rows, parameter->cols};
      WEIR_TRY(weir_safetensors_writer_declare(writer, tensor_name(&groups[g], parameter, name),
                                               file_dtype(groups[g].tensors[i]), shape, 2));
    }
  return weir_safetensors_writer_begin(writer);
}

static weir_status append_groups(weir_safetensors_writer *writer, const weir_run *run,
                                 const tensor_group *groups, int n_groups) {
  for (int g = 0; g < n_groups; g++)
    for (int64_t i = 0; i < run->table->n_parameters; i++) {
      weir_tensor tensor = groups[g].tensors[i];
      WEIR_TRY(weir_safetensors_writer_append(writer, weir_tensor_data(tensor),
                                              weir_tensor_bytes(tensor)));
    }
  return WEIR_OK;
}

static weir_status save_optimizer(const char *path, const weir_run *run, bool has_master) {
  tensor_group groups[MAX_GROUPS];
  const int n_groups = list_groups(run, has_master, groups);
  weir_safetensors_writer *writer;
  WEIR_TRY(weir_safetensors_writer_create(path, &writer));
  weir_status status = declare_groups(writer, run, groups, n_groups);
  if (status == WEIR_OK) status = append_groups(writer, run, groups, n_groups);
  if (status == WEIR_OK) return weir_safetensors_writer_finish(writer);
  weir_safetensors_writer_abandon(writer);
  return status;
}

/* Copied in stripes, so that the file is never resident beside the tensors. */
static void load_tensor(const weir_safetensors *file, const weir_safetensors_entry *entry,
                        weir_tensor tensor) {
  enum { STRIPE_BYTES = 4 << 20 };
  const uint8_t *from = weir_safetensors_data(file, entry);
  uint8_t *to = weir_tensor_data(tensor);
  for (uint64_t at = 0; at < entry->size_bytes; at += STRIPE_BYTES) {
    uint64_t left = entry->size_bytes - at, n = left < STRIPE_BYTES ? left : STRIPE_BYTES;
    memcpy(to + at, from + at, (size_t)n);
    weir_safetensors_drop(file, from + at, n);
  }
}

static weir_status load_groups(const weir_safetensors *file, const weir_run *run,
                               const tensor_group *groups, int n_groups) {
  char name[64];
  for (int g = 0; g < n_groups; g++)
    for (int64_t i = 0; i < run->table->n_parameters; i++) {
      weir_tensor tensor = groups[g].tensors[i];
      const char *dtype = file_dtype(tensor);
      tensor_name(&groups[g], &run->table->parameters[i], name);
      const weir_safetensors_entry *entry = weir_safetensors_find(file, name);
      if (!entry || strcmp(entry->dtype, dtype) != 0 || entry->n_dims != 2 ||
          entry->shape[0] != tensor.rows || entry->shape[1] != tensor.cols)
        return weir_fail(WEIR_BAD_INPUT, "%s: expected the tensor \"%s\", %s [%lld, %lld]",
                         weir_safetensors_path(file), name, dtype, (long long)tensor.rows,
                         (long long)tensor.cols);
      load_tensor(file, entry, tensor);
    }
  return WEIR_OK;
}

/* ---- state ---- */

static json_t *progress_json(const weir_progress *progress) {
  return json_pack("{s:I, s:I, s:I, s:I, s:f, s:f, s:I, s:I, s:I, s:f, s:f, s:I, s:f}", "n_skipped",
                   (json_int_t)progress->n_skipped, "step", (json_int_t)progress->step, "n_tokens",
                   (json_int_t)progress->n_tokens, "n_supervised",
                   (json_int_t)progress->n_supervised, "loss_sum", progress->loss_sum, "seconds",
                   progress->seconds, "interval_steps", (json_int_t)progress->interval_steps,
                   "interval_rows", (json_int_t)progress->interval_rows, "interval_correct",
                   (json_int_t)progress->interval_correct, "interval_loss", progress->interval_loss,
                   "interval_entropy", progress->interval_entropy, "best_step",
                   (json_int_t)progress->best_step, "best_eval_loss", progress->best_eval_loss);
}

static bool progress_from_json(json_t *json, weir_progress *progress) {
  json_int_t n_skipped = 0, step, n_tokens, n_supervised, steps, rows, correct, best_step;
  if (json_unpack(json, "{s?I, s:I, s:I, s:I, s:F, s:F, s:I, s:I, s:I, s:F, s:F, s:I, s:F !}",
                  "n_skipped", &n_skipped, "step", &step, "n_tokens", &n_tokens, "n_supervised",
                  &n_supervised, "loss_sum", &progress->loss_sum, "seconds", &progress->seconds,
                  "interval_steps", &steps, "interval_rows", &rows, "interval_correct", &correct,
                  "interval_loss", &progress->interval_loss, "interval_entropy",
                  &progress->interval_entropy, "best_step", &best_step, "best_eval_loss",
                  &progress->best_eval_loss) != 0)
    return false;
  progress->step = step;
  progress->n_skipped = n_skipped;
  progress->n_tokens = n_tokens;
  progress->n_supervised = n_supervised;
  progress->interval_steps = steps;
  progress->interval_rows = rows;
  progress->interval_correct = correct;
  progress->best_step = best_step;
  return step >= 0 && n_skipped >= 0 && n_skipped <= step;
}

/* 64 bits as text: JSON numbers are not made for them. */
static json_t *fingerprint_json(uint64_t fingerprint) {
  char text[17];
  snprintf(text, sizeof text, "%016" PRIx64, fingerprint);
  return json_string(text);
}

static weir_status save_state(const char *directory, weir_dtype dtype,
                              const weir_progress *progress, const weir_run_identity *identity) {
  json_t *state =
      json_pack("{s:i, s:s, s:o, s:O, s:O, s:o, s:o}", "format_version",
                WEIR_CHECKPOINT_FORMAT_VERSION, "model_dtype", weir_dtype_name(dtype), "progress",
                progress_json(progress), "recipe", identity->recipe, "machine", identity->machine,
                "data", fingerprint_json(identity->data_fingerprint), "model",
                fingerprint_json(identity->model_fingerprint));
  if (!state) return weir_fail(WEIR_FAILED, "%s: no memory for its state", directory);
  weir_status status = weir_sealed_json_write(directory, STATE_FILE, state);
  json_decref(state);
  return status;
}

static weir_status save_trainer_state(const char *directory, const json_t *trainer_state) {
  char path[WEIR_PATH_BYTES];
  WEIR_TRY(weir_run_folder_name(path, directory, TRAINER_FILE));
  return weir_json_write(path, trainer_state);
}

/* ---- saving ---- */

static weir_status save_parts(const char *directory, const char *source, const weir_run *run,
                              weir_dtype dtype, uint64_t max_shard_bytes,
                              const weir_progress *progress, const weir_run_identity *identity,
                              const json_t *trainer_state) {
  char path[WEIR_PATH_BYTES];
  WEIR_TRY(weir_model_directory_save(directory, source, run, dtype, max_shard_bytes));
  WEIR_TRY(weir_run_folder_name(path, directory, OPTIMIZER_FILE));
  WEIR_TRY(save_optimizer(path, run, file_rounds(run, dtype)));
  WEIR_TRY(save_trainer_state(directory, trainer_state));
  return save_state(directory, dtype, progress, identity);
}

weir_status weir_checkpoint_save(const char *folder, const char *source, const weir_run *run,
                                 weir_dtype dtype, uint64_t max_shard_bytes,
                                 const weir_progress *progress, const weir_run_identity *identity,
                                 const json_t *trainer_state) {
  char partial[WEIR_PATH_BYTES];
  WEIR_TRY(weir_run_folder_begin_checkpoint(folder, progress->step, partial));
  weir_status status =
      save_parts(partial, source, run, dtype, max_shard_bytes, progress, identity, trainer_state);
  if (status == WEIR_OK) return weir_run_folder_commit_checkpoint(folder, progress->step, partial);
  weir_run_folder_sweep(folder);
  return status;
}

uint64_t weir_checkpoint_bytes(const char *source, const weir_parameter_table *table,
                               weir_dtype real, weir_dtype dtype) {
  const uint64_t n_groups = dtype == real ? MAX_GROUPS - 1 : MAX_GROUPS;
  uint64_t bytes = 65536;
  for (int64_t i = 0; i < table->n_parameters; i++) {
    const weir_parameter *parameter = &table->parameters[i];
    const uint64_t n_values = (uint64_t)(parameter->rows * parameter->cols);
    bytes += n_groups * (n_values * weir_dtype_bytes(real) + 128);
  }
  return bytes + weir_model_directory_bytes(source, table, dtype);
}

/* ---- going on ---- */

static weir_status check_recipe(const char *directory, const json_t *saved, const json_t *recipe) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)recipe, key, value) {
    const json_t *was = json_object_get(saved, key);
    if (was && json_equal(was, value)) continue;
    char *was_text = was ? json_dumps(was, JSON_ENCODE_ANY) : NULL;
    char *is_text = json_dumps(value, JSON_ENCODE_ANY);
    weir_status status =
        weir_fail(WEIR_BAD_INPUT,
                  "%s: %s was %s and is now %s: a run goes on only with the settings it "
                  "began with",
                  directory, key, was_text ? was_text : "not set", is_text ? is_text : "?");
    free(was_text);
    free(is_text);
    return status;
  }
  if (json_object_size(saved) == json_object_size(recipe)) return WEIR_OK;
  json_object_foreach((json_t *)saved, key, value) {
    if (!json_object_get(recipe, key))
      return weir_fail(WEIR_BAD_INPUT,
                       "%s: %s was set and no longer is: a run goes on only with "
                       "the settings it began with",
                       directory, key);
  }
  return WEIR_OK;
}

static weir_status check_fingerprint(const char *directory, const json_t *saved,
                                     uint64_t fingerprint, const char *what) {
  json_t *now = fingerprint_json(fingerprint);
  const bool is_same = json_equal(saved, now);
  json_decref(now);
  if (is_same) return WEIR_OK;
  return weir_fail(WEIR_BAD_INPUT, "%s: the %s not the one the run began with", directory, what);
}

static weir_status check_identity(const char *directory, const json_t *state,
                                  const weir_run_identity *identity) {
  WEIR_TRY(check_fingerprint(directory, json_object_get(state, "model"),
                             identity->model_fingerprint, "model's configuration is"));
  WEIR_TRY(check_recipe(directory, json_object_get(state, "recipe"), identity->recipe));
  WEIR_TRY(check_fingerprint(directory, json_object_get(state, "data"), identity->data_fingerprint,
                             "training data (its tokens, or how documents are split off) is"));
  if (!json_equal(json_object_get(state, "machine"), identity->machine))
    weir_log_warning("%s was written on another machine or with other libraries: the run goes on, "
                     "but not to the same last bits",
                     directory);
  return WEIR_OK;
}

static weir_status read_state(const char *directory, json_t *state,
                              const weir_run_identity *identity, weir_progress *progress) {
  const json_int_t version = json_integer_value(json_object_get(state, "format_version"));
  if (version != WEIR_CHECKPOINT_FORMAT_VERSION)
    return weir_fail(WEIR_BAD_INPUT, "%s: checkpoint format %lld, this program reads format %d",
                     directory, (long long)version, WEIR_CHECKPOINT_FORMAT_VERSION);
  WEIR_TRY(check_identity(directory, state, identity));
  if (progress_from_json(json_object_get(state, "progress"), progress)) return WEIR_OK;
  return weir_fail(WEIR_BAD_INPUT, "%s: " STATE_FILE " has no readable progress", directory);
}

static weir_status read_log_history(const char *directory, json_t **log_history) {
  char path[WEIR_PATH_BYTES];
  json_error_t error;
  WEIR_TRY(weir_run_folder_name(path, directory, TRAINER_FILE));
  json_t *trainer_state = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
  if (!trainer_state) return weir_fail(WEIR_BAD_INPUT, "%s:%d: %s", path, error.line, error.text);
  *log_history = json_incref(json_object_get(trainer_state, "log_history"));
  json_decref(trainer_state);
  if (json_is_array(*log_history)) return WEIR_OK;
  json_decref(*log_history);
  return weir_fail(WEIR_BAD_INPUT, "%s: has no \"log_history\"", path);
}

weir_status weir_checkpoint_open(const char *directory, const weir_run_identity *identity,
                                 weir_progress *progress, json_t **log_history) {
  json_t *state;
  WEIR_TRY(weir_sealed_json_read(directory, STATE_FILE, &state));
  weir_status status = read_state(directory, state, identity, progress);
  json_decref(state);
  WEIR_TRY(status);
  return read_log_history(directory, log_history);
}

weir_status weir_checkpoint_load(const char *directory, weir_parameter_table *table,
                                 const weir_run *run) {
  char path[WEIR_PATH_BYTES];
  weir_safetensors *file;
  tensor_group groups[MAX_GROUPS];
  WEIR_TRY(weir_run_folder_name(path, directory, OPTIMIZER_FILE));
  WEIR_TRY(weir_weights_load(directory, run->config, table, run->weights));
  WEIR_TRY(weir_safetensors_open(path, &file));
  const bool has_master = weir_safetensors_count(file) > 2 * (size_t)run->table->n_parameters;
  weir_status status = load_groups(file, run, groups, list_groups(run, has_master, groups));
  weir_safetensors_close(file);
  return status;
}

/* ---- the model ---- */

static void mix(uint64_t *fingerprint, const void *bytes, size_t n_bytes) {
  *fingerprint = XXH3_64bits_withSeed(bytes, n_bytes, *fingerprint);
}

uint64_t weir_model_fingerprint(const weir_model_config *config,
                                const weir_parameter_table *table) {
  uint64_t fingerprint = 0;
  const int64_t integers[] = {config->num_attention_heads,
                              config->num_key_value_heads,
                              config->head_dim,
                              config->norm,
                              config->hidden_act,
                              config->gated_mlp,
                              config->qk_norm,
                              config->learned_positions,
                              config->post_norms,
                              config->scaled_embeddings,
                              config->tie_word_embeddings};
  const weir_rope_scaling *rope = &config->rope_scaling;
  const double reals[] = {config->norm_epsilon,
                          config->learned_positions ? 0 : config->rope_theta,
                          config->rope_local_base_freq,
                          config->attention_softcap,
                          config->logit_softcap,
                          config->query_pre_attn_scalar,
                          rope->kind,
                          rope->factor,
                          rope->low_freq_factor,
                          rope->high_freq_factor,
                          rope->original_max_position_embeddings};
  mix(&fingerprint, integers, sizeof integers);
  mix(&fingerprint, reals, sizeof reals);
  for (int64_t layer = 0; layer < config->num_hidden_layers; layer++) {
    const int64_t window = weir_model_config_window(config, layer);
    mix(&fingerprint, &window, sizeof window);
  }
  for (int64_t i = 0; i < table->n_parameters; i++) {
    const weir_parameter *parameter = &table->parameters[i];
    const int64_t place[] = {parameter->role, parameter->unit, parameter->rows, parameter->cols};
    mix(&fingerprint, place, sizeof place);
  }
  return fingerprint;
}
