/* SPDX-License-Identifier: Apache-2.0
 *
 * weir train and weir eval from outside: a run that is killed and resumed gives the bits of one
 * that never stopped, plans are kept to the byte, and what is refused is refused early.
 *
 * Everything is made here by the program itself: text, a tokenizer, a model. */
#include "base/directory.h"
#include "base/files.h"
#include "train/loop.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[] = "/tmp/weir-train-XXXXXX";

/* ---- running ---- */

static char said[1 << 16];   /* standard error of the last run */
static char result[1 << 16]; /* standard output */

static void read_text(const char *name, char *text, size_t size) {
  FILE *file = fopen(name, "r");
  size_t n = file ? fread(text, 1, size - 1, file) : 0;
  text[n] = '\0';
  if (file) fclose(file);
}

/* Runs `weir` with the shell's words in the test's directory; returns the exit code. */
__attribute__((format(printf, 1, 2))) static int weir(const char *format, ...) {
  char words[4096], line[8192];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(words, sizeof words, format, arguments);
  va_end(arguments);
  snprintf(line, sizeof line, "%s %s >out.txt 2>err.txt", WEIR_PROGRAM, words);
  int status = system(line);
  read_text("out.txt", result, sizeof result);
  read_text("err.txt", said, sizeof said);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void expect(int code, int expected) {
  if (code != expected) fail_msg("exit code %d, expected %d: %s", code, expected, said);
}

static void expect_said(const char *part) {
  if (!strstr(said, part)) fail_msg("'%s' does not say '%s'", said, part);
}

/* Starts `weir` in the background. */
static pid_t start(const char *words) {
  char line[4096];
  snprintf(line, sizeof line, "exec %s %s >out.txt 2>err.txt", WEIR_PROGRAM, words);
  fflush(NULL);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
  }
  return child;
}

static int finish(pid_t child) {
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  read_text("err.txt", said, sizeof said);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void nap(double seconds) {
  const struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&time, NULL);
}

/* Waits until the file has a number of lines, or a minute has passed. */
static void await_lines(const char *name, int n_lines) {
  for (int i = 0; i < 60000; i++) {
    char text[1 << 16];
    int n = 0;
    read_text(name, text, sizeof text);
    for (const char *c = text; *c; c++)
      n += *c == '\n';
    if (n >= n_lines) return;
    nap(0.001);
  }
  fail_msg("%s never had %d lines", name, n_lines);
}

/* ---- comparing ---- */

static void assert_same_file(const char *a, const char *b) {
  weir_mapping x, y;
  if (weir_mapping_open(a, &x) != WEIR_OK || weir_mapping_open(b, &y) != WEIR_OK)
    fail_msg("%s", weir_status_message());
  assert_true(x.size_bytes > 0);
  if (x.size_bytes != y.size_bytes || memcmp(x.bytes, y.bytes, (size_t)x.size_bytes) != 0)
    fail_msg("%s and %s differ", a, b);
  weir_mapping_close(&x);
  weir_mapping_close(&y);
}

static json_t *load_json(const char *path) {
  json_error_t error;
  json_t *json = json_load_file(path, 0, &error);
  if (!json) fail_msg("%s: %s", path, error.text);
  return json;
}

/* metrics.jsonl without what a clock says. */
static json_t *load_metrics(const char *folder) {
  char path[256];
  snprintf(path, sizeof path, "%s/metrics.jsonl", folder);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  json_t *lines = json_array(), *line;
  while ((line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL))) {
    json_object_del(line, "step_seconds");
    json_object_del(line, "tokens_per_second");
    json_object_del(line, "eval_runtime");
    json_array_append_new(lines, line);
  }
  fclose(file);
  return lines;
}

static void assert_same_run(const char *a, const char *b, int n_steps) {
  static const char *const names[] = {"%s/model.safetensors",
                                      "%s/checkpoint-%d/optimizer.safetensors"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char x[256], y[256];
    snprintf(x, sizeof x, names[i], a, n_steps);
    snprintf(y, sizeof y, names[i], b, n_steps);
    assert_same_file(x, y);
  }
  json_t *x = load_metrics(a), *y = load_metrics(b);
  assert_true(json_array_size(x) > 0);
  assert_true(json_equal(x, y));
  json_decref(x);
  json_decref(y);
}

