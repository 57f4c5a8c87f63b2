/* SPDX-License-Identifier: Apache-2.0
 *
 * The option container and the reading of numbers; the table itself is checked row by row. */
#include "base/nearest.h"
#include "base/number_text.h"
#include "base/option.h"
#include "cli/arguments.h"
#include "cli/commands.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const weir_option rows[] = {
    {.name = "max_steps",
     .type = WEIR_OPTION_INTEGER,
     .default_text = "-1",
     .range = "[-1, inf)",
     .commands = 1},
    {.name = "adam_beta1",
     .type = WEIR_OPTION_REAL,
     .default_text = "0.9",
     .range = "[0, 1)",
     .commands = 1},
    {.name = "memory", .type = WEIR_OPTION_BYTES, .commands = 1},
    {.name = "dry_run", .type = WEIR_OPTION_BOOLEAN, .default_text = "false", .commands = 3},
    {.name = "stash", .type = WEIR_OPTION_CHOICE, .choices = "all|attn|input", .commands = 1},
    {.name = "output_dir",
     .alias = "output",
     .type = WEIR_OPTION_STRING,
     .unit = "DIR",
     .commands = 1,
     .required_by = 1,
     .help = "where to write"},
    {.name = "train_file", .type = WEIR_OPTION_STRINGS, .commands = 1},
    {.name = "input",
     .type = WEIR_OPTION_STRING,
     .unit = "FILE",
     .positional = true,
     .commands = 2},
};

static weir_options *make_options(uint32_t command) {
  weir_options *options;
  assert_int_equal(weir_options_create(&options, rows, sizeof rows / sizeof *rows, command),
                   WEIR_OK);
  return options;
}

/* Reads words up to NULL, for command 1 or 2. */
static weir_status read_words(weir_options *options, char *const *words) {
  int n = 0;
  bool wants_help = false;
  while (words[n])
    n++;
  return weir_arguments_read(options, n, words, &wants_help);
}

static void expect_failure(char *const *words, const char *part) {
  weir_options *options = make_options(1);
  assert_int_equal(read_words(options, words), WEIR_BAD_INPUT);
  if (!strstr(weir_status_message(), part))
    fail_msg("'%s' lacks '%s'", weir_status_message(), part);
  weir_options_destroy(options);
}

static void test_forms(void **state) {
  (void)state;
  weir_options *options = make_options(1);
  char *words[] = {
      "--max-steps",  "-1",          "--adam_beta1=0.5", "--dry-run", "--memory", "1.5GiB",
      "--output",     "--no option", "--train-file",     "a",         "-",        "b",
      "--stash=attn", NULL};
  assert_int_equal(read_words(options, words), WEIR_OK);
  assert_int_equal(weir_options_integer(options, "max_steps"), -1);
  assert_true(weir_options_real(options, "adam_beta1") == 0.5);
  assert_true(weir_options_boolean(options, "dry_run"));
  assert_int_equal(weir_options_bytes(options, "memory"), 3ull << 29);
  assert_string_equal(weir_options_string(options, "output_dir"), "--no option");
  assert_string_equal(weir_options_string(options, "stash"), "attn");
  size_t n_files;
  const char *const *files = weir_options_strings(options, "train_file", &n_files);
  assert_int_equal(n_files, 3);
  assert_string_equal(files[1], "-");
  weir_options_destroy(options);
}

static void test_positional(void **state) {
  (void)state;
  weir_options *options = make_options(2);
  char *words[] = {"--dry-run", "text.txt", NULL};
  assert_int_equal(read_words(options, words), WEIR_OK);
  assert_true(weir_options_boolean(options, "dry_run"));
  assert_string_equal(weir_options_string(options, "input"), "text.txt");
  weir_options_destroy(options);

  options = make_options(2);
  char *with_value[] = {"-", "--dry_run", "false", NULL};
  assert_int_equal(read_words(options, with_value), WEIR_OK);
  assert_false(weir_options_boolean(options, "dry_run"));
  assert_string_equal(weir_options_string(options, "input"), "-");
  weir_options_destroy(options);

  options = make_options(2);
  char *two[] = {"a", "b", NULL};
  assert_int_equal(read_words(options, two), WEIR_BAD_INPUT);
  weir_options_destroy(options);
}

