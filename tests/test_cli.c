/* SPDX-License-Identifier: Apache-2.0
 *
 * The program from outside: exit codes, its two outputs, and what the command line promises. */
#include "cli/commands.h"

#include <ctype.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct outcome {
  int code; /* exit code, or 128 + signal */
  char out[16384], err[1 << 16];
} outcome;

static outcome last;

static void read_back(FILE *file, char *text, size_t size) {
  rewind(file);
  size_t n = fread(text, 1, size - 1, file);
  text[n] = '\0';
  fclose(file);
}

/* Runs the shell line, with $W the program, and keeps what came of it in `last`. */
static void run(const char *line) {
  FILE *out = tmpfile(), *err = tmpfile();
  assert_non_null(out);
  assert_non_null(err);
  fflush(NULL);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    dup2(fileno(out), STDOUT_FILENO);
    dup2(fileno(err), STDERR_FILENO);
    setenv("W", WEIR_PROGRAM, 1);
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  last.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  read_back(out, last.out, sizeof last.out);
  read_back(err, last.err, sizeof last.err);
}

static void expect_part(const char *text, const char *part) {
  if (!strstr(text, part)) fail_msg("'%s' lacks '%s'", text, part);
}

/* Code 2, nothing on standard output, one line that says why. */
static void expect_refusal(const char *line, const char *part) {
  run(line);
  assert_int_equal(last.code, WEIR_BAD_INPUT);
  assert_string_equal(last.out, "");
  expect_part(last.err, part);
  assert_ptr_equal(strchr(last.err, '\n'), last.err + strlen(last.err) - 1);
}

static void test_alone(void **state) {
  (void)state;
  run("$W");
  assert_int_equal(last.code, WEIR_OK);
  assert_string_equal(last.err, "");
  int n_commands = 0;
  for (const char *c = last.out; (c = strstr(c, "\n  weir ")); c++)
    n_commands++;
  assert_int_equal(n_commands, 3);
}

static void test_version(void **state) {
  (void)state;
  static const char *const libraries[] = {"oneDNN", "jansson",  "libyaml", "PCRE2",
                                          "xxHash", "utf8proc", "compiler"};
  run("$W --version");
  assert_int_equal(last.code, WEIR_OK);
  expect_part(last.out, "weir " WEIR_VERSION "\n");
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
    char line[32];
    snprintf(line, sizeof line, "\n%-8s ", libraries[i]);
    const char *at = strstr(last.out, line);
    if (!at || isspace((unsigned char)at[strlen(line)])) fail_msg("no version of %s", libraries[i]);
  }
}

/* Every option of every command is in its help, and both ways to ask give the same. */
static void test_help(void **state) {
  (void)state;
  static char by_help[sizeof last.out];
  for (size_t i = 0; i < weir_n_commands; i++) {
    char line[128];
    snprintf(line, sizeof line, "$W help %s", weir_commands[i].name);
    run(line);
    assert_int_equal(last.code, WEIR_OK);
    assert_string_equal(last.err, "");
    strcpy(by_help, last.out);
    for (size_t j = 0; j < weir_n_option_rows; j++) {
      const weir_option *row = &weir_option_table[j];
      if (!(row->commands & weir_commands[i].bit)) continue;
      expect_part(by_help, row->help);
      char key[64];
      snprintf(key, sizeof key, "--%s", row->name);
      for (char *c = key; *c; c++)
        if (*c == '_') *c = '-';
      if (!row->positional) expect_part(by_help, key);
      if (row->default_text && row->type != WEIR_OPTION_BOOLEAN) {
        char text[96];
        snprintf(text, sizeof text, "[default %s", row->default_text);
        expect_part(by_help, text);
      }
    }
    snprintf(line, sizeof line, "$W %s --help", weir_commands[i].name);
    run(line);
    assert_int_equal(last.code, WEIR_OK);
    assert_string_equal(last.out, by_help);
    run("$W help");
    expect_part(last.out, weir_commands[i].summary);
  }
}

