/* SPDX-License-Identifier: Apache-2.0
 *
 * The files that make up a tokenizer in a model directory, as something to copy along. */
#ifndef WEIR_FORMATS_TOKENIZER_FILES_H
#define WEIR_FORMATS_TOKENIZER_FILES_H

#include "base/status.h"

/* Copies those that are there from `source` (a model directory, or a tokenizer.json alone) into an
 * existing directory, each atomically.  No file there is an error only where there is no
 * tokenizer.json either. */
weir_status weir_tokenizer_files_copy(const char *source, const char *directory);

#endif
