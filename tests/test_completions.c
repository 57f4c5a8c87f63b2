/* SPDX-License-Identifier: Apache-2.0
 *
 * Training on completions from outside: packing and accumulation do not change the loss, tokens are
 * counted, and a run goes on bit for bit whether its tokens are in memory or in the cache. */
#include "base/directory.h"
#include "base/files.h"
#include "support/program.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[] = "/tmp/weir-completions-XXXXXX";
static char said[1 << 16];

static const char config[] =
    "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", \"vocab_size\": 300,"
    " \"hidden_size\": 32, \"intermediate_size\": 48, \"num_hidden_layers\": 2,"
    " \"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"max_position_embeddings\": 512,"
    " \"rms_norm_eps\": 1e-5, \"hidden_act\": \"silu\", \"tie_word_embeddings\": true}";

#define RUN(code, ...)                                                                             \
  do {                                                                                             \
    int got = program_run(said, sizeof said, __VA_ARGS__);                                         \
    if (got != (code)) fail_msg("exit code %d, expected %d: %s", got, code, said);                 \
  } while (0)

static void write_text(const char *name, const char *text) {
  assert_int_equal(weir_file_replace(name, text, strlen(text)), WEIR_OK);
}

/* Prompts, completions and plain texts of many lengths, in two files. */
static void write_rows(void) {
  FILE *files[] = {fopen("a.jsonl", "w"), fopen("b.jsonl", "w")};
  for (int i = 0; i < 40; i++) {
    FILE *file = files[i % 2];
    fprintf(file, i % 5 ? "{\"prompt\": \"" : "{\"text\": \"");
    for (int k = 0; k < 1 + i * 7 % 11; k++)
      fprintf(file, "the stream %d ", k * i % 10);
    fprintf(file, i % 5 ? "\", \"completion\": \"holds" : " holds");
    for (int k = 0; k < i * 3 % 7; k++)
      fprintf(file, " level %d", k);
    fprintf(file, "\"}\n");
  }
  fclose(files[0]);
  fclose(files[1]);
}

static json_t *load(const char *folder, const char *name) {
  char path[256];
  json_error_t error;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  json_t *json = json_load_file(path, JSON_DISABLE_EOF_CHECK, &error);
  if (!json) fail_msg("%s: %s", path, error.text);
  return json;
}

static double number(const json_t *json, const char *key) {
  const json_t *value = json_object_get(json, key);
  if (!json_is_number(value)) fail_msg("there is no %s", key);
  return json_number_value(value);
}

static void assert_near(double a, double b) {
  assert_true(isfinite(a) && isfinite(b));
  if (!(fabs(a - b) <= 2e-6 * fabs(b))) fail_msg("%.9g is not %.9g", a, b);
}

#define TRAIN "train --quiet --model model --train-file a.jsonl b.jsonl --logging-steps 1 "

/* One step over all rows, cut into micro-batches in every way, packed tightly and loosely. */
static void test_packing_and_accumulation(void **state) {
  (void)state;
  static const char *const shapes[] = {
      "--max-length 256 --per-device-train-batch-size 1000",
      "--max-length 256 --gradient-accumulation-steps 1000",
      "--max-length 512 --per-device-train-batch-size 3 --gradient-accumulation-steps 100",
      "--max-length 100 --per-device-train-batch-size 2 --gradient-accumulation-steps 100",
  };
  double loss = 0, grad_norm = 0, n_supervised = 0;
  for (int i = 0; i < 4; i++) {
    char folder[32];
    snprintf(folder, sizeof folder, "shape-%d", i);
    RUN(0, TRAIN "--max-steps 1 --output %s %s", folder, shapes[i]);
    json_t *metrics = load(folder, "metrics.jsonl"), *result = load(folder, "result.json");
    const json_t *data = json_object_get(result, "data");
    assert_int_equal(number(data, "cut_documents"), 0);
    assert_int_equal(number(data, "dropped_tokens"), 0);
    assert_int_equal(number(data, "documents"), 40);
    assert_true(number(metrics, "num_supervised_tokens") < number(metrics, "num_tokens") / 2);
    assert_true(number(data, "supervised_tokens") == number(metrics, "num_supervised_tokens"));
    assert_true(number(data, "tokens") == number(metrics, "num_tokens"));
    if (i == 0) {
      loss = number(metrics, "loss");
      grad_norm = number(metrics, "grad_norm");
      n_supervised = number(metrics, "num_supervised_tokens");
    }
    assert_near(number(metrics, "loss"), loss);
    assert_near(number(metrics, "grad_norm"), grad_norm);
    assert_true(number(metrics, "num_supervised_tokens") == n_supervised);
    json_decref(metrics);
    json_decref(result);
  }
  RUN(0, TRAIN "--max-steps 1 --output both --completion-only-loss=false --max-length 256 "
               "--per-device-train-batch-size 1000");
  json_t *metrics = load("both", "metrics.jsonl");
  assert_true(number(metrics, "num_supervised_tokens") > n_supervised);
  assert_true(fabs(number(metrics, "loss") - loss) > 1e-4);
  json_decref(metrics);
}

