/* SPDX-License-Identifier: Apache-2.0
 *
 * Every rule of encoding and decoding on tokenizers of a few hundred tokens.  The expected tokens
 * were checked against the reference implementation. */
#include "base/directory.h"
#include "base/files.h"
#include "formats/tokenizer_parts.h"
#include "support/tiny_tokenizer.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

static const char *const texts[] = {
    "",
    " ",
    "the",
    " the hello",
    "  two  spaces ",
    "\n\n\tx\r\n",
    "don't WE'LL it'ſ",
    "12345 ½ ٣",
    "été, ça; 中文 한국어 🦙👩‍👧",
    "nul \x01 and controls",
    "<|end|><|pad|>the<|end|> the<|en",
    "<s> the</s>the <s><s>",
    "<0x41><unk>",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
};

static void texts_come_back_streamed_and_whole(void **state) {
  (void)state;
  json_t *files[] = {tiny_byte_level(), tiny_llama()};
  for (size_t k = 0; k < 2; k++) {
    weir_tokenizer *tokenizer = tiny_tokenizer_open(files[k]);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
      assert_round_trip(tokenizer, texts[i], strlen(texts[i]));
    assert_round_trip(tokenizer, "a\0b", 3);
    weir_tokenizer_close(tokenizer);
    json_decref(files[k]);
  }
}

static void byte_level_words(void **state) {
  (void)state;
  json_t *file = tiny_byte_level();
  weir_tokenizer *tokenizer = tiny_tokenizer_open(file);
  assert_tokens(tokenizer, "the the", "the|Ġthe");
  assert_tokens(tokenizer, "hello hello!", "hello|Ġhello|!");
  assert_tokens(tokenizer, "thell", "the|ll");
  assert_tokens(tokenizer, "   the", "Ġ|Ġ|Ġthe");
  assert_tokens(tokenizer, "a \n the", "a|Ġ|Ċ|Ġthe");
  assert_tokens(tokenizer, "e\u0301", "Ã|©"); /* NFC */
  assert_tokens(tokenizer, "the<|end|>the", "the|<|end|>|the");
  assert_tokens(tokenizer, "he<|END|>", "he|<|||E|N|D|||>");
  weir_tokenizer_close(tokenizer);

  json_object_set_new(json_object_get(file, "model"), "ignore_merges", json_true());
  json_array_clear(json_object_get(json_object_get(file, "model"), "merges"));
  tokenizer = tiny_tokenizer_open(file);
  assert_tokens(tokenizer, "the hell thell", "the|Ġ|h|e|l|l|Ġ|t|h|e|l|l");
  weir_tokenizer_close(tokenizer);
  json_decref(file);
}

static void byte_fallback_and_spaces(void **state) {
  (void)state;
  json_t *file = tiny_llama();
  weir_tokenizer *tokenizer = tiny_tokenizer_open(file);
  assert_tokens(tokenizer, "", "<s>");
  assert_tokens(tokenizer, "the the", "<s>|▁the|▁the");
  assert_tokens(tokenizer, " a", "<s>|▁|▁|a");
  assert_tokens(tokenizer, "é", "<s>|▁|<0xC3>|<0xA9>");
  assert_tokens(tokenizer, "a</s>the", "<s>|▁|a|</s>|▁the");
  weir_tokenizer_close(tokenizer);

  json_t *model = json_object_get(file, "model");
  json_object_set_new(model, "byte_fallback", json_false());
  tokenizer = tiny_tokenizer_open(file);
  assert_tokens(tokenizer, "éèa", "<s>|▁|<unk>|a");
  weir_tokenizer_close(tokenizer);
  json_object_set_new(model, "fuse_unk", json_false());
  tokenizer = tiny_tokenizer_open(file);
  assert_tokens(tokenizer, "éèa", "<s>|▁|<unk>|<unk>|a");
  weir_tokenizer_close(tokenizer);
  json_object_set_new(model, "unk_token", json_null());
  tokenizer = tiny_tokenizer_open(file);
  weir_ids ids = {0};
  assert_int_equal(weir_tokenizer_encode(tokenizer, "é", 2, true, &ids), WEIR_BAD_INPUT);
  assert_non_null(strstr(weir_status_message(), "C3 A9"));
  weir_ids_deinit(&ids);
  weir_tokenizer_close(tokenizer);
  json_decref(file);
}

