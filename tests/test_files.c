/* SPDX-License-Identifier: Apache-2.0
 *
 * Files replaced whole or not at all (I6), also where the disk refuses half way. */
#include "base/files.h"

#include <dirent.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

static char directory[] = "/tmp/weir-files-XXXXXX";
static char path[256];

static int make_directory(void **state) {
  (void)state;
  if (!mkdtemp(directory)) return -1;
  snprintf(path, sizeof path, "%s/file", directory);
  return 0;
}

static int remove_directory(void **state) {
  (void)state;
  unlink(path);
  return rmdir(directory);
}

static void assert_holds(const char *text) {
  weir_mapping mapping;
  assert_int_equal(weir_mapping_open(path, &mapping), WEIR_OK);
  assert_int_equal(mapping.size_bytes, strlen(text));
  if (*text) assert_memory_equal(mapping.bytes, text, strlen(text));
  weir_mapping_close(&mapping);
}

static int count_files(void) {
  DIR *files = opendir(directory);
  int n = 0;
  for (struct dirent *entry; (entry = readdir(files));)
    n += entry->d_name[0] != '.';
  closedir(files);
  return n;
}

static void replaces_what_was_there(void **state) {
  (void)state;
  assert_int_equal(weir_file_replace(path, "first", 5), WEIR_OK);
  assert_holds("first");
  assert_int_equal(weir_file_replace(path, "2nd", 3), WEIR_OK);
  assert_holds("2nd");
  assert_int_equal(weir_file_replace(path, "", 0), WEIR_OK);
  assert_holds("");
  assert_int_equal(count_files(), 1);
}

static void the_old_file_stands_until_commit(void **state) {
  (void)state;
  weir_replacement file;
  assert_int_equal(weir_file_replace(path, "old", 3), WEIR_OK);
  assert_int_equal(weir_replacement_open(path, &file), WEIR_OK);
  assert_int_equal(weir_replacement_append(&file, "new", 3), WEIR_OK);
  assert_holds("old");
  weir_replacement_abandon(&file);
  weir_replacement_abandon(&file); /* harmless */
  assert_holds("old");
  assert_int_equal(count_files(), 1);
  assert_int_equal(weir_replacement_open(path, &file), WEIR_OK);
  assert_int_equal(weir_replacement_append(&file, "new", 3), WEIR_OK);
  assert_int_equal(weir_replacement_commit(&file), WEIR_OK);
  assert_holds("new");
}

/* A file size limit refuses the k-th byte, for many k: as a full disk would. */
static void a_full_disk_leaves_the_old_file(void **state) {
  (void)state;
  static char bytes[20000];
  struct rlimit before, limit;
  memset(bytes, 'x', sizeof bytes);
  assert_int_equal(weir_file_replace(path, "old", 3), WEIR_OK);
  signal(SIGXFSZ, SIG_IGN);
  getrlimit(RLIMIT_FSIZE, &before);
  for (rlim_t k = 0; k < sizeof bytes; k += 997) {
    limit = before;
    limit.rlim_cur = k;
    setrlimit(RLIMIT_FSIZE, &limit);
    weir_replacement file;
    weir_status status = weir_replacement_open(path, &file);
    for (size_t i = 0; status == WEIR_OK && i < sizeof bytes; i += 1000)
      status = weir_replacement_append(&file, bytes + i, 1000);
    status = status == WEIR_OK ? weir_replacement_commit(&file) : status;
    setrlimit(RLIMIT_FSIZE, &before);
    weir_replacement_abandon(&file);
    assert_int_equal(status, WEIR_FAILED);
    assert_non_null(strstr(weir_status_message(), path));
    assert_holds("old");
    assert_int_equal(count_files(), 1);
  }
}

static void refuses_what_is_no_file(void **state) {
  (void)state;
  weir_mapping mapping;
  assert_int_equal(weir_mapping_open(directory, &mapping), WEIR_BAD_INPUT);
  assert_int_equal(weir_mapping_open("/dev/null", &mapping), WEIR_BAD_INPUT);
  assert_int_equal(weir_mapping_open("/nonexistent/file", &mapping), WEIR_BAD_INPUT);
  weir_mapping_close(&mapping);
  assert_int_equal(weir_file_replace("/nonexistent/file", "x", 1), WEIR_BAD_INPUT);
  assert_int_equal(weir_replacement_check("/nonexistent/file"), WEIR_BAD_INPUT);
  assert_int_equal(weir_replacement_check("/proc/weir"), WEIR_BAD_INPUT);
  assert_int_equal(weir_file_replace(directory, "x", 1), WEIR_BAD_INPUT);
  assert_true(weir_path_is_directory(directory));
  assert_false(weir_path_is_directory("/nonexistent"));
}

/* A FIFO stands for the devices that a privileged user could replace, such as /dev/null. */
static void a_device_is_not_replaced(void **state) {
  (void)state;
  struct stat about;
  unlink(path);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_int_equal(weir_file_replace(path, "x", 1), WEIR_BAD_INPUT);
  assert_non_null(strstr(weir_status_message(), path));
  assert_int_equal(stat(path, &about), 0);
  assert_true(S_ISFIFO(about.st_mode));
  assert_int_equal(count_files(), 1);
  assert_int_equal(unlink(path), 0);
}

static int64_t resident_bytes(void) {
  long long pages, resident_pages;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%lld %lld", &pages, &resident_pages), 2);
  fclose(file);
  return resident_pages * sysconf(_SC_PAGESIZE);
}

/* Read through in pieces of odd sizes and dropped behind the reader, a file stays out of memory. */
static void dropped_pages_are_given_back(void **state) {
  (void)state;
  enum { FILE_BYTES = 48 << 20, PIECE_BYTES = 98765 };
  char *bytes = malloc(FILE_BYTES);
  memset(bytes, 'x', FILE_BYTES);
  assert_int_equal(weir_file_replace(path, bytes, FILE_BYTES), WEIR_OK);
  free(bytes);
  weir_mapping mapping;
  assert_int_equal(weir_mapping_open(path, &mapping), WEIR_OK);
  int64_t before_bytes = resident_bytes(), n_read = 0;
  for (uint64_t i = 0; i < FILE_BYTES; i += PIECE_BYTES) {
    uint64_t n = FILE_BYTES - i < PIECE_BYTES ? FILE_BYTES - i : PIECE_BYTES;
    for (uint64_t j = i; j < i + n; j++)
      n_read += mapping.bytes[j] == 'x';
    weir_mapping_drop(&mapping, i, n);
  }
  assert_int_equal(n_read, FILE_BYTES);
  assert_true(resident_bytes() - before_bytes < 4 << 20);
  assert_int_equal(mapping.bytes[0], 'x');
  weir_mapping_drop(&mapping, FILE_BYTES, 0);
  weir_mapping_close(&mapping);
}

static void paths_join_with_one_slash(void **state) {
  (void)state;
  static const char *const cases[][3] = {
      {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"/", "b", "/b"}, {"", "b", "b"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *joined = weir_path_join(cases[i][0], cases[i][1]);
    assert_string_equal(joined, cases[i][2]);
    free(joined);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(replaces_what_was_there),
      cmocka_unit_test(the_old_file_stands_until_commit),
      cmocka_unit_test(a_full_disk_leaves_the_old_file),
      cmocka_unit_test(refuses_what_is_no_file),
      cmocka_unit_test(a_device_is_not_replaced),
      cmocka_unit_test(dropped_pages_are_given_back),
      cmocka_unit_test(paths_join_with_one_slash),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
