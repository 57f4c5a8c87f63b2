/* SPDX-License-Identifier: Apache-2.0
 *
 * From files to micro-batches: documents, packing, data order, and what is refused. */
#include "base/files.h"
#include "base/rng.h"
#include "formats/documents.h"
#include "train/batches.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- documents ---- */

static char directory[] = "/tmp/weir-dataset-XXXXXX";
static char path[256];

static const char *write_file(const char *name, const char *text, size_t n_bytes) {
  snprintf(path, sizeof path, "%s/%s", directory, name);
  assert_int_equal(weir_file_replace(path, text, n_bytes), WEIR_OK);
  return path;
}

typedef struct seen_documents {
  int n;
  char text[4096]; /* each in brackets */
} seen_documents;

static weir_status see(void *context, const weir_document *document) {
  seen_documents *seen = context;
  seen->n++;
  size_t n = strlen(seen->text);
  if (document->prompt)
    n += (size_t)snprintf(seen->text + n, sizeof seen->text - n, "[%.*s>",
                          (int)document->n_prompt_bytes, document->prompt);
  else
    n += (size_t)snprintf(seen->text + n, sizeof seen->text - n, "[");
  snprintf(seen->text + n, sizeof seen->text - n, "%.*s]", (int)document->n_bytes, document->text);
  return WEIR_OK;
}

