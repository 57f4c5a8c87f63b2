/* SPDX-License-Identifier: Apache-2.0
 *
 * Output directories and small files: made, locked, read whole. */
#include "base/directory.h"
#include "base/files.h"
#include "base/read_file.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[32];

static int open_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/weir-test-XXXXXX");
  return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  char command[64];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return chdir("/") == 0 ? system(command) : -1;
}

static void expect_message(const char *part) {
  if (!strstr(weir_status_message(), part))
    fail_msg("'%s' lacks '%s'", weir_status_message(), part);
}

static void test_make(void **state) {
  (void)state;
  assert_int_equal(weir_directory_make("a/b//c/"), WEIR_OK);
  assert_true(weir_path_is_directory("a/b/c"));
  assert_int_equal(weir_directory_make("a/b"), WEIR_OK);
  assert_int_equal(weir_file_replace("file", "x", 1), WEIR_OK);
  assert_int_equal(weir_directory_make("file"), WEIR_BAD_INPUT);
  expect_message("file: is a file, expected a directory");
  assert_int_equal(weir_directory_make("file/below"), WEIR_BAD_INPUT);
  assert_int_equal(weir_directory_make(""), WEIR_BAD_INPUT);
  assert_int_equal(weir_directory_make("/proc/weir"), WEIR_BAD_INPUT);
  uint64_t free_bytes = 0;
  assert_int_equal(weir_directory_free_bytes("a", &free_bytes), WEIR_OK);
  assert_true(free_bytes > 0);
  uint64_t same_bytes = 0;
  assert_int_equal(weir_directory_free_bytes("none/below", &same_bytes), WEIR_OK);
  assert_true(same_bytes > 0);
  assert_int_equal(weir_directory_free_bytes("file/below", &free_bytes), WEIR_BAD_INPUT);
}

static void test_check_writable(void **state) {
  (void)state;
  static const char *const wrong[] = {"", "file", "file/below", "/proc/weir", "/proc/weir/below"};
  assert_int_equal(weir_file_replace("file", "x", 1), WEIR_OK);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    if (weir_directory_check_writable(wrong[i]) != WEIR_BAD_INPUT)
      fail_msg("'%s' was not refused", wrong[i]);
  assert_int_equal(weir_directory_check_writable("new/below//it/"), WEIR_OK);
  assert_false(weir_path_is_directory("new"));
  assert_int_equal(weir_directory_check_writable("."), WEIR_OK);
}

static void test_is_empty(void **state) {
  (void)state;
  bool is_empty = false;
  assert_int_equal(weir_directory_is_empty("none", &is_empty), WEIR_OK);
  assert_true(is_empty);
  assert_int_equal(weir_directory_make("a"), WEIR_OK);
  weir_directory_lock lock;
  assert_int_equal(weir_directory_lock_take("a", &lock), WEIR_OK);
  assert_int_equal(weir_directory_is_empty("a", &is_empty), WEIR_OK);
  assert_true(is_empty);
  assert_int_equal(weir_file_replace("a/file", "", 0), WEIR_OK);
  assert_int_equal(weir_directory_is_empty("a", &is_empty), WEIR_OK);
  assert_false(is_empty);
  assert_int_equal(weir_directory_is_empty("a/file", &is_empty), WEIR_BAD_INPUT);
  weir_directory_lock_release(&lock);
}

/* Another process holds the lock; when it is killed the lock is free. */
static void test_lock(void **state) {
  (void)state;
  int ready[2];
  assert_int_equal(pipe(ready), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  weir_directory_lock lock;
  if (child == 0) {
    char taken = weir_directory_lock_take(".", &lock) == WEIR_OK;
    if (write(ready[1], &taken, 1) == 1) pause();
    _exit(0);
  }
  char taken = 0;
  assert_int_equal(read(ready[0], &taken, 1), 1);
  assert_true(taken);
  assert_int_equal(weir_directory_lock_take(".", &lock), WEIR_BAD_INPUT);
  expect_message("another weir is writing into this directory");
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  assert_int_equal(weir_directory_lock_take(".", &lock), WEIR_OK);
  weir_directory_lock_release(&lock);
  assert_int_equal(weir_directory_lock_take("none", &lock), WEIR_BAD_INPUT);
  close(ready[0]);
  close(ready[1]);
}

static void test_read(void **state) {
  (void)state;
  enum { SIZE = 200000 };
  static char bytes[SIZE];
  for (int i = 0; i < SIZE; i++)
    bytes[i] = (char)(i * 7);
  weir_file_bytes file;
  assert_int_equal(weir_file_replace("file", bytes, SIZE), WEIR_OK);
  assert_int_equal(weir_file_read("file", SIZE, &file), WEIR_OK);
  assert_int_equal(file.size_bytes, SIZE);
  assert_memory_equal(file.bytes, bytes, SIZE);
  assert_int_equal(file.bytes[SIZE], 0);
  free(file.bytes);
  assert_int_equal(weir_file_read("file", SIZE - 1, &file), WEIR_BAD_INPUT);
  expect_message("file: larger than 195 KiB");
  assert_null(file.bytes);
  assert_int_equal(weir_file_read("none", SIZE, &file), WEIR_BAD_INPUT);
  expect_message("none: cannot open: No such file");
  assert_int_equal(weir_file_read(".", SIZE, &file), WEIR_BAD_INPUT);
  assert_int_equal(weir_file_read("/dev/null", 0, &file), WEIR_OK);
  assert_int_equal(file.size_bytes, 0);
  free(file.bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_make, open_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_check_writable, open_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_is_empty, open_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_lock, open_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_read, open_folder, remove_folder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
