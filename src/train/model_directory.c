/* SPDX-License-Identifier: Apache-2.0 */
#include "train/model_directory.h"

#include "base/files.h"
#include "model/weights.h"
#include "train/run_folder.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What stands beside config.json and the weights, where there is such a file. */
static const char *const companions[] = {
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
    "chat_template.jinja",
    "chat_template.json",
    "generation_config.json",
};
enum { N_COMPANIONS = sizeof companions / sizeof *companions };

static bool is_there(const char *path, struct stat *about) {
  return stat(path, about) == 0;
}

static weir_status copy_file(const char *from, const char *to) {
  struct stat source, target;
  if (!is_there(from, &source)) return WEIR_OK;
  if (is_there(to, &target) && source.st_dev == target.st_dev && source.st_ino == target.st_ino)
    return WEIR_OK;
  weir_mapping mapping;
  WEIR_TRY(weir_mapping_open(from, &mapping));
  weir_status status = weir_file_replace(to, mapping.bytes, mapping.size_bytes);
  weir_mapping_close(&mapping);
  return status;
}

static weir_status copy_companions(const char *directory, const char *source) {
  char from[WEIR_PATH_BYTES], to[WEIR_PATH_BYTES];
  for (size_t i = 0; i < N_COMPANIONS; i++) {
    WEIR_TRY(weir_run_folder_name(from, source, "%s", companions[i]));
    WEIR_TRY(weir_run_folder_name(to, directory, "%s", companions[i]));
    WEIR_TRY(copy_file(from, to));
  }
  return WEIR_OK;
}

static json_t *end_tokens_json(const weir_model_config *config) {
  if (config->n_eos_tokens == 1) return json_integer((json_int_t)config->eos_token_ids[0]);
  json_t *tokens = json_array();
  for (int64_t i = 0; i < config->n_eos_tokens; i++)
    json_array_append_new(tokens, json_integer((json_int_t)config->eos_token_ids[i]));
  return tokens;
}

static weir_status write_generation_config(const char *path, const weir_model_config *config) {
  json_t *root = json_pack("{s:b}", "_from_model_config", 1);
  if (config->bos_token_id >= 0)
    json_object_set_new(root, "bos_token_id", json_integer((json_int_t)config->bos_token_id));
  if (config->n_eos_tokens > 0) json_object_set_new(root, "eos_token_id", end_tokens_json(config));
  char *text = json_dumps(root, JSON_INDENT(2));
  json_decref(root);
  if (!text) return weir_fail(WEIR_FAILED, "%s: no memory to write it", path);
  weir_status status = weir_file_replace(path, text, strlen(text));
  free(text);
  return status;
}

weir_status weir_model_directory_save(const char *directory, const char *source,
                                      const weir_run *run, weir_dtype dtype,
                                      uint64_t max_shard_bytes) {
  char path[WEIR_PATH_BYTES];
  struct stat about;
  WEIR_TRY(weir_model_config_write(directory, run->config, dtype));
  WEIR_TRY(copy_companions(directory, source));
  WEIR_TRY(weir_run_folder_name(path, directory, "generation_config.json"));
  if (!is_there(path, &about)) WEIR_TRY(write_generation_config(path, run->config));
  return weir_weights_save_directory(directory, run->table, run->weights, dtype, max_shard_bytes);
}

uint64_t weir_model_directory_bytes(const char *source, const weir_parameter_table *table,
                                    weir_dtype dtype) {
  uint64_t bytes = 65536; /* the JSON files we write, and the header */
  for (int64_t i = 0; i < table->n_parameters; i++) {
    const weir_parameter *parameter = &table->parameters[i];
    bytes += (uint64_t)(parameter->rows * parameter->cols) * weir_dtype_bytes(dtype) +
             2 * sizeof parameter->file_name;
  }
  for (size_t i = 0; i < N_COMPANIONS; i++) {
    char path[WEIR_PATH_BYTES];
    struct stat about;
    if (weir_run_folder_name(path, source, "%s", companions[i]) == WEIR_OK &&
        is_there(path, &about))
      bytes += (uint64_t)about.st_size;
  }
  return bytes;
}
