/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights written in shards: whatever the limit, they are read back as the same model, no file is
 * larger than it must be, the index tells the truth, and nothing older is left beside them. */
#include "base/directory.h"
#include "base/files.h"
#include "formats/weight_files.h"
#include "model/weights.h"
#include "support/fixture.h"

#include <dirent.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[] = "/tmp/weir-shards-XXXXXX";

typedef struct model {
  weir_model_config config;
  weir_parameter_table table;
  weir_arena arena;
  weir_tensor *weights;
} model;

static void open_model(model *m, const char *name, const char *from) {
  char source[512];
  snprintf(source, sizeof source, "%s/golden/%s", WEIR_TEST_DIR, name);
  if (weir_model_config_read(source, &m->config) != WEIR_OK) fail_msg("%s", weir_status_message());
  assert_int_equal(weir_parameter_table_create(&m->config, &m->table), WEIR_OK);
  weir_arena_init(&m->arena, "test", 16 << 20);
  m->weights = calloc((size_t)m->table.n_parameters, sizeof *m->weights);
  for (int64_t i = 0; i < m->table.n_parameters; i++)
    m->weights[i] = weir_tensor_allocate(&m->arena, WEIR_MEMORY_WEIGHTS, WEIR_DTYPE_F32,
                                         m->table.parameters[i].rows, m->table.parameters[i].cols);
  if (weir_weights_load(from ? from : source, &m->config, &m->table, m->weights) != WEIR_OK)
    fail_msg("%s", weir_status_message());
}

static void close_model(model *m) {
  free(m->weights);
  weir_arena_deinit(&m->arena);
  weir_parameter_table_destroy(&m->table);
}

/* The sum of all tensors, and that every file keeps to the limit. */
static uint64_t check_files(uint64_t max_shard_bytes, size_t *n_files) {
  weir_weight_files files;
  uint64_t total_bytes = 0;
  if (weir_weight_files_open(directory, &files) != WEIR_OK) fail_msg("%s", weir_status_message());
  for (size_t i = 0; i < files.n_files; i++) {
    uint64_t size_bytes = 0;
    const size_t n_tensors = weir_safetensors_count(files.files[i]);
    assert_true(n_tensors > 0);
    for (size_t j = 0; j < n_tensors; j++)
      size_bytes += weir_safetensors_at(files.files[i], j)->size_bytes;
    assert_true(n_tensors == 1 || size_bytes <= max_shard_bytes);
    total_bytes += size_bytes;
  }
  *n_files = files.n_files;
  weir_weight_files_close(&files);
  return total_bytes;
}

static size_t count_entries(void) {
  size_t n = 0;
  DIR *entries = opendir(directory);
  assert_non_null(entries);
  for (struct dirent *entry; (entry = readdir(entries));)
    n += entry->d_name[0] != '.';
  closedir(entries);
  return n;
}

static void check_index(uint64_t total_bytes, size_t n_files) {
  char path[256], last[256];
  snprintf(path, sizeof path, "%s/model.safetensors.index.json", directory);
  snprintf(last, sizeof last, "%s/model-%05zu-of-%05zu.safetensors", directory, n_files, n_files);
  json_t *index = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
  assert_non_null(index);
  const json_t *metadata = json_object_get(index, "metadata");
  assert_int_equal(json_integer_value(json_object_get(metadata, "total_size")), total_bytes);
  assert_int_equal(access(last, F_OK), 0);
  json_decref(index);
}

static void check_round_trip(const char *name, weir_dtype dtype) {
  static const uint64_t limits[] = {1,     40000, UINT64_MAX, 10000,     1,
                                    20000, 40000, UINT64_MAX, UINT64_MAX};
  model m, again;
  open_model(&m, name, NULL);
  size_t most_files = 0;
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    size_t n_files;
    if (weir_weights_save_directory(directory, &m.table, m.weights, dtype, limits[i]) != WEIR_OK)
      fail_msg("%s", weir_status_message());
    const uint64_t total_bytes = check_files(limits[i], &n_files);
    assert_int_equal(count_entries(), n_files + (n_files > 1)); /* nothing older */
    if (n_files > 1) check_index(total_bytes, n_files);
    if (limits[i] == UINT64_MAX) assert_int_equal(n_files, 1);
    if (n_files > most_files) most_files = n_files;
    open_model(&again, name, directory);
    for (int64_t k = 0; k < m.table.n_parameters && dtype == WEIR_DTYPE_F32; k++)
      assert_memory_equal(weir_tensor_data(m.weights[k]), weir_tensor_data(again.weights[k]),
                          weir_tensor_bytes(m.weights[k]));
    close_model(&again);
  }
  assert_true(most_files > 9);
  close_model(&m);
}

static void test_round_trips(void **state) {
  (void)state;
  check_round_trip("llama", WEIR_DTYPE_F32);
  check_round_trip("qwen3", WEIR_DTYPE_BF16);
  check_round_trip("gpt2", WEIR_DTYPE_F32); /* fused and transposed */
}

/* Names that only look like shards are left alone. */
static void test_other_files_stay(void **state) {
  (void)state;
  static const char *const names[] = {"model-1-of-2.safetensors", "model-00001-of-00002.txt",
                                      "model-a-of-b.safetensors", "other.safetensors"};
  model m;
  char path[256];
  open_model(&m, "llama", NULL);
  for (size_t i = 0; i < 4; i++) {
    snprintf(path, sizeof path, "%s/%s", directory, names[i]);
    assert_int_equal(weir_file_replace(path, "x", 1), WEIR_OK);
  }
  assert_int_equal(weir_weights_save_directory(directory, &m.table, m.weights, WEIR_DTYPE_F32, 1),
                   WEIR_OK);
  assert_int_equal(
      weir_weights_save_directory(directory, &m.table, m.weights, WEIR_DTYPE_F32, UINT64_MAX),
      WEIR_OK);
  for (size_t i = 0; i < 4; i++) {
    snprintf(path, sizeof path, "%s/%s", directory, names[i]);
    assert_int_equal(access(path, F_OK), 0);
  }
  close_model(&m);
}

static int set_up(void **state) {
  (void)state;
  return mkdtemp(directory) ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  return weir_directory_remove(directory) == WEIR_OK ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trips),
                                     cmocka_unit_test(test_other_files_stay)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
