/* SPDX-License-Identifier: Apache-2.0
 *
 * Token ids as files hold them: one JSON array of integers. */
#ifndef WEIR_FORMATS_TOKEN_IDS_H
#define WEIR_FORMATS_TOKEN_IDS_H

#include "base/growable.h"
#include "base/status.h"

/* Appends the ids of the file; "-" is standard input.  Each must be below vocab_size; no more than
 * INT32_MAX of them.  An empty array is no error here. */
weir_status weir_token_ids_read(const char *path, int64_t vocab_size, weir_ids *ids);

/* The same from memory; `name` is what messages call it. */
weir_status weir_token_ids_parse(const char *name, const char *text, size_t n_bytes,
                                 int64_t vocab_size, weir_ids *ids);

#endif
