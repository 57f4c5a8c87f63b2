/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/documents.h"

#include "base/files.h"

#include <jansson.h>
#include <string.h>
#include <utf8proc.h>

typedef struct reading {
  const char *path;
  const char *separator;
  weir_document_visitor *visit;
  void *context;
  weir_mapping mapping;
  uint64_t dropped_bytes; /* of the mapping, from its beginning */
} reading;

uint64_t weir_utf8_valid_bytes(const char *text, uint64_t n_bytes) {
  uint64_t at = 0;
  while (at < n_bytes) {
    if ((uint8_t)text[at] < 0x80) {
      at++;
      continue;
    }
    uint64_t left = n_bytes - at;
    utf8proc_int32_t codepoint;
    utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text + at,
                                          (utf8proc_ssize_t)(left < 4 ? left : 4), &codepoint);
    if (n <= 0) break;
    at += (uint64_t)n;
  }
  return at;
}

static weir_status visit(const reading *r, const char *text, uint64_t n_bytes) {
  const weir_document document = {NULL, 0, text, n_bytes};
  weir_status status = r->visit(r->context, &document);
  return status == WEIR_OK ? status : weir_fail_at(status, "%s", r->path);
}

/* ---- what was read need not stay ---- */

enum { STRIPE_BYTES = 1 << 20 };

/* Gives back the pages before `at`, now and then. */
static void drop_before(reading *r, const char *at) {
  const uint64_t offset_bytes = (uint64_t)(at - (const char *)r->mapping.bytes);
  if (offset_bytes - r->dropped_bytes < STRIPE_BYTES) return;
  weir_mapping_drop(&r->mapping, r->dropped_bytes, offset_bytes - r->dropped_bytes);
  r->dropped_bytes = offset_bytes;
}

/* ---- text ---- */

static weir_status check_utf8(reading *r, const char *text, uint64_t n_bytes) {
  enum { MOST_BYTES_OF_CHARACTER = 4 };
  for (uint64_t at = 0; at < n_bytes;) {
    const uint64_t left = n_bytes - at, n = left < STRIPE_BYTES ? left : STRIPE_BYTES;
    const uint64_t n_valid = weir_utf8_valid_bytes(text + at, n);
    at += n_valid;
    if (n_valid < n && (n == left || n - n_valid >= MOST_BYTES_OF_CHARACTER))
      return weir_fail(WEIR_BAD_INPUT,
                       "%s: byte %llu (0x%02x) is not UTF-8: convert the file first", r->path,
                       (unsigned long long)at, (uint8_t)text[at]);
    drop_before(r, text + at);
  }
  r->dropped_bytes = 0;
  return WEIR_OK;
}

static weir_status read_text(reading *r, const char *text, uint64_t n_bytes) {
  WEIR_TRY(check_utf8(r, text, n_bytes));
  const uint64_t n_separator = r->separator ? strlen(r->separator) : 0;
  if (n_separator == 0) return visit(r, text, n_bytes);

  const char *begin = text, *end = text + n_bytes, *next;
  while ((next = memmem(begin, (size_t)(end - begin), r->separator, n_separator))) {
    WEIR_TRY(visit(r, begin, (uint64_t)(next - begin)));
    begin = next + n_separator;
    drop_before(r, begin);
  }
  return begin < end ? visit(r, begin, (uint64_t)(end - begin)) : WEIR_OK;
}

/* ---- rows ---- */

typedef struct place {
  const char *what; /* between path and number: ":", ": row " */
  int64_t number;
} place;

static weir_status row_fail(const reading *r, place where, const char *problem) {
  return weir_fail(WEIR_BAD_INPUT,
                   "%s%s%lld: %s: expected an object with a string \"text\", or with strings "
                   "\"prompt\" and \"completion\"",
                   r->path, where.what, (long long)where.number, problem);
}

