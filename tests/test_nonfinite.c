/* SPDX-License-Identifier: Apache-2.0
 *
 * A gradient that is not finite: the device leaves weights and moments alone, to the bit; the run
 * names step and tensor and stops with its last checkpoint whole, or skips the step and counts it.
 * And the rule for spikes. */
#include "device/cpu/cpu.h"
#include "device/ref/ref.h"
#include "formats/safetensors.h"
#include "support/tiny_model.h"
#include "support/tiny_training.h"
#include "train/spikes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- one step ---- */

static void poison(weir_run *run, int64_t i_parameter, double value) {
  weir_tensor tensor = run->weights[i_parameter];
  if (tensor.dtype == WEIR_DTYPE_F64)
    *(double *)weir_tensor_data(tensor) = value;
  else
    *(float *)weir_tensor_data(tensor) = (float)value;
}

/* Compares bytes: NaN has to stay the NaN it was. */
static void *copy_all(const weir_run *run, const weir_tensor *tensors, size_t *n_bytes) {
  uint8_t *copy = NULL;
  *n_bytes = 0;
  for (int64_t i = 0; i < run->table->n_parameters; i++) {
    const size_t n = (size_t)weir_tensor_bytes(tensors[i]);
    copy = realloc(copy, *n_bytes + n);
    assert_non_null(copy);
    memcpy(copy + *n_bytes, weir_tensor_data(tensors[i]), n);
    *n_bytes += n;
  }
  return copy;
}

static void check_untouched(weir_device *device, double value, double max_grad_norm) {
  const weir_model_config config = tiny_config(0);
  const tiny_settings settings = {
      .chunk_rows = 256, .head_rows = 256, .head_columns = 64, .stash = WEIR_STASH_INPUT};
  const weir_adamw adamw = {.learning_rate = 0.1,
                            .beta1 = 0.9,
                            .beta2 = 0.99,
                            .epsilon = 1e-8,
                            .weight_decay = 0.1,
                            .step = 1};
  const int64_t lengths[] = {40};
  tiny_model model;
  tiny_row row;
  weir_step_result result;
  tiny_open(&model, &config, device, &settings, WEIR_RUN_TRAIN, 64 << 20, 16 << 20);
  tiny_row_init(&row, &config, lengths, 1, 39);
  weir_run *run = &model.run;
  const weir_tensor *lists[] = {run->weights, run->first_moments, run->second_moments};
  weir_step_train(run, &row.micro_batch, 1, &adamw, max_grad_norm, &result);
  assert_true(isfinite(result.grad_norm) && result.grad_norm > 0);

  const int64_t poisoned = weir_parameter_find(run->table, 2, WEIR_ROLE_UP);
  poison(run, poisoned, value);
  void *before[3];
  size_t n_before[3], n_after;
  for (int i = 0; i < 3; i++)
    before[i] = copy_all(run, lists[i], &n_before[i]);
  weir_step_train(run, &row.micro_batch, 1, &adamw, max_grad_norm, &result);
  assert_false(isfinite(result.grad_norm));
  for (int i = 0; i < 3; i++) {
    void *after = copy_all(run, lists[i], &n_after);
    assert_true(n_after > 0 && n_after == n_before[i]);
    assert_memory_equal(after, before[i], n_after);
    free(after);
    free(before[i]);
  }
  const weir_nonfinite found = weir_step_find_nonfinite(run);
  assert_true(found.is_weight);
  assert_int_equal(found.i_parameter, poisoned);
  tiny_row_deinit(&row);
  tiny_close(&model);
}

static void test_step_not_taken(void **state) {
  (void)state;
  weir_device *ref, *cpu;
  assert_int_equal(weir_ref_create(&ref), WEIR_OK);
  assert_int_equal(weir_cpu_create(2, NULL, &cpu), WEIR_OK);
  for (int max_grad_norm = 0; max_grad_norm < 2; max_grad_norm++) {
    check_untouched(ref, NAN, max_grad_norm);
    check_untouched(ref, INFINITY, max_grad_norm);
    check_untouched(cpu, NAN, max_grad_norm);
    check_untouched(cpu, INFINITY, max_grad_norm);
  }
  weir_ref_destroy(ref);
  weir_cpu_destroy(cpu);
}

/* ---- a run ---- */

#define RUN                                                                                        \
  "train --model untied --train-file train.jsonl --threads 1 --max-length 32 --learning-rate "     \
  "0.01 --lr-scheduler-type constant --logging-steps 1 --max-steps 40 --save-steps 1 "

