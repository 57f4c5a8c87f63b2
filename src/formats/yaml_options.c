/* SPDX-License-Identifier: Apache-2.0
 *
 * Works on libyaml's events: a document tree would lose the positions that messages need. */
#include "formats/yaml_options.h"

#include "base/files.h"
#include "base/log.h"
#include "base/read_file.h"
#include "formats/documents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { LARGEST_FILE_BYTES = 1 << 20, MOST_VALUES = 4096 };

typedef struct yaml_reader {
  weir_options *options;
  const char *name;
  yaml_parser_t parser;
  yaml_event_t event; /* the one at hand; owned */
} yaml_reader;

static weir_status fail_here(const yaml_reader *r, const char *what) {
  return weir_fail(WEIR_BAD_INPUT, "%s:%zu:%zu: %s", r->name, r->event.start_mark.line + 1,
                   r->event.start_mark.column + 1, what);
}

static weir_status advance(yaml_reader *r) {
  yaml_event_delete(&r->event);
  if (yaml_parser_parse(&r->parser, &r->event)) return WEIR_OK;
  const yaml_parser_t *p = &r->parser;
  memset(&r->event, 0, sizeof r->event);
  if (p->error == YAML_MEMORY_ERROR)
    return weir_fail(WEIR_FAILED, "%s: out of memory while reading it", r->name);
  if (p->error == YAML_READER_ERROR)
    return weir_fail(WEIR_BAD_INPUT, "%s: not YAML: %s at byte %zu", r->name,
                     p->problem ? p->problem : "it cannot be read", p->problem_offset);
  return weir_fail(WEIR_BAD_INPUT, "%s:%zu:%zu: not YAML: %s", r->name, p->problem_mark.line + 1,
                   p->problem_mark.column + 1, p->problem ? p->problem : "it cannot be read");
}

/* The scalar at hand as a text without NUL bytes, anchor or tag. */
static weir_status check_scalar(const yaml_reader *r) {
  if (r->event.type == YAML_ALIAS_EVENT) return fail_here(r, "aliases are not supported");
  if (r->event.type == YAML_MAPPING_START_EVENT)
    return fail_here(r, "expected a value, found a mapping: options are not nested");
  if (r->event.type == YAML_SEQUENCE_START_EVENT)
    return fail_here(r, "expected a value, found a list");
  if (r->event.type != YAML_SCALAR_EVENT) return fail_here(r, "expected a value");
  if (r->event.data.scalar.anchor) return fail_here(r, "anchors are not supported");
  if (r->event.data.scalar.tag) return fail_here(r, "tags are not supported");
  if (memchr(r->event.data.scalar.value, '\0', r->event.data.scalar.length))
    return fail_here(r, "found a NUL character");
  return WEIR_OK;
}

/* Quotes make a text of what would otherwise be a number. */
static weir_status check_value(const yaml_reader *r, const weir_option *row) {
  WEIR_TRY(check_scalar(r));
  bool is_plain = r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
  if (!is_plain && row->type < WEIR_OPTION_BYTES)
    return fail_here(r, "expected a number, true or false, found a text in quotes");
  const char *text = (const char *)r->event.data.scalar.value;
  if (is_plain && (*text == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0))
    return fail_here(r, "no value; leave the line out to get the default");
  return WEIR_OK;
}

static weir_status keep_value(const yaml_reader *r, const weir_option *row, char **texts,
                              size_t *n_texts) {
  WEIR_TRY(check_value(r, row));
  if (*n_texts == MOST_VALUES) return fail_here(r, "too many values in one list");
  texts[*n_texts] = strdup((const char *)r->event.data.scalar.value);
  if (!texts[*n_texts])
    return weir_fail(WEIR_FAILED, "%s: out of memory while reading it", r->name);
  ++*n_texts;
  return WEIR_OK;
}

/* One value, or a list of them where the option takes several. */
static weir_status read_values(yaml_reader *r, const weir_option *row, char **texts,
                               size_t *n_texts) {
  bool is_list = r->event.type == YAML_SEQUENCE_START_EVENT && row->type == WEIR_OPTION_STRINGS;
  if (!is_list) return keep_value(r, row, texts, n_texts);
  if (r->event.data.sequence_start.anchor) return fail_here(r, "anchors are not supported");
  if (r->event.data.sequence_start.tag) return fail_here(r, "tags are not supported");
  for (;;) {
    WEIR_TRY(advance(r));
    if (r->event.type == YAML_SEQUENCE_END_EVENT) return WEIR_OK;
    WEIR_TRY(keep_value(r, row, texts, n_texts));
  }
}

/* The event at hand is the first of the value. */
static weir_status set_option(yaml_reader *r, const char *key, char **texts) {
  size_t n_texts = 0;
  yaml_mark_t mark = r->event.start_mark;
  weir_status status = read_values(r, weir_options_find(r->options, key), texts, &n_texts);
  if (status == WEIR_OK) {
    status =
        weir_options_set(r->options, key, n_texts, (const char *const *)texts, WEIR_ORIGIN_CONFIG);
    if (status != WEIR_OK)
      weir_fail_at(status, "%s:%zu:%zu", r->name, mark.line + 1, mark.column + 1);
  }
  while (n_texts > 0)
    free(texts[--n_texts]);
  return status;
}

static weir_status read_pair(yaml_reader *r, char **texts) {
  WEIR_TRY(check_scalar(r));
  yaml_mark_t mark = r->event.start_mark;
  char key[128];
  const char *value = (const char *)r->event.data.scalar.value;
  weir_log_escape(key, sizeof key, value, strlen(value));
  weir_status status = WEIR_OK;
  if (!weir_options_find(r->options, key))
    status = weir_options_unknown(r->options, key, WEIR_ORIGIN_CONFIG);
  else if (strcmp(key, "config") == 0)
    status = weir_fail(WEIR_BAD_INPUT, "config cannot name another configuration file");
  if (status != WEIR_OK)
    return weir_fail_at(status, "%s:%zu:%zu", r->name, mark.line + 1, mark.column + 1);
  WEIR_TRY(advance(r));
  return set_option(r, key, texts);
}