static void test_documents(void **state) {
  (void)state;
  static const struct {
    const char *name, *text, *separator, *expected;
  } cases[] = {
      {"a.txt", "one\ntwo\n", NULL, "[one\ntwo\n]"},
      {"a.txt", "one<|>two<|><|>", "<|>", "[one][two][]"},
      {"b.txt", "", NULL, "[]"},
      {"c.jsonl", "{\"text\": \"a\\nb\"}\n\n  \n{\"id\": 1, \"text\": \"\\u00e9\"}", NULL,
       "[a\nb][\303\251]"},
      {"c.jsonl", "{\"text\":\"a\"}\r\n{\"text\":\"b\"}\r\n", NULL, "[a][b]"},
      {"d.json", " [{\"text\": \"a\"},\n {\"text\": \"b\"}]", NULL, "[a][b]"},
      {"d.json", "{\"text\": \"a\"}\n{\"text\": \"b\"}\n", NULL, "[a][b]"},
      {"c.jsonl", "{\"prompt\":\"a\",\"completion\":\"b\"}\n{\"text\":\"c\",\"prompt\":\"d\"}",
       NULL, "[a>b][c]"},
      {"d.json", "[{\"completion\":\"\",\"prompt\":\"a\",\"id\":1}]", NULL, "[a>]"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    seen_documents seen = {0};
    write_file(cases[i].name, cases[i].text, strlen(cases[i].text));
    assert_int_equal(weir_documents_read(path, cases[i].separator, see, &seen), WEIR_OK);
    assert_string_equal(seen.text, cases[i].expected);
  }
}

static void test_documents_refused(void **state) {
  (void)state;
  static const struct {
    const char *name, *text, *message;
  } cases[] = {
      {"a.txt", "ab\xff", "a.txt: byte 2 (0xff) is not UTF-8"},
      {"a.txt", "ab\xe2\x82", "byte 2 (0xe2) is not UTF-8"},
      {"a.txt", "\xc0\x80", "byte 0"},      /* overlong */
      {"a.txt", "x\xed\xa0\x80", "byte 1"}, /* surrogate */
      {"a.jsonl", "{\"text\": \"a\"}\n\nnot json\n", "a.jsonl:3: not JSON"},
      {"a.jsonl", "{\"text\": \"a\"} {}\n", "a.jsonl:1: not JSON"},
      {"a.jsonl", "{\"text\": \"\xff\"}\n", "a.jsonl:1: not JSON"},
      {"a.jsonl", "[1]\n", "a.jsonl:1: is not a JSON object"},
      {"a.jsonl", "{\"texts\": \"a\"}\n", "a.jsonl:1: has no \"text\""},
      {"a.jsonl", "{\"text\": 3}\n", "not a string"},
      {"a.jsonl", "{\"text\":\"a\"}\n{\"prompt\":\"a\"}\n", "a.jsonl:2: has no \"text\" and no"},
      {"a.jsonl", "{\"completion\":\"a\"}\n", "a.jsonl:1: has a \"completion\" without"},
      {"a.jsonl", "{\"prompt\":[],\"completion\":\"a\"}\n", "\"prompt\" that is not a string"},
      {"a.jsonl", "{\"prompt\":\"a\",\"completion\":{}}\n", "\"completion\" that is not"},
      {"a.jsonl", "{\"prompt\":\"a\",\"completion\":\"b\",\"text\":\"c\"}\n", "and also a"},
      {"a.json", "[{\"text\": \"a\"}, 7]", "a.json: row 1: is not a JSON object"},
      {"a.json", "[{\"text\":\n \"a\"", "a.json:2: not JSON"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    seen_documents seen = {0};
    write_file(cases[i].name, cases[i].text, strlen(cases[i].text));
    assert_int_equal(weir_documents_read(path, NULL, see, &seen), WEIR_BAD_INPUT);
    if (!strstr(weir_status_message(), cases[i].message))
      fail_msg("'%s' does not say '%s'", weir_status_message(), cases[i].message);
  }
}

/* ---- packing ---- */

/* Documents of random lengths; token i of the corpus has id i, so that copies can be told apart.
 * With prompts, every second document begins with tokens that are not learnt. */
static weir_corpus make_corpus_of(uint64_t seed, int64_t n_documents, int64_t longest,
                                  bool has_prompts) {
  weir_corpus corpus = {.documents = calloc((size_t)n_documents, sizeof *corpus.documents),
                        .n_documents = n_documents};
  for (int64_t i = 0; i < n_documents; i++) {
    const uint64_t random = weir_random_u64(seed, 1, (uint64_t)i);
    corpus.documents[i] = (weir_span){corpus.n_tokens, 1 + (int64_t)(random % (uint64_t)longest)};
    corpus.n_tokens += corpus.documents[i].n_tokens;
  }
  corpus.n_stored_tokens = corpus.n_tokens;
  uint32_t *tokens = malloc((size_t)corpus.n_tokens * sizeof *tokens);
  for (int64_t i = 0; i < corpus.n_tokens; i++)
    tokens[i] = (uint32_t)i;
  for (int64_t i = 0; has_prompts && i < n_documents; i += 2) {
    const weir_span document = corpus.documents[i];
    const int64_t n_prompt =
        (int64_t)(weir_random_u64(seed, 2, (uint64_t)i) % (uint64_t)(document.n_tokens + 1));
    for (int64_t t = 0; t < n_prompt; t++)
      tokens[document.first_token + t] |= WEIR_TOKEN_IS_CONTEXT;
    corpus.counts.n_context_tokens += n_prompt;
  }
  corpus.tokens = tokens;
  return corpus;
}

static weir_corpus make_corpus(uint64_t seed, int64_t n_documents, int64_t longest) {
  return make_corpus_of(seed, n_documents, longest, false);
}

static int64_t document_of(const weir_corpus *corpus, int64_t token) {
  int64_t i = 0;
  while (corpus->documents[i].first_token + corpus->documents[i].n_tokens <= token)
    i++;
  return i;
}

/* By another road than the corpus takes: token by token. */
static bool is_supervised(const weir_corpus *corpus, int64_t first_token, int64_t token) {
  return token > first_token && !weir_token_is_context(corpus->tokens[token]);
}

static void assert_span_is_part_of_document(const weir_corpus *corpus, const weir_span *span,
                                            int64_t max_length) {
  int64_t i = document_of(corpus, span->first_token);
  int64_t begin = corpus->documents[i].first_token, end = begin + corpus->documents[i].n_tokens;
  assert_true(span->n_tokens >= 1 && span->n_tokens <= max_length);
  assert_int_equal((span->first_token - begin) % max_length, 0);
  assert_true(span->first_token + span->n_tokens == end || span->n_tokens == max_length);
}

static void check_packing(const weir_corpus *corpus, int64_t max_length) {
  weir_rows rows;
  assert_int_equal(weir_rows_pack(&rows, corpus, max_length), WEIR_OK);
  uint8_t *n_seen = calloc((size_t)corpus->n_tokens, 1);
  int64_t n_cut = 0;
  for (int64_t i = 0; i < corpus->n_documents; i++)
    n_cut += corpus->documents[i].n_tokens > max_length;
  assert_int_equal(rows.n_cut_documents, n_cut);
  int64_t n_supervised = 0;
  for (int64_t row = 0; row < rows.n_rows; row++) {
    assert_in_range(weir_rows_tokens(&rows, row), 1, max_length);
    for (int64_t i = rows.offsets[row]; i < rows.offsets[row + 1]; i++) {
      assert_span_is_part_of_document(corpus, &rows.spans[i], max_length);
      const int64_t first = rows.spans[i].first_token, before = n_supervised;
      for (int64_t t = first; t < first + rows.spans[i].n_tokens; t++) {
        n_supervised += is_supervised(corpus, first, t);
        n_seen[t]++;
      }
      assert_true(n_supervised > before);
    }
  }
  assert_int_equal(rows.n_supervised, n_supervised);
  /* Every token once, but where a part teaches nothing. */
  int64_t n_left_out = 0;
  for (int64_t i = 0; i < corpus->n_documents; i++) {
    const int64_t begin = corpus->documents[i].first_token;
    const int64_t end = begin + corpus->documents[i].n_tokens;
    for (int64_t part = begin; part < end; part += max_length) {
      const int64_t part_end = part + max_length < end ? part + max_length : end;
      bool teaches = false;
      for (int64_t t = part; t < part_end; t++)
        teaches |= is_supervised(corpus, part, t);
      for (int64_t t = part; t < part_end; t++)
        assert_int_equal(n_seen[t], teaches);
      n_left_out += teaches ? 0 : part_end - part;
    }
  }
  assert_int_equal(rows.n_left_out_tokens, n_left_out);
  int64_t fewest = (corpus->n_tokens + max_length - 1) / max_length;
  assert_true((double)rows.n_rows <= 11.0 / 9 * (double)(fewest + rows.n_spans / 2) + 1);
  free(n_seen);
  weir_rows_deinit(&rows);
}

static void test_packing(void **state) {
  (void)state;
  static const int64_t lengths[] = {2, 7, 64, 100, 1000};
  for (uint64_t seed = 0; seed < 8; seed++) {
    weir_corpus corpus = make_corpus_of(seed, seed == 0 ? 1 : 150, 130, seed % 2);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
      check_packing(&corpus, lengths[i]);
    weir_corpus_deinit(&corpus);
  }
}

static void test_packing_fills_rows(void **state) {
  (void)state;
  weir_span documents[] = {{0, 6}, {6, 3}, {9, 4}, {13, 2}, {15, 4}};
  const uint32_t tokens[19] = {0};
  const weir_corpus corpus = {.tokens = tokens,
                              .n_stored_tokens = 19,
                              .documents = documents,
                              .n_documents = 5,
                              .n_tokens = 19};
  weir_rows rows;
  assert_int_equal(weir_rows_pack(&rows, &corpus, 10), WEIR_OK);
  assert_int_equal(rows.n_rows, 2); /* 6 4 | 4 3 2 */
  assert_int_equal(weir_rows_tokens(&rows, 0), 10);
  assert_int_equal(weir_rows_tokens(&rows, 1), 9);
  assert_int_equal(rows.spans[1].first_token, 9); /* the first of the two fours */
  weir_rows_deinit(&rows);
}

/* ---- steps ---- */

typedef struct loaded_epoch {
  int64_t n_tokens, n_supervised;
  double weight;      /* sum of all */
  uint64_t order;     /* a checksum of the ids in their order */
  uint8_t seen[9000]; /* times each token came */
} loaded_epoch;

/* The reservation is the survey's: loading asserts that it suffices. */
static loaded_epoch load_epoch(const weir_corpus *corpus, const weir_rows *rows,
                               const weir_batch_settings *settings, int64_t epoch) {
  weir_batches batches;
  assert_int_equal(weir_batches_create(&batches, corpus, rows, settings), WEIR_OK);
  int64_t first = epoch * batches.steps_per_epoch, end = first + batches.steps_per_epoch;
  weir_batch_extent extent = weir_batches_survey(&batches, first, end);
  assert_int_equal(weir_batches_reserve(&batches, &extent), WEIR_OK);
  loaded_epoch loaded = {0};
  for (int64_t step = first; step < end; step++) {
    weir_batches_load(&batches, step);
    assert_in_range(batches.n_micro_batches, 1, settings->micro_batches_per_step);
    loaded.n_tokens += batches.n_tokens;
    loaded.n_supervised += batches.n_supervised;
    double of_step = 0;
    for (int64_t i = 0; i < batches.n_micro_batches; i++) {
      const weir_micro_batch *m = &batches.micro_batches[i];
      const weir_sequences *s = &m->sequences;
      assert_int_equal(s->offsets[0], 0);
      assert_int_equal(s->offsets[s->n_sequences], s->n_tokens);
      for (int64_t q = 0; q < s->n_sequences; q++)
        for (int64_t t = s->offsets[q]; t < s->offsets[q + 1]; t++) {
          bool last = t + 1 == s->offsets[q + 1];
          bool counts = !last && !weir_token_is_context(corpus->tokens[m->ids[t] + 1]);
          assert_int_equal(m->targets[t], last ? -1 : m->ids[t] + 1);
          assert_true(counts ? m->weights[t] < 0 : m->weights[t] == 0);
          of_step += m->weights[t];
          loaded.seen[m->ids[t]]++;
          loaded.order = loaded.order * 31 + (uint64_t)m->ids[t];
        }
    }
    if (!settings->evaluate) assert_true(of_step > -1 - 1e-9 && of_step < -1 + 1e-9);
    loaded.weight += of_step;
  }
  weir_batches_destroy(&batches);
  return loaded;
}

static void check_batches(bool has_prompts) {
  weir_corpus corpus = make_corpus_of(3, 100, 130, has_prompts);
  weir_rows rows;
  assert_int_equal(weir_rows_pack(&rows, &corpus, 64), WEIR_OK);
  assert_true(corpus.n_tokens < (int64_t)sizeof((loaded_epoch *)0)->seen);
  static const int64_t shapes[][2] = {{1, 1}, {3, 1}, {1, 4}, {2, 3}, {1000, 1}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    weir_batch_settings settings = {shapes[i][0], shapes[i][1], 42, false};
    loaded_epoch first = load_epoch(&corpus, &rows, &settings, 0);
    loaded_epoch again = load_epoch(&corpus, &rows, &settings, 0);
    loaded_epoch later = load_epoch(&corpus, &rows, &settings, 5);
    settings.seed = 43;
    loaded_epoch other = load_epoch(&corpus, &rows, &settings, 0);
    assert_int_equal(first.n_tokens, corpus.n_tokens - rows.n_left_out_tokens);
    assert_int_equal(first.n_supervised, rows.n_supervised);
    if (!has_prompts) assert_int_equal(first.n_supervised, first.n_tokens - rows.n_spans);
    assert_true(first.order == again.order);
    assert_true(first.order != later.order && first.order != other.order);
    for (int64_t t = 0; t < corpus.n_tokens; t++)
      assert_true(first.seen[t] <= 1 && later.seen[t] == first.seen[t] &&
                  other.seen[t] == first.seen[t]);
  }
  weir_batch_settings evaluation = {1, 1, 0, true};
  loaded_epoch all = load_epoch(&corpus, &rows, &evaluation, 0);
  assert_true(all.weight > -1 - 1e-9 && all.weight < -1 + 1e-9);
  weir_rows_deinit(&rows);
  weir_corpus_deinit(&corpus);
}

static void test_batches(void **state) {
  (void)state;
  check_batches(false);
  check_batches(true);
}

/* ---- the split ---- */

static void test_split(void **state) {
  (void)state;
  weir_corpus corpus = make_corpus(1, 40, 20), validation;
  const int64_t n_tokens = corpus.n_tokens;
  uint64_t whole = weir_corpus_fingerprint(&corpus);
  assert_int_equal(weir_corpus_split(&corpus, 0.25, 42, &validation), WEIR_OK);
  assert_int_equal(corpus.n_documents, 30);
  assert_int_equal(validation.n_documents, 10);
  assert_int_equal(corpus.n_tokens + validation.n_tokens, n_tokens);
  assert_true(weir_corpus_fingerprint(&corpus) != whole);
  for (int64_t i = 1; i < validation.n_documents; i++)
    assert_true(validation.documents[i].first_token > validation.documents[i - 1].first_token);
  assert_true(validation.tokens == corpus.tokens);

  weir_corpus again = make_corpus(1, 40, 20), other;
  assert_int_equal(weir_corpus_split(&again, 0.25, 42, &other), WEIR_OK);
  assert_true(weir_corpus_fingerprint(&other) == weir_corpus_fingerprint(&validation));
  weir_corpus_deinit(&again);
  weir_corpus_deinit(&other);

  weir_corpus one = make_corpus(1, 1, 20);
  assert_int_equal(weir_corpus_split(&one, 0.5, 42, &other), WEIR_BAD_INPUT);
  weir_corpus_deinit(&one);
  weir_corpus_deinit(&corpus);
  weir_corpus_deinit(&validation);
}

/* ---- tokens ---- */

static const char tokenizer_json[] =
    "{\"version\":\"1.0\",\"added_tokens\":["
    "{\"id\":3,\"content\":\"<s>\",\"special\":true,\"single_word\":false,\"lstrip\":false,"
    "\"rstrip\":false,\"normalized\":false},"
    "{\"id\":4,\"content\":\"</s>\",\"special\":true,\"single_word\":false,\"lstrip\":false,"
    "\"rstrip\":false,\"normalized\":false}],\"normalizer\":null,"
    "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,"
    "\"use_regex\":true},"
    "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":["
    "{\"SpecialToken\":{\"id\":\"<s>\",\"type_id\":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}]"
    ","
    "\"pair\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},"
    "{\"Sequence\":{\"id\":\"B\",\"type_id\":1}}],"
    "\"special_tokens\":{\"<s>\":{\"id\":\"<s>\",\"ids\":[3],\"tokens\":[\"<s>\"]}}},"
    "\"decoder\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,"
    "\"use_regex\":true},"
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]}}";

