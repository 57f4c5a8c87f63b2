/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run writes down as it goes: metrics.jsonl, one JSON object a line, and log.txt, the lines
 * people saw.  The history of metrics is also kept in memory, for trainer_state.json. */
#ifndef WEIR_TRAIN_JOURNAL_H
#define WEIR_TRAIN_JOURNAL_H

#include "base/status.h"

#include <jansson.h>
#include <stdio.h>

typedef struct weir_journal {
  FILE *metrics, *log;
  json_t *history; /* array of objects */
} weir_journal;

/* `history` is what a checkpoint remembers (its reference is taken over), or NULL for a new run:
 * metrics.jsonl then holds exactly those lines, and log.txt goes on. */
weir_status weir_journal_open(weir_journal *journal, const char *folder, json_t *history);
/* Harmless on a zeroed journal. */
void weir_journal_close(weir_journal *journal);

/* Takes over the reference. */
weir_status weir_journal_add(weir_journal *journal, json_t *metrics);

/* A line for log.txt alone: the error that the program is about to report.  Harmless on a zeroed
 * journal. */
void weir_journal_note(weir_journal *journal, const char *message);

#endif