static void flags_of_added_tokens(void **state) {
  (void)state;
  json_t *file = tiny_byte_level();
  tiny_tokenizer_add(file, "<L>", "l");
  tiny_tokenizer_add(file, "<R>", "r");
  tiny_tokenizer_add(file, "<LR>", "lr");
  tiny_tokenizer_add(file, "cat", "w");
  tiny_tokenizer_add(file, "cats", "");
  tiny_tokenizer_add(file, "e\u0301!", "n");
  tiny_tokenizer_add(file, "e\u0301?", "");
  weir_tokenizer *tokenizer = tiny_tokenizer_open(file);
  assert_tokens(tokenizer, "a \u3000<L> b", "a|<L>|Ġ|b");
  assert_tokens(tokenizer, "a <R> \n\tb", "a|Ġ|<R>|b");
  assert_tokens(tokenizer, "a <LR> <LR> b", "a|<LR>|<LR>|b");
  assert_tokens(tokenizer, "cat cat's xcat cat1 cat\u0301",
                "cat|Ġ|cat|'|s|Ġ|x|c|a|t|Ġ|c|a|t|1|"
                "Ġ|c|a|t|Ì|ģ");
  assert_tokens(tokenizer, "cats", "cats"); /* the longest one */
  assert_tokens(tokenizer, "é!e\u0301!", "e\u0301!|e\u0301!");
  assert_tokens(tokenizer, "é?e\u0301?", "Ã|©|?|e\u0301?");
  weir_tokenizer_close(tokenizer);
  json_decref(file);
}

/* What the tokenizer adds is left out only where the caller says that it was added. */
static void special_tokens_both_ways(void **state) {
  (void)state;
  json_t *file = tiny_llama();
  json_t *post = json_object_get(file, "post_processor");
  json_array_append_new(json_object_get(post, "single"),
                        json_pack("{s{ss si}}", "SpecialToken", "id", "</s>", "type_id", 0));
  json_object_set_new(json_object_get(post, "special_tokens"), "</s>",
                      json_pack("{ss s[i] s[s]}", "id", "</s>", "ids", 2, "tokens", "</s>"));
  weir_tokenizer *tokenizer = tiny_tokenizer_open(file);
  assert_tokens(tokenizer, "the</s>", "<s>|▁the|</s>|</s>");
  assert_round_trip(tokenizer, "<s>the</s>the</s>", 17);
  static const char text[] = "<s>the</s>";
  weir_ids ids = {0};
  weir_bytes decoded = {0};
  assert_int_equal(weir_tokenizer_encode(tokenizer, text, 10, false, &ids), WEIR_OK);
  assert_int_equal(ids.count, 3);
  assert_int_equal(weir_tokenizer_decode(tokenizer, ids.data, 3, false, &decoded), WEIR_OK);
  assert_int_equal(decoded.count, 10);
  assert_memory_equal(decoded.data, text, 10);
  decoded.count = 0;
  assert_int_equal(weir_tokenizer_decode(tokenizer, ids.data, 3, true, &decoded), WEIR_OK);
  assert_int_equal(decoded.count, 3);
  assert_memory_equal(decoded.data, "the", 3);
  weir_bytes_deinit(&decoded);
  weir_ids_deinit(&ids);
  weir_tokenizer_close(tokenizer);
  json_decref(file);
}

