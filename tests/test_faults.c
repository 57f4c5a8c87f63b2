/* SPDX-License-Identifier: Apache-2.0
 *
 * The k-th call into the system fails, for every k, while a run goes on from a checkpoint: it ends
 * with a message that names the file, or it succeeds; it never crashes; and afterwards the run can
 * always be resumed, to the bits of one that nothing ever happened to.  The same where the process
 * ends between any two of the calls that change files.
 *
 * The calls are made to fail by tests/shim/faults.c.  WEIR_TORTURE=long tries every k of every
 * kind; else so many of each, spread evenly. */
#include "support/tiny_training.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

#define RUN TINY_TRAIN "--save-steps 1 --save-total-limit 1 "

/* "base" stopped after one step of three; "whole" never stopped. */
static int set_up(void **state) {
  if (tiny_training_set_up(state) != 0) return -1;
  tiny_training_expect(tiny_training_run("", RUN "--max-steps 1 --output base"), 0);
  tiny_training_expect(tiny_training_run("", RUN "--max-steps 3 --output whole"), 0);
  return 0;
}

/* A message of the program that says where: a file of the run, of the model or the data. */
static bool names_a_file(const char *said) {
  static const char *const places[] = {"trial", "model", "train.jsonl", "metrics.jsonl"};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    if (strstr(said, places[i])) return true;
  return false;
}

static void check_ending(int code, const char *fault, bool ends_there, bool is_memory) {
  const char *said = tiny_training_said();
  if (ends_there ? code == 99 || code == 0 : code == 0) return;
  if (code != 1 && !(is_memory && code == 2)) fail_msg("%s: exit code %d: %s", fault, code, said);
  if (!strstr(said, "weir:")) fail_msg("%s: no message: %s", fault, said);
  if (!is_memory && !names_a_file(said)) fail_msg("%s: names no file: %s", fault, said);
}

/* One trial; returns how many calls of the kind were made, or -1 where the process did not live to
 * say it. */
static long strike(const char *kind, long k, const char *how) {
  char fault[64], prefix[1024];
  long n_calls = -1;
  snprintf(fault, sizeof fault, "%s:%ld:%s", kind, k, how);
  tiny_training_shell("rm -rf trial calls && cp -r base trial");
  snprintf(prefix, sizeof prefix, "WEIR_FAULT=%s WEIR_FAULT_LOG=calls LD_PRELOAD=%s", fault,
           WEIR_FAULTS);
  const int code =
      tiny_training_run(prefix, RUN "--max-steps 3 --output trial --resume-from-checkpoint latest");
  check_ending(code, fault, strcmp(how, "exit") == 0, strcmp(kind, "malloc") == 0);
  FILE *calls = fopen("calls", "r");
  if (calls && fscanf(calls, "%ld", &n_calls) != 1) n_calls = -1;
  if (calls) fclose(calls);

  const int again =
      tiny_training_run("", RUN "--max-steps 3 --output trial --resume-from-checkpoint latest");
  if (again != 0) fail_msg("%s: cannot be resumed: %s", fault, tiny_training_said());
  assert_same_bytes("trial/model.safetensors", "whole/model.safetensors");
  assert_same_bytes("trial/checkpoint-3/optimizer.safetensors",
                    "whole/checkpoint-3/optimizer.safetensors");
  return n_calls;
}

/* Every k, or `n_trials` of them, the last one among them. */
static void strike_each(const char *kind, const char *how, long n_trials, long n_least) {
#ifdef SANITIZED
  print_message("skipped: the sanitizer does not let itself be preloaded over\n");
  skip();
#endif
  const long n_calls = strike(kind, 1000000000, how); /* none: counts them */
  if (n_calls < n_least) fail_msg("%s: only %ld calls", kind, n_calls);
  if (tiny_training_is_long() || n_trials > n_calls) n_trials = n_calls;
  for (long i = 0; i < n_trials; i++)
    strike(kind, i * (n_calls - 1) / (n_trials > 1 ? n_trials - 1 : 1), how);
  if (tiny_training_is_long()) print_message("%s %s: %ld of %ld\n", kind, how, n_trials, n_calls);
}

#define STRIKE(name, kind, how, n_trials, n_least)                                                 \
  static void test_##name(void **state) {                                                          \
    (void)state;                                                                                   \
    strike_each(kind, how, n_trials, n_least);                                                     \
  }