/* ---- what the tests share ---- */

static const char config[] =
    "{\"architectures\":[\"Qwen3ForCausalLM\"],\"model_type\":\"qwen3\",\"vocab_size\":300,"
    "\"hidden_size\":32,\"intermediate_size\":48,\"num_hidden_layers\":2,\"num_attention_heads\":4,"
    "\"num_key_value_heads\":2,\"head_dim\":8,\"hidden_act\":\"silu\","
    "\"max_position_embeddings\":512,\"rms_norm_eps\":1e-6,\"rope_theta\":10000,"
    "\"tie_word_embeddings\":true,\"initializer_range\":0.02,\"torch_dtype\":\"float32\"}";

#define COMMON                                                                                     \
  "train --model model --threads 1 --max-length 48 --learning-rate 0.01 "                          \
  "--lr-scheduler-type cosine --warmup-steps 3 --weight-decay 0.1 "
#define TRAIN COMMON "--train-file train.jsonl "

static void write_text(const char *name, const char *text) {
  assert_int_equal(weir_file_replace(name, text, strlen(text)), WEIR_OK);
}

/* Documents of different lengths, some longer than a row. */
static void write_documents(const char *name, int n_documents, unsigned seed) {
  static const char *const words[] = {"water", "stream", "weir",  "level", "holds",
                                      "and",   "the",    "flows", "over",  "gate"};
  FILE *file = fopen(name, "w");
  assert_non_null(file);
  for (int i = 0; i < n_documents; i++) {
    seed = seed * 1664525 + 1013904223;
    fprintf(file, "{\"text\": \"");
    for (unsigned k = 0; k < 1 + (seed >> 16) % 40; k++)
      fprintf(file, "%s ", words[(seed >> 8) % 7 * (k + 1) % 10]);
    fprintf(file, "\"}\n");
  }
  fclose(file);
}

static int set_up(void **state) {
  (void)state;
  if (!mkdtemp(directory) || chdir(directory) != 0) return -1;
  write_text("config.json", config);
  write_documents("train.jsonl", 60, 1);
  write_documents("validation.jsonl", 9, 2);
  expect(weir("tokenizer train --train-file train.jsonl --vocab-size 290 --output tokenizer"), 0);
  expect(weir("init --model-config config.json --tokenizer tokenizer --output model"), 0);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  return chdir("/") == 0 && weir_directory_remove(directory) == WEIR_OK ? 0 : -1;
}

/* ---- tests ---- */

#define RESUMED                                                                                    \
  TRAIN "--max-steps 60 --save-steps 7 --save-total-limit 2 --logging-steps 4 --eval-steps 10 "    \
        "--validation-file validation.jsonl --gradient-accumulation-steps 2 "

/* Killed at any moment, resumed from what is there, killed again, until it is done. */
static void kill_and_resume(const char *options, const char *output) {
  char words[2048];
  double delay = 0.05;
  for (int n_kills = 0;; n_kills++) {
    bool has_checkpoint = false;
    snprintf(words, sizeof words, "test -n \"$(ls -d %s/checkpoint-* 2>/dev/null)\"", output);
    has_checkpoint = system(words) == 0;
    snprintf(words, sizeof words, "%s --output %s %s", options, output,
             has_checkpoint ? "--resume-from-checkpoint latest" : "--overwrite-output-dir");
    pid_t child = start(words);
    if (n_kills >= 6) {
      expect(finish(child), 0);
      return;
    }
    nap(delay);
    delay *= 1.3;
    kill(child, SIGKILL);
    finish(child);
  }
}

static void test_kill_and_resume(void **state) {
  (void)state;
  expect(weir(RESUMED "--output whole"), 0);
  kill_and_resume(RESUMED, "killed");
  assert_same_run("whole", "killed", 60);
}

