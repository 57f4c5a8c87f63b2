/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading: the file is mapped, its header parsed by jansson (which refuses duplicate keys and
 * malformed UTF-8) and every entry checked before anyone sees it.
 *
 * Invariant after open: entries sorted by offset tile the data section exactly, from its first
 * byte to its last, so any entry can be read without a further check. */
#include "formats/safetensors.h"

#include "base/files.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8, MAX_HEADER_BYTES = 100000000 };
static const char metadata_key[] = "__metadata__";

static const struct {
  const char *name;
  unsigned bits;
} dtypes[] = {
    {"BOOL", 8},        {"U8", 8},      {"I8", 8},          {"U16", 16},    {"I16", 16},
    {"U32", 32},        {"I32", 32},    {"U64", 64},        {"I64", 64},    {"F64", 64},
    {"F32", 32},        {"BF16", 16},   {"F16", 16},        {"C64", 64},    {"F8_E4M3", 8},
    {"F8_E4M3FNUZ", 8}, {"F8_E5M2", 8}, {"F8_E5M2FNUZ", 8}, {"F8_E8M0", 8}, {"F6_E2M3", 6},
    {"F6_E3M2", 6},     {"F4", 4},
};

struct weir_safetensors {
  char *path;
  weir_mapping mapping;
  json_t *header; /* owns names and dtypes */
  const uint8_t *data;
  uint64_t data_bytes;
  size_t n_entries;
  weir_safetensors_entry *entries; /* in the order of their data */
  weir_safetensors_entry **by_name;
  int64_t *shapes; /* of all entries, one after the other */
};

unsigned weir_safetensors_dtype_bits(const char *dtype) {
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    if (strcmp(dtypes[i].name, dtype) == 0) return dtypes[i].bits;
  return 0;
}

bool weir_safetensors_size(unsigned dtype_bits, const int64_t *shape, int n_dims,
                           uint64_t *size_bytes) {
  uint64_t bits = dtype_bits;
  for (int i = 0; i < n_dims; i++)
    if (shape[i] < 0 || __builtin_mul_overflow(bits, (uint64_t)shape[i], &bits)) return false;
  *size_bytes = bits / 8;
  return bits % 8 == 0;
}

static weir_status parse_header(weir_safetensors *file) {
  const weir_mapping *mapping = &file->mapping;
  if (mapping->size_bytes < LENGTH_BYTES)
    return weir_fail(WEIR_BAD_INPUT,
                     "%s: %" PRIu64 " bytes are too few for a safetensors file; it is truncated "
                     "or of another format",
                     file->path, mapping->size_bytes);
  uint64_t header_bytes = 0;
  for (int i = LENGTH_BYTES - 1; i >= 0; i--)
    header_bytes = header_bytes << 8 | mapping->bytes[i];
  uint64_t rest_bytes = mapping->size_bytes - LENGTH_BYTES;
  if (header_bytes > MAX_HEADER_BYTES)
    return weir_fail(WEIR_BAD_INPUT,
                     "%s: claims a header of %" PRIu64 " bytes, more than the %d allowed; it is "
                     "damaged or not a safetensors file",
                     file->path, header_bytes, MAX_HEADER_BYTES);
  if (header_bytes > rest_bytes)
    return weir_fail(WEIR_BAD_INPUT,
                     "%s: claims a header of %" PRIu64 " bytes but only %" PRIu64
                     " bytes follow; the file is truncated",
                     file->path, header_bytes, rest_bytes);
  json_error_t error;
  file->header = json_loadb((const char *)mapping->bytes + LENGTH_BYTES, (size_t)header_bytes,
                            JSON_REJECT_DUPLICATES, &error);
  if (!file->header)
    return weir_fail(WEIR_BAD_INPUT, "%s: the header is not valid JSON: %s (byte %d)", file->path,
                     error.text, LENGTH_BYTES + error.position);
  if (!json_is_object(file->header))
    return weir_fail(WEIR_BAD_INPUT, "%s: the header is not a JSON object", file->path);
  file->data = mapping->bytes + LENGTH_BYTES + header_bytes;
  file->data_bytes = rest_bytes - header_bytes;
  return WEIR_OK;
}

