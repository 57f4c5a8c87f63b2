/* SPDX-License-Identifier: Apache-2.0
 *
 * Arenas: a dry one counts exactly as a real one does; marks nest; high water never falls. */
#include "base/arena.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { CAPACITY_BYTES = 1 << 20 };

static void assert_kinds_add_up(const weir_arena *arena) {
  uint64_t sum_bytes = 0;
  for (int kind = 0; kind < WEIR_MEMORY_KIND_COUNT; kind++)
    sum_bytes += arena->used_by_kind[kind];
  assert_int_equal(sum_bytes, arena->used_bytes);
  assert_true(arena->used_bytes <= arena->high_water_bytes);
  assert_true(arena->high_water_bytes <= arena->capacity_bytes);
}

static void test_dry_counts_as_real(void **state) {
  (void)state;
  static const uint64_t sizes[] = {0, 1, 63, 64, 65, 1000, 4096, 12345};
  weir_arena real, dry;
  assert_int_equal(weir_arena_init(&real, "step", CAPACITY_BYTES), WEIR_OK);
  weir_arena_init_dry(&dry, "step");
  weir_arena_mark real_mark = weir_arena_mark_take(&real), dry_mark = weir_arena_mark_take(&dry);
  for (int round = 0; round < 3; round++) {
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      weir_memory_kind kind = (weir_memory_kind)((i + (size_t)round) % WEIR_MEMORY_KIND_COUNT);
      uint64_t offset = weir_arena_allocate(&real, kind, sizes[i]);
      assert_int_equal(offset, weir_arena_allocate(&dry, kind, sizes[i]));
      assert_int_equal(offset % WEIR_ARENA_ALIGNMENT, 0);
      memset(real.base + offset, 1, sizes[i]);
      assert_kinds_add_up(&real);
    }
    if (round == 1) {
      weir_arena_release(&real, &real_mark);
      weir_arena_release(&dry, &dry_mark);
    }
  }
  assert_int_equal(real.used_bytes, dry.used_bytes);
  assert_int_equal(real.high_water_bytes, dry.high_water_bytes);
  assert_memory_equal(real.used_by_kind, dry.used_by_kind, sizeof real.used_by_kind);
  weir_arena_deinit(&real);
  weir_arena_deinit(&dry);
}

static void test_marks_nest(void **state) {
  (void)state;
  weir_arena arena;
  weir_arena_init_dry(&arena, "step");
  weir_arena_allocate(&arena, WEIR_MEMORY_STASH, 100);
  weir_arena_mark layer = weir_arena_mark_take(&arena);
  uint64_t first = weir_arena_allocate(&arena, WEIR_MEMORY_KEYS_VALUES, 500);
  weir_arena_mark chunk = weir_arena_mark_take(&arena);
  weir_arena_allocate(&arena, WEIR_MEMORY_ACTIVATIONS, 5000);
  uint64_t high_water_bytes = arena.high_water_bytes;
  weir_arena_release(&arena, &chunk);
  assert_int_equal(arena.used_by_kind[WEIR_MEMORY_ACTIVATIONS], 0);
  assert_true(arena.used_by_kind[WEIR_MEMORY_KEYS_VALUES] >= 500);
  weir_arena_release(&arena, &layer);
  assert_int_equal(arena.used_by_kind[WEIR_MEMORY_KEYS_VALUES], 0);
  assert_int_equal(weir_arena_allocate(&arena, WEIR_MEMORY_HIDDEN, 1), first);
  assert_int_equal(arena.high_water_bytes, high_water_bytes);
  assert_kinds_add_up(&arena);
}

/* Runs the mistake in a child, which must abort. */
static void expect_abort(void (*mistake)(void)) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    close(STDERR_FILENO);
    signal(SIGABRT, SIG_DFL);
    mistake();
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void take_too_much(void) {
  weir_arena arena;
  if (weir_arena_init(&arena, "small", 128) != WEIR_OK) return;
  weir_arena_allocate(&arena, WEIR_MEMORY_HIDDEN, 129);
}

static void take_absurdly_much(void) {
  weir_arena arena;
  if (weir_arena_init(&arena, "small", 128) != WEIR_OK) return;
  weir_arena_allocate(&arena, WEIR_MEMORY_HIDDEN, UINT64_MAX);
}

static void release_twice(void) {
  weir_arena arena;
  weir_arena_init_dry(&arena, "step");
  weir_arena_mark low = weir_arena_mark_take(&arena);
  weir_arena_allocate(&arena, WEIR_MEMORY_HIDDEN, 64);
  weir_arena_mark high = weir_arena_mark_take(&arena);
  weir_arena_release(&arena, &low);
  weir_arena_release(&arena, &high);
}

static void test_mistakes_abort(void **state) {
  (void)state;
  expect_abort(take_too_much);
  expect_abort(take_absurdly_much);
  expect_abort(release_twice);
}

#ifdef WEIR_DEBUG_MEMORY
static void write_past_the_end(void) {
  weir_arena arena;
  if (weir_arena_init(&arena, "step", CAPACITY_BYTES) != WEIR_OK) return;
  weir_arena_mark mark = weir_arena_mark_take(&arena);
  uint64_t first = weir_arena_allocate(&arena, WEIR_MEMORY_HIDDEN, 64);
  weir_arena_allocate(&arena, WEIR_MEMORY_HIDDEN, 64);
  arena.base[first + 64] = 0;
  weir_arena_release(&arena, &mark);
}

static void test_guards_and_poison(void **state) {
  (void)state;
  expect_abort(write_past_the_end);
  weir_arena arena;
  assert_int_equal(weir_arena_init(&arena, "step", CAPACITY_BYTES), WEIR_OK);
  weir_arena_mark mark = weir_arena_mark_take(&arena);
  uint64_t offset = weir_arena_allocate(&arena, WEIR_MEMORY_HIDDEN, 64);
  memset(arena.base + offset, 0, 64);
  weir_arena_release(&arena, &mark);
  for (int i = 0; i < 64; i++)
    assert_int_equal(arena.base[offset + (uint64_t)i], 0xff);
  weir_arena_deinit(&arena);
}
#endif

static void test_refused_by_the_system(void **state) {
  (void)state;
  weir_arena arena;
  assert_int_equal(weir_arena_init(&arena, "huge", UINT64_MAX / 2), WEIR_FAILED);
  assert_non_null(strstr(weir_status_message(), "arena huge: the system refused"));
  weir_arena_deinit(&arena);
  assert_int_equal(weir_arena_init(&arena, "none", 0), WEIR_OK);
  weir_arena_deinit(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dry_counts_as_real),    cmocka_unit_test(test_marks_nest),
      cmocka_unit_test(test_mistakes_abort),
#ifdef WEIR_DEBUG_MEMORY
      cmocka_unit_test(test_guards_and_poison),
#endif
      cmocka_unit_test(test_refused_by_the_system),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
