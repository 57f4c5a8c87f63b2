/* SPDX-License-Identifier: Apache-2.0
 *
 * Values are kept as the texts they were given as and as the one number those texts mean. */
#include "base/option.h"

#include "base/nearest.h"
#include "base/number_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 64 };

typedef struct option_value {
  const weir_option *row;
  weir_option_origin origin; /* of the value kept */
  unsigned seen;             /* origins that have set it, one bit each */
  union {
    bool boolean;
    int64_t integer;
    double real;
    uint64_t bytes;
  };
  size_t n_strings;
  char **strings;
} option_value;

struct weir_options {
  uint32_t command;
  size_t n_values;
  option_value values[];
};

/* --- names ------------------------------------------------------------------------------------ */

/* `name` in snake_case; too long a name is cut, and is then unknown. */
static void make_snake(char snake[NAME_BYTES], const char *name) {
  size_t n = 0;
  for (; name[n] != '\0' && n + 1 < NAME_BYTES; n++)
    snake[n] = name[n] == '-' ? '_' : name[n];
  snake[n] = '\0';
}

/* How the user who wrote it spells the name: a flag with dashes, a key as it is. */
static const char *spell(const char *name, weir_option_origin origin, char text[NAME_BYTES + 2]) {
  const char *dashes = origin == WEIR_ORIGIN_FLAG ? "--" : "";
  snprintf(text, NAME_BYTES + 2, "%s%s", dashes, name);
  for (char *c = text; origin == WEIR_ORIGIN_FLAG && *c; c++)
    if (*c == '_') *c = '-';
  return text;
}

static option_value *find_value(const weir_options *options, const char *name) {
  char snake[NAME_BYTES];
  make_snake(snake, name);
  for (size_t i = 0; i < options->n_values; i++) {
    const option_value *value = &options->values[i];
    if (value->row->positional) continue;
    if (strcmp(value->row->name, snake) == 0 ||
        (value->row->alias && strcmp(value->row->alias, snake) == 0))
      return (option_value *)value;
  }
  return NULL;
}

const weir_option *weir_options_find(const weir_options *options, const char *name) {
  const option_value *value = find_value(options, name);
  return value ? value->row : NULL;
}

weir_status weir_options_unknown(const weir_options *options, const char *name,
                                 weir_option_origin origin) {
  char snake[NAME_BYTES], text[NAME_BYTES + 2], nearest_text[NAME_BYTES + 2];
  make_snake(snake, name);
  weir_nearest nearest = weir_nearest_begin(snake);
  for (size_t i = 0; i < options->n_values; i++) {
    const weir_option *row = options->values[i].row;
    if (row->positional) continue;
    weir_nearest_offer(&nearest, row->name);
    if (row->alias) weir_nearest_offer(&nearest, row->alias);
  }
  spell(snake, origin, text);
  if (!nearest.best) return weir_fail(WEIR_BAD_INPUT, "unknown option %s", text);
  return weir_fail(WEIR_BAD_INPUT, "unknown option %s; did you mean %s?", text,
                   spell(nearest.best, origin, nearest_text));
}

const weir_option *weir_options_positional(const weir_options *options) {
  for (size_t i = 0; i < options->n_values; i++)
    if (options->values[i].row->positional) return options->values[i].row;
  return NULL;
}

const weir_option *weir_options_row(const weir_options *options, size_t i) {
  return i < options->n_values ? options->values[i].row : NULL;
}

/* --- reading one value ------------------------------------------------------------------------ */

/* `range` is "[a, b)" and its kin; inf means no bound.  The table's own mistake is asserted. */
static bool is_in_range(double value, const char *range) {
  if (!range) return true;
  char low_text[NAME_BYTES], high_text[NAME_BYTES], open, close;
  int n = sscanf(range, "%c%63[^,], %63[^])]%c", &open, low_text, high_text, &close);
  WEIR_ASSERT(n, ==, 4);
  double low = -INFINITY, high = INFINITY;
  WEIR_ASSERT(weir_text_to_real(low_text, &low) || strcmp(low_text, "-inf") == 0, ==, 1);
  WEIR_ASSERT(weir_text_to_real(high_text, &high) || strcmp(high_text, "inf") == 0, ==, 1);
  return (open == '(' ? value > low : value >= low) &&
         (close == ')' ? value < high : value <= high);
}

static bool is_choice(const char *text, const char *choices) {
  size_t length = strlen(text);
  for (const char *c = choices; length > 0 && c; c = strchr(c, '|')) {
    c += *c == '|';
    if (strncmp(c, text, length) == 0 && (c[length] == '|' || c[length] == '\0')) return true;
  }
  return false;
}

