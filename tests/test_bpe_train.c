/* SPDX-License-Identifier: Apache-2.0
 *
 * Learning a byte-level BPE: against a reference's merges, against the definition counted anew for
 * every merge, and what is written must open and encode. */
#include "base/read_file.h"
#include "formats/bpe_train.h"
#include "formats/tokenizer.h"
#include "support/fixture.h"

#include <jansson.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

static char directory[] = "/tmp/weir-bpe-train-XXXXXX";

static int make_directory(void **state) {
  (void)state;
  return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state) {
  (void)state;
  static const char *const names[] = {"tokenizer.json", "tokenizer_config.json"};
  char path[256];
  for (size_t i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/%s", directory, names[i]);
    unlink(path);
  }
  return rmdir(directory); /* fails, and so the test, where a temporary file was left behind */
}

static void must(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s", weir_status_message());
}

/* Learns from the text and returns what tokenizer.json says; free with json_decref. */
static json_t *learn(const char *text, size_t n_bytes, int32_t vocab_size) {
  weir_bpe_trainer *trainer;
  must(weir_bpe_trainer_create(&trainer));
  must(weir_bpe_trainer_add(trainer, text, n_bytes));
  must(weir_bpe_trainer_learn(trainer, vocab_size));
  must(weir_bpe_trainer_write(trainer, directory));
  weir_bpe_trainer_destroy(trainer);
  char path[256];
  snprintf(path, sizeof path, "%s/tokenizer.json", directory);
  json_t *file = json_load_file(path, 0, NULL);
  assert_non_null(file);
  return file;
}

static const json_t *model_member(const json_t *file, const char *key) {
  return json_object_get(json_object_get(file, "model"), key);
}

static void merges_and_vocabulary_of_the_reference(void **state) {
  (void)state;
  char path[FIXTURE_PATH_BYTES];
  weir_file_bytes corpus, merges;
  fixture_path(path, "tokenizers/bpe-train/corpus.en");
  must(weir_file_read(path, INT32_MAX, &corpus));
  fixture_path(path, "tokenizers/bpe-train/reference-merges.txt");
  must(weir_file_read(path, INT32_MAX, &merges));
  fixture_path(path, "tokenizers/bpe-train/reference-vocab.json");
  json_t *vocab = json_load_file(path, 0, NULL);
  json_t *file = learn(corpus.bytes, corpus.size_bytes, 500);
  assert_non_null(vocab);
  assert_int_equal(json_object_size(vocab), 500);
  assert_true(json_equal((json_t *)model_member(file, "vocab"), vocab));
  size_t n_merges = 0;
  for (char *line = strtok(merges.bytes, "\n"); line; line = strtok(NULL, "\n"))
    assert_string_equal(json_string_value(json_array_get(model_member(file, "merges"), n_merges++)),
                        line);
  assert_int_equal(n_merges, 243);
  assert_int_equal(json_array_size(model_member(file, "merges")), n_merges);
  json_decref(file);
  json_decref(vocab);
  free(corpus.bytes);
  free(merges.bytes);
}

/* --- the definition: count every pair of every word again for each merge ----------------- */

enum { MAX_WORDS = 400, MAX_SYMBOLS = 40 };

typedef struct plain_word {
  char symbols[MAX_SYMBOLS][MAX_SYMBOLS]; /* texts; the alphabet is ASCII letters */
  int n_symbols;
} plain_word;

static int count_pair(const plain_word *words, int n_words, const char *left, const char *right) {
  int count = 0;
  for (int w = 0; w < n_words; w++)
    for (int i = 0; i + 1 < words[w].n_symbols; i++)
      count +=
          strcmp(words[w].symbols[i], left) == 0 && strcmp(words[w].symbols[i + 1], right) == 0;
  return count;
}

/* The most frequent pair, the greater of equals; 0 where no word has a pair. */
static int plain_best(const plain_word *words, int n_words, const char **left, const char **right) {
  int best = 0;
  for (int w = 0; w < n_words; w++)
    for (int i = 0; i + 1 < words[w].n_symbols; i++) {
      const char *a = words[w].symbols[i], *b = words[w].symbols[i + 1];
      int count = count_pair(words, n_words, a, b);
      int order = best ? strcmp(a, *left) : 0;
      if (best && order == 0) order = strcmp(b, *right);
      if (count < best || (count == best && order <= 0)) continue;
      best = count;
      *left = a;
      *right = b;
    }
  return best;
}

static void plain_merge(plain_word *word, const char *left, const char *right) {
  int n = 0;
  for (int i = 0; i < word->n_symbols; i++, n++) {
    char text[2 * MAX_SYMBOLS];
    bool merges = i + 1 < word->n_symbols && strcmp(word->symbols[i], left) == 0 &&
                  strcmp(word->symbols[i + 1], right) == 0;
    snprintf(text, sizeof text, "%s%s", word->symbols[i], merges ? word->symbols[i + 1] : "");
    memcpy(word->symbols[n], text, MAX_SYMBOLS);
    i += merges;
  }
  word->n_symbols = n;
}

