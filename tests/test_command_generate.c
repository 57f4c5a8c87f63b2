/* SPDX-License-Identifier: Apache-2.0
 *
 * weir generate, as a user runs it: on a random model with a vocabulary learned here, and
 * on models without a tokenizer. */
#include "base/files.h"
#include "support/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define GOLDEN WEIR_TEST_DIR "/golden/"

static const char config[] =
    "{\"model_type\":\"llama\",\"vocab_size\":300,\"hidden_size\":32,\"intermediate_size\":40,"
    "\"num_hidden_layers\":2,\"num_attention_heads\":4,\"num_key_value_heads\":2,"
    "\"max_position_embeddings\":64,\"bos_token_id\":10,\"initializer_range\":0.5}";

static const char corpus[] =
    "A weir is a low dam across a stream. Behind it the water stands at one level, whatever comes "
    "down from the hills, and over its crest it runs on as a thin sheet. Millers built weirs to "
    "lead the water to their wheels, and barges passed them through locks at the side. A weir does "
    "not stop the stream; it only says how high the water may stand, and the stream obeys.\n";

static char directory[] = "/tmp/weir-generate-XXXXXX";
static char output[65536], other[2 * sizeof output];

static void write_text(const char *name, const char *text) {
  char *path = weir_path_join(directory, name);
  assert_int_equal(weir_file_replace(path, text, strlen(text)), WEIR_OK);
  free(path);
}

static int make_model(void **state) {
  (void)state;
  if (!mkdtemp(directory)) return -1;
  write_text("config.json", config);
  write_text("corpus.txt", corpus);
  return program_run(output, sizeof output,
                     "tokenizer train --vocab-size 300 --train-file %s/corpus.txt "
                     "--output %s/tokenizer",
                     directory, directory) ||
         program_run(
             output, sizeof output,
             "init --model-config %s/config.json --tokenizer %s/tokenizer --output %s/model",
             directory, directory, directory);
}

static int remove_directory(void **state) {
  (void)state;
  char command[256];
  snprintf(command, sizeof command, "rm -r %s", directory);
  return system(command);
}

static int n_threads = 1;

/* What the model in `directory` writes, in `output`. */
static void generate(const char *options) {
  if (program_run(output, sizeof output, "generate --quiet --threads %d --model %s/model %s",
                  n_threads, directory, options) != 0)
    fail_msg("%s: %s", options, output);
}

/* Generates with both options and compares. */
static bool gives_the_same(const char *a, const char *b) {
  generate(a);
  strcpy(other, output);
  generate(b);
  return strcmp(output, other) == 0;
}

#define HOT "--prompt 'A weir' --max-new-tokens 24 --temperature 1.5 "

static void text_is_what_the_ids_say(void **state) {
  (void)state;
  generate(HOT "--output-ids");
  write_text("ids.json", output);
  assert_int_equal(program_run(output, sizeof output,
                               "tokenize --tokenizer %s/model --decode %s/%s", directory, directory,
                               "ids.json"),
                   0);
  snprintf(other, sizeof other, "%s\n", output);
  generate(HOT);
  assert_string_equal(output, other);
  assert_true(strlen(output) > 10);
}

static void echo_puts_the_prompt_first(void **state) {
  (void)state;
  generate(HOT);
  snprintf(other, sizeof other, "A weir%s", output);
  generate(HOT "--echo");
  assert_string_equal(output, other);

  assert_int_equal(program_run(other, sizeof other,
                               "generate --quiet --threads 1 --model " GOLDEN "llama --ids " GOLDEN
                               "llama/ids.json --max-new-tokens 2 "
                               "--output-ids --echo"),
                   0);
  char ids[4096] = "";
  FILE *file = fopen(GOLDEN "llama/ids.json", "r");
  assert_non_null(file);
  assert_non_null(fgets(ids, sizeof ids, file));
  fclose(file);
  *strchr(ids, ']') = '\0';
  assert_memory_equal(other, ids, strlen(ids));
  assert_int_equal(other[strlen(other) - 2], ']');
}

static void seed_decides_and_nothing_else(void **state) {
  (void)state;
  assert_true(gives_the_same(HOT, HOT "--seed 42"));
  assert_false(gives_the_same(HOT, HOT "--seed 43"));
#define COLD "--prompt 'A weir' --max-new-tokens 24 "
  assert_true(gives_the_same(COLD, COLD "--seed 43"));
  assert_true(gives_the_same(COLD, COLD "--temperature 2 --top-k 1"));
  assert_true(gives_the_same(COLD, COLD "--device ref"));
  generate(HOT);
  strcpy(other, output);
  n_threads = 2;
  generate(HOT);
  n_threads = 1;
  assert_string_equal(output, other);
}

static void prompts_come_from_files_too(void **state) {
  (void)state;
  write_text("prompt.txt", "A weir");
  char options[512];
  snprintf(options, sizeof options, "--prompt-file %s/prompt.txt --max-new-tokens 9", directory);
  assert_true(gives_the_same("--prompt 'A weir' --max-new-tokens 9", options));
}

