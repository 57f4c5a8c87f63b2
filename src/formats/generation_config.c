/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/generation_config.h"

#include "base/files.h"
#include "formats/json_node.h"

#include <stdlib.h>
#include <unistd.h>

static weir_status add(const weir_json_node *id, weir_generation_config *generation) {
  if (!json_is_integer(id->value)) return weir_json_fail(id, "expected a token id");
  generation->eos_token_ids[generation->n_eos_tokens++] = json_integer_value(id->value);
  return WEIR_OK;
}

static weir_status add_all(const weir_json_node *root, weir_generation_config *generation) {
  if (!json_is_object(root->value)) return weir_json_fail(root, "expected a JSON object");
  if (!weir_json_has(root, "eos_token_id")) return WEIR_OK;
  weir_json_node eos, item;
  const json_t *value = json_object_get(root->value, "eos_token_id");
  WEIR_TRY(weir_json_member(root, "eos_token_id", json_typeof(value), &eos));
  if (!json_is_array(value)) return add(&eos, generation);
  if (json_array_size(value) > WEIR_MAX_EOS_TOKENS)
    return weir_json_fail(&eos, "%zu tokens end a text; at most %d can", json_array_size(value),
                          WEIR_MAX_EOS_TOKENS);
  for (size_t i = 0; i < json_array_size(value); i++) {
    WEIR_TRY(weir_json_item(&eos, i, JSON_INTEGER, &item));
    WEIR_TRY(add(&item, generation));
  }
  return WEIR_OK;
}

static weir_status read_file(const char *path, weir_generation_config *generation) {
  if (access(path, F_OK) != 0) return WEIR_OK;
  weir_json_node root;
  WEIR_TRY(weir_json_read(path, &root));
  weir_status status = add_all(&root, generation);
  json_decref((json_t *)root.value);
  return status;
}

weir_status weir_generation_config_read(const char *directory, const weir_model_config *config,
                                        weir_generation_config *generation) {
  *generation = (weir_generation_config){.n_eos_tokens = config->n_eos_tokens};
  for (int64_t i = 0; i < config->n_eos_tokens; i++)
    generation->eos_token_ids[i] = config->eos_token_ids[i];
  char *path = weir_path_join(directory, "generation_config.json");
  if (!path) return weir_fail(WEIR_FAILED, "no memory for a path");
  weir_status status = read_file(path, generation);
  free(path);
  return status;
}