static void test_saved_dtype(void **state) {
  (void)state;
  static const char options[] = RESUMED "--save-dtype bf16 ";
  expect(weir("%s --output half", options), 0);
  kill_and_resume(options, "halves");
  assert_same_run("half", "halves", 60);
  json_t *config_json = load_json("half/config.json");
  const char *dtype = json_string_value(json_object_get(config_json, "torch_dtype"));
  if (!dtype) dtype = json_string_value(json_object_get(config_json, "dtype"));
  assert_string_equal(dtype, "bfloat16");
  json_decref(config_json);
}

/* Threads of a process that may be interrupted by the signal: products do not survive a handler. */
static int count_open_threads(pid_t process, int signal_number) {
  char line[512];
  int n = 0;
  snprintf(line, sizeof line, "grep -h SigBlk /proc/%d/task/*/status", (int)process);
  FILE *masks = popen(line, "r");
  assert_non_null(masks);
  while (fgets(line, sizeof line, masks)) {
    unsigned long long mask;
    assert_int_equal(sscanf(line, "SigBlk: %llx", &mask), 1);
    n += (mask >> (signal_number - 1) & 1) == 0;
  }
  pclose(masks);
  return n;
}

static void check_signal(int signal_number, int code, const char *output) {
  char words[2048], metrics[256];
  snprintf(words, sizeof words,
           TRAIN "--max-steps 1000000 --logging-steps 1 --save-steps 0 --output %s", output);
  snprintf(metrics, sizeof metrics, "%s/metrics.jsonl", output);
  pid_t child = start(words);
  await_lines(metrics, 3);
  assert_int_equal(count_open_threads(child, signal_number), 1); /* the one that waits for it */
  kill(child, signal_number);
  expect(finish(child), code);
  expect_said("--resume-from-checkpoint latest");
  snprintf(words, sizeof words, "grep -q 'stopped by a signal' %s/log.txt", output);
  assert_int_equal(system(words), 0);
  snprintf(words, sizeof words, "test -f %s/checkpoint-*/weir_state.json", output);
  assert_int_equal(system(words), 0);
}

static void test_signals(void **state) {
  (void)state;
  check_signal(SIGTERM, 143, "terminated");
  check_signal(SIGINT, 130, "interrupted");
  expect(weir(TRAIN "--max-steps 1000000 --logging-steps 1 --save-steps 0 --output terminated "
                    "--resume-from-checkpoint latest --dry-run"),
         0);
}

static void test_evaluation(void **state) {
  (void)state;
  expect(weir(RESUMED "--output evaluated"), 0);
  assert_string_equal(result, "evaluated\n");
  json_t *trained = load_json("evaluated/result.json");
  expect(weir("eval --model evaluated --file validation.jsonl --max-length 48 --threads 1 --json "
              "--per-token"),
         0);
  json_t *evaluated = json_loads(result, 0, NULL);
  assert_non_null(evaluated);
  const double loss = json_real_value(json_object_get(evaluated, "loss"));
  if (!(loss > 0.01 && loss < 6)) fail_msg("loss %g", loss);
  assert_true(json_real_value(json_object_get(trained, "eval_loss")) == loss);

  /* The losses of the tokens average to the loss. */
  json_t *losses = json_object_get(evaluated, "token_losses"), *value;
  double sum = 0;
  size_t n = 0, i;
  json_array_foreach(losses, i, value) {
    if (json_is_null(value)) continue;
    sum += json_real_value(value);
    n++;
  }
  assert_int_equal(n, json_integer_value(json_object_get(evaluated, "tokens")));
  assert_true(n > 50 && sum / (double)n > loss - 1e-6 && sum / (double)n < loss + 1e-6);
  json_decref(trained);
  json_decref(evaluated);

  write_text("ids.json", "[1, 2, 3, 4, 5]");
  expect(weir("eval --model evaluated --ids ids.json --threads 1"), 0);
  assert_non_null(strstr(result, "tokens 4\n"));
}

