/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading and writing a model where the k-th allocation fails, for every k: no crash, nothing
 * leaked, no file left half written.  Whether it fails is left open for reading JSON: jansson 2.14
 * loses a character without a word where its token buffer cannot grow. */
#include "base/files.h"
#include "model/weights.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#endif

/* While counting: allocations until one fails (negative: none does), and those not yet freed. */
static volatile int counting, until_failure = -1, n_live;

#ifndef SANITIZED
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

static int fails(void) {
  return counting && until_failure >= 0 && until_failure-- == 0;
}

static void *counted(void *pointer) {
  if (counting && pointer) n_live++;
  return pointer;
}

void *malloc(size_t bytes) {
  return fails() ? NULL : counted(__libc_malloc(bytes));
}

void *calloc(size_t n, size_t bytes) {
  return fails() ? NULL : counted(__libc_calloc(n, bytes));
}

void *realloc(void *old, size_t bytes) {
  if (fails()) return NULL;
  void *pointer = __libc_realloc(old, bytes);
  return old ? pointer : counted(pointer);
}

void free(void *pointer) {
  if (counting && pointer) n_live--;
  __libc_free(pointer);
}
#endif

static char directory[] = "/tmp/weir-failing-XXXXXX";
static char output_path[256], config_path[256];

static int make_directory(void **state) {
  (void)state;
  if (!mkdtemp(directory)) return -1;
  snprintf(output_path, sizeof output_path, "%s/model.safetensors", directory);
  snprintf(config_path, sizeof config_path, "%s/config.json", directory);
  return 0;
}

static int remove_directory(void **state) {
  (void)state;
  return rmdir(directory);
}

static const char model_directory[] = WEIR_TEST_DIR "/golden/gpt2";
static weir_model_config config;
static weir_parameter_table table;
static weir_arena arena;
static weir_tensor weights[64];

static void load_model(void) {
  assert_int_equal(weir_model_config_read(model_directory, &config), WEIR_OK);
  assert_int_equal(weir_parameter_table_create(&config, &table), WEIR_OK);
  assert_int_equal(weir_arena_init(&arena, "test", 1 << 20), WEIR_OK);
  assert_true(table.n_parameters <= 64);
  for (int64_t i = 0; i < table.n_parameters; i++)
    weights[i] = weir_tensor_allocate(&arena, WEIR_MEMORY_WEIGHTS, WEIR_DTYPE_F32,
                                      table.parameters[i].rows, table.parameters[i].cols);
  assert_int_equal(weir_weights_load(model_directory, &config, &table, weights), WEIR_OK);
}

static void unload_model(void) {
  weir_arena_deinit(&arena);
  weir_parameter_table_destroy(&table);
}

static weir_status read_config(void) {
  weir_model_config again;
  return weir_model_config_read(model_directory, &again);
}

static weir_status write_config(void) {
  weir_status status = weir_model_config_write(directory, &config, WEIR_DTYPE_F32);
  assert_int_equal(access(config_path, F_OK) == 0, status == WEIR_OK);
  return status;
}

static weir_status load_weights(void) {
  return weir_weights_load(model_directory, &config, &table, weights);
}

static weir_status save_weights(void) {
  weir_status status = weir_weights_save(output_path, &table, weights, WEIR_DTYPE_BF16);
  assert_int_equal(access(output_path, F_OK) == 0, status == WEIR_OK);
  return status;
}

/* Returns how many of its allocations could fail. */
static int fail_each(weir_status (*run)(void)) {
  for (int k = 0;; k++) {
    weir_fail(WEIR_OK, "%s", "");
    n_live = 0;
    until_failure = k;
    counting = 1;
    weir_status status = run();
    counting = 0;
    if (status == WEIR_OK) unlink(output_path), unlink(config_path);
    if (n_live != 0) fail_msg("allocation %d failed: %d others leaked", k, n_live);
    if (status != WEIR_OK) assert_true(*weir_status_message());
    if (until_failure >= 0) { /* there was no k-th */
      assert_int_equal(status, WEIR_OK);
      return k;
    }
  }
}

static void no_allocation_is_taken_for_granted(void **state) {
  (void)state;
#ifdef SANITIZED
  print_message("skipped: the sanitizer has the allocator\n");
  skip();
#endif
  load_model();
  assert_true(fail_each(read_config) > 20);
  assert_true(fail_each(write_config) > 20);
  assert_true(fail_each(load_weights) > 20);
  assert_true(fail_each(save_weights) > 20);
  unload_model();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_allocation_is_taken_for_granted),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