static void test_refusals(void **state) {
  (void)state;
  static const struct {
    char *words[5];
    const char *part;
  } cases[] = {
      {{"--max-stesp", "3"}, "did you mean --max-steps?"},
      {{"--outptu=x"}, "did you mean --output?"},
      {{"--zzzzzzzzzz"}, "unknown option --zzzzzzzzzz"},
      {{"--max-steps", "3", "--max_steps=3"}, "--max-steps is given twice"},
      {{"--output", "a", "--output-dir", "b"}, "--output-dir is given twice"},
      {{"--train-file", "a", "--train-file", "b"}, "all its values at once"},
      {{"--max-steps", "-2"}, "[-1, inf)"},
      {{"--adam-beta1=1"}, "[0, 1)"},
      {{"--adam-beta1=nan"}, "expected a number"},
      {{"--max-steps=1.5"}, "expected a whole number"},
      {{"--max-steps=99999999999999999999"}, "expected a whole number"},
      {{"--memory=2G"}, "expected a size"},
      {{"--stash=att"}, "expected all|attn|input"},
      {{"--stash="}, "expected all|attn|input"},
      {{"--dry-run=yes"}, "expected true or false"},
      {{"--output"}, "--output needs a value"},
      {{"--output-dir"}, "--output-dir needs a value"},
      {{"--output", "--dry-run"}, "--output needs a value, found --dry-run"},
      {{"-x"}, "'-x' is not an option"},
      {{"word"}, "unexpected 'word'"},
      {{"--input", "x"}, "unknown option --input"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect_failure(cases[i].words, cases[i].part);
}

static void test_precedence(void **state) {
  (void)state;
  weir_options *options = make_options(1);
  const char *three = "3", *four = "4", *wrong = "x";
  assert_false(weir_options_is_given(options, "max_steps"));
  assert_int_equal(weir_options_set(options, "max_steps", 1, &three, WEIR_ORIGIN_FLAG), WEIR_OK);
  assert_int_equal(weir_options_set(options, "max-steps", 1, &four, WEIR_ORIGIN_CONFIG), WEIR_OK);
  assert_int_equal(weir_options_integer(options, "max_steps"), 3);
  assert_int_equal(weir_options_set(options, "adam_beta1", 1, &wrong, WEIR_ORIGIN_CONFIG),
                   WEIR_BAD_INPUT);
  assert_int_equal(weir_options_require(options), WEIR_BAD_INPUT);
  assert_string_equal(weir_status_message(), "--output DIR is missing: where to write");
  assert_int_equal(weir_options_set(options, "output", 1, &four, WEIR_ORIGIN_CONFIG), WEIR_OK);
  assert_int_equal(weir_options_require(options), WEIR_OK);
  assert_true(weir_options_is_given(options, "output_dir"));
  assert_false(weir_options_is_set(options, "memory"));
  weir_options_destroy(options);
}

static void test_sizes(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t bytes;
  } good[] = {{"0", 0},          {"123", 123},          {"64kB", 64000},
              {"2MB", 2000000},  {"1.5GB", 1500000000}, {"1KiB", 1024},
              {"2MiB", 2 << 20}, {"0.5GiB", 1 << 29}};
  static const char *const bad[] = {
      "",   "1.5",  "kB",  "-1",  "1K",    "1KB", "1kb",   "1TB",
      "1 ", "1.kB", "0x1", "1e3", "1GiBx", " 1",  "2 MiB", "99999999999GiB",
      "+1"};
  uint64_t bytes;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    assert_true(weir_text_to_bytes(good[i].text, &bytes));
    assert_int_equal(bytes, good[i].bytes);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_false(weir_text_to_bytes(bad[i], &bytes));
  char text[WEIR_BYTES_TEXT];
  assert_string_equal(weir_bytes_to_text(1, text), "1 byte");
  assert_string_equal(weir_bytes_to_text(5ull << 28, text), "1.25 GiB");
  assert_string_equal(weir_bytes_to_text((1ull << 20) - 1, text), "1.00 MiB");
  assert_string_equal(weir_bytes_to_text(UINT64_MAX, text), "16.0 EiB");
}

/* Where a locale with a decimal comma is installed it must change nothing. */
static void test_numbers(void **state) {
  (void)state;
  setlocale(LC_ALL, "de_DE.UTF-8");
  double real = 0;
  static const char *const bad[] = {"",    ".",  "e5", "1e",  "0x1p3", "inf",
                                    "nan", " 1", "1 ", "1,5", "1e999", "--1"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_false(weir_text_to_real(bad[i], &real));
  assert_true(weir_text_to_real("-2.5e-5", &real) && real == -2.5e-5);
  assert_true(weir_text_to_real("5.", &real) && real == 5);
  assert_true(weir_text_to_real(".5", &real) && real == 0.5);
  char text[WEIR_REAL_TEXT];
  assert_string_equal(weir_real_to_text(2e-5, text), "2e-05");
  assert_string_equal(weir_real_to_text(0.1, text), "0.1");
  assert_true(weir_text_to_real(weir_real_to_text(1.0 / 3, text), &real) && real == 1.0 / 3);
  int64_t integer;
  assert_true(weir_text_to_integer("-9223372036854775808", &integer) && integer == INT64_MIN);
  assert_false(weir_text_to_integer("9223372036854775808", &integer));
  setlocale(LC_ALL, "C");
}

static void test_nearest(void **state) {
  (void)state;
  weir_nearest nearest = weir_nearest_begin("trian");
  weir_nearest_offer(&nearest, "eval");
  assert_null(nearest.best);
  weir_nearest_offer(&nearest, "train");
  assert_string_equal(nearest.best, "train");
  assert_int_equal(nearest.distance, 1);
}

/* Every default must pass its own check, and no name or alias may occur twice for a command. */
static void test_table(void **state) {
  (void)state;
  for (uint32_t bit = 1; bit; bit <<= 1) {
    weir_options *options;
    if (weir_options_create(&options, weir_option_table, weir_n_option_rows, bit) != WEIR_OK)
      fail_msg("%s", weir_status_message());
    const weir_option *row;
    int n_positional = 0;
    for (size_t i = 0; (row = weir_options_row(options, i)); i++) {
      n_positional += row->positional;
      assert_non_null(row->group);
      assert_non_null(row->help);
      assert_int_equal(row->type == WEIR_OPTION_CHOICE, row->choices != NULL);
      if (row->positional) continue;
      assert_ptr_equal(weir_options_find(options, row->name), row);
      if (row->alias) assert_ptr_equal(weir_options_find(options, row->alias), row);
    }
    assert_in_range(n_positional, 0, 1);
    weir_options_destroy(options);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_forms),    cmocka_unit_test(test_positional),
      cmocka_unit_test(test_refusals), cmocka_unit_test(test_precedence),
      cmocka_unit_test(test_sizes),    cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_nearest),  cmocka_unit_test(test_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