static weir_status check_metadata(const weir_safetensors *file) {
  const char *key;
  json_t *value, *metadata = json_object_get(file->header, metadata_key);
  if (!metadata) return WEIR_OK;
  if (!json_is_object(metadata))
    return weir_fail(WEIR_BAD_INPUT, "%s: %s is not an object", file->path, metadata_key);
  json_object_foreach(metadata, key, value) {
    if (!json_is_string(value))
      return weir_fail(WEIR_BAD_INPUT, "%s: %s key \"%s\" does not hold a string", file->path,
                       metadata_key, key);
  }
  return WEIR_OK;
}

/* Copies an array of non-negative integers; false where it holds anything else. */
static bool read_integers(const json_t *array, int64_t *values) {
  for (size_t i = 0; i < json_array_size(array); i++) {
    const json_t *value = json_array_get(array, i);
    if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
    values[i] = json_integer_value(value);
  }
  return true;
}

static weir_status parse_entry(const weir_safetensors *file, const char *name, const json_t *value,
                               weir_safetensors_entry *entry, int64_t *shape) {
  const json_t *dtype = json_object_get(value, "dtype");
  const json_t *dims = json_object_get(value, "shape");
  const json_t *range = json_object_get(value, "data_offsets");
  int64_t offsets[2] = {0, 0};
  if (!json_is_string(dtype) || !json_is_array(dims) || !json_is_array(range))
    return weir_fail(WEIR_BAD_INPUT,
                     "%s: tensor \"%s\" lacks a dtype (string), shape (array) or data_offsets "
                     "(array)",
                     file->path, name);
  if (!read_integers(dims, shape))
    return weir_fail(WEIR_BAD_INPUT,
                     "%s: tensor \"%s\": a dimension of its shape is not a non-negative integer",
                     file->path, name);
  if (json_array_size(range) != 2 || !read_integers(range, offsets) || offsets[0] > offsets[1])
    return weir_fail(WEIR_BAD_INPUT,
                     "%s: tensor \"%s\": data_offsets are not two rising non-negative integers",
                     file->path, name);
  *entry = (weir_safetensors_entry){.name = name,
                                    .dtype = json_string_value(dtype),
                                    .n_dims = (int)json_array_size(dims),
                                    .shape = shape,
                                    .offset_bytes = (uint64_t)offsets[0],
                                    .size_bytes = (uint64_t)(offsets[1] - offsets[0])};
  unsigned bits = weir_safetensors_dtype_bits(entry->dtype);
  if (bits == 0)
    return weir_fail(WEIR_BAD_INPUT, "%s: tensor \"%s\" has the unknown dtype \"%s\"", file->path,
                     name, entry->dtype);
  uint64_t size_bytes;
  if (!weir_safetensors_size(bits, shape, entry->n_dims, &size_bytes))
    return weir_fail(WEIR_BAD_INPUT,
                     "%s: tensor \"%s\": its shape overflows or does not fill whole bytes of %s",
                     file->path, name, entry->dtype);
  if (size_bytes != entry->size_bytes)
    return weir_fail(WEIR_BAD_INPUT,
                     "%s: tensor \"%s\": shape and dtype need %" PRIu64
                     " bytes, data_offsets give %" PRIu64,
                     file->path, name, size_bytes, entry->size_bytes);
  return WEIR_OK;
}

static weir_status parse_entries(weir_safetensors *file) {
  const char *name;
  json_t *value;
  size_t n_dims = 0, n_entries = 0;
  json_object_foreach(file->header, name, value) {
    n_dims += json_array_size(json_object_get(value, "shape"));
    n_entries++;
  }
  file->entries = calloc(n_entries + 1, sizeof *file->entries);
  file->by_name = calloc(n_entries + 1, sizeof *file->by_name);
  file->shapes = calloc(n_dims + 1, sizeof *file->shapes);
  if (!file->entries || !file->by_name || !file->shapes)
    return weir_fail(WEIR_FAILED, "%s: no memory for %zu tensors", file->path, n_entries);
  int64_t *shape = file->shapes;
  json_object_foreach(file->header, name, value) {
    if (strcmp(name, metadata_key) == 0) continue;
    weir_safetensors_entry *entry = &file->entries[file->n_entries++];
    WEIR_TRY(parse_entry(file, name, value, entry, shape));
    shape += entry->n_dims;
  }
  return WEIR_OK;
}

