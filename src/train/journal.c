/* SPDX-License-Identifier: Apache-2.0 */
#include "train/journal.h"

#include "base/log.h"
#include "train/run_folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static weir_status open_stream(const char *folder, const char *name, const char *mode,
                               FILE **stream) {
  char path[WEIR_PATH_BYTES];
  WEIR_TRY(weir_run_folder_name(path, folder, "%s", name));
  *stream = fopen(path, mode);
  if (*stream) return WEIR_OK;
  return weir_fail(WEIR_FAILED, "%s: cannot be written: %s", path, strerror(errno));
}

static weir_status write_line(weir_journal *journal, const json_t *metrics) {
  bool is_written = json_dumpf(metrics, journal->metrics, 0) == 0 &&
                    fputc('\n', journal->metrics) != EOF && fflush(journal->metrics) == 0;
  return is_written
             ? WEIR_OK
             : weir_fail(WEIR_FAILED, "metrics.jsonl cannot be written: %s", strerror(errno));
}

static weir_status open_files(weir_journal *journal, const char *folder, bool is_resumed) {
  WEIR_TRY(open_stream(folder, "metrics.jsonl", "we", &journal->metrics));
  WEIR_TRY(open_stream(folder, "log.txt", is_resumed ? "ae" : "we", &journal->log));
  for (size_t i = 0; i < json_array_size(journal->history); i++)
    WEIR_TRY(write_line(journal, json_array_get(journal->history, i)));
  weir_log_set_copy(journal->log);
  return WEIR_OK;
}

weir_status weir_journal_open(weir_journal *journal, const char *folder, json_t *history) {
  *journal = (weir_journal){.history = history ? history : json_array()};
  weir_status status = journal->history
                           ? open_files(journal, folder, history != NULL)
                           : weir_fail(WEIR_FAILED, "no memory for the history of metrics");
  if (status != WEIR_OK) weir_journal_close(journal);
  return status;
}

void weir_journal_close(weir_journal *journal) {
  if (journal->log) {
    weir_log_set_copy(NULL);
    fclose(journal->log);
  }
  if (journal->metrics) fclose(journal->metrics);
  json_decref(journal->history);
  *journal = (weir_journal){0};
}

weir_status weir_journal_add(weir_journal *journal, json_t *metrics) {
  if (!metrics || json_array_append(journal->history, metrics) != 0) {
    json_decref(metrics);
    return weir_fail(WEIR_FAILED, "no memory for a line of metrics");
  }
  weir_status status = write_line(journal, metrics);
  json_decref(metrics);
  return status;
}

void weir_journal_note(weir_journal *journal, const char *message) {
  char escaped[4096]; /* messages quote files */
  if (!journal->log) return;
  fprintf(journal->log, "weir: %s\n",
          weir_log_escape(escaped, sizeof escaped, message, strlen(message)));
}
