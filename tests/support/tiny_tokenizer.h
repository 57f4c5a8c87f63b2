/* SPDX-License-Identifier: Apache-2.0
 *
 * Small tokenizer.json files made on the spot, and what tests do with them.  Whatever goes wrong
 * fails the running cmocka test. */
#ifndef WEIR_TESTS_SUPPORT_TINY_TOKENIZER_H
#define WEIR_TESTS_SUPPORT_TINY_TOKENIZER_H

#include "formats/tokenizer.h"

#include <jansson.h>

/* Byte-level, as Qwen's: NFC, a regex, <|end|> and <|pad|> added; merges for "the", "hello". */
json_t *tiny_byte_level(void);
/* As Llama 2's: U+2581 for spaces, byte fallback, <s> before every text; merges for "the". */
json_t *tiny_llama(void);

/* Writes the file, opens it, removes it.  `tiny_tokenizer_path` is the name it had. */
weir_status tiny_tokenizer_try(const json_t *file, weir_tokenizer **tokenizer);
weir_status tiny_tokenizer_try_text(const char *text, size_t n_bytes, weir_tokenizer **tokenizer);
weir_tokenizer *tiny_tokenizer_open(const json_t *file);
const char *tiny_tokenizer_path(void);

/* Adds one token to the file's list: flags are letters of "l" lstrip, "r" rstrip, "w" single_word,
 * "n" normalized.  Returns its id. */
int tiny_tokenizer_add(json_t *file, const char *content, const char *flags);

/* encode() gives the tokens that are spelled so, separated by "|". */
void assert_tokens(const weir_tokenizer *tokenizer, const char *text, const char *expected);
/* decode(encode(text)) is the text, and so is what a stream of it yields, character by character.
 */
void assert_round_trip(const weir_tokenizer *tokenizer, const char *text, size_t n_bytes);

#endif
