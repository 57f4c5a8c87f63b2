/* SPDX-License-Identifier: Apache-2.0
 *
 * Checkpoints: what is saved comes back to the bit, what is damaged is refused, what differs is
 * named, and whatever a crash leaves behind is no checkpoint. */
#include "base/files.h"
#include "device/ref/ref.h"
#include "support/tiny_model.h"
#include "support/tiny_training.h"
#include "train/checkpoint.h"
#include "train/run_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[] = "/tmp/weir-checkpoint-XXXXXX";

typedef struct fixture {
  weir_device *device;
  tiny_model model;
  json_t *recipe, *machine, *trainer_state;
  weir_run_identity identity;
  weir_progress progress;
  char folder[256], source[256], checkpoint[300];
} fixture;

/* Values that differ from parameter to parameter and from list to list. */
static void fill(const weir_run *run, const weir_tensor *tensors, double scale) {
  for (int64_t i = 0; i < run->table->n_parameters; i++) {
    double *values = weir_tensor_data(tensors[i]);
    for (int64_t k = 0; k < weir_tensor_count(tensors[i]); k++)
      values[k] = scale * (double)(i + 1) / (double)(k + 3);
  }
}

static void open_model(fixture *f, int architecture) {
  const weir_model_config config = tiny_config(architecture);
  const tiny_settings settings = {256, 256, 64, WEIR_STASH_INPUT, {0}};
  assert_int_equal(weir_ref_create(&f->device), WEIR_OK);
  tiny_open(&f->model, &config, f->device, &settings, WEIR_RUN_TRAIN, 16 << 20, 1 << 20);
}

static void close_model(fixture *f) {
  tiny_close(&f->model);
  weir_ref_destroy(f->device);
}

static void write_file(const char *folder, const char *name, const char *text) {
  char path[400];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  assert_int_equal(weir_file_replace(path, text, strlen(text)), WEIR_OK);
}

static fixture *make_fixture(int architecture) {
  fixture *f = calloc(1, sizeof *f);
  assert_non_null(f);
  snprintf(f->folder, sizeof f->folder, "%s/run", directory);
  snprintf(f->source, sizeof f->source, "%s/source", directory);
  snprintf(f->checkpoint, sizeof f->checkpoint, "%s/checkpoint-7", f->folder);
  assert_int_equal(weir_directory_remove(f->folder), WEIR_OK);
  assert_int_equal(weir_directory_make(f->folder), WEIR_OK);
  assert_int_equal(weir_directory_make(f->source), WEIR_OK);
  write_file(f->source, "tokenizer.json", "{\"a tokenizer\": 1}");
  open_model(f, architecture);
  f->recipe = json_pack("{s:f, s:i}", "learning_rate", 0.1, "seed", 42);
  f->machine = json_pack("{s:s}", "isa", "none");
  f->trainer_state = json_pack("{s:[{s:f}]}", "log_history", "loss", 1.0 / 3);
  f->identity = (weir_run_identity){f->recipe, f->machine, UINT64_MAX, 0};
  f->identity.model_fingerprint = weir_model_fingerprint(&f->model.config, &f->model.table);
  f->progress = (weir_progress){.step = 7,
                                .n_tokens = 123456789012,
                                .loss_sum = 0.1 + 0.2,
                                .seconds = 1e-9,
                                .interval_steps = 3,
                                .interval_rows = 4,
                                .interval_correct = 5,
                                .interval_loss = 1.0 / 3,
                                .interval_entropy = 2e300,
                                .best_step = -1};
  return f;
}

static void free_fixture(fixture *f) {
  close_model(f);
  json_decref(f->recipe);
  json_decref(f->machine);
  json_decref(f->trainer_state);
  free(f);
}

static weir_status save(fixture *f, weir_dtype dtype) {
  return weir_checkpoint_save(f->folder, f->source, &f->model.run, dtype, UINT64_MAX, &f->progress,
                              &f->identity, f->trainer_state);
}

static weir_status open_again(fixture *f, weir_progress *progress) {
  json_t *history;
  weir_status status = weir_checkpoint_open(f->checkpoint, &f->identity, progress, &history);
  if (status == WEIR_OK) {
    assert_int_equal(json_array_size(history), 1);
    json_decref(history);
  }
  return status;
}

static void assert_same_values(const tiny_model *model, const weir_tensor *tensors,
                               const double *expected, int64_t n_expected) {
  int64_t n;
  double *values = tiny_read_all(model, tensors, &n);
  assert_int_equal(n, n_expected);
  assert_memory_equal(values, expected, (size_t)n * sizeof *values);
  free(values);
}

