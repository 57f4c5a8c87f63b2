/* SPDX-License-Identifier: Apache-2.0
 *
 * Text to token ids and back, as a Hugging Face tokenizer.json says.
 *
 * Understood: byte-level BPE (GPT-2, Qwen, Llama 3 styles) and BPE with byte fallback (Llama 2
 * style).  A file that asks for anything else is refused, naming the file and the key: the ids are
 * those of the reference, or there are none.  Nothing is ever truncated or padded.  (Unicode grows:
 * characters that are newer than the tables of one of the two, PCRE2's and utf8proc's here, may be
 * split or normalized differently.)
 *
 * A tokenizer does not change once it is open; any number of threads may use it. */
#ifndef WEIR_FORMATS_TOKENIZER_H
#define WEIR_FORMATS_TOKENIZER_H

#include "base/growable.h"
#include "base/status.h"
#include "formats/documents.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct weir_tokenizer weir_tokenizer;

/* `path`: a tokenizer.json, or a directory that holds one; there tokenizer_config.json,
 * special_tokens_map.json and generation_config.json also tell the begin and end tokens. */
weir_status weir_tokenizer_open(const char *path, weir_tokenizer **tokenizer);
/* Harmless on NULL. */
void weir_tokenizer_close(weir_tokenizer *tokenizer);

/* Ids are 0 .. vocab_size - 1, each with a token. */
int32_t weir_tokenizer_vocab_size(const weir_tokenizer *tokenizer);
/* -1 where no file says. */
int32_t weir_tokenizer_bos_id(const weir_tokenizer *tokenizer);
int32_t weir_tokenizer_eos_id(const weir_tokenizer *tokenizer);
/* How the file spells a token (byte-level: Ġ for a space); not terminated, valid until close. */
const char *weir_tokenizer_token_text(const weir_tokenizer *tokenizer, int32_t id, size_t *n_bytes);
/* The id of the token that is spelled so, or -1. */
int32_t weir_tokenizer_token_id(const weir_tokenizer *tokenizer, const char *text);

/* Appends the ids of the text to `ids`.  Special tokens that stand in the text become their ids;
 * `add_special_tokens` adds those that the tokenizer puts around every text (Llama's BOS).  Fails
 * (WEIR_BAD_INPUT) on text that is not UTF-8, naming the offset of the byte; may then have appended
 * some ids. */
weir_status weir_tokenizer_encode(const weir_tokenizer *tokenizer, const char *text, size_t n_bytes,
                                  bool add_special_tokens, weir_ids *ids);

/* Appends the ids of a prompt and of the completion that follows it, with the special tokens that
 * stand around every text; the first *n_prompt_ids of those appended are the prompt's.  They are
 * the ids of both as one text if that begins with the ids of the prompt alone.  Otherwise a token
 * would stand across the boundary, and the two are encoded *apart, the completion as a text that
 * goes on: what the model is asked to continue is then what it was taught to continue. */
weir_status weir_tokenizer_encode_pair(const weir_tokenizer *tokenizer, const weir_document *pair,
                                       weir_ids *ids, size_t *n_prompt_ids, bool *apart);

/* A checksum of what decides on ids. */
uint64_t weir_tokenizer_fingerprint(const weir_tokenizer *tokenizer);

/* Appends the text of the ids, byte for byte: decode(encode(x)) is x wherever encoding keeps it
 * apart from other texts (normal forms and U+2581 for a space do not).  `special_tokens_added`: the
 * ids come from an encode that added special tokens; those are left out.  Fails on an id without a
 * token.
 *
 * Unlike the reference, bytes that are no UTF-8 stay as they are, and where the tokenizer puts a
 * space before each part of a text between special tokens, it is taken away from each. */
weir_status weir_tokenizer_decode(const weir_tokenizer *tokenizer, const int32_t *ids, size_t n_ids,
                                  bool special_tokens_added, weir_bytes *text);

/* Decoding one id at a time: feed() appends what is complete, holding back the beginning of a
 * character (and a special token that may be the last); finish() appends the rest.  All together
 * is what decode() gives.  To continue a prompt, feed its ids first. */
typedef struct weir_token_stream {
  const weir_tokenizer *tokenizer; /* borrowed */
  bool special_tokens_added;
  bool at_start;     /* no id yet */
  bool holds_suffix; /* the last id was the one that ends every text */
  int n_strip;       /* so many more spaces belong to the tokenizer */
  int n_pending;
  char pending[4]; /* the beginning of a character */
} weir_token_stream;

void weir_token_stream_init(weir_token_stream *stream, const weir_tokenizer *tokenizer,
                            bool special_tokens_added);
weir_status weir_token_stream_feed(weir_token_stream *stream, int32_t id, weir_bytes *text);
weir_status weir_token_stream_finish(weir_token_stream *stream, weir_bytes *text);

#endif
