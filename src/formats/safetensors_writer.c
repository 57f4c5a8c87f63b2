/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing: the header is complete once every tensor is declared, so the data streams through
 * without ever being held.  Tensors keep the order of their declaration; the header is padded with
 * spaces so that the data begins at a multiple of 8, as the format asks of writers. */
#include "base/files.h"
#include "formats/safetensors.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct weir_safetensors_writer {
  weir_replacement file;
  json_t *header;
  uint64_t declared_bytes, appended_bytes;
};

static weir_status no_memory(const weir_safetensors_writer *writer) {
  return weir_fail(WEIR_FAILED, "%s: no memory for the header", writer->file.path);
}

weir_status weir_safetensors_writer_create(const char *path, weir_safetensors_writer **writer) {
  *writer = calloc(1, sizeof **writer);
  json_t *header = json_object();
  weir_status status = *writer && header
                           ? weir_replacement_open(path, &(*writer)->file)
                           : weir_fail(WEIR_FAILED, "%s: no memory to write it", path);
  if (status == WEIR_OK) {
    (*writer)->header = header;
    return WEIR_OK;
  }
  json_decref(header);
  free(*writer);
  *writer = NULL;
  return status;
}

weir_status weir_safetensors_writer_declare(weir_safetensors_writer *writer, const char *name,
                                            const char *dtype, const int64_t *shape, int n_dims) {
  uint64_t size_bytes;
  unsigned bits = weir_safetensors_dtype_bits(dtype);
  if (bits == 0 || !weir_safetensors_size(bits, shape, n_dims, &size_bytes))
    return weir_fail(WEIR_FAILED, "%s: tensor \"%s\" of dtype \"%s\" has no size in bytes",
                     writer->file.path, name, dtype);
  if (json_object_get(writer->header, name))
    return weir_fail(WEIR_FAILED, "%s: tensor \"%s\" is declared twice", writer->file.path, name);
  json_t *dims = json_array();
  for (int i = 0; i < n_dims; i++)
    json_array_append_new(dims, json_integer(shape[i]));
  uint64_t end = writer->declared_bytes + size_bytes;
  json_t *entry = json_pack("{s:s, s:o, s:[I,I]}", "dtype", dtype, "shape", dims, "data_offsets",
                            (json_int_t)writer->declared_bytes, (json_int_t)end);
  if (json_object_set_new(writer->header, name, entry) != 0) return no_memory(writer);
  writer->declared_bytes = end;
  return WEIR_OK;
}

weir_status weir_safetensors_writer_metadata(weir_safetensors_writer *writer, const char *key,
                                             const char *value) {
  json_t *metadata = json_object_get(writer->header, "__metadata__");
  if (!metadata) {
    metadata = json_object();
    if (json_object_set_new(writer->header, "__metadata__", metadata) != 0)
      return no_memory(writer);
  }
  return json_object_set_new(metadata, key, json_string(value)) == 0 ? WEIR_OK : no_memory(writer);
}

weir_status weir_safetensors_writer_begin(weir_safetensors_writer *writer) {
  static const char padding[8] = "        ";
  char *text = json_dumps(writer->header, JSON_COMPACT);
  if (!text) return no_memory(writer);
  uint64_t text_bytes = strlen(text), padding_bytes = -text_bytes % 8;
  uint8_t length[8];
  for (int i = 0; i < 8; i++)
    length[i] = (uint8_t)((text_bytes + padding_bytes) >> 8 * i);
  weir_status status = weir_replacement_append(&writer->file, length, sizeof length);
  if (status == WEIR_OK) status = weir_replacement_append(&writer->file, text, text_bytes);
  if (status == WEIR_OK) status = weir_replacement_append(&writer->file, padding, padding_bytes);
  free(text);
  return status;
}

weir_status weir_safetensors_writer_append(weir_safetensors_writer *writer, const void *bytes,
                                           uint64_t size_bytes) {
  WEIR_ASSERT(size_bytes, <=, writer->declared_bytes - writer->appended_bytes);
  writer->appended_bytes += size_bytes;
  return weir_replacement_append(&writer->file, bytes, size_bytes);
}

weir_status weir_safetensors_writer_finish(weir_safetensors_writer *writer) {
  WEIR_ASSERT(writer->appended_bytes, ==, writer->declared_bytes);
  weir_status status = weir_replacement_commit(&writer->file);
  weir_safetensors_writer_abandon(writer);
  return status;
}

void weir_safetensors_writer_abandon(weir_safetensors_writer *writer) {
  if (!writer) return;
  weir_replacement_abandon(&writer->file);
  json_decref(writer->header);
  free(writer);
}