static void bytes_that_are_no_text_stay_bytes(void **state) {
  (void)state;
  json_t *file = tiny_byte_level();
  weir_tokenizer *tokenizer = tiny_tokenizer_open(file);
  const int32_t ids[] = {0xFF, 0xE2, 0x82, 'a', 0x80, 0xF0, 0x9F, 0xF0, 0xC3};
  weir_bytes whole = {0}, streamed = {0};
  assert_int_equal(weir_tokenizer_decode(tokenizer, ids, 9, true, &whole), WEIR_OK);
  weir_token_stream stream;
  weir_token_stream_init(&stream, tokenizer, true);
  for (int i = 0; i < 9; i++)
    assert_int_equal(weir_token_stream_feed(&stream, ids[i], &streamed), WEIR_OK);
  assert_int_equal(weir_token_stream_finish(&stream, &streamed), WEIR_OK);
  assert_int_equal(whole.count, 9);
  assert_int_equal(streamed.count, 9);
  for (int i = 0; i < 9; i++)
    assert_int_equal((unsigned char)whole.data[i], ids[i]);
  assert_memory_equal(whole.data, streamed.data, 9);
  weir_bytes_deinit(&whole);
  weir_bytes_deinit(&streamed);
  weir_tokenizer_close(tokenizer);
  json_decref(file);
}

static void bad_text_and_bad_ids_are_refused(void **state) {
  (void)state;
  json_t *file = tiny_byte_level();
  weir_tokenizer *tokenizer = tiny_tokenizer_open(file);
  weir_ids ids = {0};
  weir_bytes text = {0};
  assert_int_equal(weir_tokenizer_encode(tokenizer, "ab\xFF", 3, true, &ids), WEIR_BAD_INPUT);
  assert_non_null(strstr(weir_status_message(), "byte 2"));
  assert_int_equal(weir_tokenizer_encode(tokenizer, "\xED\xA0\x80", 3, true, &ids), WEIR_BAD_INPUT);
  assert_int_equal(weir_tokenizer_encode(tokenizer, "a\xE2\x82", 3, true, &ids), WEIR_BAD_INPUT);
  int32_t bad = weir_tokenizer_vocab_size(tokenizer);
  assert_int_equal(weir_tokenizer_decode(tokenizer, &bad, 1, true, &text), WEIR_BAD_INPUT);
  bad = -1;
  assert_int_equal(weir_tokenizer_decode(tokenizer, &bad, 1, true, &text), WEIR_BAD_INPUT);
  weir_ids_deinit(&ids);
  weir_bytes_deinit(&text);
  weir_tokenizer_close(tokenizer);
  json_decref(file);
}

/* A word of 2^20 letters: were merging quadratic, this would take hours. */
static void a_very_long_word_takes_no_time(void **state) {
  (void)state;
  enum { N_BYTES = 1 << 20 };
  char *word = malloc(N_BYTES);
  assert_non_null(word);
  json_t *files[] = {tiny_byte_level(), tiny_llama()};
  for (size_t k = 0; k < 2; k++) {
    weir_tokenizer *tokenizer = tiny_tokenizer_open(files[k]);
    for (size_t i = 0; i < N_BYTES; i++)
      word[i] = "the"[i % 3];
    assert_round_trip(tokenizer, word, N_BYTES);
    memset(word, ' ', N_BYTES);
    assert_round_trip(tokenizer, word, N_BYTES);
    weir_tokenizer_close(tokenizer);
    json_decref(files[k]);
  }
  free(word);
}

