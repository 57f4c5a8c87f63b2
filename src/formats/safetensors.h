/* SPDX-License-Identifier: Apache-2.0
 *
 * safetensors files: mapped reading, streamed atomic writing.
 *
 * Layout: u64 little-endian header length, JSON header (white space may surround it), data.
 * https://github.com/huggingface/safetensors (format section).  Refused, with the file and the
 * tensor named: headers over 100 MB or beyond the file, JSON that is not an object, duplicate keys,
 * unknown dtypes, shapes whose product overflows or disagrees with the bytes, holes, overlaps, data
 * beyond or short of the end of the file.  A reader never touches a byte outside the mapping. */
#ifndef WEIR_FORMATS_SAFETENSORS_H
#define WEIR_FORMATS_SAFETENSORS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Strings and shape are owned by the file object. */
typedef struct weir_safetensors_entry {
  const char *name;
  const char *dtype; /* as spelled in the header: "F32", "BF16", "I64", "F8_E4M3", ... */
  int n_dims;
  const int64_t *shape;
  uint64_t offset_bytes, size_bytes; /* in the data section */
} weir_safetensors_entry;

typedef struct weir_safetensors weir_safetensors;

/* Maps and checks the whole header.  On success *file is closed with weir_safetensors_close. */
weir_status weir_safetensors_open(const char *path, weir_safetensors **file);
void weir_safetensors_close(weir_safetensors *file);

size_t weir_safetensors_count(const weir_safetensors *file);
/* Entries in the order of their data. */
const weir_safetensors_entry *weir_safetensors_at(const weir_safetensors *file, size_t i);
/* NULL where the file has no tensor of that name. */
const weir_safetensors_entry *weir_safetensors_find(const weir_safetensors *file, const char *name);
/* The tensor's bytes in the mapping; valid until close. */
const void *weir_safetensors_data(const weir_safetensors *file,
                                  const weir_safetensors_entry *entry);
const char *weir_safetensors_path(const weir_safetensors *file);
/* Tells the system that these bytes of a tensor will not be read again soon. */
void weir_safetensors_drop(const weir_safetensors *file, const void *begin, uint64_t size_bytes);
/* A value of __metadata__, or NULL. */
const char *weir_safetensors_metadata(const weir_safetensors *file, const char *key);

/* Bits of one element, below 8 for the packed types; 0 where the format has no such dtype. */
unsigned weir_safetensors_dtype_bits(const char *dtype);
/* Bytes of a whole tensor.  False where the product overflows or ends inside a byte. */
bool weir_safetensors_size(unsigned dtype_bits, const int64_t *shape, int n_dims,
                           uint64_t *size_bytes);

/* Writing: declare every tensor, begin, append the bytes in the declared order, finish.  The file
 * appears under its name only when finish has written, fsynced and renamed it; abandon (or a
 * failure) leaves no trace. */
typedef struct weir_safetensors_writer weir_safetensors_writer;

weir_status weir_safetensors_writer_create(const char *path, weir_safetensors_writer **writer);
/* `dtype` is the header's spelling. */
weir_status weir_safetensors_writer_declare(weir_safetensors_writer *writer, const char *name,
                                            const char *dtype, const int64_t *shape, int n_dims);
/* One string pair of __metadata__, e.g. "format", "pt". */
weir_status weir_safetensors_writer_metadata(weir_safetensors_writer *writer, const char *key,
                                             const char *value);
weir_status weir_safetensors_writer_begin(weir_safetensors_writer *writer);
weir_status weir_safetensors_writer_append(weir_safetensors_writer *writer, const void *bytes,
                                           uint64_t size_bytes);
/* Closes and frees the writer whatever it returns. */
weir_status weir_safetensors_writer_finish(weir_safetensors_writer *writer);
void weir_safetensors_writer_abandon(weir_safetensors_writer *writer);

#endif