/* Makes the embedding of "9" a NaN: only steps that read a 9 are hit. */
static void poison_digit(const char *path) {
  weir_safetensors *file;
  assert_int_equal(weir_safetensors_open(path, &file), WEIR_OK);
  const weir_safetensors_entry *entry = weir_safetensors_find(file, "model.embed_tokens.weight");
  assert_non_null(entry);
  FILE *stream = fopen(path, "r+");
  assert_non_null(stream);
  uint64_t header_bytes;
  assert_int_equal(fread(&header_bytes, 8, 1, stream), 1);
  const int digit = '9' - '!'; /* byte-level vocabularies begin at "!" */
  const float value = NAN;
  fseek(stream, (long)(8 + header_bytes + entry->offset_bytes) + digit * 8 * 4, SEEK_SET);
  assert_int_equal(fwrite(&value, sizeof value, 1, stream), 1);
  fclose(stream);
  weir_safetensors_close(file);
}

static void make_untied(void) {
  tiny_training_shell(
      "rm -rf untied && sed 's/\"tie_word_embeddings\":true/\"tie_word_embeddings\":false/' "
      "config.json >untied.json");
  tiny_training_expect(
      tiny_training_run("",
                        "init --model-config untied.json --tokenizer tokenizer --output untied"),
      0);
}

static void test_stop(void **state) {
  (void)state;
  make_untied();
  tiny_training_expect(tiny_training_run("", RUN "--output good"), 0);
  poison_digit("untied/model.safetensors");
  tiny_training_expect(tiny_training_run("", RUN "--output stopped"), 1);
  const char *said = tiny_training_said();
  assert_non_null(strstr(said, "step "));
  assert_non_null(strstr(said, "model.embed_tokens.weight"));
  tiny_training_shell("grep -q 'model.embed_tokens.weight' stopped/log.txt && "
                      "test ! -e stopped/model.safetensors && test ! -e stopped/checkpoint-40");
}

static void test_skip(void **state) {
  (void)state;
  make_untied();
  poison_digit("untied/model.safetensors");
  tiny_training_expect(tiny_training_run("", RUN "--on-nonfinite skip --output skipped"), 0);
  if (!strstr(tiny_training_said(), "skipped: loss")) fail_msg("%s", tiny_training_said());
  tiny_training_shell("grep -Eq '\"skipped_steps\": [1-9]' skipped/result.json && "
                      "! grep -Eiq 'nan|inf[^o]' skipped/metrics.jsonl");
  /* the weights that were not skipped over did learn, and a resumed run counts on */
  tiny_training_shell(
      "cp -r skipped again && rm -r again/checkpoint-[34]? again/checkpoint-2[1-9]");
  tiny_training_expect(
      tiny_training_run("",
                        RUN "--on-nonfinite skip --output again --resume-from-checkpoint latest"),
      0);
  assert_same_bytes("skipped/model.safetensors", "again/model.safetensors");
  tiny_training_shell("for f in skipped again; do grep -o '\"skipped_steps\": [0-9]*' "
                      "$f/result.json >$f.count; done; cmp skipped.count again.count");
}

/* ---- spikes ---- */

static void test_spikes(void **state) {
  (void)state;
  weir_spikes spikes = {0};
  double median = 0;
  for (int i = 0; i < WEIR_SPIKE_WINDOW; i++) /* too early to tell */
    assert_false(weir_spikes_add(&spikes, i == 3 ? 100 : 2 + 0.01 * (i % 7), &median));
  for (int i = 0; i < 100; i++)
    assert_false(weir_spikes_add(&spikes, 2 + 0.01 * (i % 7), &median));
  assert_false(weir_spikes_add(&spikes, 3.9, &median)); /* high, but not twice */
  assert_true(weir_spikes_add(&spikes, 4.2, &median));
  assert_true(median > 2 && median < 2.06);
  assert_int_equal(spikes.n_spikes, 1);
  for (int i = 0; i < WEIR_SPIKE_WINDOW; i++) /* a new level is news only at first */
    weir_spikes_add(&spikes, 8, &median);
  assert_false(weir_spikes_add(&spikes, 8, &median));
  weir_spikes zeros = {0};
  for (int i = 0; i < 2 * WEIR_SPIKE_WINDOW; i++)
    assert_false(weir_spikes_add(&zeros, 0, &median));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_step_not_taken),
      cmocka_unit_test(test_stop),
      cmocka_unit_test(test_skip),
      cmocka_unit_test(test_spikes),
  };
  return cmocka_run_group_tests(tests, tiny_training_set_up, tiny_training_tear_down);
}