/* One begin token from the tokenizer, one end token from us, and never two of either. */
static void test_begin_and_end(void **state) {
  (void)state;
  weir_tokenizer *tokenizer;
  write_file("tokenizer.json", tokenizer_json, sizeof tokenizer_json - 1);
  if (weir_tokenizer_open(path, &tokenizer) != WEIR_OK) fail_msg("%s", weir_status_message());
  static const char text[] = "{\"text\":\"abab\"}\n{\"text\":\"\"}\n{\"text\":\"b</s>\"}\n";
  write_file("c.jsonl", text, sizeof text - 1);
  const char *const paths[] = {path};
  weir_corpus_settings settings = {.tokenizer = tokenizer, .eos_token_id = 4, .vocab_size = 5};
  weir_corpus corpus;
  if (weir_corpus_read(&corpus, &settings, paths, 1) != WEIR_OK)
    fail_msg("%s", weir_status_message());
  static const int32_t with_end[] = {3, 2, 2, 4, 3, 1, 4};
  assert_int_equal(corpus.n_documents, 2);
  assert_int_equal(corpus.counts.n_empty_documents, 1);
  assert_int_equal(corpus.n_tokens, 7);
  assert_int_equal(corpus.documents[1].first_token, 4);
  assert_memory_equal(corpus.tokens, with_end, sizeof with_end);
  assert_int_equal(weir_corpus_ended_documents(&corpus), 2);
  weir_corpus_deinit(&corpus);

  settings.eos_token_id = -1;
  assert_int_equal(weir_corpus_read(&corpus, &settings, paths, 1), WEIR_OK);
  assert_int_equal(corpus.n_tokens, 6);
  weir_corpus_deinit(&corpus);

  settings.vocab_size = 4;
  assert_int_equal(weir_corpus_read(&corpus, &settings, paths, 1), WEIR_BAD_INPUT);
  assert_non_null(strstr(weir_status_message(), "token id 4 is beyond the model's vocabulary"));
  assert_non_null(strstr(weir_status_message(), "c.jsonl"));
  weir_tokenizer_close(tokenizer);
}

