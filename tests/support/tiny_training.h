/* SPDX-License-Identifier: Apache-2.0
 *
 * A training so small that it can be run, broken and resumed hundreds of times: text, a tokenizer
 * and a model in a directory of its own, where the test then is.  Whatever goes wrong fails the
 * running cmocka test. */
#ifndef WEIR_TESTS_SUPPORT_TINY_TRAINING_H
#define WEIR_TESTS_SUPPORT_TINY_TRAINING_H

#include <stdbool.h>
#include <sys/types.h>

/* cmocka's set-up and tear-down of a group: makes "model" and "train.jsonl". */
int tiny_training_set_up(void **state);
int tiny_training_tear_down(void **state);

/* A few seconds' worth of options: constant learning rate, so that a run may be made longer. */
#define TINY_TRAIN                                                                                 \
  "train --model model --train-file train.jsonl --threads 1 --max-length 32 "                      \
  "--learning-rate 0.01 --lr-scheduler-type constant --logging-steps 1 "

/* Runs `weir` with the shell's words; `prefix` stands before the program ("" or "VAR=x").  The
 * exit code, or 128 and the signal.  What it said on standard error is in tiny_training_said(). */
int tiny_training_run(const char *prefix, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *tiny_training_said(void);
void tiny_training_expect(int code, int expected);
/* Starts it, in the background; to be waited for. */
pid_t tiny_training_start(const char *format, ...) __attribute__((format(printf, 1, 2)));
int tiny_training_finish(pid_t child);

/* A shell command that has to succeed. */
void tiny_training_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

void assert_same_bytes(const char *path, const char *other);

/* WEIR_TORTURE=long: every case there is, as docs/reliability.md says; else a bounded number. */
bool tiny_training_is_long(void);

#endif
