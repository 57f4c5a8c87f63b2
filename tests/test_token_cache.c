/* SPDX-License-Identifier: Apache-2.0
 *
 * The token cache: the same corpus as in memory, made in little memory, and made anew where it is
 * not whole. */
#include "base/directory.h"
#include "base/files.h"
#include "base/process.h"
#include "support/tiny_tokenizer.h"
#include "train/packing.h"
#include "train/token_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[] = "/tmp/weir-token-cache-XXXXXX";
static weir_tokenizer *tokenizer;

static void write_rows(const char *name, int n_rows) {
  FILE *file = fopen(name, "w");
  assert_non_null(file);
  for (int i = 0; i < n_rows; i++)
    if (i % 3)
      fprintf(file, "{\"text\": \"row %d: hello, the level of the water holds\"}\n", i * 7919);
    else
      fprintf(file, "{\"prompt\": \"how is number %d?\", \"completion\": \" the same\"}\n", i);
  fclose(file);
}

static weir_corpus_settings settings_of(const char *cache) {
  return (weir_corpus_settings){.tokenizer = tokenizer,
                                .eos_token_id = weir_tokenizer_token_id(tokenizer, "<|end|>"),
                                .vocab_size = weir_tokenizer_vocab_size(tokenizer),
                                .cache = cache};
}

static void read_rows(weir_corpus *corpus, const char *name, const char *cache) {
  const weir_corpus_settings settings = settings_of(cache);
  if (weir_corpus_read(corpus, &settings, &name, 1) != WEIR_OK)
    fail_msg("%s", weir_status_message());
}

static void assert_same_corpus(const weir_corpus *a, const weir_corpus *b) {
  assert_int_equal(a->n_tokens, b->n_tokens);
  assert_int_equal(a->n_documents, b->n_documents);
  assert_memory_equal(&a->counts, &b->counts, sizeof a->counts);
  assert_memory_equal(a->tokens, b->tokens, (size_t)a->n_tokens * sizeof *a->tokens);
  assert_memory_equal(a->documents, b->documents, (size_t)a->n_documents * sizeof *a->documents);
  assert_true(weir_corpus_fingerprint(a) == weir_corpus_fingerprint(b));
}

static void test_same_as_in_memory(void **state) {
  (void)state;
  weir_corpus plain, made, found;
  write_rows("rows.jsonl", 1000);
  read_rows(&plain, "rows.jsonl", NULL);
  read_rows(&made, "rows.jsonl", "cache");
  read_rows(&found, "rows.jsonl", "cache");
  assert_null(plain.mapping.bytes);
  assert_non_null(made.mapping.bytes);
  assert_true(plain.counts.n_context_tokens > 0);
  assert_same_corpus(&plain, &made);
  assert_same_corpus(&plain, &found);
  weir_corpus_deinit(&plain);
  weir_corpus_deinit(&made);
  weir_corpus_deinit(&found);
}

/* Whatever decides on tokens decides on the name. */
static void test_key(void **state) {
  (void)state;
  const char *name = "rows.jsonl", *other = "other.jsonl", *text = "rows.txt";
  char *names[7];
  write_rows(name, 10);
  write_rows(other, 11);
  write_rows(text, 10);
  weir_corpus_settings settings = settings_of("cache");
  assert_int_equal(weir_token_cache_path(&settings, &name, 1, &names[0]), WEIR_OK);
  assert_int_equal(weir_token_cache_path(&settings, &other, 1, &names[1]), WEIR_OK);
  assert_int_equal(weir_token_cache_path(&settings, &text, 1, &names[2]), WEIR_OK);
  settings.eos_token_id = -1;
  assert_int_equal(weir_token_cache_path(&settings, &name, 1, &names[3]), WEIR_OK);
  settings.learn_prompts = true;
  assert_int_equal(weir_token_cache_path(&settings, &name, 1, &names[4]), WEIR_OK);
  settings.separator = "x";
  assert_int_equal(weir_token_cache_path(&settings, &name, 1, &names[5]), WEIR_OK);
  json_t *llama = tiny_llama();
  weir_tokenizer *second = tiny_tokenizer_open(llama);
  settings.tokenizer = second;
  assert_int_equal(weir_token_cache_path(&settings, &name, 1, &names[6]), WEIR_OK);
  for (size_t i = 0; i < 7; i++)
    for (size_t j = 0; j < i; j++)
      assert_string_not_equal(names[i], names[j]);
  for (size_t i = 0; i < 7; i++)
    free(names[i]);
  weir_tokenizer_close(second);
  json_decref(llama);
}

