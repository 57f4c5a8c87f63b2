/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of failures, what people read while waiting, and the signals that stop a loop. */
#include "base/interrupt.h"
#include "base/log.h"
#include "base/status.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static weir_status fail_below(void) {
  return weir_fail(WEIR_BAD_INPUT, "tensor %s: expected %d", "w", 3);
}

static weir_status pass_up(void) {
  WEIR_TRY(fail_below());
  return WEIR_OK;
}

static void test_messages(void **state) {
  (void)state;
  assert_int_equal(pass_up(), WEIR_BAD_INPUT);
  assert_string_equal(weir_status_message(), "tensor w: expected 3");
  assert_int_equal(weir_fail_at(WEIR_FAILED, "file %s", "a"), WEIR_FAILED);
  assert_string_equal(weir_status_message(), "file a: tensor w: expected 3");
}

/* A message that does not fit is cut, whatever it was made of; the last may quote the one before.
 */
static void test_long_messages(void **state) {
  (void)state;
  char text[4000];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  weir_fail(WEIR_FAILED, "%s", text);
  size_t length = strlen(weir_status_message());
  assert_in_range(length, 1000, sizeof text - 2);
  for (int i = 0; i < 3; i++) {
    weir_fail_at(WEIR_FAILED, "again");
    assert_int_equal(strlen(weir_status_message()), length);
    assert_int_equal(strncmp(weir_status_message(), "again: ", 7), 0);
  }
  weir_fail_at(WEIR_FAILED, "%s", text);
  assert_int_equal(strlen(weir_status_message()), length);
}

static void assert_escaped(const char *text, size_t text_bytes, const char *expected) {
  char escaped[64];
  assert_string_equal(weir_log_escape(escaped, sizeof escaped, text, text_bytes), expected);
}

static void test_escape(void **state) {
  (void)state;
  assert_escaped("plain \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 15,
                 "plain \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  assert_escaped("a\x1b[2J\nb\x7f", 8, "a\\x1b[2J\\x0ab\\x7f");
  assert_escaped("\0", 1, "\\x00");
  assert_escaped("\xc2\x9b"
                 "1m",
                 4, "\\xc2\\x9b1m");                             /* C1: another way to say ESC [ */
  assert_escaped("\xc0\x80\xff", 3, "\\xc0\\x80\\xff");          /* overlong, never UTF-8 */
  assert_escaped("\xed\xa0\x80", 3, "\\xed\\xa0\\x80");          /* a surrogate */
  assert_escaped("\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80"); /* beyond U+10FFFF */
  assert_escaped("\xe2\x82", 2, "\\xe2\\x82");                   /* cut short */
  assert_escaped("", 0, "");
  char small[8];
  assert_string_equal(weir_log_escape(small, sizeof small, "1234567", 7), "1234567");
  assert_string_equal(weir_log_escape(small, sizeof small, "12345678", 8), "1234...");
  assert_string_equal(weir_log_escape(small, sizeof small, "123\n", 4), "123\\x0a");
  assert_string_equal(weir_log_escape(small, sizeof small, "1234\n", 5), "1234...");
}

static void test_log(void **state) {
  (void)state;
  char text[256];
  FILE *file = tmpfile();
  assert_non_null(file);
  int saved = dup(STDERR_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  size_t before = weir_log_n_warnings();
  weir_log_info("told");
  weir_log_progress("only on a terminal");
  weir_log_set_quiet(true);
  weir_log_info("not told");
  weir_log_warning("of %d", 1);
  weir_log_error("why");
  weir_log_set_quiet(false);
  dup2(saved, STDERR_FILENO);
  close(saved);
  rewind(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  assert_string_equal(text, "told\nwarning: of 1\nweir: why\n");
  assert_int_equal(weir_log_n_warnings(), before + 1);
}

/* Waits until the signal is noted, ten seconds at most. */
static void await_signal(void) {
  const struct timespec millisecond = {0, 1000000};
  for (int i = 0; i < 10000 && weir_interrupt_status() == WEIR_OK; i++)
    nanosleep(&millisecond, NULL);
}

/* How a child ends that gets the signal `n_times`; `notes`: it has begun to note them. */
static int stop_child(int signal_number, int n_times, bool notes) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    if (weir_interrupt_prepare() != WEIR_OK) _exit(1);
    if (notes) weir_interrupt_begin();
    if (weir_interrupt_status() != WEIR_OK) _exit(1);
    for (int i = 0; i < n_times; i++) {
      kill(getpid(), signal_number);
      if (i > 0 || !notes)
        pause(); /* that one ends the process */
      else
        await_signal();
    }
    _exit(weir_interrupt_status() + 1); /* one more than if the signal itself had ended it */
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  return status;
}

static void expect_exit(int status, int code) {
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), code);
}

static void test_signals(void **state) {
  (void)state;
  expect_exit(stop_child(SIGINT, 0, true), WEIR_OK + 1);
  expect_exit(stop_child(SIGINT, 1, true), WEIR_INTERRUPTED + 1);
  expect_exit(stop_child(SIGTERM, 1, true), WEIR_TERMINATED + 1);
  expect_exit(stop_child(SIGINT, 2, true), WEIR_INTERRUPTED);
  expect_exit(stop_child(SIGTERM, 2, true), WEIR_TERMINATED);
  int status = stop_child(SIGTERM, 1, false);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_messages), cmocka_unit_test(test_long_messages),
      cmocka_unit_test(test_escape),   cmocka_unit_test(test_log),
      cmocka_unit_test(test_signals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
