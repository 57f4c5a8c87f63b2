/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing config.json with the keys that Hugging Face Transformers reads. */
#include "base/files.h"
#include "formats/model_config_keys.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *integer_or_null(int64_t id) {
  return id >= 0 ? json_integer(id) : json_null();
}

/* null, a number or a list, as config files have it. */
static json_t *eos_json(const weir_model_config *config) {
  if (config->n_eos_tokens <= 1)
    return integer_or_null(config->n_eos_tokens ? config->eos_token_ids[0] : -1);
  json_t *list = json_array();
  for (int64_t i = 0; i < config->n_eos_tokens; i++)
    json_array_append_new(list, json_integer(config->eos_token_ids[i]));
  return list;
}

static json_t *number_or_null(double number) {
  return number > 0 ? json_real(number) : json_null();
}

static json_t *field_json(const weir_model_config *config, const weir_field *field) {
  const void *value = (const char *)config + field->offset;
  switch (field->kind) {
  case WEIR_FIELD_SIZE_OR_NULL:
    if (*(const int64_t *)value == 0) return json_null();
    /* fall through */
  case WEIR_FIELD_SIZE:
  case WEIR_FIELD_COUNT:
    return json_integer(*(const int64_t *)value);
  case WEIR_FIELD_REAL_OR_NULL:
    return number_or_null(*(const double *)value);
  case WEIR_FIELD_FRACTION:
  case WEIR_FIELD_REAL:
    return json_real(*(const double *)value);
  case WEIR_FIELD_FLAG:
    return json_boolean(*(const bool *)value);
  }
  return json_null();
}

static json_t *rope_json(const weir_rope_scaling *scaling) {
  if (scaling->kind == WEIR_ROPE_DEFAULT) return json_null();
  json_t *rope =
      json_pack("{s:s, s:f}", "rope_type", weir_value_name_of(weir_rope_names, (int)scaling->kind),
                "factor", scaling->factor);
  if (rope && scaling->kind == WEIR_ROPE_LLAMA3) {
    json_object_set_new(rope, "low_freq_factor", json_real(scaling->low_freq_factor));
    json_object_set_new(rope, "high_freq_factor", json_real(scaling->high_freq_factor));
    json_object_set_new(rope, "original_max_position_embeddings",
                        json_integer((json_int_t)scaling->original_max_position_embeddings));
  }
  return rope;
}

static json_t *layer_types_json(const weir_model_config *config) {
  json_t *types = json_array();
  for (int64_t i = 0; i < config->num_hidden_layers; i++)
    json_array_append_new(
        types,
        json_string(weir_model_config_window(config, i) ? "sliding_attention" : "full_attention"));
  return types;
}

/* Every stored key of the architecture, and what is stored in another form. */
static json_t *config_json(const weir_model_config *config, weir_dtype dtype) {
  const weir_architecture_row *row = &weir_architectures[config->architecture];
  int architecture = 1 << config->architecture;
  const char *activation = weir_value_name_of(weir_activation_names, (int)config->hidden_act);
  json_t *root =
      json_pack("{s:s, s:[s], s:s, s:o, s:o, s:o, s:s, s:b}", "model_type", row->model_type,
                "architectures", row->classes[0], row->activation_key, activation, "bos_token_id",
                integer_or_null(config->bos_token_id), "eos_token_id", eos_json(config),
                "pad_token_id", integer_or_null(config->pad_token_id), "torch_dtype",
                weir_value_name_of(weir_dtype_names, (int)dtype), "use_cache", 1);
  for (size_t i = 0; i < weir_n_fields; i++)
    if (weir_fields[i].architectures & architecture)
      json_object_set_new(root, weir_fields[i].key, field_json(config, &weir_fields[i]));
  for (size_t i = 0; i < weir_n_key_rules; i++)
    if ((weir_key_rules[i].architectures & architecture) &&
        weir_key_rules[i].rule == WEIR_KEY_DROPOUT)
      json_object_set_new(root, weir_key_rules[i].key, json_real(0.0));
  if (!config->learned_positions) {
    json_object_set_new(root, "rope_theta", json_real(config->rope_theta));
    json_object_set_new(root, "rope_scaling", rope_json(&config->rope_scaling));
  }
  if (row->layer_types) json_object_set_new(root, "layer_types", layer_types_json(config));
  return root;
}

/* The fewest digits that read back to the same numbers: 1e-05, not 1.0000000000000001e-05. */
static char *dump_shortest(const json_t *root) {
  for (int digits = 6; digits <= 17; digits++) {
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(digits));
    json_t *again = text ? json_loads(text, 0, NULL) : NULL;
    bool same = json_equal(root, again);
    json_decref(again);
    if (same) return text;
    free(text);
  }
  return NULL;
}

weir_status weir_model_config_write(const char *directory, const weir_model_config *config,
                                    weir_dtype dtype) {
  json_t *root = config_json(config, dtype);
  char *text = dump_shortest(root), *path = weir_path_join(directory, "config.json");
  weir_status status = text && path
                           ? weir_file_replace(path, text, strlen(text))
                           : weir_fail(WEIR_FAILED, "%s: no memory for config.json", directory);
  json_decref(root);
  free(path);
  free(text);
  return status;
}
