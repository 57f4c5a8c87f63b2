/* SPDX-License-Identifier: Apache-2.0
 *
 * safetensors: what must parse, what must be refused, and damage of every kind in between.  A
 * damaged file may be refused or, where the damage hits data, accepted; it may never crash. */
#include "base/files.h"
#include "formats/safetensors.h"

#include <dirent.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

static char directory[] = "/tmp/weir-safetensors-XXXXXX";
static char path[256];

static int make_directory(void **state) {
  (void)state;
  if (!mkdtemp(directory)) return -1;
  snprintf(path, sizeof path, "%s/file.safetensors", directory);
  return 0;
}

static int remove_directory(void **state) {
  (void)state;
  unlink(path);
  return rmdir(directory); /* fails, and so the test, where a temporary file was left behind */
}

static void write_bytes(const void *bytes, size_t n) {
  unlink(path); /* or ext4 waits for the disk when a truncated file is closed */
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, n, file), n);
  assert_int_equal(fclose(file), 0);
}

/* Header text and `n_data` bytes of data; returns the size of the file. */
static size_t write_file(const char *header, size_t n_data) {
  static uint8_t bytes[65536];
  size_t n = strlen(header);
  assert_true(8 + n + n_data <= sizeof bytes);
  memset(bytes, 0, sizeof bytes);
  for (int i = 0; i < 8; i++)
    bytes[i] = (uint8_t)(n >> 8 * i);
  memcpy(bytes + 8, header, n);
  write_bytes(bytes, 8 + n + n_data);
  return 8 + n + n_data;
}

/* Opens, reads every byte, closes. */
static weir_status open_and_touch(void) {
  weir_safetensors *file;
  weir_status status = weir_safetensors_open(path, &file);
  if (status != WEIR_OK) {
    assert_null(file);
    assert_non_null(strstr(weir_status_message(), path));
    return status;
  }
  volatile uint8_t sink = 0;
  for (size_t i = 0; i < weir_safetensors_count(file); i++) {
    const weir_safetensors_entry *entry = weir_safetensors_at(file, i);
    const uint8_t *data = weir_safetensors_data(file, entry);
    for (uint64_t j = 0; j < entry->size_bytes; j++)
      sink = (uint8_t)(sink + data[j]);
    assert_ptr_equal(weir_safetensors_find(file, entry->name), entry);
  }
  weir_safetensors_close(file);
  return WEIR_OK;
}

static void accepts_what_the_format_allows(void **state) {
  (void)state;
  static const struct {
    const char *header;
    size_t n_data;
  } cases[] = {
      {"{}", 0},
      {" \t\r\n{} \n", 0},
      {"{\"__metadata__\":{}}", 0},
      {"{\"s\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]}}", 8},
      {"{\"z\":{\"dtype\":\"F32\",\"shape\":[0,5],\"data_offsets\":[0,0]}}", 0},
      {"{\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]},"
       "\"a\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
       3},
      {"{\"q\":{\"dtype\":\"F6_E2M3\",\"shape\":[4],\"data_offsets\":[0,3]}}", 3},
      {"{\"q\":{\"dtype\":\"F8_E8M0\",\"shape\":[1,1,1,1,1,1,1,1,1,3],\"data_offsets\":[0,3]}}", 3},
      {"{\"\\u00e9\\ud83d\\ude00\":{\"dtype\":\"C64\",\"shape\":[1],\"data_offsets\":[0,8]}}", 8},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_file(cases[i].header, cases[i].n_data);
    if (open_and_touch() != WEIR_OK) fail_msg("case %zu: %s", i, weir_status_message());
  }
}

static void entries_come_in_the_order_of_their_data(void **state) {
  (void)state;
  write_file("{\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]},"
             "\"e\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[1,1]},"
             "\"a\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,1]},"
             "\"__metadata__\":{\"format\":\"pt\"}}",
             3);
  weir_safetensors *file;
  assert_int_equal(weir_safetensors_open(path, &file), WEIR_OK);
  assert_int_equal(weir_safetensors_count(file), 3);
  assert_string_equal(weir_safetensors_at(file, 0)->name, "a");
  assert_string_equal(weir_safetensors_at(file, 1)->name, "e");
  assert_string_equal(weir_safetensors_at(file, 2)->name, "b");
  assert_int_equal(weir_safetensors_at(file, 2)->offset_bytes, 1);
  assert_string_equal(weir_safetensors_at(file, 2)->dtype, "U8");
  assert_null(weir_safetensors_find(file, "__metadata__"));
  assert_null(weir_safetensors_find(file, "c"));
  assert_string_equal(weir_safetensors_metadata(file, "format"), "pt");
  assert_null(weir_safetensors_metadata(file, "absent"));
  weir_safetensors_close(file);
}