/* Every byte flipped, many lengths: never used, made anew. */
static void test_damaged(void **state) {
  (void)state;
  const char *name = "few.jsonl";
  char *path;
  weir_corpus plain, again;
  weir_mapping mapping;
  write_rows(name, 3);
  read_rows(&plain, name, NULL);
  read_rows(&again, name, "cache");
  weir_corpus_deinit(&again);
  const weir_corpus_settings settings = settings_of("cache");
  assert_int_equal(weir_token_cache_path(&settings, &name, 1, &path), WEIR_OK);
  assert_int_equal(weir_mapping_open(path, &mapping), WEIR_OK);
  const size_t n_bytes = (size_t)mapping.size_bytes;
  uint8_t *whole = malloc(n_bytes), *damaged = malloc(n_bytes);
  memcpy(whole, mapping.bytes, n_bytes);
  weir_mapping_close(&mapping);
  for (size_t i = 0; i < 2 * n_bytes; i += 1 + i / 8) {
    memcpy(damaged, whole, n_bytes);
    damaged[i % n_bytes] ^= 0x10;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(i < n_bytes ? damaged : whole, 1, i < n_bytes ? n_bytes : i - n_bytes, file);
    fclose(file);
    read_rows(&again, name, "cache");
    assert_same_corpus(&plain, &again);
    weir_corpus_deinit(&again);
    assert_int_equal(weir_mapping_open(path, &mapping), WEIR_OK);
    assert_int_equal(mapping.size_bytes, n_bytes);
    assert_memory_equal(mapping.bytes, whole, n_bytes);
    weir_mapping_close(&mapping);
  }
  free(whole);
  free(damaged);
  free(path);
  weir_corpus_deinit(&plain);
}

/* ---- little memory ---- */

enum { LARGE_ROWS = 180000, LIMIT_BYTES = 16 << 20 };

static bool has_sanitizer(void) {
#ifdef __SANITIZE_ADDRESS__
  return true;
#else
  return false;
#endif
}

/* In a process of its own, with so much memory beside what it has: 0 where all went well. */
static int read_with_limit(const char *cache) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    weir_corpus corpus;
    const char *name = "large.jsonl";
    const weir_corpus_settings settings = settings_of(cache);
    const uint64_t before_bytes = weir_process_resident_bytes();
    const struct rlimit limit = {before_bytes + LIMIT_BYTES, before_bytes + LIMIT_BYTES};
    if (setrlimit(RLIMIT_DATA, &limit) != 0) _exit(1);
    if (weir_corpus_read(&corpus, &settings, &name, 1) != WEIR_OK) _exit(2);
    int32_t ids[512];
    for (int64_t i = 0; i < corpus.n_documents; i++)
      weir_corpus_copy(&corpus, corpus.documents[i], ids, NULL);
    if (corpus.n_documents != LARGE_ROWS || corpus.n_tokens < LIMIT_BYTES / 4) _exit(3);
    _exit(weir_process_peak_bytes() <= before_bytes + LIMIT_BYTES ? 0 : 4);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void test_little_memory(void **state) {
  (void)state;
  if (has_sanitizer()) {
    print_message("test_little_memory: not with a sanitizer, whose memory is its own\n");
    skip();
  }
  write_rows("large.jsonl", LARGE_ROWS);
  assert_int_equal(read_with_limit(NULL), 2); /* the limit is one */
  assert_int_equal(read_with_limit("cache"), 0);
  assert_int_equal(read_with_limit("cache"), 0);
}

static int set_up(void **state) {
  (void)state;
  json_t *file = tiny_byte_level();
  tokenizer = tiny_tokenizer_open(file);
  json_decref(file);
  return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  weir_tokenizer_close(tokenizer);
  return chdir("/") == 0 && weir_directory_remove(directory) == WEIR_OK ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_as_in_memory),
      cmocka_unit_test(test_key),
      cmocka_unit_test(test_damaged),
      cmocka_unit_test(test_little_memory),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
