/* SPDX-License-Identifier: Apache-2.0 */
#include "base/interrupt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t received;

/* Only async-signal-safe calls in here. */
static void note_signal(int signal_number) {
  if (received) _exit(signal_number == SIGINT ? WEIR_INTERRUPTED : WEIR_TERMINATED);
  received = signal_number;
}

static void handle(int signal_number, void (*handler)(int), int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(signal_number, &action, NULL);
}

void weir_interrupt_ignore_closed_pipes(void) {
  handle(SIGPIPE, SIG_IGN, 0);
}

void weir_interrupt_begin(void) {
  received = 0;
  handle(SIGINT, note_signal, SA_RESTART);
  handle(SIGTERM, note_signal, SA_RESTART);
}

weir_status weir_interrupt_status(void) {
  if (!received) return WEIR_OK;
  return received == SIGINT ? WEIR_INTERRUPTED : WEIR_TERMINATED;
}