/* In f64 the file holds what is in memory; in f32 it is rounded, and the master comes beside. */
static void check_round_trip(int architecture, weir_dtype dtype) {
  fixture *f = make_fixture(architecture);
  const weir_run *run = &f->model.run;
  int64_t n;
  fill(run, run->weights, 1);
  fill(run, run->first_moments, -1e-3);
  fill(run, run->second_moments, 1e-200);
  double *weights = tiny_read_all(&f->model, run->weights, &n);
  double *first = tiny_read_all(&f->model, run->first_moments, &n);
  double *second = tiny_read_all(&f->model, run->second_moments, &n);
  if (save(f, dtype) != WEIR_OK) fail_msg("%s", weir_status_message());
  close_model(f);

  open_model(f, architecture);
  weir_progress progress = {0};
  if (open_again(f, &progress) != WEIR_OK) fail_msg("%s", weir_status_message());
  assert_memory_equal(&progress, &f->progress, sizeof progress);
  if (weir_checkpoint_load(f->checkpoint, &f->model.table, &f->model.run) != WEIR_OK)
    fail_msg("%s", weir_status_message());
  assert_same_values(&f->model, f->model.run.weights, weights, n);
  assert_same_values(&f->model, f->model.run.first_moments, first, n);
  assert_same_values(&f->model, f->model.run.second_moments, second, n);
  free(weights);
  free(first);
  free(second);
  free_fixture(f);
}

static void test_round_trip(void **state) {
  (void)state;
  for (int architecture = 0; architecture < TINY_ARCHITECTURES; architecture++) {
    check_round_trip(architecture, WEIR_DTYPE_F32);
    check_round_trip(architecture, WEIR_DTYPE_BF16);
  }
}

/* ---- damage ---- */

static const char *const file_names[] = {
    "config.json",           "generation_config.json", "model.safetensors", "tokenizer.json",
    "optimizer.safetensors", "trainer_state.json",     "weir_state.json"};
enum { N_FILES = sizeof file_names / sizeof *file_names };

static void expect_refusal(fixture *f, const char *name) {
  weir_progress progress;
  assert_int_equal(open_again(f, &progress), WEIR_BAD_INPUT);
  if (!strstr(weir_status_message(), name))
    fail_msg("'%s' does not name %s", weir_status_message(), name);
}

static void flip(const char *path, int64_t offset) {
  FILE *file = fopen(path, "r+");
  assert_non_null(file);
  fseek(file, (long)offset, SEEK_SET);
  int byte = fgetc(file);
  fseek(file, (long)offset, SEEK_SET);
  fputc(byte ^ 1, file);
  fclose(file);
}

/* From the longest length to none; WEIR_TORTURE=long: every one. */
static void cut_short(fixture *f, const char *name) {
  char path[400];
  struct stat about;
  weir_progress progress;
  snprintf(path, sizeof path, "%s/%s", f->checkpoint, name);
  assert_int_equal(save(f, WEIR_DTYPE_F32), WEIR_OK); /* in place of the damaged one */
  assert_int_equal(open_again(f, &progress), WEIR_OK);
  assert_int_equal(stat(path, &about), 0);
  const int64_t n = about.st_size, step = n < 50 || tiny_training_is_long() ? 1 : n / 50;
  for (int64_t length = n - 1; length >= 0; length = length > step || !length ? length - step : 0) {
    assert_int_equal(truncate(path, length), 0);
    expect_refusal(f, name);
  }
}

static void test_damage(void **state) {
  (void)state;
  fixture *f = make_fixture(0);
  weir_progress progress;
  assert_int_equal(save(f, WEIR_DTYPE_F32), WEIR_OK);
  for (int i = 0; i < N_FILES; i++) {
    char path[400], aside[420];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", f->checkpoint, file_names[i]);
    snprintf(aside, sizeof aside, "%s/../aside", f->checkpoint);
    assert_int_equal(stat(path, &about), 0);
    const int64_t n = about.st_size, step = n < 3000 || tiny_training_is_long() ? 1 : n / 50;
    for (int64_t offset = 0; offset < n; offset += step) {
      flip(path, offset);
      expect_refusal(f, file_names[i]);
      flip(path, offset);
    }
    assert_int_equal(rename(path, aside), 0);
    expect_refusal(f, file_names[i]);
    assert_int_equal(rename(aside, path), 0);
    assert_int_equal(open_again(f, &progress), WEIR_OK);
  }
  for (int i = 0; i < N_FILES; i++)
    cut_short(f, file_names[i]);
  free_fixture(f);
}

/* ---- another run ---- */