static void regexes_are_translated_or_refused(void **state) {
  (void)state;
  static const struct {
    const char *from, *to; /* NULL: refused */
  } cases[] = {
      {"\\s+(?!\\S)", "\\p{White_Space}+(?!\\P{White_Space})"},
      {"[^\\s\\d]", "[^\\p{White_Space}\\p{Nd}]"},
      {"\\p{L}\\P{Lu}\\p{^N}", "\\p{L}\\P{Lu}\\p{^N}"},
      {"\\p{Han}", "\\p{sc:Han}"},
      {"\\u3042\\x{1F600}\\x41\\v", "\\x{3042}\\x{1F600}\\x{41}\\x{0B}"},
      {"(?i:'s|'ll)", "(?i:'s|'ll)"},
      {"(?<=a)(?:b){2,3}", "(?<=a)(?:b){2,3}"},
      {"\\[\\.\\-", "\\[\\.\\-"},
      {"\\w", NULL},
      {"\\bx", NULL},
      {"^a", NULL},
      {"a$", NULL},
      {"a{2}+", NULL},
      {"a{,2}", NULL},
      {"[a[b]]", NULL},
      {"[a&&b]", NULL},
      {"[]", NULL},
      {"(?i)a", NULL},
      {"(?x:a)", NULL},
      {"(*UTF)a", NULL},
      {"(?i:st)", NULL},
      {"(?i:\\p{Lu})", NULL},
      {"(?i:é)", NULL},
      {"\\p{", NULL},
      {"\\pL", NULL},
      {"\\xE9", NULL},
      {"\\u12", NULL},
      {"a\\", NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    weir_bytes translated = {0};
    weir_status status = weir_regex_translate(cases[i].from, &translated);
    if (cases[i].to) {
      assert_int_equal(status, WEIR_OK);
      weir_bytes_append(&translated, "", 1);
      assert_string_equal(translated.data, cases[i].to);
    } else if (status != WEIR_BAD_INPUT) {
      fail_msg("\"%s\" was accepted", cases[i].from);
    }
    weir_bytes_deinit(&translated);
  }
}

/* tiny_llama() with Metaspace in the place of its normalizer; `split` and the rest as JSON. */
static weir_tokenizer *open_metaspace(const char *scheme, bool split) {
  json_t *file = tiny_llama();
  json_object_set_new(file, "normalizer", json_null());
  json_object_set_new(file, "pre_tokenizer",
                      json_pack("{ss ss ss sb}", "type", "Metaspace", "replacement", "▁",
                                "prepend_scheme", scheme, "split", split));
  json_object_set_new(file, "decoder",
                      json_pack("{ss s[{ss} {ss ss ss}]}", "type", "Sequence", "decoders", "type",
                                "ByteFallback", "type", "Metaspace", "replacement", "▁",
                                "prepend_scheme", scheme));
  weir_tokenizer *tokenizer = tiny_tokenizer_open(file);
  json_decref(file);
  return tokenizer;
}

static void metaspace(void **state) {
  (void)state;
  static const struct {
    const char *scheme, *text, *expected;
  } cases[] = {
      {"always", "the the", "<s>|▁the|▁the"},
      {"always", " the", "<s>|▁the"}, /* it has one already */
      {"always", "▁the", "<s>|▁the"},
      {"always", "a</s>the", "<s>|▁|a|</s>|▁the"},
      {"always", "a  the", "<s>|▁|a|▁|▁the"},
      {"always", "", "<s>"},
      {"first", "the the", "<s>|▁the|▁the"},
      {"first", "a</s>the", "<s>|▁|a|</s>|the"},
      {"first", "</s>the", "<s>|</s>|the"},
      {"never", "the the", "<s>|the|▁the"},
      {"never", " the", "<s>|▁the"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int split = 0; split < 2; split++) {
      weir_tokenizer *tokenizer = open_metaspace(cases[i].scheme, split);
      assert_tokens(tokenizer, cases[i].text, cases[i].expected);
      weir_tokenizer_close(tokenizer);
    }
  static const char *const schemes[] = {"always", "first", "never"};
  for (size_t k = 0; k < 3; k++) {
    weir_tokenizer *tokenizer = open_metaspace(schemes[k], true);
    assert_round_trip(tokenizer, "the two  spaces ", 16);
    assert_round_trip(tokenizer, "a</s>b </s>été", strlen("a</s>b </s>été"));
    weir_tokenizer_close(tokenizer);
  }
}

/* Transformers' Llama and Gemma classes go by tokenizer_config.json, the others by the file. */
static void flags_of_the_configuration(void **state) {
  (void)state;
  static const struct {
    const char *class_name, *flags, *expected; /* NULL: refused */
  } cases[] = {
      {"LlamaTokenizer", "", "<s>|▁the"},
      {"LlamaTokenizerFast", ",\"add_bos_token\":true", "<s>|▁the"},
      {"LlamaTokenizerFast", ",\"add_bos_token\":false", "▁the"},
      {"GemmaTokenizer", ",\"add_bos_token\":false,\"add_eos_token\":true", "▁the|</s>"},
      {"GemmaTokenizerFast", ",\"add_bos_token\":null,\"add_eos_token\":true", "<s>|▁the|</s>"},
      {"PreTrainedTokenizerFast", ",\"add_bos_token\":false", "<s>|▁the"},
      {"LlamaTokenizer", ",\"add_bos_token\":1", NULL},
  };
  char directory[] = "/tmp/weir-tokenizer-small-XXXXXX", text[512];
  assert_non_null(mkdtemp(directory));
  char *file = weir_path_join(directory, "tokenizer.json");
  char *config = weir_path_join(directory, "tokenizer_config.json");
  json_t *llama = tiny_llama();
  assert_int_equal(json_dump_file(llama, file, 0), 0);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    snprintf(text, sizeof text,
             "{\"tokenizer_class\":\"%s\",\"bos_token\":\"<s>\",\"eos_token\":\"</s>\"%s}",
             cases[i].class_name, cases[i].flags);
    assert_int_equal(weir_file_replace(config, text, strlen(text)), WEIR_OK);
    weir_tokenizer *tokenizer;
    const weir_status status = weir_tokenizer_open(directory, &tokenizer);
    assert_int_equal(status, cases[i].expected ? WEIR_OK : WEIR_BAD_INPUT);
    if (cases[i].expected) assert_tokens(tokenizer, "the", cases[i].expected);
    weir_tokenizer_close(tokenizer);
  }
  json_decref(llama);
  free(config);
  free(file);
  assert_int_equal(weir_directory_remove(directory), WEIR_OK);
}

/* With split, no merge reaches across a space. */
static void metaspace_splits(void **state) {
  (void)state;
  json_t *file = tiny_llama();
  json_t *model = json_object_get(file, "model");
  json_object_set_new(json_object_get(model, "vocab"), "e▁",
                      json_integer((json_int_t)json_object_size(json_object_get(model, "vocab"))));
  json_array_insert_new(json_object_get(model, "merges"), 0, json_string("e ▁"));
  json_object_set_new(file, "normalizer", json_null());
  for (int split = 0; split < 2; split++) {
    json_object_set_new(file, "pre_tokenizer",
                        json_pack("{ss ss ss sb}", "type", "Metaspace", "replacement", "▁",
                                  "prepend_scheme", "never", "split", split));
    weir_tokenizer *tokenizer = tiny_tokenizer_open(file);
    assert_tokens(tokenizer, "e the", split ? "<s>|e|▁the" : "<s>|e▁|the");
    weir_tokenizer_close(tokenizer);
  }
  json_decref(file);
}

static weir_status bracket(void *words, const char *word, size_t n_bytes) {
  WEIR_TRY(weir_bytes_append(words, "[", 1));
  WEIR_TRY(weir_bytes_append(words, word, n_bytes));
  return weir_bytes_append(words, "]", 1);
}

static void split_behaviors(void **state) {
  (void)state;
  static const struct {
    const char *behavior;
    bool invert;
    const char *words;
  } cases[] = {
      {"Isolated", false, "[b][a][a][bb][a]"},
      {"Isolated", true, "[b][a][a][bb][a]"},
      {"Removed", false, "[b][bb]"},
      {"Removed", true, "[a][a][a]"},
      {"MergedWithPrevious", false, "[ba][a][bba]"},
      {"MergedWithPrevious", true, "[b][a][abb][a]"},
      {"MergedWithNext", false, "[b][a][abb][a]"},
      {"MergedWithNext", true, "[ba][a][bba]"},
      {"Contiguous", false, "[b][aa][bb][a]"},
      {"Contiguous", true, "[b][aa][bb][a]"},
  };
  static const char *const names[] = {"Isolated", "Removed", "MergedWithPrevious", "MergedWithNext",
                                      "Contiguous"};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    weir_split_behavior behavior = WEIR_SPLIT_ISOLATED;
    while (strcmp(names[behavior], cases[i].behavior) != 0)
      behavior++;
    weir_pretokenizer splits = {0};
    weir_bytes words = {0};
    assert_int_equal(weir_pretokenizer_add(&splits, "a", behavior, cases[i].invert), WEIR_OK);
    assert_int_equal(weir_pretokenizer_run(&splits, "baabba", 6, bracket, &words), WEIR_OK);
    weir_bytes_append(&words, "", 1);
    assert_string_equal(words.data, cases[i].words);
    weir_bytes_deinit(&words);
    weir_pretokenizer_deinit(&splits);
  }
}

