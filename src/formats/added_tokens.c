/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens that are looked for in the text before anything splits it: <|endoftext|> and its kin.
 *
 * The reference searches with Aho-Corasick, leftmost then longest; tokens are few and begin with
 * few different bytes, so trying each one in turn at each place finds the same, with less. */
#include "formats/tokenizer_parts.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

weir_status weir_added_tokens_add(weir_added_tokens *set, weir_added_token token) {
  weir_status status = weir_grow(&set->tokens, &set->capacity, set->count + 1, sizeof *set->tokens);
  if (status == WEIR_OK)
    set->tokens[set->count++] = token;
  else
    weir_bytes_deinit(&token.spelling);
  return status;
}

static int first_byte(const weir_added_token *token) {
  return (unsigned char)token->spelling.data[0];
}

static int compare_tokens(const void *left, const void *right) {
  const weir_added_token *a = left, *b = right;
  if (first_byte(a) != first_byte(b)) return first_byte(a) - first_byte(b);
  if (a->spelling.count != b->spelling.count) return a->spelling.count > b->spelling.count ? -1 : 1;
  return a->id - b->id;
}

void weir_added_tokens_sort(weir_added_tokens *set) {
  if (set->count) qsort(set->tokens, set->count, sizeof *set->tokens, compare_tokens);
  for (size_t i = 0; i < 257; i++)
    set->first[i] = 0;
  for (size_t i = 0; i < set->count; i++)
    set->first[first_byte(&set->tokens[i]) + 1]++;
  for (size_t i = 0; i < 256; i++)
    set->first[i + 1] += set->first[i];
}

void weir_added_tokens_deinit(weir_added_tokens *set) {
  for (size_t i = 0; i < set->count; i++)
    weir_bytes_deinit(&set->tokens[i].spelling);
  free(set->tokens);
  *set = (weir_added_tokens){0};
}

/* Unicode's White_Space. */
static bool is_space(int32_t c) {
  if ((c >= '\t' && c <= '\r') || c == 0x85) return true;
  utf8proc_category_t category = utf8proc_category(c);
  return category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP;
}

/* \w of UTS #18: Alphabetic, marks, decimal digits, connectors, joiners.  The circled and squared
 * letters are the only Alphabetic characters that are neither letters, marks nor letter numbers. */
static bool is_word(int32_t c) {
  switch (utf8proc_category(c)) {
  case UTF8PROC_CATEGORY_LU:
  case UTF8PROC_CATEGORY_LL:
  case UTF8PROC_CATEGORY_LT:
  case UTF8PROC_CATEGORY_LM:
  case UTF8PROC_CATEGORY_LO:
  case UTF8PROC_CATEGORY_MN:
  case UTF8PROC_CATEGORY_MC:
  case UTF8PROC_CATEGORY_ME:
  case UTF8PROC_CATEGORY_ND:
  case UTF8PROC_CATEGORY_NL:
  case UTF8PROC_CATEGORY_PC:
    return true;
  default:
    return c == 0x200C || c == 0x200D || (c >= 0x24B6 && c <= 0x24E9) ||
           (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) ||
           (c >= 0x1F170 && c <= 0x1F189);
  }
}

/* Length of the character that ends at `end_bytes`; 0 at the start of the text. */
static size_t character_before(const char *text, size_t end_bytes, int32_t *character) {
  size_t begin = end_bytes;
  while (begin > 0 && ((unsigned char)text[--begin] & 0xC0) == 0x80)
    ;
  return begin < end_bytes ? weir_utf8_next(text + begin, end_bytes - begin, character) : 0;
}

static const weir_added_token *token_at(const weir_added_tokens *set, const char *text,
                                        size_t n_bytes) {
  unsigned char byte = (unsigned char)text[0];
  for (size_t i = set->first[byte]; i < set->first[byte + 1]; i++) {
    const weir_bytes *spelling = &set->tokens[i].spelling;
    if (spelling->count <= n_bytes && memcmp(text, spelling->data, spelling->count) == 0)
      return &set->tokens[i];
  }
  return NULL;
}

static bool touches_a_word(const char *text, size_t n_bytes, size_t begin, size_t end) {
  int32_t c;
  if (character_before(text, begin, &c) && is_word(c)) return true;
  return weir_utf8_next(text + end, n_bytes - end, &c) && is_word(c);
}

bool weir_added_tokens_find(const weir_added_tokens *set, const char *text, size_t n_bytes,
                            size_t from_bytes, size_t taken_bytes, weir_added_match *match) {
  if (set->count == 0) return false;
  for (size_t at = from_bytes; at < n_bytes; at++) {
    const weir_added_token *token = token_at(set, text + at, n_bytes - at);
    if (!token) continue;
    size_t begin = at, end = at + token->spelling.count, n;
    *match = (weir_added_match){.id = token->id, .resume_bytes = end};
    if (token->single_word && touches_a_word(text, n_bytes, begin, end)) {
      at = end - 1;
      continue;
    }
    int32_t c;
    if (token->lstrip)
      while (begin > taken_bytes && (n = character_before(text, begin, &c)) && is_space(c))
        begin -= n;
    if (token->rstrip)
      while ((n = weir_utf8_next(text + end, n_bytes - end, &c)) && is_space(c))
        end += n;
    match->begin_bytes = begin;
    match->end_bytes = end;
    return true;
  }
  return false;
}
