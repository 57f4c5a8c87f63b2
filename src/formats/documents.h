/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of documents: plain text, JSON lines, or a JSON array.
 *
 *   *.jsonl, *.ndjson   one JSON object a line; its "text" is a document; blank lines are skipped
 *   *.json              the same, or one array of such objects
 *   anything else       text: the whole file is one document, or several where a separator is given
 *
 * Text must be UTF-8.  Other keys of a JSON object are left alone: data sets carry columns.
 * Errors name the file and the line, the row, or the byte. */
#ifndef WEIR_FORMATS_DOCUMENTS_H
#define WEIR_FORMATS_DOCUMENTS_H

#include "base/status.h"

#include <stdint.h>

/* Takes one document, valid UTF-8, borrowed for the call.  Another status than WEIR_OK ends the
 * reading and is passed up, after "<file>: ". */
typedef weir_status weir_document_visitor(void *context, const char *text, uint64_t n_bytes);

/* Visits the documents of a file in their order.  `separator`, for text files: documents end where
 * it stands and it belongs to none; NULL or "" where the file is one document. */
weir_status weir_documents_read(const char *path, const char *separator,
                                weir_document_visitor *visit, void *context);

/* Offset of the first byte that is not UTF-8, or n_bytes. */
uint64_t weir_utf8_valid_bytes(const char *text, uint64_t n_bytes);

#endif
