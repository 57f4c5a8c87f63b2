/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run_folder.h"

#include "base/files.h"
#include "base/number_text.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECKPOINT_PREFIX "checkpoint-"

/* What a run writes beside checkpoints and the model itself. */
static const char *const reports[] = {"metrics.jsonl", "log.txt", "options.yaml", "plan.json",
                                      "result.json"};

weir_status weir_run_folder_name(char name[WEIR_PATH_BYTES], const char *path, const char *format,
                                 ...) {
  va_list arguments;
  va_start(arguments, format);
  int n = snprintf(name, WEIR_PATH_BYTES, "%s/", path);
  if (n > 0 && n < WEIR_PATH_BYTES)
    n += vsnprintf(name + n, (size_t)(WEIR_PATH_BYTES - n), format, arguments);
  va_end(arguments);
  if (n > 0 && n < WEIR_PATH_BYTES) return WEIR_OK;
  return weir_fail(WEIR_BAD_INPUT, "%.80s...: the path is too long", path);
}

weir_status weir_run_folder_open(weir_run_folder *folder, const char *path,
                                 weir_run_folder_use use) {
  bool is_empty;
  *folder = (weir_run_folder){.path = path, .lock = {.descriptor = -1}};
  WEIR_TRY(weir_directory_make(path));
  WEIR_TRY(weir_directory_lock_take(path, &folder->lock));
  weir_status status = weir_directory_is_empty(path, &is_empty);
  if (status == WEIR_OK && !is_empty && use == WEIR_RUN_FOLDER_NEW)
    status = weir_fail(WEIR_BAD_INPUT,
                       "%s: is not empty: give another --output, --resume-from-checkpoint latest "
                       "to go on, or --overwrite-output-dir to start anew",
                       path);
  if (status == WEIR_OK) status = weir_run_folder_sweep(path);
  if (status != WEIR_OK) weir_run_folder_close(folder);
  return status;
}

void weir_run_folder_close(weir_run_folder *folder) {
  if (folder->path) weir_directory_lock_release(&folder->lock);
  *folder = (weir_run_folder){0};
}

/* ---- listing ---- */

/* The step in "checkpoint-<step>", or -1. */
static int64_t checkpoint_step(const char *name) {
  const size_t n_prefix = strlen(CHECKPOINT_PREFIX);
  int64_t step;
  if (strncmp(name, CHECKPOINT_PREFIX, n_prefix) != 0) return -1;
  if (name[n_prefix] < '0' || name[n_prefix] > '9') return -1;
  return weir_text_to_integer(name + n_prefix, &step) ? step : -1;
}

static bool is_partial(const char *name) {
  return strncmp(name, "." CHECKPOINT_PREFIX, strlen("." CHECKPOINT_PREFIX)) == 0;
}

/* "<name>.tmp-<process>": a file that was being replaced (base/files.h). */
static bool is_temporary(const char *name) {
  const char *mark = strstr(name, ".tmp-");
  if (!mark || mark == name) return false;
  const char *digits = mark + strlen(".tmp-");
  return *digits && strspn(digits, "0123456789") == strlen(digits);
}

typedef weir_status entry_visitor(void *context, const char *path, const char *name);

/* Visits names that a visitor may remove. */
static weir_status for_each_entry(const char *path, entry_visitor *visit, void *context) {
  struct dirent **entries;
  int n = scandir(path, &entries, NULL, alphasort);
  if (n < 0) return weir_fail(WEIR_FAILED, "%s: cannot be listed: %s", path, strerror(errno));
  weir_status status = WEIR_OK;
  for (int i = 0; i < n; i++) {
    if (status == WEIR_OK) status = visit(context, path, entries[i]->d_name);
    free(entries[i]);
  }
  free(entries);
  return status;
}

static weir_status see_latest(void *context, const char *path, const char *name) {
  (void)path;
  int64_t *latest = context, step = checkpoint_step(name);
  if (step > *latest) *latest = step;
  return WEIR_OK;
}