/* The ids of both as one text where these begin with the prompt's, else apart without the space
 * that would stand before a text. */
static void prompts_and_completions(void **state) {
  (void)state;
  static const struct {
    const char *prompt, *completion, *expected;
    bool apart;
  } cases[] = {
      {"a", "the", "<s>|▁|a#the", false}, {"the", " the", "<s>|▁the#▁the", false},
      {"t", "he", "<s>|▁|t#he", true},    {"", "the", "<s>#▁the", false},
      {"the", "", "<s>|▁the#", false},    {"t", "he</s>the", "<s>|▁|t#he|</s>|▁the", true},
  };
  json_t *file = tiny_llama();
  weir_tokenizer *tokenizers[] = {tiny_tokenizer_open(file), open_metaspace("always", false)};
  for (size_t k = 0; k < 2; k++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      const weir_document pair = {cases[i].prompt, strlen(cases[i].prompt), cases[i].completion,
                                  strlen(cases[i].completion)};
      weir_ids ids = {0};
      weir_bytes line = {0};
      size_t n_prompt_ids;
      bool apart;
      assert_int_equal(
          weir_tokenizer_encode_pair(tokenizers[k], &pair, &ids, &n_prompt_ids, &apart), WEIR_OK);
      for (size_t j = 0; j <= ids.count; j++) {
        size_t n_bytes = 0;
        if (j == n_prompt_ids)
          weir_bytes_append(&line, "#", 1);
        else if (j > 0 && j < ids.count)
          weir_bytes_append(&line, "|", 1);
        if (j == ids.count) break;
        const char *token = weir_tokenizer_token_text(tokenizers[k], ids.data[j], &n_bytes);
        weir_bytes_append(&line, token, n_bytes);
      }
      weir_bytes_append(&line, "", 1);
      assert_string_equal(line.data, cases[i].expected);
      assert_int_equal(apart, cases[i].apart);
      weir_bytes_deinit(&line);
      weir_ids_deinit(&ids);
    }
  for (size_t k = 0; k < 2; k++)
    weir_tokenizer_close(tokenizers[k]);
  json_decref(file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_come_back_streamed_and_whole),
      cmocka_unit_test(byte_level_words),
      cmocka_unit_test(byte_fallback_and_spaces),
      cmocka_unit_test(flags_of_added_tokens),
      cmocka_unit_test(special_tokens_both_ways),
      cmocka_unit_test(bytes_that_are_no_text_stay_bytes),
      cmocka_unit_test(bad_text_and_bad_ids_are_refused),
      cmocka_unit_test(a_very_long_word_takes_no_time),
      cmocka_unit_test(regexes_are_translated_or_refused),
      cmocka_unit_test(metaspace),
      cmocka_unit_test(metaspace_splits),
      cmocka_unit_test(flags_of_the_configuration),
      cmocka_unit_test(split_behaviors),
      cmocka_unit_test(prompts_and_completions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
