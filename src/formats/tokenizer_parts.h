/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a tokenizer, in the order in which text passes them.  Private to formats/tokenizer*.
 *
 *     text -> added tokens spelled as they are      (raw_added)
 *          -> normalizer                            (normalizer)
 *          -> added tokens spelled as normalized    (normalized_added)
 *          -> spaces as another character           (metaspace)
 *          -> regex splits into words               (pretokenizer)
 *          -> merges inside each word               (bpe)
 *          -> one special token before and after    (prefix_id, suffix_id)
 *
 * All parts are read-only once opened; what a call needs besides is on its own stack and heap, so
 * any number of threads may share a tokenizer. */
#ifndef WEIR_FORMATS_TOKENIZER_PARTS_H
#define WEIR_FORMATS_TOKENIZER_PARTS_H

#include "base/growable.h"
#include "formats/json_node.h"
#include "formats/pair_map.h"
#include "formats/string_table.h"
#include "formats/tokenizer.h"

#include <stdbool.h>

/* --- normalizer.c ------------------------------------------------------------------------ */

typedef enum weir_normalizer_kind {
  WEIR_NORMALIZER_NFC,
  WEIR_NORMALIZER_NFD,
  WEIR_NORMALIZER_NFKC,
  WEIR_NORMALIZER_NFKD,
  WEIR_NORMALIZER_PREPEND, /* `to`, unless the text is empty */
  WEIR_NORMALIZER_REPLACE, /* every `from` becomes `to` */
} weir_normalizer_kind;

typedef struct weir_normalizer_step {
  weir_normalizer_kind kind;
  char *from, *to; /* owned */
} weir_normalizer_step;

typedef struct weir_normalizer {
  weir_normalizer_step *steps;
  size_t count, capacity;
} weir_normalizer;

/* Copies the strings; either may be NULL where the kind has no use for it. */
weir_status weir_normalizer_add(weir_normalizer *normalizer, weir_normalizer_kind kind,
                                const char *from, const char *to);
/* Overwrites `normalized`.  The text is valid UTF-8.  Where it goes on from another one, nothing
 * is prepended. */
weir_status weir_normalizer_apply(const weir_normalizer *normalizer, const char *text,
                                  size_t n_bytes, bool goes_on, weir_bytes *normalized);
void weir_normalizer_deinit(weir_normalizer *normalizer);

/* Appends text with every `from` (not empty) replaced by `to`. */
weir_status weir_replace_all(const char *text, size_t n_bytes, const char *from, const char *to,
                             weir_bytes *replaced);

/* --- added_tokens.c ---------------------------------------------------------------------- */

typedef struct weir_added_token {
  weir_bytes spelling; /* what is looked for: the content, normalized where the file says so */
  int32_t id;
  bool single_word;    /* not next to a word character */
  bool lstrip, rstrip; /* takes the white space on that side with it */
} weir_added_token;

/* Sorted by first byte, then longest first. */
typedef struct weir_added_tokens {
  weir_added_token *tokens;
  size_t count, capacity;
  size_t first[257]; /* tokens that begin with byte b are [first[b], first[b + 1]) */
} weir_added_tokens;

/* Takes over the token's spelling, also on failure. */
weir_status weir_added_tokens_add(weir_added_tokens *set, weir_added_token token);
void weir_added_tokens_sort(weir_added_tokens *set);
void weir_added_tokens_deinit(weir_added_tokens *set);

typedef struct weir_added_match {
  int32_t id;
  size_t begin_bytes, end_bytes; /* with the white space it takes */
  size_t resume_bytes;           /* where the search goes on */
} weir_added_match;

/* The leftmost, then longest, token at or after `from_bytes`; `taken_bytes`: where the previous
 * match ended, white space before it is gone. */
bool weir_added_tokens_find(const weir_added_tokens *set, const char *text, size_t n_bytes,
                            size_t from_bytes, size_t taken_bytes, weir_added_match *match);

/* --- pretokenizer.c, regex_dialect.c ----------------------------------------------------- */

/* What becomes of a match: a word of its own, nothing, the end of what is before it, the start of
 * what is after it, or one word with the matches next to it. */
typedef enum weir_split_behavior {
  WEIR_SPLIT_ISOLATED,
  WEIR_SPLIT_REMOVED,
  WEIR_SPLIT_MERGED_WITH_PREVIOUS,
  WEIR_SPLIT_MERGED_WITH_NEXT,
  WEIR_SPLIT_CONTIGUOUS,
} weir_split_behavior;

typedef struct weir_split {
  void *code; /* a compiled pattern */
  weir_split_behavior behavior;
  bool invert; /* what lies between matches counts as the match */
} weir_split;

typedef struct weir_pretokenizer {
  weir_split *splits;
  size_t count, capacity;
} weir_pretokenizer;

extern const char weir_gpt2_pattern[];

/* Rewrites a pattern of the reference's dialect (Oniguruma, Ruby syntax) into PCRE2's, or refuses
 * what would mean something else there. */
weir_status weir_regex_translate(const char *pattern, weir_bytes *translated);

/* Adds one split; `pattern` is a regex in the reference's dialect. */
weir_status weir_pretokenizer_add(weir_pretokenizer *pretokenizer, const char *pattern,
                                  weir_split_behavior behavior, bool invert);

typedef weir_status (*weir_word_sink)(void *context, const char *word, size_t n_bytes);

