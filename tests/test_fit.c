/* SPDX-License-Identifier: Apache-2.0
 *
 * What would fit: each remedy a refusal names is planned again here and must fit, and the next
 * milder one must not. */
#include "plan/fit.h"
#include "support/tiny_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { N_TOKENS = 4096, N_LAYERS = 3 };

typedef struct fit_case {
  weir_model_config config;
  weir_parameter_table table;
  weir_stash_policy stash[N_LAYERS];
  int64_t offsets[2];
  weir_sequences row;
  weir_plan_request request;
} fit_case;

static void open_case(fit_case *test) {
  *test = (fit_case){.config = tiny_config(0), .offsets = {0, N_TOKENS}};
  assert_int_equal(test->config.num_hidden_layers, N_LAYERS);
  assert_int_equal(weir_parameter_table_create(&test->config, &test->table), WEIR_OK);
  test->row = (weir_sequences){N_TOKENS, 1, test->offsets};
  test->request = (weir_plan_request){
      .config = &test->config,
      .table = &test->table,
      .settings = {.chunk_rows = 512, .head_rows = 512, .head_columns = 64, .stash = test->stash},
      .purpose = WEIR_RUN_TRAIN,
      .real = WEIR_DTYPE_F32,
      .n_threads = 1,
      .rows = &test->row,
      .n_rows = 1,
  };
}

/* The peak of a plan as a user would ask for it with the remedy's options. */
static uint64_t peak_of(const fit_case *test, weir_stash_policy policy, int64_t chunk_rows,
                        int64_t head_rows, int64_t n_tokens) {
  fit_case other = *test;
  for (int i = 0; i < N_LAYERS; i++)
    other.stash[i] = policy;
  other.request.settings.stash = other.stash;
  other.request.settings.chunk_rows = chunk_rows;
  other.request.settings.head_rows = head_rows;
  other.offsets[1] = other.row.n_tokens = n_tokens;
  other.row.offsets = other.offsets;
  other.request.rows = &other.row;
  weir_plan plan;
  assert_int_equal(weir_plan_make(&other.request, &plan), WEIR_OK);
  return plan.peak_bytes;
}

static const char *refusal(const fit_case *test, uint64_t memory_bytes) {
  weir_plan plan;
  assert_int_equal(weir_plan_make(&test->request, &plan), WEIR_OK);
  assert_int_equal(weir_plan_check_memory(&test->request, &plan, memory_bytes), WEIR_DOES_NOT_FIT);
  return weir_status_message();
}

static void remedies_fit_to_the_byte(void **state) {
  (void)state;
  fit_case test;
  open_case(&test);
  static const struct {
    weir_stash_policy policy;
    int64_t rows;
    const char *flags;
  } remedies[] = {
      {WEIR_STASH_ATTN, 512, "--stash attn ("},
      {WEIR_STASH_INPUT, 512, "--stash input ("},
      {WEIR_STASH_INPUT, 256, "--stash input --chunk-rows 256 --head-rows 256 ("},
  };
  for (int i = 0; i < 3; i++) {
    uint64_t peak_bytes =
        peak_of(&test, remedies[i].policy, remedies[i].rows, remedies[i].rows, N_TOKENS);
    assert_non_null(strstr(refusal(&test, peak_bytes), remedies[i].flags));
    assert_null(strstr(refusal(&test, peak_bytes - 1), remedies[i].flags));
  }
  weir_parameter_table_destroy(&test.table);
}

/* A remedy that names the stash alone is planned with the user's own chunk and head. */
static void what_is_not_named_is_not_changed(void **state) {
  (void)state;
  fit_case test;
  open_case(&test);
  /* A wide vocabulary, so that the head makes the peak. */
  weir_parameter_table_destroy(&test.table);
  test.config.vocab_size = 4096;
  assert_int_equal(weir_parameter_table_create(&test.config, &test.table), WEIR_OK);
  test.request.settings.head_columns = 4096;
  test.request.settings.chunk_rows = 64;
  uint64_t peak_bytes = peak_of(&test, WEIR_STASH_INPUT, 64, 512, N_TOKENS);
  assert_true(peak_bytes > peak_of(&test, WEIR_STASH_INPUT, 64, 64, N_TOKENS));
  assert_non_null(strstr(refusal(&test, peak_bytes), "--stash input ("));
  assert_null(strstr(refusal(&test, peak_bytes - 1), "--stash input ("));
  weir_parameter_table_destroy(&test.table);
}

static void the_longest_row_is_named(void **state) {
  (void)state;
  fit_case test;
  open_case(&test);
  uint64_t peak_bytes = peak_of(&test, WEIR_STASH_INPUT, 256, 256, 1024);
  assert_non_null(strstr(refusal(&test, peak_bytes), "micro-batches of at most 1024 tokens"));
  assert_non_null(strstr(refusal(&test, peak_bytes - 1), "micro-batches of at most 768 tokens"));
  weir_parameter_table_destroy(&test.table);
}

static void where_nothing_fits_the_least_is_named(void **state) {
  (void)state;
  fit_case test;
  open_case(&test);
  assert_non_null(strstr(refusal(&test, 1000), "nothing but more memory"));
  weir_parameter_table_destroy(&test.table);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(remedies_fit_to_the_byte),
      cmocka_unit_test(what_is_not_named_is_not_changed),
      cmocka_unit_test(the_longest_row_is_named),
      cmocka_unit_test(where_nothing_fits_the_least_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
