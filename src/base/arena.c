/* SPDX-License-Identifier: Apache-2.0
 *
 * A bump allocator over one anonymous mapping.  Debug builds (WEIR_DEBUG_MEMORY) put a guard after
 * every allocation and poison what is released; dry arenas then count the guards too, so planned
 * stays equal to used in either build. */
#include "base/arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#ifdef WEIR_DEBUG_MEMORY
enum { GUARD_BYTES = WEIR_ARENA_ALIGNMENT, GUARD_BYTE = 0xa5, POISON_BYTE = 0xff };
#else
enum { GUARD_BYTES = 0, GUARD_BYTE = 0, POISON_BYTE = 0 };
#endif

static const char *const kind_names[] = {
#define X(constant, name, help) name,
    WEIR_MEMORY_KINDS(X)
#undef X
};

static const char *const kind_helps[] = {
#define X(constant, name, help) help,
    WEIR_MEMORY_KINDS(X)
#undef X
};

const char *weir_memory_kind_name(weir_memory_kind kind) {
  return kind_names[kind];
}

const char *weir_memory_kind_help(weir_memory_kind kind) {
  return kind_helps[kind];
}

void weir_arena_init_dry(weir_arena *arena, const char *name) {
  *arena = (weir_arena){.name = name, .capacity_bytes = INT64_MAX};
}

weir_status weir_arena_init(weir_arena *arena, const char *name, uint64_t capacity_bytes) {
  *arena = (weir_arena){.name = name, .capacity_bytes = capacity_bytes};
  uint64_t mapped_bytes = capacity_bytes ? capacity_bytes : 1;
  void *base = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return weir_fail(WEIR_FAILED, "arena %s: the system refused %llu bytes: %s", name,
                     (unsigned long long)capacity_bytes, strerror(errno));
  arena->base = base;
  memset(arena->base, POISON_BYTE, capacity_bytes);
  return WEIR_OK;
}

void weir_arena_deinit(weir_arena *arena) {
  if (arena->base) munmap(arena->base, arena->capacity_bytes ? arena->capacity_bytes : 1);
  *arena = (weir_arena){0};
}

static uint64_t round_up(uint64_t bytes) {
  return (bytes + WEIR_ARENA_ALIGNMENT - 1) / WEIR_ARENA_ALIGNMENT * WEIR_ARENA_ALIGNMENT;
}

/* A guard ends with the bytes its allocation took, which leads to the guard below it. */
static void write_guard(const weir_arena *arena, uint64_t taken_bytes) {
  if (!GUARD_BYTES || !arena->base) return;
  uint8_t *end = arena->base + arena->used_bytes;
  memset(end - GUARD_BYTES, GUARD_BYTE, GUARD_BYTES);
  memcpy(end - sizeof taken_bytes, &taken_bytes, sizeof taken_bytes);
}

/* Every guard above the mark must stand; what lay between them is poisoned. */
static void check_guards(const weir_arena *arena, uint64_t mark_bytes) {
  if (!GUARD_BYTES || !arena->base) return;
  for (uint64_t at = arena->used_bytes, taken_bytes; at > mark_bytes; at -= taken_bytes) {
    const uint8_t *guard = arena->base + at - GUARD_BYTES;
    for (size_t i = 0; i < GUARD_BYTES - sizeof taken_bytes; i++)
      WEIR_ASSERT(guard[i], ==, GUARD_BYTE);
    memcpy(&taken_bytes, guard + GUARD_BYTES - sizeof taken_bytes, sizeof taken_bytes);
    WEIR_ASSERT(taken_bytes, >=, GUARD_BYTES);
    WEIR_ASSERT(taken_bytes, <=, at - mark_bytes);
  }
  memset(arena->base + mark_bytes, POISON_BYTE, arena->used_bytes - mark_bytes);
}

uint64_t weir_arena_allocate(weir_arena *arena, weir_memory_kind kind, uint64_t bytes) {
  WEIR_ASSERT(bytes >> 62, ==, 0); /* so that nothing below wraps around */
  uint64_t offset = arena->used_bytes, taken_bytes = round_up(bytes) + GUARD_BYTES;
  WEIR_ASSERT(taken_bytes, <=, arena->capacity_bytes - arena->used_bytes);
  arena->used_bytes += taken_bytes;
  arena->used_by_kind[kind] += taken_bytes;
  if (arena->used_bytes > arena->high_water_bytes) arena->high_water_bytes = arena->used_bytes;
  write_guard(arena, taken_bytes);
  return offset;
}

weir_arena_mark weir_arena_mark_take(const weir_arena *arena) {
  weir_arena_mark mark = {.used_bytes = arena->used_bytes};
  memcpy(mark.used_by_kind, arena->used_by_kind, sizeof mark.used_by_kind);
  return mark;
}

void weir_arena_release(weir_arena *arena, const weir_arena_mark *mark) {
  WEIR_ASSERT(mark->used_bytes, <=, arena->used_bytes);
  check_guards(arena, mark->used_bytes);
  arena->used_bytes = mark->used_bytes;
  memcpy(arena->used_by_kind, mark->used_by_kind, sizeof mark->used_by_kind);
}
