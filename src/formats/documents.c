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
  weir_status status = r->visit(r->context, text, n_bytes);
  return status == WEIR_OK ? status : weir_fail_at(status, "%s", r->path);
}

static weir_status read_text(const reading *r, const char *text, uint64_t n_bytes) {
  uint64_t n_valid = weir_utf8_valid_bytes(text, n_bytes);
  if (n_valid < n_bytes)
    return weir_fail(WEIR_BAD_INPUT, "%s: byte %llu (0x%02x) is not UTF-8: convert the file first",
                     r->path, (unsigned long long)n_valid, (uint8_t)text[n_valid]);
  const uint64_t n_separator = r->separator ? strlen(r->separator) : 0;
  if (n_separator == 0) return visit(r, text, n_bytes);

  const char *begin = text, *end = text + n_bytes, *next;
  while ((next = memmem(begin, (size_t)(end - begin), r->separator, n_separator))) {
    WEIR_TRY(visit(r, begin, (uint64_t)(next - begin)));
    begin = next + n_separator;
  }
  return begin < end ? visit(r, begin, (uint64_t)(end - begin)) : WEIR_OK;
}

static weir_status read_row(const reading *r, const char *where, int64_t number,
                            const json_t *row) {
  if (!json_is_object(row))
    return weir_fail(WEIR_BAD_INPUT, "%s: %s %lld is not a JSON object", r->path, where,
                     (long long)number);
  const json_t *text = json_object_get(row, "text");
  if (!json_is_string(text))
    return weir_fail(WEIR_BAD_INPUT, "%s: %s %lld %s: expected an object with a string \"text\"",
                     r->path, where, (long long)number,
                     text ? "has a \"text\" that is not a string" : "has no \"text\"");
  return visit(r, json_string_value(text), json_string_length(text));
}

static bool is_blank(const char *text, size_t n_bytes) {
  static const char blanks[] = {' ', '\t', '\r', '\n'};
  for (size_t i = 0; i < n_bytes; i++)
    if (!memchr(blanks, text[i], sizeof blanks)) return false;
  return true;
}

static weir_status read_lines(const reading *r, const char *text, uint64_t n_bytes) {
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
      weir_status status = read_row(r, "line", line, row);
      json_decref(row);
      WEIR_TRY(status);
    }
    begin = newline ? newline + 1 : end;
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
    status = read_row(r, "row", (int64_t)i, json_array_get(rows, i));
  json_decref(rows);
  return status;
}

static bool has_extension(const char *path, const char *extension) {
  size_t n = strlen(path), n_extension = strlen(extension);
  return n > n_extension && strcmp(path + n - n_extension, extension) == 0;
}

static weir_status read_json(const reading *r, const char *text, uint64_t n_bytes) {
  uint64_t begin = 0;
  while (begin < n_bytes && is_blank(text + begin, 1))
    begin++;
  const bool is_array = begin < n_bytes && text[begin] == '[';
  return is_array ? read_array(r, text, n_bytes) : read_lines(r, text, n_bytes);
}

weir_status weir_documents_read(const char *path, const char *separator,
                                weir_document_visitor *visitor, void *context) {
  weir_mapping mapping;
  WEIR_TRY(weir_mapping_open(path, &mapping));
  const reading r = {path, separator, visitor, context};
  const char *text = mapping.bytes ? (const char *)mapping.bytes : "";
  weir_status status;
  if (has_extension(path, ".jsonl") || has_extension(path, ".ndjson"))
    status = read_lines(&r, text, mapping.size_bytes);
  else if (has_extension(path, ".json"))
    status = read_json(&r, text, mapping.size_bytes);
  else
    status = read_text(&r, text, mapping.size_bytes);
  weir_mapping_close(&mapping);
  return status;
}