static void an_empty_prompt_begins_with_bos(void **state) {
  (void)state;
  write_text("bos.json", "[10]");
  char options[512];
  snprintf(options, sizeof options, "--ids %s/bos.json --max-new-tokens 9", directory);
  assert_true(gives_the_same(options, "--prompt '' --max-new-tokens 9"));
}

/* The third new token is made to end the text, in generation_config.json. */
static void an_eos_is_among_the_ids_but_not_in_the_text(void **state) {
  (void)state;
  int a, b, c, n_used = 0;
  generate(HOT "--output-ids");
  assert_int_equal(sscanf(output, "[%d, %d, %d%n", &a, &b, &c, &n_used), 3);
  assert_true(c != a && c != b);
  snprintf(other, sizeof other, "{\"eos_token_id\": [299, %d]}", c);
  write_text("model/generation_config.json", other);
  snprintf(other, sizeof other, "%.*s]\n", n_used, output);
  generate(HOT "--output-ids");
  assert_string_equal(output, other);
  bool same = gives_the_same(HOT, "--prompt 'A weir' --max-new-tokens 2 --temperature 1.5");
  write_text("model/generation_config.json", "{}");
  assert_true(same);
}

static void refuse(const char *part, const char *arguments) {
  int code = program_run(output, sizeof output, "generate %s", arguments);
  assert_int_equal(code, WEIR_BAD_INPUT);
  if (!strstr(output, part)) fail_msg("'%s' lacks '%s'", output, part);
}

static void bad_input_is_refused(void **state) {
  (void)state;
#define LLAMA "--model " GOLDEN "llama --threads 1 --output-ids --max-new-tokens "
#define IDS   "--ids " GOLDEN "llama/ids.json "
  refuse("nothing is ever downloaded", "--model Qwen/Qwen3-0.6B --prompt a --max-new-tokens 5");
  refuse("one of --prompt", LLAMA "5");
  refuse("one of --prompt", LLAMA "5 --prompt a " IDS);
  refuse("--max-new-tokens", "--model " GOLDEN "llama " IDS);
  refuse("max", LLAMA "0 " IDS);
  refuse("temperature", LLAMA "5 --temperature -1 " IDS);
  refuse("top-p", LLAMA "5 --top-p 0 " IDS);
  refuse("tokenizer.json", LLAMA "5 --prompt a");
  refuse("48 positions",
         "--model " GOLDEN "gpt2 --output-ids --max-new-tokens 6 --ids " GOLDEN "gpt2/ids.json");
  refuse("no-such-file", LLAMA "5 --ids no-such-file.json");
}

static void what_sampling_alone_heeds_is_a_warning(void **state) {
  (void)state;
  int code = program_run(output, sizeof output, "generate " LLAMA "2 --top-k 5 --top-p 0.5 " IDS);
  assert_int_equal(code, 0);
  assert_non_null(strstr(output, "top_k changes nothing at temperature 0"));
  assert_non_null(strstr(output, "top_p changes nothing at temperature 0"));
  code = program_run(output, sizeof output, "generate " LLAMA "2 --top-k 5 --temperature 1 " IDS);
  assert_int_equal(code, 0);
  assert_null(strstr(output, "changes nothing"));
}

static void bad_files_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *ids, *part;
  } cases[] = {
      {"[1, 97]", "97 is not a token id: the vocabulary has 0 to 96"},
      {"[-1]", "-1 is not a token id"},
      {"[1, 2.5]", "expected an integer"},
      {"{\"ids\": [1]}", "expected a JSON array of ids"},
      {"[1, 2", ":1:5: not JSON"},
      {"[]", "no ids"},
  };
  char arguments[512];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_text("bad.json", cases[i].ids);
    snprintf(arguments, sizeof arguments, LLAMA "5 --ids %s/bad.json", directory);
    refuse(cases[i].part, arguments);
  }
  write_text("bad.txt", "caf\xe9");
  snprintf(arguments, sizeof arguments,
           "--model %s/model --max-new-tokens 5 --prompt-file %s/bad.txt", directory, directory);
  refuse("bad.txt", arguments);
}

static void rope_beyond_its_length_is_a_warning(void **state) {
  (void)state;
  int code =
      program_run(output, sizeof output, "generate " LLAMA "22 --ids " GOLDEN "llama/ids.json");
  assert_int_equal(code, 0);
  assert_non_null(strstr(output, "max_position_embeddings"));
  code = program_run(output, sizeof output, "generate " LLAMA "21 --ids " GOLDEN "llama/ids.json");
  assert_int_equal(code, 0);
  assert_null(strstr(output, "max_position_embeddings"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_is_what_the_ids_say),
      cmocka_unit_test(echo_puts_the_prompt_first),
      cmocka_unit_test(seed_decides_and_nothing_else),
      cmocka_unit_test(prompts_come_from_files_too),
      cmocka_unit_test(an_empty_prompt_begins_with_bos),
      cmocka_unit_test(an_eos_is_among_the_ids_but_not_in_the_text),
      cmocka_unit_test(bad_input_is_refused),
      cmocka_unit_test(what_sampling_alone_heeds_is_a_warning),
      cmocka_unit_test(bad_files_are_refused),
      cmocka_unit_test(rope_beyond_its_length_is_a_warning),
  };
  return cmocka_run_group_tests(tests, make_model, remove_directory);
}
