/* SPDX-License-Identifier: Apache-2.0
 *
 * Chunks of the prompt change no bits, the plan knows what decoding holds, and texts end where they
 * should.  What decoding computes is judged in test_golden.c. */
#include "device/cpu/cpu.h"
#include "device/ref/ref.h"
#include "generate/decode.h"
#include "generate/generate.h"
#include "plan/plan.h"
#include "support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void *take(size_t count, size_t bytes) {
  void *memory = calloc(count, bytes);
  assert_non_null(memory);
  return memory;
}

/* ---- plans ---- */

enum { RUN_BYTES = 16 << 20, STEP_BYTES = 32 << 20, N_PROMPT = 600 };

/* Logits after the prompt, and after one token more. */
static double *prompt_logits(int architecture, bool on_cpu, int64_t chunk_rows) {
  weir_model_config config = tiny_config(architecture);
  weir_device *device;
  assert_int_equal(on_cpu ? weir_cpu_create(2, NULL, &device) : weir_ref_create(&device), WEIR_OK);
  tiny_settings settings = {chunk_rows, 512, 8192, WEIR_STASH_ATTN, {0}};
  tiny_model model;
  tiny_open(&model, &config, device, &settings, WEIR_RUN_FORWARD, RUN_BYTES, STEP_BYTES);
  const int64_t length = N_PROMPT + 1;
  tiny_row row;
  tiny_row_init(&row, &config, &length, 1, 1.0);
  double *logits = take(2 * (size_t)config.vocab_size, sizeof *logits);
  weir_decoder decoder;
  weir_decoder_open(&decoder, &model.run, length);
  weir_decoder_feed(&decoder, row.ids, N_PROMPT);
  weir_decoder_read_logits(&decoder, logits);
  weir_decoder_feed(&decoder, row.ids + N_PROMPT, 1);
  weir_decoder_read_logits(&decoder, logits + config.vocab_size);
  weir_decoder_close(&decoder);
  tiny_row_deinit(&row);
  tiny_close(&model);
  on_cpu ? weir_cpu_destroy(device) : weir_ref_destroy(device);
  return logits;
}

static void chunks_of_the_prompt_change_no_bits(void **state) {
  (void)state;
  for (int architecture = 0; architecture < TINY_ARCHITECTURES; architecture++)
    /* On ref, which is slow, one of them. */
    for (int on_cpu = architecture != 1; on_cpu < 2; on_cpu++) {
      size_t n = 2 * (size_t)tiny_config(architecture).vocab_size;
      double *whole = prompt_logits(architecture, on_cpu, 1 << 20);
      assert_true(isfinite(whole[0]) && whole[0] != whole[n / 2]);
      for (int64_t chunk_rows = 256; chunk_rows <= 512; chunk_rows += 256) {
        double *chunked = prompt_logits(architecture, on_cpu, chunk_rows);
        assert_memory_equal(whole, chunked, n * sizeof *whole);
        free(chunked);
      }
      free(whole);
    }
}

typedef struct collected {
  int32_t ids[64];
  int n, stop_after;
  bool ended;
} collected;

static bool collect(void *context, int32_t id, bool ends_text) {
  collected *into = context;
  assert_in_range(into->n, 0, 63);
  into->ids[into->n++] = id;
  into->ended = ends_text;
  return into->n != into->stop_after;
}

static void planned_equals_used(void **state) {
  (void)state;
  static const int64_t n_prompts[] = {1, 5, 40}, n_news[] = {1, 2, 30};
  int n_compared = 0;
  for (int architecture = 0; architecture < TINY_ARCHITECTURES; architecture++)
    for (int i = 0; i < 9; i++) {
      weir_model_config config = tiny_config(architecture);
      weir_parameter_table table;
      assert_int_equal(weir_parameter_table_create(&config, &table), WEIR_OK);
      weir_stash_policy stash[TINY_MAX_LAYERS] = {0};
      tiny_settings settings = {16, 512, 8192, WEIR_STASH_ALL, {0}};
      weir_plan_request request = {
          .config = &config,
          .table = &table,
          .settings = {settings.chunk_rows, settings.head_rows, settings.head_columns, stash,
                       settings.precision},
          .purpose = WEIR_RUN_FORWARD,
          .real = WEIR_DTYPE_F64,
          .n_threads = 1,
          .prompt_tokens = n_prompts[i % 3],
          .new_tokens = n_news[i / 3],
      };
      weir_plan plan;
      assert_int_equal(weir_plan_make(&request, &plan), WEIR_OK);
      weir_device *device;
      assert_int_equal(weir_ref_create(&device), WEIR_OK);
      tiny_model model;
      tiny_open(&model, &config, device, &settings, WEIR_RUN_FORWARD, plan.run_arena_bytes,
                plan.step_arena_bytes);
      int32_t prompt[40] = {0};
      collected new_tokens = {0};
      weir_generation generation = {.prompt = prompt,
                                    .n_prompt = request.prompt_tokens,
                                    .max_new_tokens = request.new_tokens,
                                    .sampling = {.top_p = 1.0}};
      assert_int_equal(weir_generate(&model.run, &generation, collect, &new_tokens), WEIR_OK);
      assert_int_equal(new_tokens.n, request.new_tokens);
      assert_int_equal(model.run_arena.high_water_bytes, plan.run_arena_bytes);
      assert_int_equal(model.step_arena.high_water_bytes, plan.step_arena_bytes);
      assert_int_equal(model.step_arena.used_bytes, 0);
      int64_t cache_bytes = 2 * config.num_hidden_layers * 8 *
                            weir_generate_positions(request.prompt_tokens, request.new_tokens) *
                            config.num_key_value_heads * config.head_dim;
      assert_true(plan.dry.bytes_by_kind[WEIR_MEMORY_KEYS_VALUES] >= (uint64_t)cache_bytes);
      n_compared++;
      tiny_close(&model);
      weir_ref_destroy(device);
      weir_parameter_table_destroy(&table);
    }
  assert_int_equal(n_compared, 9 * TINY_ARCHITECTURES);
}