#define TENSOR(dtype, shape, offsets)                                                              \
  "{\"t\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static void refuses_what_the_format_forbids(void **state) {
  (void)state;
  /* `says`: what the message must name beside the file. */
  static const struct {
    const char *header, *says;
    size_t n_data;
  } cases[] = {
      {"", "JSON", 0},
      {"[]", "object", 0},
      {"3", "JSON", 0},
      {"{} x", "JSON", 0},
      {"{\"t\":3}", "\"t\"", 0},
      {"{\"t\":{}}", "\"t\"", 0},
      {"{\"t\":{\"dtype\":\"F32\",\"shape\":[1]}}", "data_offsets", 4},
      {"{\"t\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", "shape", 4},
      {"{\"t\":{\"shape\":[1],\"data_offsets\":[0,4]}}", "dtype", 4},
      {TENSOR("F33", "[1]", "[0,4]"), "F33", 4},
      {TENSOR("f32", "[1]", "[0,4]"), "f32", 4},
      {TENSOR("", "[1]", "[0,4]"), "dtype", 4},
      {TENSOR("F32", "[1.0]", "[0,4]"), "shape", 4},
      {TENSOR("F32", "[1.5]", "[0,6]"), "shape", 6},
      {TENSOR("F32", "[-1]", "[0,4]"), "shape", 4},
      {TENSOR("F32", "[\"1\"]", "[0,4]"), "shape", 4},
      {TENSOR("F32", "[null]", "[0,4]"), "shape", 4},
      {TENSOR("F32", "{}", "[0,4]"), "shape", 4},
      {TENSOR("F32", "[2]", "[0,4]"), "8 bytes", 4},
      {TENSOR("F32", "[1]", "[4,0]"), "data_offsets", 4},
      {TENSOR("F32", "[1]", "[-4,0]"), "data_offsets", 4},
      {TENSOR("F32", "[1]", "[0]"), "data_offsets", 4},
      {TENSOR("F32", "[1]", "[0,4,8]"), "data_offsets", 8},
      {TENSOR("F32", "[1]", "[0,4.0]"), "data_offsets", 4},
      {TENSOR("F32", "[1]", "[0,4]"), "truncated", 3},
      {TENSOR("F32", "[1]", "[0,4]"), "unclaimed", 5},
      {TENSOR("F32", "[1]", "[1,5]"), "hole", 5},
      {TENSOR("F32", "[1]", "[9223372036854775803,9223372036854775807]"), "hole", 5},
      {TENSOR("F32", "[1]", "[0,18446744073709551615]"), "JSON", 5},
      {TENSOR("F32", "[4611686018427387904,4]", "[0,0]"), "overflows", 0},
      {TENSOR("F32", "[4611686018427387904,4,0]", "[0,0]"), "overflows", 0},
      {TENSOR("U8", "[4294967296,4294967296,16]", "[0,0]"), "overflows", 0},
      {TENSOR("F4", "[3]", "[0,1]"), "whole bytes", 1},
      {TENSOR("F6_E3M2", "[1]", "[0,1]"), "whole bytes", 1},
      {"{\"__metadata__\":3}", "__metadata__", 0},
      {"{\"__metadata__\":{\"a\":1}}", "__metadata__", 0},
      {"{\"__metadata__\":{},\"__metadata__\":{}}", "duplicate", 0},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
       "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
       "duplicate", 2},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
       "\"\\u0061\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
       "duplicate", 2},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"shape\":[1],\"data_offsets\":[0,1]}}", "duplicate",
       1},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
       "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
       "overlap", 3},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
       "\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[2,3]}}",
       "hole", 3},
      {"{\"\xff\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", "decode", 1},
      {"{\"\xc0\xaf\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", "decode", 1},
      {"{\"\xed\xa0\x80\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", "decode", 1},
      {"{\"a\\u0000b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", "JSON", 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_file(cases[i].header, cases[i].n_data);
    if (open_and_touch() != WEIR_BAD_INPUT) fail_msg("case %zu was not refused", i);
    if (!strstr(weir_status_message(), cases[i].says))
      fail_msg("case %zu does not say \"%s\": %s", i, cases[i].says, weir_status_message());
  }
}