/* Over settings that take different memory: arenas to the byte, the process below its figure. */
static void test_planned_is_used(void **state) {
  (void)state;
  static const char *const variants[] = {
      "",
      "--gradient-accumulation-steps 3",
      "--per-device-train-batch-size 4 --gradient-accumulation-steps 2 --stash all",
      "--validation-file validation.jsonl --stash input",
      "--validation-split 0.3 --max-length 300 --chunk-rows 64 --head-rows 32 --head-columns 100",
      "--save-dtype bf16 --num-train-epochs 2 --max-steps -1",
      "--activation-dtype bf16 --stash all --validation-file validation.jsonl",
      "--activation-dtype bf16 --max-length 300 --chunk-rows 64 --gradient-accumulation-steps 2",
      "--bf16 --head-columns 100 --validation-file validation.jsonl",
      "--weight-dtype bf16 --master-weights=false --save-dtype f32 --stash all",
  };
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
    const char *steps = strstr(variants[i], "max-steps") ? "" : "--max-steps 25";
    const char *length = strstr(variants[i], "max-length") ? "" : "--max-length 48";
    expect(weir("train --model model --threads 1 --train-file train.jsonl %s %s %s "
                "--output planned --overwrite-output-dir",
                steps, length, variants[i]),
           0);
    json_t *json = load_json("planned/result.json");
    const json_t *planned = json_object_get(json, "planned_bytes");
    const json_t *used = json_object_get(json, "used_bytes");
    assert_true(json_integer_value(json_object_get(planned, "run")) > 0);
    assert_true(json_integer_value(json_object_get(planned, "step")) > 0);
    if (!json_equal(planned, used)) fail_msg("%s: planned and used differ", variants[i]);
#ifndef __SANITIZE_ADDRESS__ /* its shadow is not planned */
    assert_true(json_integer_value(json_object_get(json, "process_peak_bytes")) <=
                json_integer_value(json_object_get(json, "planned_peak_bytes")));
#endif
    json_decref(json);
  }
}

static void test_memory(void **state) {
  (void)state;
  expect(weir(TRAIN "--output too-large --memory 5MB"), 3);
  expect_said("--memory is");
  expect_said("largest holders");
  assert_false(weir_path_is_directory("too-large"));
  expect(weir("train --model model --threads 1 --train-file missing.txt --output too-large "
              "--memory 5MB"),
         3);                           /* before any data is read */
  write_documents("long.txt", 400, 3); /* as text, one long document: the model fits, its row not */
  expect(weir("train --model model --threads 1 --train-file long.txt --output too-large "
              "--max-length 8192 --stash all --memory 45MB"),
         3);
  expect_said("what would fit");
  expect_said("--stash");
  assert_false(weir_path_is_directory("too-large"));
  expect(weir(TRAIN "--output not-there --dry-run"), 0);
  assert_non_null(strstr(result, "peak of the process"));
  assert_false(weir_path_is_directory("not-there"));
  expect(weir(TRAIN "--max-steps 4 --output fits --memory 1GB"), 0);
}

/* The figure that weir plan announces does not depend on chance, and weir train accepts it. */
static void test_announced_is_accepted(void **state) {
  (void)state;
  const json_int_t tolerance_bytes = 4 << 20; /* the first run after linking holds 2 MB more */
  json_int_t least = INT64_MAX, most = 0;
  for (int i = 0; i < 5; i++) {
    expect(weir("plan --model model --max-length 48 --json"), 0);
    json_t *plan = json_loads(result, 0, NULL);
    const json_int_t peak_bytes = json_integer_value(json_object_get(plan, "peak_bytes"));
    json_decref(plan);
    assert_true(peak_bytes > 0);
    if (peak_bytes < least) least = peak_bytes;
    if (peak_bytes > most) most = peak_bytes;
  }
  if (!(most - least <= tolerance_bytes))
    fail_msg("from %lld to %lld bytes were announced", (long long)least, (long long)most);
  expect(weir("train --model model --train-file train.jsonl --max-length 48 --max-steps 2 "
              "--output announced --memory %lld",
              (long long)(most + tolerance_bytes)),
         0);
}

