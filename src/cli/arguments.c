/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/arguments.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
  weir_options *options;
  char *const *words;
  int n_words, next;
} reader;

static size_t measure_key(const char *word) {
  size_t n = 2;
  if (strncmp(word, "--", 2) != 0 || !isalpha((unsigned char)word[2])) return 0;
  while (isalnum((unsigned char)word[n]) || word[n] == '-' || word[n] == '_')
    n++;
  return word[n] == '\0' || word[n] == '=' ? n : 0;
}

static bool has_value(const reader *r) {
  return r->next < r->n_words && measure_key(r->words[r->next]) == 0;
}

static bool is_boolean_word(const char *word) {
  return strcmp(word, "true") == 0 || strcmp(word, "false") == 0;
}

/* How many of the words that follow are this option's values. */
static size_t count_values(const reader *r, const weir_option *row) {
  if (!has_value(r)) return 0;
  if (row->type == WEIR_OPTION_BOOLEAN) return is_boolean_word(r->words[r->next]);
  if (row->type != WEIR_OPTION_STRINGS) return 1;
  reader ahead = *r;
  while (has_value(&ahead))
    ahead.next++;
  return (size_t)(ahead.next - r->next);
}

static weir_status read_option(reader *r) {
  const char *word = r->words[r->next++];
  size_t n_key = measure_key(word);
  char key[64];
  snprintf(key, sizeof key, "%.*s", (int)n_key - 2, word + 2);
  const weir_option *row = weir_options_find(r->options, key);
  if (!row) return weir_options_unknown(r->options, key, WEIR_ORIGIN_FLAG);
  if (word[n_key] == '=') {
    const char *value = word + n_key + 1;
    return weir_options_set(r->options, key, 1, &value, WEIR_ORIGIN_FLAG);
  }
  size_t n_values = count_values(r, row);
  const char *const *values = (const char *const *)&r->words[r->next];
  r->next += (int)n_values;
  if (row->type == WEIR_OPTION_BOOLEAN && n_values == 0) {
    static const char *const alone = "true";
    return weir_options_set(r->options, key, 1, &alone, WEIR_ORIGIN_FLAG);
  }
  if (n_values == 0 && r->next < r->n_words)
    return weir_fail(
        WEIR_BAD_INPUT,
        "--%s needs a value, found %s; a value that looks like an option is given as --%s=%s", key,
        r->words[r->next], key, r->words[r->next]);
  return weir_options_set(r->options, key, n_values, values, WEIR_ORIGIN_FLAG);
}

static weir_status refuse_word(const reader *r, const char *word) {
  const weir_option *row = weir_options_positional(r->options);
  if (*word == '-' && word[1] != '\0')
    return weir_fail(WEIR_BAD_INPUT,
                     "'%s' is not an option: options are --key value or --key=value", word);
  if (!row)
    return weir_fail(WEIR_BAD_INPUT, "unexpected '%s': this command takes only options", word);
  return weir_fail(WEIR_BAD_INPUT, "unexpected '%s': there is already one %s", word, row->unit);
}

weir_status weir_arguments_read(weir_options *options, int n_words, char *const *words,
                                bool *wants_help) {
  reader r = {.options = options, .words = words, .n_words = n_words};
  const weir_option *row = weir_options_positional(options);
  const char **positional = calloc((size_t)n_words + 1, sizeof *positional);
  if (!positional) return weir_fail(WEIR_FAILED, "out of memory while reading the options");
  size_t n_positional = 0;
  weir_status status = WEIR_OK;
  while (status == WEIR_OK && r.next < n_words && !*wants_help) {
    const char *word = words[r.next];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
      *wants_help = true;
    } else if (measure_key(word)) {
      status = read_option(&r);
    } else if (row && (word[0] != '-' || word[1] == '\0') &&
               (n_positional == 0 || row->type == WEIR_OPTION_STRINGS)) {
      positional[n_positional++] = word;
      r.next++;
    } else {
      status = refuse_word(&r, word);
    }
  }
  if (status == WEIR_OK && n_positional > 0)
    status = weir_options_set_positional(options, n_positional, positional);
  free(positional);
  return status;
}