/* What a value of this row must look like, for the message. */
static const char *describe_type(const weir_option *row) {
  switch (row->type) {
  case WEIR_OPTION_BOOLEAN:
    return "true or false";
  case WEIR_OPTION_INTEGER:
    return "a whole number";
  case WEIR_OPTION_REAL:
    return "a number";
  case WEIR_OPTION_BYTES:
    return "a size such as 500000, 64kB, 2GB or 1.5GiB (kB MB GB, KiB MiB GiB)";
  case WEIR_OPTION_CHOICE:
    return row->choices;
  case WEIR_OPTION_STRING:
  case WEIR_OPTION_STRINGS:
    break;
  }
  return "a text";
}

static bool read_boolean(const char *text, bool *boolean) {
  *boolean = strcmp(text, "true") == 0;
  return *boolean || strcmp(text, "false") == 0;
}

/* Reads `text` into the value's number; `number` is what the range is about. */
static bool read_text(option_value *value, const char *text, double *number) {
  *number = 0;
  switch (value->row->type) {
  case WEIR_OPTION_BOOLEAN:
    return read_boolean(text, &value->boolean);
  case WEIR_OPTION_INTEGER:
    if (!weir_text_to_integer(text, &value->integer)) return false;
    *number = (double)value->integer;
    return true;
  case WEIR_OPTION_REAL:
    if (!weir_text_to_real(text, &value->real)) return false;
    *number = value->real;
    return true;
  case WEIR_OPTION_BYTES:
    if (!weir_text_to_bytes(text, &value->bytes)) return false;
    *number = (double)value->bytes;
    return true;
  case WEIR_OPTION_CHOICE:
    return is_choice(text, value->row->choices);
  case WEIR_OPTION_STRING:
  case WEIR_OPTION_STRINGS:
    break;
  }
  return true;
}

static void clear_strings(option_value *value) {
  for (size_t i = 0; i < value->n_strings; i++)
    free(value->strings[i]);
  free(value->strings);
  value->strings = NULL;
  value->n_strings = 0;
}

static weir_status keep_strings(option_value *value, size_t n_texts, const char *const *texts) {
  char **strings = calloc(n_texts, sizeof *strings);
  bool ok = strings != NULL;
  for (size_t i = 0; ok && i < n_texts; i++)
    ok = (strings[i] = strdup(texts[i])) != NULL;
  value->strings = strings;
  value->n_strings = strings ? n_texts : 0;
  return ok ? WEIR_OK : weir_fail(WEIR_FAILED, "out of memory while reading the options");
}

/* `spelt`: the name as it was given. */
static weir_status set_value(option_value *value, const char *spelt, size_t n_texts,
                             const char *const *texts, weir_option_origin origin) {
  const weir_option *row = value->row;
  char name[NAME_BYTES + 2];
  spell(spelt, row->positional ? WEIR_ORIGIN_NONE : origin, name);
  if (value->seen & (1u << origin))
    return weir_fail(WEIR_BAD_INPUT, "%s is given twice%s", name,
                     row->type == WEIR_OPTION_STRINGS ? "; give all its values at once" : "");
  if (n_texts == 0) return weir_fail(WEIR_BAD_INPUT, "%s needs a value", name);
  if (n_texts > 1 && row->type != WEIR_OPTION_STRINGS)
    return weir_fail(WEIR_BAD_INPUT, "%s takes one value, found %zu", name, n_texts);

  option_value fresh = {.row = row, .origin = origin, .seen = value->seen | (1u << origin)};
  double number;
  if (!read_text(&fresh, texts[0], &number))
    return weir_fail(WEIR_BAD_INPUT, "%s is '%.200s', expected %s", name, texts[0],
                     describe_type(row));
  if (!is_in_range(number, row->range))
    return weir_fail(WEIR_BAD_INPUT, "%s is %.200s, which is out of range: it must be in %s", name,
                     texts[0], row->range);
  value->seen = fresh.seen;
  if (value->origin > origin) return WEIR_OK;
  weir_status status = keep_strings(&fresh, n_texts, texts);
  if (status != WEIR_OK) {
    clear_strings(&fresh);
    return status;
  }
  clear_strings(value);
  *value = fresh;
  return WEIR_OK;
}

weir_status weir_options_set(weir_options *options, const char *name, size_t n_texts,
                             const char *const *texts, weir_option_origin origin) {
  option_value *value = find_value(options, name);
  if (!value) return weir_options_unknown(options, name, origin);
  return set_value(value, name, n_texts, texts, origin);
}

weir_status weir_options_set_positional(weir_options *options, size_t n_texts,
                                        const char *const *texts) {
  const weir_option *row = weir_options_positional(options);
  WEIR_ASSERT(row != NULL, ==, 1);
  for (size_t i = 0; i < options->n_values; i++)
    if (options->values[i].row == row)
      return set_value(&options->values[i], row->unit, n_texts, texts, WEIR_ORIGIN_FLAG);
  return WEIR_OK;
}

