/* SPDX-License-Identifier: Apache-2.0
 *
 * Options in YAML: what is accepted, where errors point, the way out and back, and noise. */
#include "formats/yaml_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const weir_option rows[] = {
    {.name = "max_steps", .type = WEIR_OPTION_INTEGER, .range = "[-1, inf)", .commands = 1},
    {.name = "learning_rate", .type = WEIR_OPTION_REAL, .default_text = "2e-5", .commands = 1},
    {.name = "memory", .type = WEIR_OPTION_BYTES, .commands = 1},
    {.name = "dry_run", .type = WEIR_OPTION_BOOLEAN, .default_text = "false", .commands = 1},
    {.name = "stash", .type = WEIR_OPTION_CHOICE, .choices = "all|attn", .commands = 1},
    {.name = "output_dir", .alias = "output", .type = WEIR_OPTION_STRING, .commands = 1},
    {.name = "train_file", .type = WEIR_OPTION_STRINGS, .commands = 1},
    {.name = "config", .type = WEIR_OPTION_STRING, .commands = 1},
};

static weir_options *make_options(void) {
  weir_options *options;
  assert_int_equal(weir_options_create(&options, rows, sizeof rows / sizeof *rows, 1), WEIR_OK);
  return options;
}

static weir_status read_text(weir_options *options, const char *text) {
  return weir_yaml_options_read_bytes(options, "a.yaml", text, strlen(text));
}

static void test_values(void **state) {
  (void)state;
  weir_options *options = make_options();
  const char *text = "# a comment\n"
                     "max-steps: 7\n"
                     "learning_rate: 1e-3\n"
                     "memory: 2GiB\n"
                     "dry_run: true\n"
                     "output: \"a\\tb: c\"\n"
                     "train_file: [one, 'two']\n";
  assert_int_equal(read_text(options, text), WEIR_OK);
  assert_int_equal(weir_options_integer(options, "max_steps"), 7);
  assert_true(weir_options_real(options, "learning_rate") == 1e-3);
  assert_int_equal(weir_options_bytes(options, "memory"), 2ull << 30);
  assert_true(weir_options_boolean(options, "dry_run"));
  assert_string_equal(weir_options_string(options, "output_dir"), "a\tb: c");
  size_t n_files;
  const char *const *files = weir_options_strings(options, "train_file", &n_files);
  assert_int_equal(n_files, 2);
  assert_string_equal(files[1], "two");
  weir_options_destroy(options);
}

static void test_empty(void **state) {
  (void)state;
  static const char *const texts[] = {"", "# nothing\n", "---\n", "{}\n"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    weir_options *options = make_options();
    assert_int_equal(read_text(options, texts[i]), WEIR_OK);
    weir_options_destroy(options);
  }
}