static weir_status read_row(const reading *r, place where, const json_t *row) {
  if (!json_is_object(row)) return row_fail(r, where, "is not a JSON object");
  const json_t *text = json_object_get(row, "text"), *prompt = json_object_get(row, "prompt");
  const json_t *completion = json_object_get(row, "completion");
  if (text && prompt && completion)
    return row_fail(r, where, "has a \"text\" and also a \"prompt\" with \"completion\"");
  if (!text && !completion) return row_fail(r, where, "has no \"text\" and no \"completion\"");
  if (!text && !prompt) return row_fail(r, where, "has a \"completion\" without a \"prompt\"");
  weir_document document = {0};
  if (!text) {
    if (!json_is_string(prompt)) return row_fail(r, where, "has a \"prompt\" that is not a string");
    document.prompt = json_string_value(prompt);
    document.n_prompt_bytes = json_string_length(prompt);
  }
  const json_t *learnt = text ? text : completion;
  if (!json_is_string(learnt))
    return row_fail(r, where,
                    text ? "has a \"text\" that is not a string"
                         : "has a \"completion\" that is not a string");
  document.text = json_string_value(learnt);
  document.n_bytes = json_string_length(learnt);
  weir_status status = r->visit(r->context, &document);
  if (status == WEIR_OK) return WEIR_OK;
  return weir_fail_at(status, "%s%s%lld", r->path, where.what, (long long)where.number);
}

static bool is_blank(const char *text, size_t n_bytes) {
  static const char blanks[] = {' ', '\t', '\r', '\n'};
  for (size_t i = 0; i < n_bytes; i++)
    if (!memchr(blanks, text[i], sizeof blanks)) return false;
  return true;
}

static weir_status read_lines(reading *r, const char *text, uint64_t n_bytes) {
  const char *begin = text, *end = text + n_bytes;
  for (int64_t line = 1; begin < end; line++) {
    const char *newline = memchr(begin, '\n', (size_t)(end - begin));
    size_t n = (size_t)((newline ? newline : end) - begin);
    if (!is_blank(begin, n)) {
      json_error_t error;
      json_t *row = json_loadb(begin, n, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
      if (!row)
        return weir_fail(WEIR_BAD_INPUT, "%s:%lld: not JSON: %s", r->path, (long long)line,
                         error.text);
      weir_status status = read_row(r, (place){":", line}, row);
      json_decref(row);
      WEIR_TRY(status);
    }
    begin = newline ? newline + 1 : end;
    drop_before(r, begin);
  }
  return WEIR_OK;
}

static weir_status read_array(const reading *r, const char *text, uint64_t n_bytes) {
  json_error_t error;
  json_t *rows = json_loadb(text, n_bytes, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
  if (!rows)
    return weir_fail(WEIR_BAD_INPUT, "%s:%d: not JSON: %s", r->path, error.line, error.text);
  weir_status status = WEIR_OK;
  for (size_t i = 0; status == WEIR_OK && i < json_array_size(rows); i++)
    status = read_row(r, (place){": row ", (int64_t)i}, json_array_get(rows, i));
  json_decref(rows);
  return status;
}

static bool has_extension(const char *path, const char *extension) {
  size_t n = strlen(path), n_extension = strlen(extension);
  return n > n_extension && strcmp(path + n - n_extension, extension) == 0;
}

static weir_status read_json(reading *r, const char *text, uint64_t n_bytes) {
  uint64_t begin = 0;
  while (begin < n_bytes && is_blank(text + begin, 1))
    begin++;
  const bool is_array = begin < n_bytes && text[begin] == '[';
  return is_array ? read_array(r, text, n_bytes) : read_lines(r, text, n_bytes);
}

weir_status weir_documents_read(const char *path, const char *separator,
                                weir_document_visitor *visitor, void *context) {
  reading r = {.path = path, .separator = separator, .visit = visitor, .context = context};
  WEIR_TRY(weir_mapping_open(path, &r.mapping));
  const char *text = r.mapping.bytes ? (const char *)r.mapping.bytes : "";
  const uint64_t n_bytes = r.mapping.size_bytes;
  weir_status status;
  if (has_extension(path, ".jsonl") || has_extension(path, ".ndjson"))
    status = read_lines(&r, text, n_bytes);
  else if (has_extension(path, ".json"))
    status = read_json(&r, text, n_bytes);
  else
    status = read_text(&r, text, n_bytes);
  weir_mapping_close(&r.mapping);
  return status;
}