static void test_identity(void **state) {
  (void)state;
  fixture *f = make_fixture(1);
  weir_progress progress;
  assert_int_equal(save(f, WEIR_DTYPE_F32), WEIR_OK);

  json_object_set_new(f->recipe, "learning_rate", json_real(0.2));
  expect_refusal(f, "learning_rate was 0.1");
  json_object_set_new(f->recipe, "learning_rate", json_real(0.1));
  json_object_set_new(f->recipe, "max_steps", json_integer(9));
  expect_refusal(f, "max_steps was not set and is now 9");
  json_object_del(f->recipe, "max_steps");
  json_object_del(f->recipe, "seed");
  expect_refusal(f, "seed was set");
  json_object_set_new(f->recipe, "seed", json_integer(42));

  f->identity.data_fingerprint--;
  expect_refusal(f, "training data");
  f->identity.data_fingerprint++;
  f->model.config.rope_theta *= 2;
  f->identity.model_fingerprint = weir_model_fingerprint(&f->model.config, &f->model.table);
  expect_refusal(f, "model's configuration");
  f->model.config.rope_theta /= 2;
  f->identity.model_fingerprint = weir_model_fingerprint(&f->model.config, &f->model.table);

  json_object_set_new(f->machine, "isa", json_string("another")); /* only a warning */
  assert_int_equal(open_again(f, &progress), WEIR_OK);
  free_fixture(f);
}

/* ---- the folder ---- */

static void make_checkpoint(const char *folder, const char *name) {
  char path[300];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  assert_int_equal(weir_directory_make(path), WEIR_OK);
  write_file(path, "a", "b");
}

static bool is_there(const char *folder, const char *name) {
  char path[300];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return access(path, F_OK) == 0;
}

static void test_folder(void **state) {
  (void)state;
  char path[256];
  int64_t step;
  snprintf(path, sizeof path, "%s/folder", directory);
  weir_run_folder folder, second;
  assert_int_equal(weir_run_folder_open(&folder, path, WEIR_RUN_FOLDER_NEW), WEIR_OK);
  assert_int_equal(weir_run_folder_open(&second, path, WEIR_RUN_FOLDER_RESUME), WEIR_BAD_INPUT);
  assert_non_null(strstr(weir_status_message(), "another weir"));
  assert_int_equal(weir_run_folder_latest(path, &step), WEIR_OK);
  assert_int_equal(step, -1);

  static const char *const names[] = {"checkpoint-9", "checkpoint-10", "checkpoint-200",
                                      "checkpoint-x", "checkpoint-",   "checkpoint-1000.bak"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    make_checkpoint(path, names[i]);
  make_checkpoint(path, ".checkpoint-300.partial");
  write_file(path, "model.safetensors.tmp-123", "half");
  write_file(path, "notes.tmp-", "the user's");
  assert_int_equal(weir_run_folder_latest(path, &step), WEIR_OK);
  assert_int_equal(step, 200);
  assert_int_equal(weir_run_folder_prune(path, 2), WEIR_OK);
  assert_false(is_there(path, "checkpoint-9"));
  assert_true(is_there(path, "checkpoint-10") && is_there(path, "checkpoint-200"));
  weir_run_folder_close(&folder);

  assert_int_equal(weir_run_folder_open(&folder, path, WEIR_RUN_FOLDER_NEW), WEIR_BAD_INPUT);
  assert_non_null(strstr(weir_status_message(), "not empty"));
  assert_int_equal(weir_run_folder_open(&folder, path, WEIR_RUN_FOLDER_OVERWRITE), WEIR_OK);
  assert_false(is_there(path, ".checkpoint-300.partial")); /* swept */
  assert_false(is_there(path, "model.safetensors.tmp-123"));
  assert_true(is_there(path, "notes.tmp-"));
  assert_int_equal(weir_run_folder_clear(path), WEIR_OK);
  assert_false(is_there(path, "checkpoint-10") || is_there(path, "checkpoint-200"));
  assert_true(is_there(path, "checkpoint-x") && is_there(path, "checkpoint-1000.bak"));
  weir_run_folder_close(&folder);
}

/* A save that fails (the tokenizer has become a directory) leaves the older checkpoint as it was,
 * and no half of a new one. */
static void test_failed_save(void **state) {
  (void)state;
  fixture *f = make_fixture(0);
  weir_progress progress;
  char path[400];
  assert_int_equal(save(f, WEIR_DTYPE_F32), WEIR_OK);
  snprintf(path, sizeof path, "%s/tokenizer.json", f->source);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(weir_directory_make(path), WEIR_OK); /* a directory cannot be copied */
  f->progress.step = 8;
  assert_true(save(f, WEIR_DTYPE_F32) != WEIR_OK);
  assert_false(is_there(f->folder, "checkpoint-8"));
  assert_false(is_there(f->folder, ".checkpoint-8.partial"));
  assert_int_equal(open_again(f, &progress), WEIR_OK);
  assert_int_equal(rmdir(path), 0);
  free_fixture(f);
}

static int set_up(void **state) {
  (void)state;
  return mkdtemp(directory) ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  return weir_directory_remove(directory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip),  cmocka_unit_test(test_damage),
      cmocka_unit_test(test_identity),    cmocka_unit_test(test_folder),
      cmocka_unit_test(test_failed_save),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
