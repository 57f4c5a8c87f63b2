/* SPDX-License-Identifier: Apache-2.0
 *
 * weir tokenizer train and weir tokenize, as a user runs them. */
#include "support/program.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

static char directory[] = "/tmp/weir-tokenize-XXXXXX";
static char output[1 << 16];

static void write_file(const char *name, const char *bytes, size_t n_bytes) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, n_bytes, file), n_bytes);
  assert_int_equal(fclose(file), 0);
}

static int learn(void **state) {
  (void)state;
  static const char rows[] = "{\"text\": \"the theme\"}\n{\"text\": \"is the thesis\"}\n";
  static const char text[] = "the thesis\r\n\t is an été<|endoftext|> 🦙\n\n";
  if (!mkdtemp(directory) || chdir(directory) != 0) return -1;
  write_file("rows.jsonl", rows, sizeof rows - 1);
  write_file("text.txt", text, sizeof text - 1);
  return program_run(output, sizeof output,
                     "tokenizer train --train-file rows.jsonl text.txt --vocab-size 265 "
                     "--output learnt");
}

static int clean(void **state) {
  (void)state;
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", directory);
  return chdir("/") == 0 ? system(command) : -1;
}

static void text_to_ids_and_back(void **state) {
  (void)state;
  assert_int_equal(program_run(output, sizeof output,
                               "tokenize --tokenizer learnt text.txt > ids.json && %s tokenize "
                               "--tokenizer learnt/tokenizer.json --decode ids.json | cmp - "
                               "text.txt",
                               WEIR_PROGRAM),
                   0);
  assert_string_equal(output, "");
}

static void one_array_from_standard_input(void **state) {
  (void)state;
  assert_int_equal(program_run(output, sizeof output, "tokenize --tokenizer learnt - < /dev/null"),
                   0);
  assert_string_equal(output, "[]\n");
  write_file("two.txt", "<|endoftext|>!", 14);
  assert_int_equal(program_run(output, sizeof output, "tokenize --tokenizer learnt - < two.txt"),
                   0);
  assert_string_equal(output, "[0, 1]\n");
}

static void refusals(void **state) {
  (void)state;
  write_file("bad.txt", "ab\xFF", 3);
  write_file("bad.json", "[3, 265]", 8);
  static const struct {
    const char *arguments, *words;
  } cases[] = {
      {"tokenize --tokenizer learnt bad.txt", "bad.txt: byte 2"},
      {"tokenize --tokenizer learnt --decode bad.json", "265"},
      {"tokenize --tokenizer learnt --decode text.txt", "text.txt"},
      {"tokenize --tokenizer missing text.txt", "missing"},
      {"tokenize --tokenizer learnt missing.txt", "missing.txt"},
      {"tokenizer train --train-file bad.txt --vocab-size 300 --output no", "bad.txt: byte 2"},
      {"tokenizer train --train-file text.txt --vocab-size 256 --output no", "vocab"},
      {"tokenizer train --train-file text.txt --vocab-size 300 --output learnt",
       "tokenizer.json: is there already"},
      {"tokenizer train --train-file ids.json text.txt --vocab-size 300", "output"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(program_run(output, sizeof output, "%s", cases[i].arguments), 2);
    if (!strstr(output, cases[i].words)) fail_msg("%s: %s", cases[i].arguments, output);
  }
  assert_int_not_equal(access("no", F_OK), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_to_ids_and_back),
      cmocka_unit_test(one_array_from_standard_input),
      cmocka_unit_test(refusals),
  };
  return cmocka_run_group_tests(tests, learn, clean);
}