static void refuses_wrong_lengths_and_wrong_files(void **state) {
  (void)state;
  static const uint8_t lengths[][8] = {
      {255, 255, 255, 255, 255, 255, 255, 255},
      {0, 0, 0, 0, 0, 0, 0, 128},
      {1, 0, 0, 0, 0, 0, 0, 0},
      {1, 225, 245, 5, 0, 0, 0, 0}, /* 100000001 */
      {0, 0, 0, 0, 0, 0, 0, 0},
  };
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    write_bytes(lengths[i], 8);
    assert_int_equal(open_and_touch(), WEIR_BAD_INPUT);
  }
  weir_safetensors *file;
  assert_int_equal(weir_safetensors_open(directory, &file), WEIR_BAD_INPUT);
  assert_non_null(strstr(weir_status_message(), "directory"));
  assert_int_equal(weir_safetensors_open("/nonexistent/x.safetensors", &file), WEIR_BAD_INPUT);
  unlink(path);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_int_equal(weir_safetensors_open(path, &file), WEIR_BAD_INPUT);
  unlink(path);
}

static const char two_tensors[] =
    "{\"__metadata__\":{\"format\":\"pt\"},"
    "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
    "\"b\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[24,32]}}";

static void refuses_every_truncation(void **state) {
  (void)state;
  size_t n = write_file(two_tensors, 32);
  assert_int_equal(open_and_touch(), WEIR_OK);
  while (n-- > 0) {
    assert_int_equal(truncate(path, (off_t)n), 0);
    assert_int_equal(open_and_touch(), WEIR_BAD_INPUT);
  }
}

static void survives_every_damaged_byte(void **state) {
  (void)state;
  static uint8_t bytes[1024];
  size_t n = write_file(two_tensors, 32), n_refused = 0;
  FILE *file = fopen(path, "rb");
  assert_int_equal(fread(bytes, 1, n, file), n);
  fclose(file);
  static const uint8_t flips[] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff, '{', '"'};
  for (size_t i = 0; i < n - 32; i++)
    for (size_t j = 0; j < sizeof flips; j++) {
      bytes[i] ^= flips[j];
      write_bytes(bytes, n);
      n_refused += open_and_touch() != WEIR_OK;
      bytes[i] ^= flips[j];
    }
  /* Flips inside names, and few others, leave a legal file. */
  assert_true(n_refused > (n - 32) * sizeof flips / 2);
}

static void survives_deep_nesting(void **state) {
  (void)state;
  static char header[40001];
  memset(header, '[', sizeof header - 1);
  write_file(header, 0);
  assert_int_equal(open_and_touch(), WEIR_BAD_INPUT);
  memcpy(header, "{\"a\":", 5);
  write_file(header, 0);
  assert_int_equal(open_and_touch(), WEIR_BAD_INPUT);
}

static void writes_what_it_reads(void **state) {
  (void)state;
  static const int64_t matrix[] = {2, 3}, vector[] = {3}, empty[] = {0};
  static const float values[] = {1, 2, 3, 4, 5, 6};
  static const uint16_t halves[] = {0x3f80, 0x4000, 0x4040};
  weir_safetensors_writer *writer;
  unlink(path);
  assert_int_equal(weir_safetensors_writer_create(path, &writer), WEIR_OK);
  assert_int_equal(weir_safetensors_writer_declare(writer, "z", "F32", matrix, 2), WEIR_OK);
  assert_int_equal(weir_safetensors_writer_declare(writer, "e", "I64", empty, 1), WEIR_OK);
  assert_int_equal(weir_safetensors_writer_declare(writer, "a\"\n", "BF16", vector, 1), WEIR_OK);
  assert_int_equal(weir_safetensors_writer_declare(writer, "z", "F32", matrix, 2), WEIR_FAILED);
  assert_int_equal(weir_safetensors_writer_declare(writer, "y", "F4", vector, 1), WEIR_FAILED);
  assert_int_equal(weir_safetensors_writer_metadata(writer, "format", "pt"), WEIR_OK);
  assert_int_equal(weir_safetensors_writer_begin(writer), WEIR_OK);
  assert_int_equal(weir_safetensors_writer_append(writer, values, 8), WEIR_OK);
  assert_int_equal(weir_safetensors_writer_append(writer, values + 2, 16), WEIR_OK);
  assert_int_equal(weir_safetensors_writer_append(writer, halves, 6), WEIR_OK);
  assert_int_not_equal(access(path, F_OK), 0);
  assert_int_equal(weir_safetensors_writer_finish(writer), WEIR_OK);

  weir_safetensors *file;
  assert_int_equal(weir_safetensors_open(path, &file), WEIR_OK);
  assert_int_equal(weir_safetensors_count(file), 3);
  const weir_safetensors_entry *z = weir_safetensors_find(file, "z");
  assert_int_equal(z->n_dims, 2);
  assert_memory_equal(z->shape, matrix, sizeof matrix);
  assert_memory_equal(weir_safetensors_data(file, z), values, sizeof values);
  assert_int_equal((uintptr_t)weir_safetensors_data(file, z) % 8, 0);
  const weir_safetensors_entry *a = weir_safetensors_find(file, "a\"\n");
  assert_memory_equal(weir_safetensors_data(file, a), halves, sizeof halves);
  weir_safetensors_drop(file, weir_safetensors_data(file, z), z->size_bytes);
  assert_memory_equal(weir_safetensors_data(file, z), values, sizeof values);
  weir_safetensors_close(file);
}

