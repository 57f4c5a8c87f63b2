/* SPDX-License-Identifier: Apache-2.0
 *
 * No handler ever runs on a thread that computes.  A handler amid a product destroyed memory in 2
 * of 25 runs (oneDNN 2.6), in none of 65 since; the likely reason is that code generated for
 * products keeps data in the stack pointer, where the system writes a handler's frame.  So the two
 * signals are blocked in every thread, and one thread does nothing but wait for them. */
#include "base/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { WAITER_STACK_BYTES = 64 << 10 };

static atomic_bool is_noting;
static atomic_int received;
static bool was_ignored[NSIG]; /* as nohup and background jobs of a shell start us */

static void set_disposition(int signal_number, void (*handler)(int), void (**before)(int)) {
  struct sigaction action, old;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(signal_number, &action, &old);
  if (before) *before = old.sa_handler;
}

static sigset_t both_signals(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

/* The system's way: the signal itself ends the process. */
static void end_by(int signal_number) {
  sigset_t set = both_signals();
  if (was_ignored[signal_number]) return;
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  raise(signal_number);
}

static void *wait_for_signals(void *unused) {
  (void)unused;
  const sigset_t set = both_signals();
  for (;;) {
    int signal_number;
    if (sigwait(&set, &signal_number) != 0) continue;
    if (!is_noting)
      end_by(signal_number);
    else if (received)
      _exit(signal_number == SIGINT ? WEIR_INTERRUPTED : WEIR_TERMINATED);
    else
      received = signal_number;
  }
  return NULL;
}

void weir_interrupt_ignore_closed_pipes(void) {
  set_disposition(SIGPIPE, SIG_IGN, NULL);
}

weir_status weir_interrupt_prepare(void) {
  const sigset_t set = both_signals();
  static const int signals[] = {SIGINT, SIGTERM};
  for (int i = 0; i < 2; i++) {
    void (*before)(int);
    set_disposition(signals[i], SIG_DFL, &before);
    was_ignored[signals[i]] = before == SIG_IGN;
  }
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  pthread_attr_t attributes;
  pthread_t waiter;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, WAITER_STACK_BYTES);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  int error = pthread_create(&waiter, &attributes, wait_for_signals, NULL);
  pthread_attr_destroy(&attributes);
  if (error == 0) return WEIR_OK;
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  return weir_fail(WEIR_FAILED, "cannot start a thread: %s", strerror(error));
}

void weir_interrupt_begin(void) {
  received = 0;
  is_noting = true;
}

weir_status weir_interrupt_status(void) {
  const int signal_number = received;
  if (!signal_number) return WEIR_OK;
  return signal_number == SIGINT ? WEIR_INTERRUPTED : WEIR_TERMINATED;
}
