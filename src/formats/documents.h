/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of documents: plain text, JSON lines, or a JSON array.
 *
 *   *.jsonl, *.ndjson   one JSON object a line: its "text" is a document, or its "prompt" and
 *                       "completion" are; blank lines are skipped
 *   *.json              the same, or one array of such objects
 *   anything else       text: the whole file is one document, or several where a separator is given
 *
 * Rows of both kinds may stand in one file; a row that is both is refused.  Text must be UTF-8.
 * Other keys of a JSON object are left alone: data sets carry columns.  Errors name the file and
 * the line, the row, or the byte.
 *
 * Files are mapped and what was read is given back, so lines and separated texts may be larger than
 * memory together; a JSON array, and any one document, may not. */
#ifndef WEIR_FORMATS_DOCUMENTS_H
#define WEIR_FORMATS_DOCUMENTS_H

#include "base/status.h"

#include <stdint.h>

/* One document, valid UTF-8: `prompt`, NULL where there is none, and what follows it. */
typedef struct weir_document {
  const char *prompt;
  uint64_t n_prompt_bytes;
  const char *text; /* the whole text, or the completion */
  uint64_t n_bytes;
} weir_document;

/* Takes one document, borrowed for the call.  Another status than WEIR_OK ends the reading and is
 * passed up, after "<file>: " and the line or row if there is one. */
typedef weir_status weir_document_visitor(void *context, const weir_document *document);

/* Visits the documents of a file in their order.  `separator`, for text files: documents end where
 * it stands and it belongs to none; NULL or "" where the file is one document. */
weir_status weir_documents_read(const char *path, const char *separator,
                                weir_document_visitor *visit, void *context);

/* Offset of the first byte that is not UTF-8, or n_bytes. */
uint64_t weir_utf8_valid_bytes(const char *text, uint64_t n_bytes);

#endif