/* Refused with nothing left behind, so that the next try is not told of a directory in use. */
static void test_refused_outputs(void **state) {
  (void)state;
  expect(weir(TRAIN "--max-steps 4000000 --save-steps 1 --output full/below"), 1);
  expect_said("are free: make room");
  assert_false(weir_path_is_directory("full"));
  expect(weir(TRAIN "--max-steps 2 --output config.json/below"), 2);
  expect(weir(TRAIN "--max-steps 2 --output /proc/weir/below"), 2);
  expect(weir("train --model model --train-file missing.txt --output config.json/below"), 2);
  expect_said("config.json/below"); /* before any data is read */
  weir_training_settings settings = {.schedule = {.n_steps = 100}, .save_steps = 10};
  assert_int_equal(weir_training_n_checkpoints(&settings, 0), 10);
  assert_int_equal(weir_training_n_checkpoints(&settings, 85), 2);
  settings.save_total_limit = 3; /* and the one being written */
  assert_int_equal(weir_training_n_checkpoints(&settings, 0), 4);
  assert_int_equal(weir_training_n_checkpoints(&settings, 85), 2);
  settings.save_steps = 0;
  assert_int_equal(weir_training_n_checkpoints(&settings, 0), 1);
}

/* A curve from step 0; the best checkpoint is that of the lowest loss after it. */
static void test_best_checkpoint(void **state) {
  (void)state;
  expect(weir(TRAIN "--max-steps 2 --output no-start --eval-on-start"), 2);
  expect_said("eval_on_start needs");
  expect(weir(TRAIN "--max-steps 24 --save-steps 4 --eval-steps 4 --logging-steps 100 "
                    "--validation-file "
                    "validation.jsonl --eval-on-start --output best"),
         0);
  json_t *state_json = load_json("best/checkpoint-24/trainer_state.json"), *entry;
  double lowest = HUGE_VAL, highest = 0;
  json_int_t lowest_step = -1;
  size_t i, n_evaluations = 0;
  json_array_foreach(json_object_get(state_json, "log_history"), i, entry) {
    if (!json_object_get(entry, "eval_loss")) continue;
    const json_int_t step = json_integer_value(json_object_get(entry, "step"));
    const double loss = json_real_value(json_object_get(entry, "eval_loss"));
    assert_int_equal(step, 4 * n_evaluations++);
    if (step > 0 && loss < lowest) lowest = loss, lowest_step = step;
    if (step > 0 && loss > highest) highest = loss;
  }
  assert_int_equal(n_evaluations, 7);
  assert_true(lowest < highest);
  assert_true(json_real_value(json_object_get(state_json, "best_metric")) == lowest);
  char path[64];
  snprintf(path, sizeof path, "best/checkpoint-%lld", (long long)lowest_step);
  assert_string_equal(json_string_value(json_object_get(state_json, "best_model_checkpoint")),
                      path);
  json_decref(state_json);
}

static void test_lock(void **state) {
  (void)state;
  pid_t child = start(TRAIN "--max-steps 1000000 --logging-steps 1 --save-steps 0 --output locked");
  await_lines("locked/metrics.jsonl", 1);
  expect(weir(TRAIN "--output locked --overwrite-output-dir"), 2);
  expect_said("another weir");
  kill(child, SIGKILL);
  finish(child);
  expect(weir(TRAIN "--output locked"), 2);
  expect_said("not empty");
  expect(weir(TRAIN "--output locked --resume-from-checkpoint latest"), 2);
  expect_said("no checkpoint");
  expect(weir(TRAIN "--max-steps 4 --output locked --overwrite-output-dir"), 0);
}