/* Calls `sink` for every word in order; stops at the first failure.  The text is valid UTF-8. */
weir_status weir_pretokenizer_run(const weir_pretokenizer *pretokenizer, const char *text,
                                  size_t n_bytes, weir_word_sink sink, void *context);
void weir_pretokenizer_deinit(weir_pretokenizer *pretokenizer);

/* --- metaspace.c ------------------------------------------------------------------------- */

typedef enum weir_metaspace_prepend {
  WEIR_METASPACE_NEVER,
  WEIR_METASPACE_FIRST, /* where the text begins */
  WEIR_METASPACE_ALWAYS /* at every part between added tokens */
} weir_metaspace_prepend;

/* Spaces become another character, and one is put before the text unless it has one there. */
typedef struct weir_metaspace {
  char replacement[8]; /* "": there is no such stage */
  weir_metaspace_prepend prepend;
} weir_metaspace;

/* Overwrites `replaced`.  `is_start`: the piece begins the text; `goes_on`: the piece goes on from
 * another text. */
weir_status weir_metaspace_apply(const weir_metaspace *metaspace, const char *text, size_t n_bytes,
                                 bool is_start, bool goes_on, weir_bytes *replaced);

/* --- bpe_encode.c ------------------------------------------------------------------------ */

typedef struct weir_bpe {
  weir_string_table vocabulary; /* token texts as the file spells them; number = id */
  size_t n_model_tokens;        /* ids below are the model's, the others were only added */
  weir_pair_map ranks;          /* pair -> rank of its merge */
  weir_ids merged;              /* rank -> id of the merged token */
  int32_t byte_ids[256];        /* token of a byte, byte-level or <0xNN>; -1: none */
  int32_t unk_id;               /* -1: none */
  bool byte_level, byte_fallback, fuse_unk, ignore_merges;
} weir_bpe;

/* Work space of one call of encode; zeroed: empty. */
typedef struct weir_bpe_scratch {
  struct weir_bpe_symbol *symbols;
  struct weir_bpe_candidate *heap;
  size_t n_symbols, symbols_capacity, n_heap, heap_capacity;
  weir_bytes spelling;
} weir_bpe_scratch;

/* Appends the ids of one word. */
weir_status weir_bpe_encode(const weir_bpe *bpe, weir_bpe_scratch *scratch, const char *word,
                            size_t n_bytes, weir_ids *ids);
void weir_bpe_scratch_deinit(weir_bpe_scratch *scratch);
/* -1 where the model itself has no such token. */
int32_t weir_bpe_token_id(const weir_bpe *bpe, const char *text, size_t n_bytes);
void weir_bpe_deinit(weir_bpe *bpe);

/* --- the whole --------------------------------------------------------------------------- */

struct weir_tokenizer {
  weir_added_tokens raw_added, normalized_added;
  weir_normalizer normalizer;
  weir_metaspace metaspace;
  weir_pretokenizer pretokenizer;
  weir_bpe bpe;
  int32_t prefix_id, suffix_id; /* -1: none */
  int32_t bos_id, eos_id;       /* -1: no file says */

  weir_bytes decoded;   /* the bytes of all tokens, end to end */
  size_t *decoded_ends; /* where token i's bytes end */
  bool *is_added;       /* token i is looked for in the text; its bytes are its text */
  bool *begins_text;    /* token i: what follows it is normalized as a text of its own */
  int n_strip;          /* so many strip_byte at the start of a text are not part of it */
  char strip_byte;
  uint64_t fingerprint;
};

/* tokenizer.c: a text, or a part of one. */
typedef struct weir_text_part {
  bool add_prefix, add_suffix; /* the special tokens around a text */
  bool goes_on;                /* from another text: no space is put before it */
} weir_text_part;

weir_status weir_tokenizer_encode_part(const weir_tokenizer *tokenizer, const char *text,
                                       size_t n_bytes, weir_text_part part, weir_ids *ids);

/* tokenizer_read.c: reads the file into a zeroed tokenizer. */
weir_status weir_tokenizer_read(const char *file, weir_tokenizer *tokenizer);
/* tokenizer_special.c: the begin and end tokens, from the files beside tokenizer.json. */
weir_status weir_tokenizer_read_special(const char *directory, weir_tokenizer *tokenizer);

/* tokenizer_stages.c: the stages around the model; `root` is the whole file. */
typedef struct weir_decoder {
  bool byte_level, byte_fallback;
  weir_normalizer replacements;
} weir_decoder;

weir_status weir_tokenizer_read_normalizer(const weir_json_node *root, weir_normalizer *normalizer);
weir_status weir_tokenizer_read_pretokenizer(const weir_json_node *root, weir_tokenizer *tokenizer);
weir_status weir_tokenizer_read_postprocessor(const weir_json_node *root,
                                              weir_tokenizer *tokenizer);
/* The rest of it goes to the tokenizer's n_strip and strip_byte. */
weir_status weir_tokenizer_read_decoder(const weir_json_node *root, weir_decoder *decoder,
                                        weir_tokenizer *tokenizer);

/* --- utf8.c ------------------------------------------------------------------------------ */

/* Length in bytes of the character at `text`, or 0 where there is no valid UTF-8. */
size_t weir_utf8_next(const char *text, size_t n_bytes, int32_t *character);

#endif
