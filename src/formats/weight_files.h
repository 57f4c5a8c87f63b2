/* SPDX-License-Identifier: Apache-2.0
 *
 * The weights of a model directory, in one file or in shards, as one set of tensors.
 *
 * `model.safetensors`, or the files that `model.safetensors.index.json` lists.  Refused: an index
 * that names a file outside the directory, or places a tensor where it is not; a tensor that two
 * shards hold. */
#ifndef WEIR_FORMATS_WEIGHT_FILES_H
#define WEIR_FORMATS_WEIGHT_FILES_H

#include "formats/safetensors.h"

typedef struct weir_weight_files {
  size_t n_files;
  weir_safetensors **files;
} weir_weight_files;

/* One tensor and the file that holds it; entry NULL: no such tensor. */
typedef struct weir_weight {
  const weir_safetensors *file;
  const weir_safetensors_entry *entry;
} weir_weight;

weir_status weir_weight_files_open(const char *directory, weir_weight_files *files);
void weir_weight_files_close(weir_weight_files *files);
weir_weight weir_weight_files_find(const weir_weight_files *files, const char *name);

#endif