static void test_resuming_another_run(void **state) {
  (void)state;
  expect(weir(RESUMED "--output other"), 0);
  expect(weir(RESUMED "--output other --resume-from-checkpoint latest"), 0); /* nothing to do */
  expect(weir(RESUMED "--output elsewhere --resume-from-checkpoint other/checkpoint-56"), 0);
  assert_same_run("other", "elsewhere", 60);
  expect(weir(RESUMED "--output other --resume-from-checkpoint latest --max-grad-norm 2"), 2);
  expect_said("max_grad_norm was 1.0 and is now 2.0");
  expect(weir(RESUMED "--output other --resume-from-checkpoint latest --chunk-rows 64"), 2);
  expect_said("chunk_rows was \"whole blocks\" and is now 64");
  expect(weir(RESUMED "--output other --resume-from-checkpoint latest --head-columns 100"), 2);
  expect_said("head_columns was 8192 and is now 100");
  expect(weir(RESUMED "--output other --resume-from-checkpoint latest --head-rows 1024"), 0);
  expect(weir(RESUMED "--output other --resume-from-checkpoint other/checkpoint-5"), 2);
  expect_said("no such checkpoint");
  write_documents("longer.jsonl", 61, 1);
  expect(weir(COMMON "--train-file longer.jsonl --max-steps 60 --gradient-accumulation-steps 2 "
                     "--output other --resume-from-checkpoint latest"),
         2);
  expect_said("training data");
}

static void test_bad_data(void **state) {
  (void)state;
  write_text("empty.txt", "");
  write_text("broken.jsonl", "{\"text\": \"fine\"}\n{\"text\": \n");
  write_text("latin.txt", "caf\xe9");
  write_text("one.txt", "one document");
  static const struct {
    const char *words, *part;
  } cases[] = {
      {"--train-file empty.txt", "empty.txt"},
      {"--train-file missing.txt", "missing.txt"},
      {"--train-file broken.jsonl", "broken.jsonl:2"},
      {"--train-file latin.txt", "latin.txt: byte 3"},
      {"--train-file one.txt --validation-split 0.5", "validation_split"},
      {"--train-file one.txt --max-steps 0", "max_steps"},
      {"--train-file one.txt --overwrite-output-dir --resume-from-checkpoint latest", "exclude"},
      {"--train-file one.txt --warmup-steps=9 --max-steps 5", "warmup_steps"},
      {"--train-file one.txt --lr-scheduler-type constant --warmup-steps 3", "no warm-up"},
      {"--train-file one.txt --lr-scheduler-type cosine --min-lr-rate 0.1", "min_lr_rate"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    expect(weir("train --model model --threads 1 --output bad %s", cases[i].words), 2);
    expect_said(cases[i].part);
    assert_false(weir_path_is_directory("bad"));
  }
  write_text("file", "");
  expect(weir("train --model model --threads 1 --output file --train-file one.txt"), 2);
  expect_said("file: is a file");
  expect(weir("train --model model --threads 1 --output /proc/nowhere --train-file one.txt"), 2);
  expect_said("/proc/nowhere");
  expect(weir("eval --model model --threads 1"), 2);
  expect_said("--file FILE or --ids");
  write_text("beyond.json", "[1, 300]");
  expect(weir("eval --model model --threads 1 --ids beyond.json"), 2);
  expect_said("300");
}

/* What I4 promises, through the program: the plan does not change the bits. */
static void test_plan_changes_no_bits(void **state) {
  (void)state;
  static const char *const precisions[] = {"", "--activation-dtype bf16", "--bf16",
                                           "--bf16 --master-weights=false --stochastic-rounding"};
  for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++) {
    expect(weir("train --model model --train-file train.jsonl --max-length 400 --max-steps 8 "
                "--threads 1 --output plan-a --overwrite-output-dir --stash all --chunk-rows 512 "
                "%s",
                precisions[i]),
           0);
    expect(weir("train --model model --train-file train.jsonl --max-length 400 --max-steps 8 "
                "--threads 2 --output plan-b --overwrite-output-dir --stash input "
                "--chunk-rows 256 %s",
                precisions[i]),
           0);
    assert_same_file("plan-a/model.safetensors", "plan-b/model.safetensors");
  }
}