STRIKE(open, "open", "EIO", 8, 20)
STRIKE(open_interrupted, "open", "EINTR", 3, 20)
STRIKE(too_many_files, "open", "EMFILE", 3, 20)
STRIKE(read, "read", "EIO", 4, 2)
STRIKE(read_interrupted, "read", "EINTR", 3, 2)
STRIKE(short_read, "read", "short", 3, 2)
STRIKE(write, "write", "ENOSPC", 16, 50)
STRIKE(write_interrupted, "write", "EINTR", 3, 50)
STRIKE(short_write, "write", "short", 4, 50)
STRIKE(fsync, "fsync", "EIO", 6, 20)
STRIKE(rename, "rename", "EIO", 6, 10)
STRIKE(unlink, "unlink", "EIO", 6, 5)
STRIKE(mkdir, "mkdir", "ENOSPC", 3, 2)
STRIKE(mmap, "mmap", "ENOMEM", 5, 5)
STRIKE(allocation, "malloc", "ENOMEM", 20, 200)
STRIKE(crash_between_any_two_calls, "any", "exit", 40, 100)

/* The kernel itself refuses to make a file longer, inside the C library's streams. */
static void test_file_size_limit(void **state) {
  (void)state;
  for (int n_blocks = 0; n_blocks < 48; n_blocks += tiny_training_is_long() ? 1 : 8) {
    char prefix[128];
    tiny_training_shell("rm -rf trial && cp -r base trial");
    snprintf(prefix, sizeof prefix, "sh -c 'trap \"\" XFSZ; ulimit -f %d; exec \"$@\"' sh",
             n_blocks);
    const int code = tiny_training_run(
        prefix, RUN "--max-steps 3 --output trial --resume-from-checkpoint latest");
    if (code == 0) fail_msg("a limit of %d blocks did nothing", n_blocks);
    if (n_blocks > 2) check_ending(code, "file size", false, false); /* below, err.txt is cut too */
    tiny_training_expect(
        tiny_training_run("", RUN "--max-steps 3 --output trial --resume-from-checkpoint latest"),
        0);
    assert_same_bytes("trial/model.safetensors", "whole/model.safetensors");
  }
}

/* A file system that fills up between two checkpoints. */
static void test_full_file_system(void **state) {
  (void)state;
  const char *unshare = geteuid() == 0 ? "unshare -m" : "unshare -Urm";
  char line[4096];
  snprintf(line, sizeof line, "%s mount -t tmpfs none . 2>/dev/null", unshare);
  if (system(line) != 0) {
    print_message("skipped: test_full_file_system: mounting is not permitted here\n");
    skip();
  }
  snprintf(line, sizeof line,
           "mkdir -p small && %s sh -c 'mount -t tmpfs -o size=2m none small && "
           "(cd small && ln -s ../model ../train.jsonl .; " /* relative to the directory above */
           "%s " TINY_TRAIN "--save-steps 5 --save-total-limit 1 --max-steps 1000000 --output run "
           "2>err.txt >/dev/null & child=$!; "
           "until ls -d run/checkpoint-* >/dev/null 2>&1 || ! kill -0 $child; do sleep 0.05; done; "
           "cat /dev/zero >fill 2>/dev/null; wait $child; code=$?; cat err.txt >../err.txt; "
           "rm fill; [ $code = 1 ] && grep -q \"No space left\" ../err.txt && grep -q run/ "
           "../err.txt && %s " TINY_TRAIN "--max-steps 1000000 --output run --dry-run "
           "--resume-from-checkpoint latest >/dev/null)'",
           unshare, WEIR_PROGRAM, WEIR_PROGRAM);
  assert_int_equal(system(line), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_open),
      cmocka_unit_test(test_open_interrupted),
      cmocka_unit_test(test_too_many_files),
      cmocka_unit_test(test_read),
      cmocka_unit_test(test_read_interrupted),
      cmocka_unit_test(test_short_read),
      cmocka_unit_test(test_write),
      cmocka_unit_test(test_write_interrupted),
      cmocka_unit_test(test_short_write),
      cmocka_unit_test(test_fsync),
      cmocka_unit_test(test_rename),
      cmocka_unit_test(test_unlink),
      cmocka_unit_test(test_mkdir),
      cmocka_unit_test(test_mmap),
      cmocka_unit_test(test_allocation),
      cmocka_unit_test(test_crash_between_any_two_calls),
      cmocka_unit_test(test_file_size_limit),
      cmocka_unit_test(test_full_file_system),
  };
  return cmocka_run_group_tests(tests, set_up, tiny_training_tear_down);
}