/* The prompt is read, the completion and its end are learnt, and the boundary lies between two
 * tokens even where the text as a whole would be tokenized across it. */
static void test_prompt_and_completion(void **state) {
  (void)state;
  weir_tokenizer *tokenizer;
  write_file("tokenizer.json", tokenizer_json, sizeof tokenizer_json - 1);
  assert_int_equal(weir_tokenizer_open(path, &tokenizer), WEIR_OK);
  static const char text[] = "{\"prompt\":\"ab\",\"completion\":\"ab\"}\n"
                             "{\"prompt\":\"a\",\"completion\":\"b\"}\n" /* "ab" is one token */
                             "{\"prompt\":\"a</s>\",\"completion\":\"\"}\n"
                             "{\"text\":\"ab\"}\n{\"prompt\":\"\",\"completion\":\"\"}\n";
  write_file("c.jsonl", text, sizeof text - 1);
  const char *const paths[] = {path};
  const uint32_t C = WEIR_TOKEN_IS_CONTEXT;
  const uint32_t expected[] = {3u | C, 2u | C, 2,      4, 3u | C, 0u | C, 1, 4,
                               3u | C, 0u | C, 4u | C, 4, 3,      2,      4};
  weir_corpus_settings settings = {.tokenizer = tokenizer, .eos_token_id = 4, .vocab_size = 5};
  weir_corpus corpus;
  if (weir_corpus_read(&corpus, &settings, paths, 1) != WEIR_OK)
    fail_msg("%s", weir_status_message());
  assert_int_equal(corpus.n_documents, 4);
  assert_int_equal(corpus.counts.n_pairs, 3);
  assert_int_equal(corpus.counts.n_apart, 1);
  assert_int_equal(corpus.counts.n_empty_documents, 1);
  assert_int_equal(corpus.n_tokens, sizeof expected / sizeof *expected);
  assert_memory_equal(corpus.tokens, expected, sizeof expected);
  const uint64_t fingerprint = weir_corpus_fingerprint(&corpus);
  weir_corpus_deinit(&corpus);

  settings.learn_prompts = true;
  assert_int_equal(weir_corpus_read(&corpus, &settings, paths, 1), WEIR_OK);
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
    assert_int_equal(corpus.tokens[i], weir_token_id(expected[i]));
  assert_true(weir_corpus_fingerprint(&corpus) != fingerprint);
  weir_corpus_deinit(&corpus);
  weir_tokenizer_close(tokenizer);
}

