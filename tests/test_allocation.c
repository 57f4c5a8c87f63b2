/* SPDX-License-Identifier: Apache-2.0
 *
 * I3: inside a step our code allocates nothing outside the arenas, nor while it decodes.
 *
 * The C library's allocator is interposed; a call counts as ours when its return address lies in
 * this program's own text (libweir is linked statically, libraries are shared objects).  Their own
 * calls are excepted and counted. */
#include "device/cpu/cpu.h"
#include "device/ref/ref.h"
#include "generate/decode.h"
#include "generate/sample.h"
#include "support/tiny_model.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#endif

static volatile int n_ours, n_others, watching;

#ifndef SANITIZED
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern char __executable_start, etext;

static void note(const void *caller) {
  const char *address = caller;
  if (!watching) return;
  if (address >= &__executable_start && address < &etext)
    __atomic_fetch_add(&n_ours, 1, __ATOMIC_RELAXED);
  else
    __atomic_fetch_add(&n_others, 1, __ATOMIC_RELAXED);
}

__attribute__((noinline)) void *malloc(size_t bytes) {
  note(__builtin_return_address(0));
  return __libc_malloc(bytes);
}

__attribute__((noinline)) void *calloc(size_t n, size_t bytes) {
  note(__builtin_return_address(0));
  return __libc_calloc(n, bytes);
}

__attribute__((noinline)) void *realloc(void *old, size_t bytes) {
  note(__builtin_return_address(0));
  return __libc_realloc(old, bytes);
}

__attribute__((noinline)) void *aligned_alloc(size_t alignment, size_t bytes) {
  note(__builtin_return_address(0));
  return __libc_memalign(alignment, bytes);
}

__attribute__((noinline)) int posix_memalign(void **result, size_t alignment, size_t bytes) {
  note(__builtin_return_address(0));
  *result = __libc_memalign(alignment, bytes);
  return *result ? 0 : ENOMEM;
}
#endif

static void *volatile keep;

static void the_count_sees_an_allocation(void **state) {
  (void)state;
#ifdef SANITIZED
  skip();
#endif
  n_ours = 0;
  watching = 1;
  keep = malloc(16);
  watching = 0;
  free(keep);
  assert_int_equal(n_ours, 1);
}

static weir_status create_cpu(weir_device **device) {
  return weir_cpu_create(2, NULL, device);
}

/* A prompt, then three tokens drawn. */
static void decode(weir_run *run, const int32_t *ids, double *logits, weir_candidate *candidates) {
  const weir_sampling sampling = {.temperature = 1.0, .top_k = 20, .top_p = 0.9, .seed = 42};
  weir_decoder decoder;
  weir_decoder_open(&decoder, run, 300 + 3);
  weir_decoder_feed(&decoder, ids, 300);
  for (int i = 0; i < 3; i++) {
    int32_t id;
    weir_decoder_read_logits(&decoder, logits);
    assert_int_equal(
        weir_sample(&sampling, logits, run->config->vocab_size, decoder.n_tokens, candidates, &id),
        WEIR_OK);
    weir_decoder_feed(&decoder, &id, 1);
  }
  weir_decoder_close(&decoder);
}

static const struct {
  const char *name;
  weir_status (*create)(weir_device **device);
  void (*destroy)(weir_device *device);
} devices[] = {
    {"ref", weir_ref_create, weir_ref_destroy},
    {"cpu", create_cpu, weir_cpu_destroy},
};

static void steps_allocate_nothing(void **state) {
  (void)state;
#ifdef SANITIZED
  skip();
#endif
  static const int64_t lengths[] = {300, 5, 40};
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
    for (int variant = 0; variant < 2 * TINY_ARCHITECTURES; variant++) {
      const int architecture = variant / 2;
      const bool in_bf16 = variant % 2;
      weir_model_config config = tiny_config(architecture);
      weir_device *device;
      assert_int_equal(devices[i].create(&device), WEIR_OK);
      tiny_settings settings = {
          256, 256, 20, WEIR_STASH_ATTN, {in_bf16, in_bf16, in_bf16, in_bf16, 1}};
      tiny_model model;
      tiny_open(&model, &config, device, &settings, WEIR_RUN_TRAIN, 32 << 20, 32 << 20);
      tiny_row row;
      tiny_row_init(&row, &config, lengths, 3, 300.0);
      weir_micro_batch rows[2] = {row.micro_batch, row.micro_batch};
      weir_adamw adamw = {1e-3, 0.9, 0.999, 1e-8, 0.01, 1};
      weir_step_result result;
      double logits[64];
      weir_candidate candidates[64];
      assert_true(config.vocab_size <= 64);
      n_ours = n_others = 0;
      watching = 1;
      for (; adamw.step <= 2; adamw.step++)
        weir_step_train(&model.run, rows, 2, &adamw, 1.0, &result);
      weir_step_evaluate(&model.run, rows, &result, NULL);
      if (!in_bf16) decode(&model.run, row.ids, logits, candidates);
      watching = 0;
      print_message("%s, %s, %s: %d allocations of ours, %d of libraries\n", devices[i].name,
                    tiny_name(architecture), in_bf16 ? "bf16" : "f32", n_ours, n_others);
      assert_int_equal(n_ours, 0);
      tiny_row_deinit(&row);
      tiny_close(&model);
      devices[i].destroy(device);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_count_sees_an_allocation),
      cmocka_unit_test(steps_allocate_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
