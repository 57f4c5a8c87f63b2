/* SPDX-License-Identifier: Apache-2.0
 *
 * weir init and weir inspect, as a user runs them. */
#include "base/files.h"
#include "model/weights.h"
#include "support/program.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

static const char config[] =
    "{\"model_type\":\"qwen3\",\"vocab_size\":5,\"hidden_size\":32,\"intermediate_size\":40,"
    "\"num_hidden_layers\":2,\"num_attention_heads\":4,\"head_dim\":8,\"torch_dtype\":\"bfloat16\","
    "\"curious\":1}";
static const char tokenizer[] =
    "{\"version\":\"1.0\",\"added_tokens\":[],\"normalizer\":null,\"pre_tokenizer\":{\"type\":"
    "\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":true},"
    "\"post_processor\":null,\"decoder\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_"
    "offsets\":true,"
    "\"use_regex\":true},\"model\":{\"type\":\"BPE\","
    "\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]}}";

static char directory[] = "/tmp/weir-init-XXXXXX";
static char output[65536];

static void write_text(const char *name, const char *text) {
  char *path = weir_path_join(directory, name);
  assert_int_equal(weir_file_replace(path, text, strlen(text)), WEIR_OK);
  free(path);
}

static int make_directory(void **state) {
  (void)state;
  if (!mkdtemp(directory)) return -1;
  write_text("config.json", config);
  write_text("tokenizer.json", tokenizer);
  return 0;
}

static int remove_directory(void **state) {
  (void)state;
  char command[256];
  snprintf(command, sizeof command, "rm -r %s", directory);
  return system(command);
}

static int init(const char *config_name, const char *out, const char *more) {
  return program_run(output, sizeof output,
                     "init --model-config %s/%s --tokenizer %s/tokenizer.json --output %s/%s %s",
                     directory, config_name, directory, directory, out, more);
}

static weir_mapping map(const char *folder, const char *name) {
  char path[512];
  weir_mapping mapping;
  snprintf(path, sizeof path, "%s/%s/%s", directory, folder, name);
  assert_int_equal(weir_mapping_open(path, &mapping), WEIR_OK);
  return mapping;
}

static void assert_same_model(const char *a, const char *b, bool same) {
  weir_mapping x = map(a, "model.safetensors"), y = map(b, "model.safetensors");
  assert_int_equal(x.size_bytes, y.size_bytes);
  assert_int_equal(memcmp(x.bytes, y.bytes, x.size_bytes) == 0, same);
  weir_mapping_close(&x);
  weir_mapping_close(&y);
}

static void a_new_model_is_complete(void **state) {
  (void)state;
  if (init("config.json", "new", "") != 0) fail_msg("%s", output);
  assert_non_null(strstr(output, "curious"));
  assert_non_null(strstr(output, "seed 42"));
  char path[512];
  snprintf(path, sizeof path, "%s/new", directory);
  weir_model_config read;
  weir_parameter_table table;
  assert_int_equal(weir_model_config_read(path, &read), WEIR_OK);
  assert_int_equal(read.architecture, WEIR_ARCHITECTURE_QWEN3);
  assert_int_equal(read.dtype, WEIR_DTYPE_BF16);
  assert_int_equal(weir_parameter_table_create(&read, &table), WEIR_OK);
  assert_int_equal(weir_weights_check(path, &read, &table), WEIR_OK);
  weir_parameter_table_destroy(&table);
  weir_mapping copied = map("new", "tokenizer.json");
  assert_int_equal(copied.size_bytes, sizeof tokenizer - 1);
  assert_memory_equal(copied.bytes, tokenizer, sizeof tokenizer - 1);
  weir_mapping_close(&copied);
}

static void one_seed_one_model(void **state) {
  (void)state;
  assert_int_equal(init("config.json", "seed-7", "--seed 7 --threads 1"), 0);
  assert_int_equal(init("config.json", "seed-7-again", "--seed=7 --threads 2"), 0);
  assert_int_equal(init("config.json", "seed-8", "--seed 8"), 0);
  assert_same_model("seed-7", "seed-7-again", true);
  assert_same_model("seed-7", "seed-8", false);
}

static void refuses_and_writes_nothing(void **state) {
  (void)state;
  struct stat about;
  char path[512];
  snprintf(path, sizeof path, "%s/refused", directory);
  write_text("narrow.json", "{\"model_type\":\"llama\",\"vocab_size\":2,\"hidden_size\":32,"
                            "\"intermediate_size\":40,\"num_hidden_layers\":2,"
                            "\"num_attention_heads\":4}");
  assert_int_equal(init("narrow.json", "refused", ""), 2);
  assert_non_null(strstr(output, "vocab_size"));
  assert_int_equal(init("absent.json", "refused", ""), 2);
  assert_non_null(strstr(output, "absent.json"));
  assert_int_equal(program_run(output, sizeof output,
                               "init --model-config %s/config.json --tokenizer %s/absent --output "
                               "%s/refused",
                               directory, directory, directory),
                   2);
  assert_int_not_equal(stat(path, &about), 0);
  assert_int_equal(init("config.json", ".", ""), 2);
  assert_non_null(strstr(output, "not empty"));
  assert_int_equal(init("config.json", "config.json/below", ""), 2);
}

static void inspect_lists_every_tensor(void **state) {
  (void)state;
  assert_int_equal(program_run(output, sizeof output,
                               "inspect --quiet %s/golden/gpt2/model.safetensors", WEIR_TEST_DIR),
                   0);
  assert_non_null(strstr(output, "transformer.wte.weight\tF32\t[97, 32]\n"));
  assert_non_null(strstr(output, "transformer.h.1.attn.c_attn.bias\tF32\t[96]\n"));
  int n_lines = 0;
  for (const char *c = output; *c; c++)
    n_lines += *c == '\n';
  assert_int_equal(n_lines, 28);
}

static void inspect_says_why_a_file_is_refused(void **state) {
  (void)state;
  write_text("bad.safetensors", "\x08\0\0\0\0\0\0\0{}");
  assert_int_equal(program_run(output, sizeof output, "inspect %s/bad.safetensors", directory), 2);
  assert_non_null(strstr(output, "bad.safetensors"));
  assert_int_equal(program_run(output, sizeof output, "inspect %s", directory), 2);
  assert_non_null(strstr(output, "directory"));
}

/* A name may not move the cursor. */
static void inspect_escapes_what_a_file_says(void **state) {
  (void)state;
  static const char header[] =
      "{\"a\\u001b[2J\\n\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}";
  char path[512];
  snprintf(path, sizeof path, "%s/escape.safetensors", directory);
  char bytes[8 + sizeof header] = {(char)(sizeof header - 1)};
  memcpy(bytes + 8, header, sizeof header - 1);
  assert_int_equal(weir_file_replace(path, bytes, 8 + sizeof header - 1), WEIR_OK);
  assert_int_equal(program_run(output, sizeof output, "inspect %s", path), 0);
  assert_null(strchr(output, '\x1b'));
  assert_non_null(strstr(output, "a\\x1b[2J\\x0a\tU8\t[0]\n"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_new_model_is_complete),
      cmocka_unit_test(one_seed_one_model),
      cmocka_unit_test(refuses_and_writes_nothing),
      cmocka_unit_test(inspect_lists_every_tensor),
      cmocka_unit_test(inspect_says_why_a_file_is_refused),
      cmocka_unit_test(inspect_escapes_what_a_file_says),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
