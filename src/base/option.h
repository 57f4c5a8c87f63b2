/* SPDX-License-Identifier: Apache-2.0
 *
 * One table of options, one row each; parsing, range checks, help, YAML and the dump of what was
 * resolved all read the same rows, so they cannot disagree.
 *
 * A row belongs to a set of commands; the same name may have another row for other commands (its
 * own default, its own help).  A weir_options holds the values of one command: a flag wins over
 * the configuration file, which wins over the default.  Names are snake_case; a user may write `-`
 * for `_`, or the row's short alias. */
#ifndef WEIR_BASE_OPTION_H
#define WEIR_BASE_OPTION_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum weir_option_type {
  WEIR_OPTION_BOOLEAN,
  WEIR_OPTION_INTEGER,
  WEIR_OPTION_REAL,
  WEIR_OPTION_BYTES,
  WEIR_OPTION_CHOICE,
  WEIR_OPTION_STRING,
  WEIR_OPTION_STRINGS, /* one value or more: --train-file A B */
} weir_option_type;

typedef struct weir_option {
  const char *name;
  weir_option_type type;
  const char *default_text; /* as a user would write it; NULL: not set unless given */
  const char *range;        /* "[0, 1)", "(0, inf)": as a mathematician writes it; NULL: any */
  const char *choices;      /* "constant|linear|cosine" */
  const char *unit;         /* "tokens", "steps"; for STRING what the value is: "DIR", "FILE" */
  const char *group;        /* heading in the help */
  const char *help;
  const char *alias;    /* short name, or NULL */
  uint32_t commands;    /* one bit per command that has this option */
  uint32_t required_by; /* those of them that cannot do without */
  bool positional;      /* takes the arguments without a key; one such row per command */
} weir_option;

typedef enum weir_option_origin {
  WEIR_ORIGIN_NONE, /* not set */
  WEIR_ORIGIN_DEFAULT,
  WEIR_ORIGIN_CONFIG,
  WEIR_ORIGIN_FLAG,
} weir_option_origin;

typedef struct weir_options weir_options;

/* The options of one command (a single bit), every one at its default.  `rows` is borrowed. */
weir_status weir_options_create(weir_options **options, const weir_option *rows, size_t n_rows,
                                uint32_t command);
void weir_options_destroy(weir_options *options);

/* Sets one option from texts, as a user wrote them: checks name, number of values, type and range.
 * A second time from the same origin is an error.  A value that a stronger origin has already set
 * is checked and then dropped. */
weir_status weir_options_set(weir_options *options, const char *name, size_t n_texts,
                             const char *const *texts, weir_option_origin origin);

/* The row a user means by `name` (snake_case or dashes, or an alias); NULL where there is none.
 * weir_options_unknown() then says so, with the nearest name. */
const weir_option *weir_options_find(const weir_options *options, const char *name);
weir_status weir_options_unknown(const weir_options *options, const char *name,
                                 weir_option_origin origin);

/* The row that takes positional arguments, or NULL; setting needs one. */
const weir_option *weir_options_positional(const weir_options *options);
weir_status weir_options_set_positional(weir_options *options, size_t n_texts,
                                        const char *const *texts);

/* Fails where a required option has no value. */
weir_status weir_options_require(const weir_options *options);

/* The rows of this command in table order: i from 0 until NULL. */
const weir_option *weir_options_row(const weir_options *options, size_t i);

/* Values.  Asking for a name the command does not declare, or with another type, is a bug, and so
 * is reading a number that is not set. */
bool weir_options_is_set(const weir_options *options, const char *name);   /* default or given */
bool weir_options_is_given(const weir_options *options, const char *name); /* flag or config */
bool weir_options_boolean(const weir_options *options, const char *name);  /* unset: false */
int64_t weir_options_integer(const weir_options *options, const char *name);
double weir_options_real(const weir_options *options, const char *name);
uint64_t weir_options_bytes(const weir_options *options, const char *name);

/* STRING or CHOICE; NULL where not set. */
const char *weir_options_string(const weir_options *options, const char *name);

/* STRINGS; none where not set.  Borrowed until the option is set again. */
const char *const *weir_options_strings(const weir_options *options, const char *name,
                                        size_t *n_strings);

/* One text for any value, in a form weir_options_set() takes back: for dumps.  NULL where not set
 * or for STRINGS; `buffer` serves where the text has to be made. */
const char *weir_options_text(const weir_options *options, const char *name, char buffer[32]);

#endif