/* Words of a few letters, one a line: the line feeds are words of their own and have no pairs. */
static int random_words(unsigned seed, const char *letters, char *text, plain_word *words) {
  int n_words = 0;
  unsigned random = seed;
  char *at = text;
  for (; n_words < 60; n_words++) {
    plain_word *word = &words[n_words];
    random = random * 1103515245u + 12345u;
    word->n_symbols = 1 + (int)(random >> 16) % 12;
    for (int i = 0; i < word->n_symbols; i++) {
      random = random * 1103515245u + 12345u;
      *at = letters[(random >> 16) % strlen(letters)];
      snprintf(word->symbols[i], MAX_SYMBOLS, "%c", *at++);
    }
    *at++ = '\n';
  }
  *at = 0;
  return n_words;
}

static void merges_are_those_of_the_definition(void **state) {
  (void)state;
  static plain_word words[MAX_WORDS];
  static const char *const alphabets[] = {"a", "ab", "abc", "abcdefgh"};
  char text[60 * 14];
  for (unsigned seed = 0; seed < 20; seed++) {
    int n_words = random_words(seed, alphabets[seed % 4], text, words);
    json_t *file = learn(text, strlen(text), WEIR_BPE_SMALLEST_VOCAB + 40);
    const json_t *merges = model_member(file, "merges");
    assert_true(json_array_size(merges) > 0);
    for (size_t i = 0; i < json_array_size(merges); i++) {
      const char *a = "", *b = "";
      assert_true(plain_best(words, n_words, &a, &b) > 0);
      char left[MAX_SYMBOLS], right[MAX_SYMBOLS], line[2 * MAX_SYMBOLS];
      snprintf(left, sizeof left, "%.*s", MAX_SYMBOLS - 1, a);
      snprintf(right, sizeof right, "%.*s", MAX_SYMBOLS - 1, b);
      snprintf(line, sizeof line, "%s %s", left, right);
      assert_string_equal(json_string_value(json_array_get(merges, i)), line);
      for (int w = 0; w < n_words; w++)
        plain_merge(&words[w], left, right);
    }
    const char *a, *b;
    if (json_array_size(merges) < 40) assert_int_equal(plain_best(words, n_words, &a, &b), 0);
    json_decref(file);
  }
}

/* --- the rest ---------------------------------------------------------------------------- */

static void what_is_written_opens_and_encodes(void **state) {
  (void)state;
  static const char text[] = "the theme of the thesis<|endoftext|>is there; été!\n";
  json_decref(learn(text, sizeof text - 1, 300));
  weir_tokenizer *tokenizer;
  must(weir_tokenizer_open(directory, &tokenizer));
  assert_int_equal(weir_tokenizer_eos_id(tokenizer), 0);
  assert_int_equal(weir_tokenizer_bos_id(tokenizer), 0);
  weir_ids ids = {0};
  weir_bytes decoded = {0};
  must(weir_tokenizer_encode(tokenizer, text, sizeof text - 1, true, &ids));
  must(weir_tokenizer_decode(tokenizer, ids.data, ids.count, true, &decoded));
  assert_int_equal(decoded.count, sizeof text - 1);
  assert_memory_equal(decoded.data, text, sizeof text - 1);
  int n_ends = 0;
  for (size_t i = 0; i < ids.count; i++)
    n_ends += ids.data[i] == 0;
  assert_int_equal(n_ends, 1);
  assert_true(ids.count < (sizeof text - 1) / 2);
  weir_bytes_deinit(&decoded);
  weir_ids_deinit(&ids);
  weir_tokenizer_close(tokenizer);
}

static void no_merge_across_the_end_of_text(void **state) {
  (void)state;
  json_t *file = learn("a<|endoftext|>b<|endoftext|>a<|endoftext|>b", 43, 300);
  assert_int_equal(json_array_size(model_member(file, "merges")), 0);
  assert_int_equal(json_object_size(model_member(file, "vocab")), WEIR_BPE_SMALLEST_VOCAB);
  json_decref(file);
}

static void too_small_or_empty_is_refused(void **state) {
  (void)state;
  weir_bpe_trainer *trainer;
  must(weir_bpe_trainer_create(&trainer));
  assert_int_equal(weir_bpe_trainer_learn(trainer, 300), WEIR_BAD_INPUT);
  must(weir_bpe_trainer_add(trainer, "some text", 9));
  assert_int_equal(weir_bpe_trainer_learn(trainer, WEIR_BPE_SMALLEST_VOCAB - 1), WEIR_BAD_INPUT);
  must(weir_bpe_trainer_learn(trainer, WEIR_BPE_SMALLEST_VOCAB));
  weir_bpe_trainer_destroy(trainer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(merges_and_vocabulary_of_the_reference),
      cmocka_unit_test(merges_are_those_of_the_definition),
      cmocka_unit_test(what_is_written_opens_and_encodes),
      cmocka_unit_test(no_merge_across_the_end_of_text),
      cmocka_unit_test(too_small_or_empty_is_refused),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