/* ---- ends and refusals ---- */

typedef struct small_run {
  weir_model_config config;
  weir_device *device;
  tiny_model model;
} small_run;

static void open_small(small_run *small, int architecture) {
  small->config = tiny_config(architecture);
  small->config.max_position_embeddings = 12;
  tiny_settings settings = {256, 256, 64, WEIR_STASH_ALL, {0}};
  assert_int_equal(weir_ref_create(&small->device), WEIR_OK);
  tiny_open(&small->model, &small->config, small->device, &settings, WEIR_RUN_FORWARD, RUN_BYTES,
            STEP_BYTES);
}

static void close_small(small_run *small) {
  tiny_close(&small->model);
  weir_ref_destroy(small->device);
}

static void an_eos_ends_the_text(void **state) {
  (void)state;
  small_run small;
  open_small(&small, 0);
  const int32_t prompt[] = {3, 1, 4};
  weir_generation generation = {.prompt = prompt,
                                .n_prompt = 3,
                                .max_new_tokens = 20,
                                .sampling = {.temperature = 1.0, .top_p = 1.0, .seed = 5}};
  collected all = {0}, until_eos = {0}, until_enough = {.stop_after = 4};
  assert_int_equal(weir_generate(&small.model.run, &generation, collect, &all), WEIR_OK);
  assert_int_equal(all.n, 20);
  assert_false(all.ended);

  const int64_t eos_ids[] = {-1, all.ids[6]};
  int n_expected = 1;
  while (all.ids[n_expected - 1] != all.ids[6])
    n_expected++;
  generation.eos_ids = eos_ids;
  generation.n_eos = 2;
  assert_int_equal(weir_generate(&small.model.run, &generation, collect, &until_eos), WEIR_OK);
  assert_int_equal(until_eos.n, n_expected);
  assert_true(until_eos.ended);
  assert_memory_equal(until_eos.ids, all.ids, (size_t)n_expected * sizeof *all.ids);

  generation.n_eos = 0;
  assert_int_equal(weir_generate(&small.model.run, &generation, collect, &until_enough), WEIR_OK);
  assert_int_equal(until_enough.n, 4);
  assert_int_equal(small.model.step_arena.used_bytes, 0);
  close_small(&small);
}

static void expect_refusal(small_run *small, weir_generation generation, const char *part) {
  collected none = {0};
  assert_int_equal(weir_generate(&small->model.run, &generation, collect, &none), WEIR_BAD_INPUT);
  assert_int_equal(none.n, 0);
  if (!strstr(weir_status_message(), part)) fail_msg("'%s'", weir_status_message());
}

static void what_does_not_fit_the_model_is_refused(void **state) {
  (void)state;
  for (int architecture = 0; architecture < TINY_ARCHITECTURES; architecture++) {
    small_run small;
    open_small(&small, architecture);
    int32_t prompt[] = {0, 52, 7};
    weir_generation fits = {prompt, 3, 9, NULL, 0, {.top_p = 1.0}};
    collected tokens = {0};
    assert_int_equal(weir_generate(&small.model.run, &fits, collect, &tokens), WEIR_OK);
    assert_int_equal(tokens.n, 9);
    weir_generation longer = fits;
    longer.max_new_tokens = 10;
    if (small.config.learned_positions)
      expect_refusal(&small, longer, "12 positions");
    else
      assert_int_equal(weir_generate(&small.model.run, &longer, collect, &(collected){0}), WEIR_OK);
    prompt[1] = 53;
    expect_refusal(&small, fits, "id 53");
    prompt[1] = -1;
    expect_refusal(&small, fits, "id -1");
    close_small(&small);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chunks_of_the_prompt_change_no_bits),
      cmocka_unit_test(planned_equals_used),
      cmocka_unit_test(an_eos_ends_the_text),
      cmocka_unit_test(what_does_not_fit_the_model_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