static void an_abandoned_file_leaves_no_trace(void **state) {
  (void)state;
  static const int64_t shape[] = {4};
  size_t n = write_file(two_tensors, 32);
  weir_safetensors_writer *writer;
  assert_int_equal(weir_safetensors_writer_create(path, &writer), WEIR_OK);
  assert_int_equal(weir_safetensors_writer_declare(writer, "a", "U8", shape, 1), WEIR_OK);
  assert_int_equal(weir_safetensors_writer_begin(writer), WEIR_OK);
  assert_int_equal(weir_safetensors_writer_append(writer, "ab", 2), WEIR_OK);
  weir_safetensors_writer_abandon(writer);
  struct stat about;
  assert_int_equal(stat(path, &about), 0);
  assert_int_equal(about.st_size, n);
  assert_int_equal(weir_safetensors_writer_create("/nonexistent/file", &writer), WEIR_BAD_INPUT);
  assert_null(writer);
  assert_int_equal(weir_safetensors_writer_create("/dev/full/file", &writer), WEIR_BAD_INPUT);
}

/* Every file of fixtures/vectors/safetensors/<folder> must open with `expected`. */
static void check_fixtures(const char *folder, weir_status expected) {
  const char *fixtures = getenv("WEIR_FIXTURES");
  if (!fixtures) {
    print_message("skipped: WEIR_FIXTURES is not set, vectors/safetensors/%s\n", folder);
    skip();
  }
  char name[512];
  snprintf(name, sizeof name, "%s/vectors/safetensors/%s", fixtures, folder);
  DIR *files = opendir(name);
  assert_non_null(files);
  int n_files = 0;
  for (struct dirent *entry; (entry = readdir(files));) {
    if (entry->d_name[0] == '.') continue;
    char *fixture = weir_path_join(name, entry->d_name);
    weir_safetensors *file;
    if (weir_safetensors_open(fixture, &file) != expected)
      fail_msg("%s: expected status %d: %s", fixture, expected, weir_status_message());
    weir_safetensors_close(file);
    free(fixture);
    n_files++;
  }
  closedir(files);
  assert_true(n_files > 0);
}

static void good_fixtures_parse(void **state) {
  (void)state;
  check_fixtures("good", WEIR_OK);
}

static void bad_fixtures_are_refused(void **state) {
  (void)state;
  check_fixtures("bad", WEIR_BAD_INPUT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(accepts_what_the_format_allows),
      cmocka_unit_test(entries_come_in_the_order_of_their_data),
      cmocka_unit_test(refuses_what_the_format_forbids),
      cmocka_unit_test(refuses_wrong_lengths_and_wrong_files),
      cmocka_unit_test(refuses_every_truncation),
      cmocka_unit_test(survives_every_damaged_byte),
      cmocka_unit_test(survives_deep_nesting),
      cmocka_unit_test(writes_what_it_reads),
      cmocka_unit_test(an_abandoned_file_leaves_no_trace),
      cmocka_unit_test(good_fixtures_parse),
      cmocka_unit_test(bad_fixtures_are_refused),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