weir_status weir_options_require(const weir_options *options) {
  for (size_t i = 0; i < options->n_values; i++) {
    const option_value *value = &options->values[i];
    const weir_option *row = value->row;
    if (!(row->required_by & options->command) || value->origin != WEIR_ORIGIN_NONE) continue;
    char name[NAME_BYTES + 2];
    const bool is_number = row->type == WEIR_OPTION_INTEGER || row->type == WEIR_OPTION_REAL;
    const char *unit = row->unit && !is_number ? row->unit : "N";
    if (row->positional) return weir_fail(WEIR_BAD_INPUT, "%s is missing: %s", unit, row->help);
    spell(row->alias ? row->alias : row->name, WEIR_ORIGIN_FLAG, name);
    return weir_fail(WEIR_BAD_INPUT, "%s %s is missing: %s", name, unit, row->help);
  }
  return WEIR_OK;
}

/* --- life ------------------------------------------------------------------------------------- */

weir_status weir_options_create(weir_options **options, const weir_option *rows, size_t n_rows,
                                uint32_t command) {
  weir_options *made = calloc(1, sizeof *made + n_rows * sizeof *made->values);
  if (!made) return weir_fail(WEIR_FAILED, "out of memory while reading the options");
  made->command = command;
  weir_status status = WEIR_OK;
  for (size_t i = 0; i < n_rows && status == WEIR_OK; i++) {
    if (!(rows[i].commands & command)) continue;
    option_value *value = &made->values[made->n_values++];
    value->row = &rows[i];
    if (rows[i].default_text)
      status = set_value(value, rows[i].name, 1, &rows[i].default_text, WEIR_ORIGIN_DEFAULT);
  }
  if (status != WEIR_OK) {
    weir_options_destroy(made);
    return status;
  }
  *options = made;
  return WEIR_OK;
}

void weir_options_destroy(weir_options *options) {
  if (!options) return;
  for (size_t i = 0; i < options->n_values; i++)
    clear_strings(&options->values[i]);
  free(options);
}

/* --- getters ---------------------------------------------------------------------------------- */

static const option_value *get_value(const weir_options *options, const char *name) {
  for (size_t i = 0; i < options->n_values; i++)
    if (strcmp(options->values[i].row->name, name) == 0) return &options->values[i];
  char what[128];
  snprintf(what, sizeof what, "option %s is declared for this command", name);
  weir_assert_failed(what, 0, 1, __FILE__, __LINE__);
}

static const option_value *get_number(const weir_options *options, const char *name,
                                      weir_option_type type) {
  const option_value *value = get_value(options, name);
  WEIR_ASSERT(value->row->type, ==, type);
  WEIR_ASSERT(value->origin, !=, WEIR_ORIGIN_NONE);
  return value;
}

bool weir_options_is_set(const weir_options *options, const char *name) {
  return get_value(options, name)->origin != WEIR_ORIGIN_NONE;
}

bool weir_options_is_given(const weir_options *options, const char *name) {
  return get_value(options, name)->origin > WEIR_ORIGIN_DEFAULT;
}

bool weir_options_boolean(const weir_options *options, const char *name) {
  const option_value *value = get_value(options, name);
  WEIR_ASSERT(value->row->type, ==, WEIR_OPTION_BOOLEAN);
  return value->boolean;
}

int64_t weir_options_integer(const weir_options *options, const char *name) {
  return get_number(options, name, WEIR_OPTION_INTEGER)->integer;
}

double weir_options_real(const weir_options *options, const char *name) {
  return get_number(options, name, WEIR_OPTION_REAL)->real;
}

uint64_t weir_options_bytes(const weir_options *options, const char *name) {
  return get_number(options, name, WEIR_OPTION_BYTES)->bytes;
}

const char *weir_options_string(const weir_options *options, const char *name) {
  const option_value *value = get_value(options, name);
  weir_option_type type = value->row->type;
  WEIR_ASSERT(type == WEIR_OPTION_STRING || type == WEIR_OPTION_CHOICE, ==, 1);
  return value->n_strings ? value->strings[0] : NULL;
}

const char *const *weir_options_strings(const weir_options *options, const char *name,
                                        size_t *n_strings) {
  const option_value *value = get_value(options, name);
  WEIR_ASSERT(value->row->type, ==, WEIR_OPTION_STRINGS);
  *n_strings = value->n_strings;
  return (const char *const *)value->strings;
}

const char *weir_options_text(const weir_options *options, const char *name, char buffer[32]) {
  const option_value *value = get_value(options, name);
  if (value->origin == WEIR_ORIGIN_NONE) return NULL;
  switch (value->row->type) {
  case WEIR_OPTION_BOOLEAN:
    return value->boolean ? "true" : "false";
  case WEIR_OPTION_INTEGER:
    snprintf(buffer, 32, "%" PRId64, value->integer);
    return buffer;
  case WEIR_OPTION_REAL:
    return weir_real_to_text(value->real, buffer);
  case WEIR_OPTION_BYTES:
    snprintf(buffer, 32, "%" PRIu64, value->bytes);
    return buffer;
  case WEIR_OPTION_CHOICE:
  case WEIR_OPTION_STRING:
    return value->strings[0];
  case WEIR_OPTION_STRINGS:
    break;
  }
  return NULL;
}