static void test_refusals(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"max_stesp: 3", "a.yaml:1:1: unknown option max_stesp; did you mean max_steps?"},
      {"memory: 1\nmax_steps: 3\n\nmax-steps: 4", "a.yaml:4:12: max-steps is given twice"},
      {"output: a\noutput_dir: b", "a.yaml:2:13: output_dir is given twice"},
      {"max_steps: -5",
       "a.yaml:1:12: max_steps is -5, which is out of range: it must be in [-1, inf)"},
      {"max_steps: \"5\"", "a.yaml:1:12: expected a number, true or false, found a text in quotes"},
      {"max_steps: ten", "a.yaml:1:12: max_steps is 'ten', expected a whole number"},
      {"max_steps: [1, 2]", "a.yaml:1:12: expected a value, found a list"},
      {"train_file: [a, [b]]", "a.yaml:1:17: expected a value, found a list"},
      {"train_file: []", "a.yaml:1:13: train_file needs a value"},
      {"memory: {a: 1}", "a.yaml:1:9: expected a value, found a mapping: options are not nested"},
      {"memory:", "a.yaml:1:8: no value; leave the line out to get the default"},
      {"output: null", "a.yaml:1:9: no value; leave the line out to get the default"},
      {"dry_run: yes", "a.yaml:1:10: dry_run is 'yes', expected true or false"},
      {"output: &a x", "a.yaml:1:9: anchors are not supported"},
      {"output: !!str x", "a.yaml:1:9: tags are not supported"},
      {"output: *a", "a.yaml:1:9: aliases are not supported"},
      {"output: \"a\\0b\"", "a.yaml:1:9: found a NUL character"},
      {"- a", "a.yaml:1:1: expected lines of the form `option: value`"},
      {"just words", "a.yaml:1:1: expected lines of the form `option: value`"},
      {"memory: 1\n---\nmemory: 2", "a.yaml:2:1: expected only one document"},
      {"config: b.yaml", "a.yaml:1:1: config cannot name another configuration file"},
      {"stash: att", "a.yaml:1:8: stash is 'att', expected all|attn"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    weir_options *options = make_options();
    assert_int_equal(read_text(options, cases[i].text), WEIR_BAD_INPUT);
    assert_string_equal(weir_status_message(), cases[i].message);
    weir_options_destroy(options);
  }
  weir_options *options = make_options();
  assert_int_equal(read_text(options, "train_file: [a\n"), WEIR_BAD_INPUT);
  assert_non_null(strstr(weir_status_message(), "a.yaml:2:1: not YAML: did not find"));
  assert_int_equal(read_text(options, "memory: \xff"), WEIR_BAD_INPUT);
  assert_non_null(strstr(weir_status_message(), "not YAML"));
  weir_options_destroy(options);
}

static void test_round_trip(void **state) {
  (void)state;
  char path[] = "/tmp/weir-test-XXXXXX";
  int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  close(descriptor);
  weir_options *written = make_options(), *read = make_options();
  const char *rate = "0.1", *files[] = {"null", "a: b # c\x01", "\u00e9"}, *name = "- \"x\"\n";
  assert_int_equal(weir_options_set(written, "learning_rate", 1, &rate, WEIR_ORIGIN_FLAG), WEIR_OK);
  assert_int_equal(weir_options_set(written, "train_file", 3, files, WEIR_ORIGIN_FLAG), WEIR_OK);
  assert_int_equal(weir_options_set(written, "output", 1, &name, WEIR_ORIGIN_FLAG), WEIR_OK);
  assert_int_equal(weir_yaml_options_write(written, path), WEIR_OK);
  if (weir_yaml_options_read(read, path) != WEIR_OK) fail_msg("%s", weir_status_message());
  assert_true(weir_options_real(read, "learning_rate") == 0.1);
  assert_string_equal(weir_options_string(read, "output_dir"), name);
  size_t n_files;
  const char *const *texts = weir_options_strings(read, "train_file", &n_files);
  assert_int_equal(n_files, 3);
  for (size_t i = 0; i < n_files; i++)
    assert_string_equal(texts[i], files[i]);
  assert_false(weir_options_is_set(read, "memory"));
  weir_options_destroy(written);
  weir_options_destroy(read);
  unlink(path);
}

/* No bytes crash the reader; sanitizer builds look inside. */
static void test_noise(void **state) {
  (void)state;
  static const char *const seeds[] = {
      "max_steps: 7\ntrain_file: [one, 'two']\noutput: \"x\\u00e9\"\n",
      "{memory: 2GiB, ? dry_run : true}\n--- !t &a\n*a\n...\n",
  };
  uint32_t random = 1;
  for (int round = 0; round < 20000; round++) {
    char text[128];
    const char *seed = seeds[round % 2];
    size_t n = strlen(seed);
    memcpy(text, seed, n);
    for (int i = 0; i < 1 + round % 5; i++) {
      random = random * 1664525u + 1013904223u;
      text[(random >> 8) % n] = (char)(random >> 24);
    }
    weir_options *options = make_options();
    weir_status status =
        weir_yaml_options_read_bytes(options, "noise", text, n - (size_t)round % 7);
    assert_true(status == WEIR_OK || status == WEIR_BAD_INPUT);
    weir_options_destroy(options);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values),   cmocka_unit_test(test_empty),
      cmocka_unit_test(test_refusals), cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_noise),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
