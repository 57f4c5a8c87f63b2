/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights as one file or as shards with an index, as Hugging Face lays them out.
 *
 * Readers take model.safetensors before an index, and find shards by the index alone.  So new
 * shards are written while no index names them, the index after all of them, and an older single
 * file goes once the index stands. */
#include "base/directory.h"
#include "base/files.h"
#include "model/weights.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char single_name[] = "model.safetensors";
static const char index_name[] = "model.safetensors.index.json";

enum { NAME_BYTES = 64 };

static void shard_name(char name[NAME_BYTES], int64_t i_shard, int64_t n_shards) {
  snprintf(name, NAME_BYTES, "model-%05lld-of-%05lld.safetensors", (long long)i_shard + 1,
           (long long)n_shards);
}

/* How many shards a name belongs to, or 0 where it is no shard's. */
static int64_t shards_of_name(const char *name) {
  long long i_shard, n_shards;
  char canonical[NAME_BYTES];
  if (sscanf(name, "model-%lld-of-%lld", &i_shard, &n_shards) != 2) return 0;
  shard_name(canonical, i_shard - 1, n_shards);
  return strcmp(name, canonical) == 0 ? n_shards : 0;
}

/* ---- removing ---- */

static weir_status remove_file(const char *directory, const char *name) {
  char *path = weir_path_join(directory, name);
  if (!path) return weir_fail(WEIR_FAILED, "%s: no memory to write it", directory);
  weir_status status = WEIR_OK;
  if (unlink(path) != 0 && errno != ENOENT)
    status = weir_fail(WEIR_FAILED, "%s: cannot be removed: %s", path, strerror(errno));
  free(path);
  return status;
}

/* Removes the shards of every set but one of `n_shards`. */
static weir_status remove_other_shards(const char *directory, int64_t n_shards) {
  DIR *entries = opendir(directory);
  if (!entries)
    return weir_fail(WEIR_FAILED, "%s: cannot be listed: %s", directory, strerror(errno));
  weir_status status = WEIR_OK;
  for (struct dirent *entry; status == WEIR_OK && (entry = readdir(entries));) {
    const int64_t n = shards_of_name(entry->d_name);
    if (n > 0 && n != n_shards) status = remove_file(directory, entry->d_name);
  }
  closedir(entries);
  return status;
}

/* ---- dividing ---- */

typedef struct division {
  const weir_parameter_table *table;
  uint64_t element_bytes, max_bytes;
} division;

static uint64_t tensor_bytes(const division *d, int64_t i) {
  int64_t shape[2];
  const weir_parameter *parameter = &d->table->parameters[i];
  if (parameter->file_row > 0) return 0; /* in its first part */
  const int n_dims = weir_parameter_file_shape(parameter, shape);
  return (uint64_t)shape[0] * (n_dims > 1 ? (uint64_t)shape[1] : 1) * d->element_bytes;
}

/* One past the last parameter of the shard that begins at `begin`. */
static int64_t shard_end(const division *d, int64_t begin, uint64_t *size_bytes) {
  int64_t i = begin;
  for (*size_bytes = 0; i < d->table->n_parameters; i++) {
    const uint64_t bytes = tensor_bytes(d, i);
    if (*size_bytes > 0 && bytes > 0 && *size_bytes + bytes > d->max_bytes) break;
    *size_bytes += bytes;
  }
  return i;
}

static int64_t count_shards(const division *d, uint64_t *total_bytes) {
  int64_t n = 0;
  uint64_t size_bytes;
  *total_bytes = 0;
  for (int64_t begin = 0; begin < d->table->n_parameters; n++) {
    begin = shard_end(d, begin, &size_bytes);
    *total_bytes += size_bytes;
  }
  return n;
}

/* ---- writing ---- */

static weir_status write_index(const char *directory, const division *d, int64_t n_shards,
                               uint64_t total_bytes) {
  json_t *map = json_object();
  uint64_t size_bytes;
  for (int64_t begin = 0, end, i_shard = 0; begin < d->table->n_parameters; begin = end) {
    char name[NAME_BYTES];
    end = shard_end(d, begin, &size_bytes);
    shard_name(name, i_shard++, n_shards);
    for (int64_t i = begin; i < end; i++)
      if (d->table->parameters[i].file_row == 0)
        json_object_set_new(map, d->table->parameters[i].file_name, json_string(name));
  }
  json_t *index = json_pack("{s:{s:I}, s:o}", "metadata", "total_size", (json_int_t)total_bytes,
                            "weight_map", map);
  char *text = index ? json_dumps(index, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;
  char *path = weir_path_join(directory, index_name);
  weir_status status = text && path
                           ? weir_file_replace(path, text, strlen(text))
                           : weir_fail(WEIR_FAILED, "%s: no memory for its index", directory);
  free(path);
  free(text);
  json_decref(index);
  return status;
}

static weir_status write_shards(const char *directory, const division *d,
                                const weir_tensor *tensors, weir_dtype dtype, int64_t n_shards) {
  uint64_t size_bytes;
  for (int64_t begin = 0, end, i_shard = 0; begin < d->table->n_parameters; begin = end) {
    char name[NAME_BYTES];
    end = shard_end(d, begin, &size_bytes);
    shard_name(name, i_shard++, n_shards);
    char *path = weir_path_join(directory, name);
    if (!path) return weir_fail(WEIR_FAILED, "%s: no memory to write it", directory);
    weir_status status = weir_weights_save_range(path, d->table, tensors, dtype, begin, end);
    free(path);
    WEIR_TRY(status);
  }
  return WEIR_OK;
}

static weir_status save_single(const char *directory, const weir_parameter_table *table,
                               const weir_tensor *tensors, weir_dtype dtype) {
  char *path = weir_path_join(directory, single_name);
  weir_status status = path ? weir_weights_save(path, table, tensors, dtype)
                            : weir_fail(WEIR_FAILED, "%s: no memory to write it", directory);
  free(path);
  WEIR_TRY(status);
  WEIR_TRY(remove_file(directory, index_name));
  return remove_other_shards(directory, 0);
}

weir_status weir_weights_save_directory(const char *directory, const weir_parameter_table *table,
                                        const weir_tensor *tensors, weir_dtype dtype,
                                        uint64_t max_shard_bytes) {
  const division d = {table, weir_dtype_bytes(dtype), max_shard_bytes};
  uint64_t total_bytes;
  const int64_t n_shards = count_shards(&d, &total_bytes);
  if (n_shards <= 1) return save_single(directory, table, tensors, dtype);
  WEIR_TRY(remove_file(directory, index_name));
  WEIR_TRY(weir_directory_sync(directory));
  WEIR_TRY(write_shards(directory, &d, tensors, dtype, n_shards));
  WEIR_TRY(write_index(directory, &d, n_shards, total_bytes));
  WEIR_TRY(remove_file(directory, single_name));
  return remove_other_shards(directory, n_shards);
}