static void test_refusals(void **state) {
  (void)state;
  expect_refusal("$W trian", "unknown command 'trian'");
  expect_refusal("$W halp", "did you mean help?");
  expect_refusal("$W tokenizer", "did you mean tokenizer train?");
  expect_refusal("$W tokenizer trian", "did you mean tokenizer train?");
  expect_refusal("$W help nonsense", "unknown command 'nonsense'");
  expect_refusal("$W help version more", "unexpected 'more' after version");
  expect_refusal("$W version --verbose", "unknown option --verbose");
  expect_refusal("$W version word", "unexpected 'word'");
  expect_refusal("$W \"$(printf 'a\\033[31mb')\"", "a\\x1b[31mb");
  expect_refusal("$W ''", "unknown command ''");
  expect_refusal("$W plan --max-length 8", "needs either --model DIR or --model-config FILE");
  expect_refusal("$W plan --max-length 8 --model x --model-config y",
                 "needs either --model DIR or --model-config FILE");
  expect_refusal("$W inspect", "FILE is missing");
  expect_refusal("$W tokenizer train --train-file a --output b", "--vocab-size N is missing");
  expect_refusal("$W train --model", "--model needs a value");
  expect_refusal("$W inspect --quiet --quiet x", "--quiet is given twice");
  expect_refusal("$W tokenize --tokenzier x y", "did you mean --tokenizer?");
  expect_refusal("$W tokenize --threads 0 --tokenizer x y",
                 "out of range: it must be in [1, 4096]");
}

/* The same key from flag, file and default; and where the file is wrong. */
static void test_configuration(void **state) {
  (void)state;
  run("d=$(mktemp -d) && cd $d && printf 'quiet: true\\nthreads: 5000\\n' > c.yaml;"
      "$W tokenize --config c.yaml --tokenizer x y; code=$?; rm -r $d; exit $code");
  assert_int_equal(last.code, WEIR_BAD_INPUT);
  expect_part(last.err, "c.yaml:2:10: threads is 5000, which is out of range");
  run("d=$(mktemp -d) && cd $d && printf 'tokenizer: from-file\\n' > c.yaml;"
      "$W tokenize --config c.yaml y; $W tokenize --config c.yaml --tokenizer from-flag y;"
      "code=$?; rm -r $d; exit $code");
  assert_int_equal(last.code, WEIR_BAD_INPUT);
  expect_part(last.err, "from-file");
  expect_part(last.err, "from-flag");
  expect_refusal("$W tokenize --config /nowhere.yaml --tokenizer x y",
                 "/nowhere.yaml: cannot open");
}

static void test_closed_pipe(void **state) {
  (void)state;
  /* fd 3 carries the code of the left side past the pipe. */
  run("{ { sleep 0.1; $W help; echo $? >&3; } | true; } 3>&1");
  assert_string_equal(last.out, "0\n");
  assert_string_equal(last.err, "");
  run("$W help > /dev/full");
  assert_int_equal(last.code, WEIR_FAILED);
  expect_part(last.err, "cannot write standard output");
}

/* Found before anything is read or computed: the inputs are not even there. */
static void test_unwritable_output(void **state) {
  (void)state;
#define GOLDEN WEIR_TEST_DIR "/golden/gpt2"
  static const char *const outputs[] = {"/nonexistent/g", GOLDEN, GOLDEN "/config.json/g",
                                        "/proc/weir", "/dev/null"};
  char line[1024];
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
    snprintf(line, sizeof line, "$W gradients --model " GOLDEN " --ids missing.json --output %s",
             outputs[i]);
    expect_refusal(line, outputs[i]);
  }
  expect_refusal("$W tokenizer train --train-file missing --vocab-size 300 --output " GOLDEN
                 "/config.json/t",
                 "Not a directory");
  expect_refusal("$W tokenizer train --train-file missing --vocab-size 300 --output /proc/weir/t",
                 "cannot write in /proc");
}

static void test_absurd_plan(void **state) {
  (void)state;
  expect_refusal("$W plan --model " GOLDEN " --max-length 16777216 "
                 "--per-device-train-batch-size 65536",
                 "at most");
  expect_refusal("$W plan --model " GOLDEN " --max-length 1000000 --chunk-rows 1 "
                 "--gradient-accumulation-steps 1000",
                 "at most");
}

static void test_no_color(void **state) {
  (void)state;
  run("TERM=xterm $W nonsense");
  assert_null(strchr(last.err, '\033'));
}

static void test_doctor(void **state) {
  (void)state;
  run("$W doctor");
  assert_int_equal(last.code, WEIR_OK);
  expect_part(last.out, "oneDNN");
  expect_part(last.out, "memory");
  run("PATH=/nowhere $W doctor");
  assert_int_equal(last.code, WEIR_OK);
  expect_part(last.out, "mend it: apt-get install ninja-build");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_alone),         cmocka_unit_test(test_version),
      cmocka_unit_test(test_help),          cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_configuration), cmocka_unit_test(test_unwritable_output),
      cmocka_unit_test(test_absurd_plan),   cmocka_unit_test(test_closed_pipe),
      cmocka_unit_test(test_no_color),      cmocka_unit_test(test_doctor),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
