/* SPDX-License-Identifier: Apache-2.0 */
#include "support/tiny_training.h"

#include "base/directory.h"
#include "base/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { COMMAND_BYTES = 4096 };

static char directory[] = "/tmp/weir-torture-XXXXXX";
static char said[1 << 14];

static const char config[] =
    "{\"architectures\":[\"Qwen3ForCausalLM\"],\"model_type\":\"qwen3\",\"vocab_size\":258,"
    "\"hidden_size\":8,\"intermediate_size\":8,\"num_hidden_layers\":1,\"num_attention_heads\":2,"
    "\"num_key_value_heads\":1,\"head_dim\":4,\"hidden_act\":\"silu\","
    "\"max_position_embeddings\":64,\"rms_norm_eps\":1e-6,\"rope_theta\":10000,"
    "\"tie_word_embeddings\":true,\"initializer_range\":0.02,\"torch_dtype\":\"float32\"}";

static void write_documents(void) {
  FILE *file = fopen("train.jsonl", "w");
  assert_non_null(file);
  for (int i = 0; i < 40; i++)
    fprintf(file, "{\"text\": \"%d weirs hold %d streams\"}\n", i, i * i % 17);
  fclose(file);
}

int tiny_training_set_up(void **state) {
  (void)state;
  setenv("OMP_WAIT_POLICY", "passive", 1); /* or the program starts itself again with it */
  if (!mkdtemp(directory) || chdir(directory) != 0) return -1;
  write_documents();
  assert_int_equal(weir_file_replace("config.json", config, strlen(config)), WEIR_OK);
  tiny_training_expect(
      tiny_training_run(
          "", "tokenizer train --train-file train.jsonl --vocab-size 258 --output tokenizer"),
      0);
  tiny_training_expect(
      tiny_training_run("", "init --model-config config.json --tokenizer tokenizer --output model"),
      0);
  return 0;
}

int tiny_training_tear_down(void **state) {
  (void)state;
  return chdir("/") == 0 && weir_directory_remove(directory) == WEIR_OK ? 0 : -1;
}

static int exit_code(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void read_said(void) {
  FILE *file = fopen("err.txt", "r");
  size_t n = file ? fread(said, 1, sizeof said - 1, file) : 0;
  said[n] = '\0';
  if (file) fclose(file);
}

int tiny_training_run(const char *prefix, const char *format, ...) {
  char words[COMMAND_BYTES / 2], line[COMMAND_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(words, sizeof words, format, arguments);
  va_end(arguments);
  snprintf(line, sizeof line, "exec env %s %s %s >out.txt 2>err.txt", prefix, WEIR_PROGRAM, words);
  const int status = system(line);
  read_said();
  return exit_code(status);
}

const char *tiny_training_said(void) {
  return said;
}

void tiny_training_expect(int code, int expected) {
  if (code != expected) fail_msg("exit code %d, expected %d: %s", code, expected, said);
}

pid_t tiny_training_start(const char *format, ...) {
  char words[COMMAND_BYTES / 2], line[COMMAND_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(words, sizeof words, format, arguments);
  va_end(arguments);
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

int tiny_training_finish(pid_t child) {
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  read_said();
  return exit_code(status);
}

void tiny_training_shell(const char *format, ...) {
  char line[COMMAND_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  const int code = exit_code(system(line));
  if (code != 0) fail_msg("'%s' ended with %d", line, code);
}

void assert_same_bytes(const char *path, const char *other) {
  weir_mapping x, y;
  if (weir_mapping_open(path, &x) != WEIR_OK || weir_mapping_open(other, &y) != WEIR_OK)
    fail_msg("%s", weir_status_message());
  assert_true(x.size_bytes > 0);
  if (x.size_bytes != y.size_bytes || memcmp(x.bytes, y.bytes, (size_t)x.size_bytes) != 0)
    fail_msg("%s and %s differ", path, other);
  weir_mapping_close(&x);
  weir_mapping_close(&y);
}

bool tiny_training_is_long(void) {
  const char *torture = getenv("WEIR_TORTURE");
  return torture && strcmp(torture, "long") == 0;
}
