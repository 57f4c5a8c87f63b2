/* SPDX-License-Identifier: Apache-2.0
 *
 * The dry device: the same operations, no data.  It counts FLOPs and bytes moved per operation and
 * watches the arenas: which operation ran when most was held, and by whom it was held. */
#ifndef WEIR_DEVICE_DRY_DRY_H
#define WEIR_DEVICE_DRY_DRY_H

#include "core/device.h"

enum { WEIR_DRY_MAX_OPERATIONS = 40 };

typedef struct weir_dry_count {
  const char *operation; /* a literal: the name in core/device.h */
  int64_t n_calls;
  double flops;       /* multiply and add are two */
  double bytes_moved; /* operands read and written once each */
} weir_dry_count;

typedef struct weir_dry_report {
  uint64_t peak_bytes;                            /* of the watched arenas together */
  uint64_t bytes_by_kind[WEIR_MEMORY_KIND_COUNT]; /* at the peak */
  const char *peak_operation;                     /* the first operation that ran at the peak */
  weir_step_position peak_position;               /* where the step was */
  double flops, bytes_moved;                      /* of everything */
  weir_dry_count counts[WEIR_DRY_MAX_OPERATIONS];
  int n_counts;
} weir_dry_report;

/* Called after each operation, while its memory is held: for tests and timelines. */
typedef void weir_dry_watcher(void *context, const char *operation,
                              const weir_step_position *position);

/* `real` and n_threads are those of the device planned for. */
weir_status weir_dry_create(weir_dtype real, int n_threads, weir_device **device);
void weir_dry_destroy(weir_device *device);

/* The arenas whose sum is the peak; borrowed. */
void weir_dry_watch_arenas(weir_device *device, const weir_arena *run_arena,
                           const weir_arena *step_arena);
void weir_dry_watch(weir_device *device, weir_dry_watcher *watcher, void *context);
const weir_dry_report *weir_dry_report_of(const weir_device *device);

#endif
