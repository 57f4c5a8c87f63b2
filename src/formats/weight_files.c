/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/weight_files.h"

#include "base/files.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char single_name[] = "model.safetensors";
static const char index_name[] = "model.safetensors.index.json";

static bool has_file(const char *directory, const char *name) {
  char *path = weir_path_join(directory, name);
  bool found = path && access(path, F_OK) == 0;
  free(path);
  return found;
}

static weir_status open_one(const char *directory, const char *name, weir_weight_files *files) {
  weir_safetensors **grown = realloc(files->files, (files->n_files + 1) * sizeof *files->files);
  if (!grown) return weir_fail(WEIR_FAILED, "%s: no memory to open it", directory);
  files->files = grown;
  char *path = weir_path_join(directory, name);
  weir_status status = path ? weir_safetensors_open(path, &grown[files->n_files])
                            : weir_fail(WEIR_FAILED, "%s: no memory to open it", directory);
  if (status == WEIR_OK) files->n_files++;
  free(path);
  return status;
}

/* The open shard called `name`, or NULL. */
static const weir_safetensors *shard(const weir_weight_files *files, const char *name) {
  for (size_t i = 0; i < files->n_files; i++) {
    const char *slash = strrchr(weir_safetensors_path(files->files[i]), '/');
    if (strcmp(slash + 1, name) == 0) return files->files[i];
  }
  return NULL;
}

static weir_status open_shards(const char *directory, const json_t *map, weir_weight_files *files) {
  const char *tensor;
  json_t *value;
  json_object_foreach((json_t *)map, tensor, value) {
    const char *name = json_string_value(value);
    if (!name || !*name || strchr(name, '/'))
      return weir_fail(WEIR_BAD_INPUT, "%s/%s: tensor \"%s\" is not given a file of the directory",
                       directory, index_name, tensor);
    if (!shard(files, name)) WEIR_TRY(open_one(directory, name, files));
    if (!weir_safetensors_find(shard(files, name), tensor))
      return weir_fail(WEIR_BAD_INPUT, "%s/%s: tensor \"%s\" is not in %s as the index says",
                       directory, index_name, tensor, name);
  }
  for (size_t i = 0; i < files->n_files; i++)
    for (size_t j = 0; j < weir_safetensors_count(files->files[i]); j++) {
      const char *name = weir_safetensors_at(files->files[i], j)->name;
      if (weir_weight_files_find(files, name).file != files->files[i])
        return weir_fail(WEIR_BAD_INPUT, "%s: tensor \"%s\" is in another shard too",
                         weir_safetensors_path(files->files[i]), name);
    }
  return WEIR_OK;
}

static weir_status open_index(const char *directory, weir_weight_files *files) {
  char *path = weir_path_join(directory, index_name);
  json_error_t error = {.text = "no memory"};
  json_t *root = path ? json_load_file(path, JSON_REJECT_DUPLICATES, &error) : NULL;
  free(path);
  if (!root)
    return weir_fail(WEIR_BAD_INPUT, "%s/%s:%d: not JSON: %s", directory, index_name, error.line,
                     error.text);
  const json_t *map = json_object_get(root, "weight_map");
  weir_status status =
      json_object_size(map) > 0
          ? open_shards(directory, map, files)
          : weir_fail(WEIR_BAD_INPUT,
                      "%s/%s: expected an object with a \"weight_map\" from tensors to files",
                      directory, index_name);
  json_decref(root);
  return status;
}

weir_status weir_weight_files_open(const char *directory, weir_weight_files *files) {
  *files = (weir_weight_files){0};
  weir_status status;
  if (has_file(directory, single_name))
    status = open_one(directory, single_name, files);
  else if (has_file(directory, index_name))
    status = open_index(directory, files);
  else
    status = weir_fail(WEIR_BAD_INPUT,
                       "%s: has neither %s nor %s; weights in another format must be converted to "
                       "safetensors first",
                       directory, single_name, index_name);
  if (status != WEIR_OK) weir_weight_files_close(files);
  return status;
}

void weir_weight_files_close(weir_weight_files *files) {
  for (size_t i = 0; i < files->n_files; i++)
    weir_safetensors_close(files->files[i]);
  free(files->files);
  *files = (weir_weight_files){0};
}

weir_weight weir_weight_files_find(const weir_weight_files *files, const char *name) {
  for (size_t i = 0; i < files->n_files; i++) {
    const weir_safetensors_entry *entry = weir_safetensors_find(files->files[i], name);
    if (entry) return (weir_weight){.file = files->files[i], .entry = entry};
  }
  return (weir_weight){0};
}
