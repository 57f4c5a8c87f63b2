/* SPDX-License-Identifier: Apache-2.0
 *
 * Where every large byte of a run lives.
 *
 * An arena is one reserved range used as a stack: allocations go on top, and a mark taken earlier
 * releases everything above it.  Lifetimes (run, step, layer, chunk) are therefore nested marks:
 *
 *     run arena     | weights | gradients | optimizer states | workspace | rows of ids |
 *     step arena    | hidden | stash of layer 0 | ... | layer: K V dK dV | chunk: activations |
 *                                                      ^ mark             ^ mark           ^ used
 *
 * A *dry* arena has no memory: it counts exactly as a real one does, because it is the same code.
 * Every allocation has a kind, so that the plan can say what is held by whom.
 *
 * Invariants: offsets are multiples of WEIR_ARENA_ALIGNMENT; used <= high_water <= capacity;
 * the bytes by kind add up to used; memory is reserved and touched before the first allocation, so
 * an allocation cannot fail for want of memory, only for a wrong plan, which is a bug (asserted).
 */
#ifndef WEIR_BASE_ARENA_H
#define WEIR_BASE_ARENA_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { WEIR_ARENA_ALIGNMENT = 64 };

/* X(constant, "name in plans", "what it is, for people") */
#define WEIR_MEMORY_KINDS(X)                                                                       \
  X(WEIGHTS, "weights", "model parameters")                                                        \
  X(GRADIENTS, "gradients", "one gradient per parameter")                                          \
  X(OPTIMIZER, "optimizer", "optimizer states")                                                    \
  X(DATA, "data", "token ids, targets and loss weights of the rows")                               \
  X(WORKSPACE, "workspace", "scratch of the device, per thread")                                   \
  X(HIDDEN, "hidden", "hidden states and their gradient")                                          \
  X(STASH, "stash", "what forward keeps for backward")                                             \
  X(KEYS_VALUES, "keys_values", "K, V and their gradients of one layer, or the KV cache")          \
  X(ACTIVATIONS, "activations", "activations of the chunk at hand")                                \
  X(LOGITS, "logits", "one tile of logits")                                                        \
  X(VECTORS, "vectors", "per-token numbers: log-probabilities, log-sum-exp")

typedef enum weir_memory_kind {
#define X(constant, name, help) WEIR_MEMORY_##constant,
  WEIR_MEMORY_KINDS(X)
#undef X
      WEIR_MEMORY_KIND_COUNT
} weir_memory_kind;

const char *weir_memory_kind_name(weir_memory_kind kind);
const char *weir_memory_kind_help(weir_memory_kind kind);

typedef struct weir_arena {
  const char *name; /* borrowed, a literal */
  uint8_t *base;    /* NULL in a dry arena */
  uint64_t capacity_bytes;
  uint64_t used_bytes;
  uint64_t high_water_bytes;
  uint64_t used_by_kind[WEIR_MEMORY_KIND_COUNT];
} weir_arena;

/* A point to go back to.  Valid while nothing below it has been released. */
typedef struct weir_arena_mark {
  uint64_t used_bytes;
  uint64_t used_by_kind[WEIR_MEMORY_KIND_COUNT];
} weir_arena_mark;

/* A dry arena: no memory, no limit. */
void weir_arena_init_dry(weir_arena *arena, const char *name);

/* Reserves `capacity_bytes` and touches every page.  Fails (WEIR_FAILED) where the system refuses.
 */
weir_status weir_arena_init(weir_arena *arena, const char *name, uint64_t capacity_bytes);

/* Gives the memory back; harmless on a dry or zeroed arena. */
void weir_arena_deinit(weir_arena *arena);

/* Takes `bytes` from the top and returns their offset.  Contents are undefined (poisoned in debug
 * builds).  A zero-byte allocation is allowed. */
uint64_t weir_arena_allocate(weir_arena *arena, weir_memory_kind kind, uint64_t bytes);

weir_arena_mark weir_arena_mark_take(const weir_arena *arena);
void weir_arena_release(weir_arena *arena, const weir_arena_mark *mark);

#endif