/* weir eval's loss of all rows is the mean of the rows' own, weighted by what they supervise. */
static void test_eval(void **state) {
  (void)state;
  static const char *const rows[] = {
      "{\"prompt\": \"the stream \", \"completion\": \"holds level 1\"}\n",
      "{\"prompt\": \"level\", \"completion\": \" 5 the stream 4 holds\"}\n"};
  double sum = 0, n_tokens = 0;
  char all[512] = "";
  for (int i = 0; i < 3; i++) {
    write_text("rows.jsonl", i < 2 ? rows[i] : all);
    if (i < 2) strcat(all, rows[i]);
    RUN(0, "eval --quiet --model model --file rows.jsonl --json");
    json_t *evaluation = json_loads(said, 0, NULL);
    assert_non_null(evaluation);
    const double n = number(evaluation, "tokens"), loss = number(evaluation, "loss");
    json_decref(evaluation);
    if (i == 2) {
      assert_int_equal(n, n_tokens);
      assert_near(loss, sum / n_tokens);
    }
    sum += n * loss;
    n_tokens += n;
  }
}

static void assert_same_file(const char *a, const char *b) {
  weir_mapping x, y;
  assert_int_equal(weir_mapping_open(a, &x), WEIR_OK);
  assert_int_equal(weir_mapping_open(b, &y), WEIR_OK);
  assert_true(x.size_bytes > 0 && x.size_bytes == y.size_bytes);
  assert_memory_equal(x.bytes, y.bytes, (size_t)x.size_bytes);
  weir_mapping_close(&x);
  weir_mapping_close(&y);
}

#define SPLIT                                                                                      \
  TRAIN "--max-length 64 --validation-split 0.2 --lr-scheduler-type constant --save-steps 4 "

static void test_resume_with_and_without_cache(void **state) {
  (void)state;
  setenv("XDG_CACHE_HOME", "/", 1); /* nothing may go there */
  RUN(0, SPLIT "--token-cache never --max-steps 8 --output plain");
  char cache[256];
  snprintf(cache, sizeof cache, "%s/cache", directory);
  setenv("XDG_CACHE_HOME", cache, 1);
  RUN(0, SPLIT "--token-cache always --max-steps 8 --output cached");
  assert_same_file("plain/model.safetensors", "cached/model.safetensors");

  RUN(0, SPLIT "--token-cache always --max-steps 4 --output there-and-back");
  RUN(0, SPLIT "--token-cache never --max-steps 8 --output there-and-back "
               "--resume-from-checkpoint latest");
  assert_same_file("plain/model.safetensors", "there-and-back/model.safetensors");
  RUN(0, SPLIT "--token-cache never --max-steps 4 --output back-and-there");
  RUN(0, SPLIT "--token-cache always --max-steps 8 --output back-and-there "
               "--resume-from-checkpoint latest");
  assert_same_file("plain/model.safetensors", "back-and-there/model.safetensors");

  RUN(2, SPLIT "--completion-only-loss=false --max-steps 8 --output back-and-there "
               "--resume-from-checkpoint latest");
  assert_non_null(strstr(said, "training data"));

  RUN(0, "eval --quiet --model model --file a.jsonl --token-cache always --json");
  RUN(0, "eval --quiet --model model --file a.jsonl --token-cache always --json");
  RUN(0, "train --model model --train-file b.jsonl --max-steps 1 --output warned --token-cache "
         "always");
  assert_non_null(strstr(said, "tokens are kept in"));
  RUN(0, "train --model model --train-file b.jsonl --max-steps 1 --output warned-again "
         "--token-cache always");
  assert_null(strstr(said, "tokens are kept in"));
}

static void test_nothing_to_learn(void **state) {
  (void)state;
  write_text("empty.jsonl", "{\"prompt\": \"the stream\", \"completion\": \"\"}\n");
  RUN(2, "train --quiet --model model --train-file empty.jsonl --append-eos=false --output none");
  assert_non_null(strstr(said, "no token is supervised"));
  assert_int_not_equal(access("none", F_OK), 0);
  RUN(0, "train --model model --train-file empty.jsonl a.jsonl --append-eos=false --output some "
         "--max-steps 1 --max-length 16");
  assert_non_null(strstr(said, "sequences in which nothing is supervised, left out"));
}

static int set_up(void **state) {
  (void)state;
  if (!mkdtemp(directory) || chdir(directory) != 0) return -1;
  write_text("config.json", config);
  write_rows();
  RUN(0,
      "tokenizer train --quiet --train-file a.jsonl b.jsonl --vocab-size 290 --output tokenizer");
  RUN(0, "init --quiet --model-config config.json --tokenizer tokenizer --output model");
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  return chdir("/") == 0 && weir_directory_remove(directory) == WEIR_OK ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_packing_and_accumulation),
      cmocka_unit_test(test_eval),
      cmocka_unit_test(test_resume_with_and_without_cache),
      cmocka_unit_test(test_nothing_to_learn),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