/* Empty tensors share their offset with a neighbour: they come first, then in the order of names,
 * so that the order is one and the same for every reading. */
static int compare_offsets(const void *a, const void *b) {
  const weir_safetensors_entry *left = a, *right = b;
  if (left->offset_bytes != right->offset_bytes)
    return left->offset_bytes < right->offset_bytes ? -1 : 1;
  if (left->size_bytes != right->size_bytes) return left->size_bytes < right->size_bytes ? -1 : 1;
  return strcmp(left->name, right->name);
}

static int compare_names(const void *a, const void *b) {
  const weir_safetensors_entry *const *left = a, *const *right = b;
  return strcmp((*left)->name, (*right)->name);
}

static weir_status order_entries(weir_safetensors *file) {
  qsort(file->entries, file->n_entries, sizeof *file->entries, compare_offsets);
  uint64_t end = 0;
  for (size_t i = 0; i < file->n_entries; i++) {
    const weir_safetensors_entry *entry = &file->entries[i];
    if (entry->offset_bytes != end)
      return weir_fail(WEIR_BAD_INPUT,
                       "%s: tensor \"%s\" begins at byte %" PRIu64 " of the data, expected %" PRIu64
                       " (%s)",
                       file->path, entry->name, entry->offset_bytes, end,
                       entry->offset_bytes < end ? "tensors overlap" : "there is a hole");
    end += entry->size_bytes; /* no overflow: end is an offset read as int64 */
    file->by_name[i] = &file->entries[i];
  }
  if (end != file->data_bytes)
    return weir_fail(WEIR_BAD_INPUT,
                     "%s: its tensors take %" PRIu64 " bytes but %" PRIu64 " are there (%s)",
                     file->path, end, file->data_bytes,
                     end > file->data_bytes ? "the file is truncated" : "unclaimed data follows");
  qsort(file->by_name, file->n_entries, sizeof *file->by_name, compare_names);
  return WEIR_OK;
}

static weir_status read_file(weir_safetensors *file) {
  WEIR_TRY(weir_mapping_open(file->path, &file->mapping));
  WEIR_TRY(parse_header(file));
  WEIR_TRY(check_metadata(file));
  WEIR_TRY(parse_entries(file));
  return order_entries(file);
}

weir_status weir_safetensors_open(const char *path, weir_safetensors **file) {
  *file = calloc(1, sizeof **file);
  if (*file) (*file)->path = strdup(path);
  weir_status status = *file && (*file)->path
                           ? read_file(*file)
                           : weir_fail(WEIR_FAILED, "%s: no memory to open it", path);
  if (status != WEIR_OK) {
    weir_safetensors_close(*file);
    *file = NULL;
  }
  return status;
}

void weir_safetensors_close(weir_safetensors *file) {
  if (!file) return;
  json_decref(file->header);
  weir_mapping_close(&file->mapping);
  free(file->entries);
  free(file->by_name);
  free(file->shapes);
  free(file->path);
  free(file);
}

size_t weir_safetensors_count(const weir_safetensors *file) {
  return file->n_entries;
}

const weir_safetensors_entry *weir_safetensors_at(const weir_safetensors *file, size_t i) {
  WEIR_ASSERT(i, <, file->n_entries);
  return &file->entries[i];
}

const weir_safetensors_entry *weir_safetensors_find(const weir_safetensors *file,
                                                    const char *name) {
  weir_safetensors_entry wanted = {.name = name}, *key = &wanted;
  weir_safetensors_entry **found =
      bsearch(&key, file->by_name, file->n_entries, sizeof *file->by_name, compare_names);
  return found ? *found : NULL;
}

const void *weir_safetensors_data(const weir_safetensors *file,
                                  const weir_safetensors_entry *entry) {
  return file->data + entry->offset_bytes;
}

const char *weir_safetensors_path(const weir_safetensors *file) {
  return file->path;
}

void weir_safetensors_drop(const weir_safetensors *file, const void *begin, uint64_t size_bytes) {
  weir_mapping_drop(&file->mapping, (uint64_t)((const uint8_t *)begin - file->mapping.bytes),
                    size_bytes);
}

const char *weir_safetensors_metadata(const weir_safetensors *file, const char *key) {
  return json_string_value(json_object_get(json_object_get(file->header, metadata_key), key));
}
