/* SPDX-License-Identifier: Apache-2.0
 *
 * Cuts text into words with regular expressions, one after the other: each cuts the pieces that
 * the one before it left.  Every piece is a subject of its own, so lookaround does not see beyond.
 *
 * A pattern may not match the empty string, and one match may take only so many steps: a hostile
 * tokenizer.json costs an error, not the afternoon. */
#include "formats/tokenizer_parts.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

enum { MAX_SPLITS = 16, BASE_MATCH_LIMIT = 10000000 };

const char weir_gpt2_pattern[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

static weir_status compile(const char *pattern, pcre2_code **code) {
  weir_bytes text = {0};
  weir_status status = weir_regex_translate(pattern, &text);
  int error = 0;
  PCRE2_SIZE error_offset = 0;
  pcre2_compile_context *context = pcre2_compile_context_create(NULL);
  *code = NULL;
  if (status == WEIR_OK && context) {
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    *code = pcre2_compile((PCRE2_SPTR)(text.data ? text.data : ""), text.count, PCRE2_UTF, &error,
                          &error_offset, context);
    if (!*code) {
      PCRE2_UCHAR reason[128] = "";
      pcre2_get_error_message(error, reason, sizeof reason);
      status = weir_fail(WEIR_BAD_INPUT, "regex \"%.200s\": %s", pattern, (const char *)reason);
    }
  }
  pcre2_compile_context_free(context);
  weir_bytes_deinit(&text);
  return status;
}

weir_status weir_pretokenizer_add(weir_pretokenizer *pretokenizer, const char *pattern,
                                  weir_split_behavior behavior, bool invert) {
  if (pretokenizer->count == MAX_SPLITS)
    return weir_fail(WEIR_BAD_INPUT, "more than %d splits", MAX_SPLITS);
  WEIR_TRY(weir_grow(&pretokenizer->splits, &pretokenizer->capacity, pretokenizer->count + 1,
                     sizeof *pretokenizer->splits));
  pcre2_code *code;
  WEIR_TRY(compile(pattern, &code));
  if (!code) return weir_fail(WEIR_FAILED, "out of memory for a regex");
  pretokenizer->splits[pretokenizer->count++] = (weir_split){code, behavior, invert};
  uint32_t matches_empty = 0;
  pcre2_pattern_info(code, PCRE2_INFO_MATCHEMPTY, &matches_empty);
  if (matches_empty)
    return weir_fail(WEIR_BAD_INPUT, "regex \"%.200s\" can match nothing", pattern);
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* where it fails, the interpreter serves */
  return WEIR_OK;
}

void weir_pretokenizer_deinit(weir_pretokenizer *pretokenizer) {
  for (size_t i = 0; i < pretokenizer->count; i++)
    pcre2_code_free(pretokenizer->splits[i].code);
  free(pretokenizer->splits);
  *pretokenizer = (weir_pretokenizer){0};
}

typedef struct run {
  const weir_pretokenizer *pretokenizer;
  pcre2_match_data *match;
  pcre2_match_context *limits;
  weir_word_sink sink;
  void *context;
} run;

/* The first match at or after `from`; *begin = n_bytes where there is none. */
static weir_status find(const run *r, const weir_split *split, const char *text, size_t n_bytes,
                        size_t from, size_t *begin, size_t *end) {
  PCRE2_SPTR subject = (PCRE2_SPTR)text;
  int rc =
      pcre2_match(split->code, subject, n_bytes, from, PCRE2_NO_UTF_CHECK, r->match, r->limits);
  if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
    rc = pcre2_match(split->code, subject, n_bytes, from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                     r->match, r->limits);
  *begin = *end = n_bytes;
  if (rc == PCRE2_ERROR_NOMATCH) return WEIR_OK;
  if (rc < 0) {
    PCRE2_UCHAR reason[128] = "";
    pcre2_get_error_message(rc, reason, sizeof reason);
    return weir_fail(WEIR_BAD_INPUT, "the tokenizer's regex gave up on a piece of %zu bytes: %s",
                     n_bytes - from, (const char *)reason);
  }
  const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(r->match);
  *begin = ends[0];
  *end = ends[1];
  return WEIR_OK;
}

/* A piece that may still grow by what follows it. */
typedef struct piece {
  size_t begin, end; /* begin == end: none yet */
  bool is_match;     /* what its last part was */
} piece;

static bool joins(weir_split_behavior behavior, bool after_match, bool is_match) {
  switch (behavior) {
  case WEIR_SPLIT_MERGED_WITH_PREVIOUS:
    return is_match && !after_match;
  case WEIR_SPLIT_MERGED_WITH_NEXT:
    return after_match && !is_match;
  case WEIR_SPLIT_CONTIGUOUS:
    return after_match == is_match;
  default:
    return false;
  }
}

static weir_status cut(const run *r, size_t i_split, const char *text, size_t n_bytes);

/* Adds the next part of the text to the piece, or lets the piece go and begins another. */
static weir_status take(const run *r, size_t i_split, const char *text, piece next, piece *held) {
  const weir_split *split = &r->pretokenizer->splits[i_split];
  if (next.begin == next.end) return WEIR_OK;
  next.is_match ^= split->invert;
  if (held->begin < held->end && joins(split->behavior, held->is_match, next.is_match)) {
    held->end = next.end;
    held->is_match = next.is_match;
    return WEIR_OK;
  }
  const piece done = *held;
  *held = next;
  if (next.is_match && split->behavior == WEIR_SPLIT_REMOVED) held->begin = held->end;
  return cut(r, i_split + 1, text + done.begin, done.end - done.begin);
}

static weir_status cut(const run *r, size_t i_split, const char *text, size_t n_bytes) {
  if (n_bytes == 0) return WEIR_OK;
  if (i_split == r->pretokenizer->count) return r->sink(r->context, text, n_bytes);
  piece held = {0};
  for (size_t at = 0, begin, end; at < n_bytes; at = end) {
    WEIR_TRY(find(r, &r->pretokenizer->splits[i_split], text, n_bytes, at, &begin, &end));
    WEIR_TRY(take(r, i_split, text, (piece){at, begin, false}, &held));
    WEIR_TRY(take(r, i_split, text, (piece){begin, end, true}, &held));
  }
  return cut(r, i_split + 1, text + held.begin, held.end - held.begin);
}

weir_status weir_pretokenizer_run(const weir_pretokenizer *pretokenizer, const char *text,
                                  size_t n_bytes, weir_word_sink sink, void *context) {
  run r = {pretokenizer, pcre2_match_data_create(1, NULL), pcre2_match_context_create(NULL), sink,
           context};
  weir_status status = WEIR_OK;
  if (!r.match || !r.limits) {
    status = weir_fail(WEIR_FAILED, "out of memory for a match");
  } else {
    uint64_t limit = BASE_MATCH_LIMIT + 8 * (uint64_t)n_bytes;
    pcre2_set_match_limit(r.limits, limit < UINT32_MAX ? (uint32_t)limit : UINT32_MAX);
    status = cut(&r, 0, text, n_bytes);
  }
  pcre2_match_data_free(r.match);
  pcre2_match_context_free(r.limits);
  return status;
}