static weir_status read_document(yaml_reader *r, char **texts) {
  WEIR_TRY(advance(r)); /* stream start */
  WEIR_TRY(advance(r));
  if (r->event.type == YAML_STREAM_END_EVENT) return WEIR_OK;
  WEIR_TRY(advance(r)); /* past document start */
  bool is_empty = r->event.type == YAML_SCALAR_EVENT && r->event.data.scalar.length == 0;
  if (!is_empty) {
    if (r->event.type != YAML_MAPPING_START_EVENT)
      return fail_here(r, "expected lines of the form `option: value`");
    if (r->event.data.mapping_start.anchor || r->event.data.mapping_start.tag)
      return fail_here(r, "anchors and tags are not supported");
    for (;;) {
      WEIR_TRY(advance(r));
      if (r->event.type == YAML_MAPPING_END_EVENT) break;
      WEIR_TRY(read_pair(r, texts));
    }
  }
  WEIR_TRY(advance(r)); /* document end */
  WEIR_TRY(advance(r));
  if (r->event.type != YAML_STREAM_END_EVENT) return fail_here(r, "expected only one document");
  return WEIR_OK;
}

weir_status weir_yaml_options_read_bytes(weir_options *options, const char *name, const char *bytes,
                                         size_t n_bytes) {
  yaml_reader r = {.options = options, .name = name};
  char **texts = calloc(MOST_VALUES, sizeof *texts);
  if (!texts || !yaml_parser_initialize(&r.parser)) {
    free(texts);
    return weir_fail(WEIR_FAILED, "%s: out of memory while reading it", name);
  }
  yaml_parser_set_input_string(&r.parser, (const unsigned char *)bytes, n_bytes);
  weir_status status = read_document(&r, texts);
  yaml_event_delete(&r.event);
  yaml_parser_delete(&r.parser);
  free(texts);
  return status;
}

weir_status weir_yaml_options_read(weir_options *options, const char *path) {
  weir_file_bytes file;
  WEIR_TRY(weir_file_read(path, LARGEST_FILE_BYTES, &file));
  weir_status status = weir_yaml_options_read_bytes(options, path, file.bytes, file.size_bytes);
  free(file.bytes);
  return status;
}

/* --- writing ---------------------------------------------------------------------------------- */

static bool emit(yaml_emitter_t *emitter, yaml_event_t *event, int is_made) {
  return is_made && yaml_emitter_emit(emitter, event);
}

/* The library lets code points beyond Unicode through, which it will not read. */
static bool emit_scalar(yaml_emitter_t *emitter, const char *text, yaml_scalar_style_t style) {
  yaml_event_t event;
  if (weir_utf8_valid_bytes(text, strlen(text)) < strlen(text)) return false;
  return emit(emitter, &event,
              yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
                                           (int)strlen(text), 1, 1, style));
}

static bool emit_option(yaml_emitter_t *emitter, const weir_options *options,
                        const weir_option *row) {
  char buffer[32];
  yaml_event_t event;
  yaml_scalar_style_t style =
      row->type < WEIR_OPTION_STRING ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE;
  if (!emit_scalar(emitter, row->name, YAML_PLAIN_SCALAR_STYLE)) return false;
  if (row->type != WEIR_OPTION_STRINGS)
    return emit_scalar(emitter, weir_options_text(options, row->name, buffer), style);
  size_t n_strings;
  const char *const *strings = weir_options_strings(options, row->name, &n_strings);
  bool ok =
      emit(emitter, &event,
           yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE));
  for (size_t i = 0; ok && i < n_strings; i++)
    ok = emit_scalar(emitter, strings[i], style);
  return ok && emit(emitter, &event, yaml_sequence_end_event_initialize(&event));
}

static bool emit_options(yaml_emitter_t *emitter, const weir_options *options) {
  yaml_event_t event;
  const weir_option *row;
  bool ok =
      emit(emitter, &event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING)) &&
      emit(emitter, &event, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1)) &&
      emit(emitter, &event,
           yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE));
  for (size_t i = 0; ok && (row = weir_options_row(options, i)); i++) {
    if (row->positional || strcmp(row->name, "config") == 0) continue;
    if (weir_options_is_set(options, row->name)) ok = emit_option(emitter, options, row);
  }
  return ok && emit(emitter, &event, yaml_mapping_end_event_initialize(&event)) &&
         emit(emitter, &event, yaml_document_end_event_initialize(&event, 1)) &&
         emit(emitter, &event, yaml_stream_end_event_initialize(&event));
}

static int append(void *data, unsigned char *bytes, size_t n_bytes) {
  return weir_replacement_append(data, bytes, n_bytes) == WEIR_OK;
}

weir_status weir_yaml_options_write(const weir_options *options, const char *path) {
  weir_replacement file;
  WEIR_TRY(weir_replacement_open(path, &file));
  yaml_emitter_t emitter;
  bool ok = yaml_emitter_initialize(&emitter);
  if (ok) {
    yaml_emitter_set_output(&emitter, append, &file);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_width(&emitter, -1);
    ok = emit_options(&emitter, options);
    yaml_emitter_delete(&emitter);
  }
  if (ok) return weir_replacement_commit(&file);
  weir_replacement_abandon(&file);
  return weir_fail(WEIR_FAILED, "%s: cannot write the options; is every text in them UTF-8?", path);
}