static void test_ids(void **state) {
  (void)state;
  static const int32_t ids[] = {3, 0, 9};
  weir_corpus corpus;
  assert_int_equal(weir_corpus_from_ids(&corpus, "ids.json", ids, 3, 10), WEIR_OK);
  assert_int_equal(corpus.n_documents, 1);
  assert_int_equal(corpus.n_tokens, 3);
  weir_corpus_deinit(&corpus);
  assert_int_equal(weir_corpus_from_ids(&corpus, "ids.json", ids, 3, 9), WEIR_BAD_INPUT);
  assert_non_null(strstr(weir_status_message(), "ids.json: token id 9"));
}

static int set_up(void **state) {
  (void)state;
  return mkdtemp(directory) ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  static const char *const names[] = {"a.txt",  "b.txt",  "a.jsonl",       "c.jsonl",
                                      "a.json", "d.json", "tokenizer.json"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(path, sizeof path, "%s/%s", directory, names[i]);
    unlink(path);
  }
  return rmdir(directory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_documents),
      cmocka_unit_test(test_documents_refused),
      cmocka_unit_test(test_packing),
      cmocka_unit_test(test_packing_fills_rows),
      cmocka_unit_test(test_batches),
      cmocka_unit_test(test_split),
      cmocka_unit_test(test_begin_and_end),
      cmocka_unit_test(test_ids),
      cmocka_unit_test(test_prompt_and_completion),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