/* The dtypes are said, kept, and cannot change on the way; what resumes gives the same bits. */
static void test_precision(void **state) {
  (void)state;
#define ROUNDED TRAIN "--max-steps 12 --save-steps 5 --activation-dtype bf16 "
  expect(weir(ROUNDED "--output rounded"), 0);
  expect_said("activations bf16, stash bf16");
  expect(weir(TRAIN "--max-steps 12 --save-steps 5 --output exact"), 0);
  expect_said("activations f32, stash f32");
  expect(weir(ROUNDED "--output rounded-again --resume-from-checkpoint rounded/checkpoint-5"), 0);
  assert_same_file("rounded/model.safetensors", "rounded-again/model.safetensors");
  expect(weir(TRAIN "--max-steps 12 --output exact --resume-from-checkpoint rounded/checkpoint-5"),
         2);
  expect_said("activations_dtype was \"bf16\" and is now \"f32\"");
  json_t *exact = load_metrics("exact"), *rounded = load_metrics("rounded");
  assert_false(json_equal(exact, rounded));
  json_decref(exact);
  json_decref(rounded);
}

/* Weights of bf16 with masters and without, saved in whatever dtype: resuming gives the same bits.
 */
static void test_weight_dtype(void **state) {
  (void)state;
  static const struct {
    const char *way, *dtype;
    bool rounds; /* the file of weights, so that the checkpoint holds them once more */
  } cases[] = {
      {"", "f32", false},
      {"", "bf16", true},
      {"--master-weights=false", "bf16", false},
      {"--master-weights=false --stochastic-rounding", "f16", true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
#define BF16 TRAIN "--max-steps 9 --save-steps 4 --bf16 %s --save-dtype %s "
    const char *way = cases[i].way, *dtype = cases[i].dtype;
    expect(weir(BF16 "--output whole-bf16 --overwrite-output-dir", way, dtype), 0);
    expect_said(*way ? "master_weights bf16" : "master_weights f32");
    expect(weir(BF16 "--output resumed-bf16 --overwrite-output-dir", way, dtype), 0);
    expect(weir("inspect whole-bf16/checkpoint-8/optimizer.safetensors"), 0);
    assert_int_equal(strstr(result, "master.0") != NULL, cases[i].rounds);
    assert_int_equal(system("rm -r resumed-bf16/checkpoint-8 resumed-bf16/checkpoint-9"), 0);
    expect(weir(BF16 "--output resumed-bf16 --resume-from-checkpoint latest", way, dtype), 0);
    assert_same_run("whole-bf16", "resumed-bf16", 9);
  }
  expect(weir(TRAIN "--max-steps 9 --output whole-bf16 --resume-from-checkpoint latest"), 2);
  expect_said("dtype was \"bf16\" and is now \"f32\"");
  expect(weir(TRAIN "--output x --bf16 --weight-dtype f32"), 2);
  expect_said("contradict");
  expect(weir("train --config whole-bf16/options.yaml --output repeated"),
         0); /* agrees with itself */
  expect(weir(TRAIN "--output x --master-weights=false"), 2);
  expect_said("master_weights false needs weight_dtype bf16");
  expect(weir(TRAIN "--output x --bf16 --stochastic-rounding"), 2);
  expect_said("stochastic_rounding needs");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kill_and_resume),
      cmocka_unit_test(test_saved_dtype),
      cmocka_unit_test(test_signals),
      cmocka_unit_test(test_evaluation),
      cmocka_unit_test(test_planned_is_used),
      cmocka_unit_test(test_memory),
      cmocka_unit_test(test_announced_is_accepted),
      cmocka_unit_test(test_refused_outputs),
      cmocka_unit_test(test_best_checkpoint),
      cmocka_unit_test(test_lock),
      cmocka_unit_test(test_resuming_another_run),
      cmocka_unit_test(test_bad_data),
      cmocka_unit_test(test_plan_changes_no_bits),
      cmocka_unit_test(test_precision),
      cmocka_unit_test(test_weight_dtype),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
