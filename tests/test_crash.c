/* SPDX-License-Identifier: Apache-2.0
 *
 * kill -9 at random moments of a training that saves at every step: whatever was left behind, the
 * run goes on, and ends with the bits of one that was never killed.
 *
 * WEIR_TORTURE=long kills 500 times; else 24. */
#include "support/tiny_training.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

enum { N_KILLS = 24, N_KILLS_LONG = 500 };

#define RUN TINY_TRAIN "--save-steps 1 --save-total-limit 2 --max-steps 12 "

static unsigned random_state = 1;

static double random_unit(void) {
  random_state = random_state * 1664525 + 1013904223;
  return (double)(random_state >> 8) / (1 << 24);
}

static double seconds_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void nap(double seconds) {
  const struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&time, NULL);
}

/* A run that had a checkpoint never loses the last one. */
static bool has_checkpoint(void) {
  return system("ls -d killed/checkpoint-* >/dev/null 2>&1") == 0;
}

/* Kills at most `n_kills` times, until the run is done; returns how often it did. */
static int run_and_kill(int n_kills, double whole_seconds) {
  bool had_checkpoint = false;
  tiny_training_shell("rm -rf killed");
  for (int n = 0;; n++) {
    const bool goes_on = has_checkpoint();
    if (had_checkpoint && !goes_on) fail_msg("after %d kills no checkpoint is left", n);
    had_checkpoint = goes_on;
    pid_t child =
        tiny_training_start(RUN "--output killed %s",
                            goes_on ? "--resume-from-checkpoint latest" : "--overwrite-output-dir");
    if (n < n_kills) {
      nap(random_unit() * whole_seconds);
      kill(child, SIGKILL);
    }
    const int code = tiny_training_finish(child);
    if (code == 128 + SIGKILL) continue;
    tiny_training_expect(code, 0);
    return n;
  }
}

static void test_killed_at_random_moments(void **state) {
  (void)state;
  const int n_wanted = tiny_training_is_long() ? N_KILLS_LONG : N_KILLS;
  const double begin = seconds_now();
  tiny_training_expect(tiny_training_run("", RUN "--output whole"), 0);
  const double whole_seconds = seconds_now() - begin;
  int n_kills = 0, n_runs = 0;
  for (; n_kills < n_wanted && n_runs < 4 * n_wanted; n_runs++) {
    const int n_left = n_wanted - n_kills;
    n_kills += run_and_kill(n_left < 6 ? n_left : 6, whole_seconds);
    assert_same_bytes("killed/model.safetensors", "whole/model.safetensors");
    assert_same_bytes("killed/checkpoint-12/optimizer.safetensors",
                      "whole/checkpoint-12/optimizer.safetensors");
  }
  assert_true(n_kills >= n_wanted);
  print_message("%d kills in %d runs\n", n_kills, n_runs);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_killed_at_random_moments)};
  return cmocka_run_group_tests(tests, tiny_training_set_up, tiny_training_tear_down);
}