weir_status weir_run_folder_latest(const char *path, int64_t *step) {
  *step = -1;
  return for_each_entry(path, see_latest, step);
}

/* ---- removing ---- */

static weir_status remove_remains(void *context, const char *path, const char *name) {
  (void)context;
  char full[WEIR_PATH_BYTES];
  if (!is_partial(name) && !is_temporary(name)) return WEIR_OK;
  WEIR_TRY(weir_run_folder_name(full, path, "%s", name));
  return weir_directory_remove(full);
}

weir_status weir_run_folder_sweep(const char *path) {
  return for_each_entry(path, remove_remains, NULL);
}

/* Takes the name away first, so that half of a checkpoint is never seen under it. */
static weir_status remove_checkpoint(const char *path, int64_t step) {
  char name[WEIR_PATH_BYTES], partial[WEIR_PATH_BYTES];
  WEIR_TRY(weir_run_folder_name(name, path, CHECKPOINT_PREFIX "%lld", (long long)step));
  WEIR_TRY(
      weir_run_folder_name(partial, path, "." CHECKPOINT_PREFIX "%lld.removed", (long long)step));
  WEIR_TRY(weir_directory_remove(partial));
  if (rename(name, partial) != 0)
    return weir_fail(WEIR_FAILED, "%s: cannot be removed: %s", name, strerror(errno));
  return weir_directory_remove(partial);
}

static weir_status remove_any_checkpoint(void *context, const char *path, const char *name) {
  (void)context;
  const int64_t step = checkpoint_step(name);
  return step < 0 ? WEIR_OK : remove_checkpoint(path, step);
}

weir_status weir_run_folder_clear(const char *path) {
  for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
    char name[WEIR_PATH_BYTES];
    WEIR_TRY(weir_run_folder_name(name, path, "%s", reports[i]));
    if (unlink(name) != 0 && errno != ENOENT)
      return weir_fail(WEIR_FAILED, "%s: cannot be removed: %s", name, strerror(errno));
  }
  return for_each_entry(path, remove_any_checkpoint, NULL);
}

/* Counts checkpoints, and finds the oldest. */
typedef struct census {
  int64_t n, oldest;
} census;

static weir_status count_checkpoint(void *context, const char *path, const char *name) {
  (void)path;
  census *c = context;
  const int64_t step = checkpoint_step(name);
  if (step < 0) return WEIR_OK;
  if (c->n++ == 0 || step < c->oldest) c->oldest = step;
  return WEIR_OK;
}

weir_status weir_run_folder_prune(const char *path, int64_t n_kept) {
  for (;;) {
    census c = {0};
    WEIR_TRY(for_each_entry(path, count_checkpoint, &c));
    if (c.n <= n_kept) return WEIR_OK;
    WEIR_TRY(remove_checkpoint(path, c.oldest));
  }
}

/* ---- checkpoints ---- */

weir_status weir_run_folder_begin_checkpoint(const char *path, int64_t step,
                                             char partial[WEIR_PATH_BYTES]) {
  WEIR_TRY(
      weir_run_folder_name(partial, path, "." CHECKPOINT_PREFIX "%lld.partial", (long long)step));
  WEIR_TRY(weir_directory_remove(partial));
  return weir_directory_make(partial);
}

weir_status weir_run_folder_commit_checkpoint(const char *path, int64_t step, const char *partial) {
  char name[WEIR_PATH_BYTES];
  WEIR_TRY(weir_run_folder_name(name, path, CHECKPOINT_PREFIX "%lld", (long long)step));
  WEIR_TRY(weir_directory_sync(partial));
  if (weir_path_is_directory(name)) WEIR_TRY(remove_checkpoint(path, step));
  if (rename(partial, name) != 0)
    return weir_fail(WEIR_FAILED, "%s: cannot be written: %s", name, strerror(errno));
  return weir_directory_sync(path);
}
