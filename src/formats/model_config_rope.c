/* SPDX-License-Identifier: Apache-2.0
 *
 * RoPE's keys: rope_scaling (old, beside rope_theta) and rope_parameters (new, holding it) say the
 * same.  A type that is not in the table, or a key that its type does not have, is an error. */
#include "formats/model_config_reader.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { DEFAULT = 1 << WEIR_ROPE_DEFAULT, LINEAR = 1 << WEIR_ROPE_LINEAR };
enum { LLAMA3 = 1 << WEIR_ROPE_LLAMA3, ALL = DEFAULT | LINEAR | LLAMA3 };

enum { NO_PLACE = -1 };
#define AT(member) (int)offsetof(weir_rope_scaling, member)

/* Keys of the objects, and the types that have them. */
static const struct {
  const char *key;
  int kinds;
  int offset;
} keys[] = {
    {"rope_type", ALL, NO_PLACE},
    {"type", ALL, NO_PLACE}, /* older than rope_type */
    {"rope_theta", ALL, NO_PLACE},
    {"factor", LINEAR | LLAMA3, AT(factor)},
    {"low_freq_factor", LLAMA3, AT(low_freq_factor)},
    {"high_freq_factor", LLAMA3, AT(high_freq_factor)},
    {"original_max_position_embeddings", LLAMA3, AT(original_max_position_embeddings)},
};
enum { N_KEYS = sizeof keys / sizeof *keys };

static bool is_positive(const json_t *value) {
  double number = json_number_value(value); /* 0 for what is not a number */
  return number > 0 && isfinite(number);
}

static weir_status read_theta(const weir_config_reader *file, const json_t *object,
                              double *rope_theta) {
  const json_t *theta = weir_config_lookup(object, "rope_theta");
  if (!theta) return WEIR_OK;
  if (!is_positive(theta)) return weir_config_refuse(file, "rope_theta", theta, "a number above 0");
  *rope_theta = json_number_value(theta);
  return WEIR_OK;
}

static weir_status read_kind(const weir_config_reader *file, const char *key, const json_t *object,
                             weir_rope_kind *kind) {
  static const char *const type_keys[] = {"type", "rope_type"};
  *kind = WEIR_ROPE_DEFAULT;
  for (size_t i = 0; i < 2; i++) {
    const json_t *type = weir_config_lookup(object, type_keys[i]);
    int index = weir_value_named(weir_rope_names, json_string_value(type));
    if (type && index < 0)
      return weir_config_refuse(file, key, object,
                                "a rope_type of \"default\", \"linear\" or \"llama3\"");
    if (type) *kind = (weir_rope_kind)weir_rope_names[index].value;
  }
  return WEIR_OK;
}

static weir_status check_keys(const weir_config_reader *file, const char *key, const json_t *object,
                              weir_rope_kind kind) {
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)object, name, value) {
    bool known = json_is_null(value) ||
                 (strcmp(name, "partial_rotary_factor") == 0 && json_number_value(value) == 1);
    for (int i = 0; i < N_KEYS; i++)
      known = known || ((keys[i].kinds & 1 << kind) && strcmp(keys[i].key, name) == 0);
    if (!known)
      return weir_config_refuse(file, key, object, "no more than the keys of its rope_type");
  }
  return WEIR_OK;
}

/* `key` is for messages. */
static weir_status read_object(const weir_config_reader *file, const char *key,
                               const json_t *object, double *rope_theta, weir_rope_scaling *found) {
  if (!object) return WEIR_OK;
  if (!json_is_object(object)) return weir_config_refuse(file, key, object, "an object or null");
  weir_rope_scaling scaling = {0};
  WEIR_TRY(read_kind(file, key, object, &scaling.kind));
  WEIR_TRY(check_keys(file, key, object, scaling.kind));
  for (int i = 0; i < N_KEYS; i++) {
    if (keys[i].offset == NO_PLACE || !(keys[i].kinds & 1 << scaling.kind)) continue;
    const json_t *value = weir_config_lookup(object, keys[i].key);
    if (!is_positive(value))
      return weir_config_refuse(file, key, object,
                                "a number above 0 for every key of its rope_type");
    *(double *)((char *)&scaling + keys[i].offset) = json_number_value(value);
  }
  if (scaling.kind == WEIR_ROPE_LLAMA3 && scaling.low_freq_factor >= scaling.high_freq_factor)
    return weir_config_refuse(file, key, object, "a low_freq_factor below high_freq_factor");
  if (scaling.kind != WEIR_ROPE_DEFAULT) *found = scaling;
  return read_theta(file, object, rope_theta);
}

/* One object for the layers without a window, one for those with, where the two may differ. */
static weir_status read_pair(const weir_config_reader *file, const char *key,
                             const json_t *object) {
  weir_model_config *config = file->config;
  const json_t *full = weir_config_lookup(object, "full_attention");
  const json_t *local = weir_config_lookup(object, "sliding_attention");
  if (json_object_size(object) != (size_t)(full != NULL) + (local != NULL))
    return weir_config_refuse(file, key, object,
                              "no more than full_attention and sliding_attention");
  weir_rope_scaling local_scaling = {0};
  WEIR_TRY(read_object(file, key, full, &config->rope_theta, &config->rope_scaling));
  WEIR_TRY(read_object(file, key, local, &config->rope_local_base_freq, &local_scaling));
  if (local_scaling.kind == WEIR_ROPE_DEFAULT) return WEIR_OK;
  return weir_config_refuse(file, key, object, "a sliding_attention of rope_type \"default\"");
}

static weir_status read_key(const weir_config_reader *file, const char *key) {
  weir_model_config *config = file->config;
  const json_t *object = weir_config_lookup(file->root, key);
  bool is_pair = json_object_get(object, "full_attention") != NULL ||
                 json_object_get(object, "sliding_attention") != NULL;
  if (is_pair && config->rope_local_base_freq > 0) return read_pair(file, key, object);
  return read_object(file, key, object, &config->rope_theta, &config->rope_scaling);
}

weir_status weir_config_read_rope(const weir_config_reader *file) {
  if (file->config->learned_positions) return WEIR_OK;
  file->config->rope_theta = weir_config_row(file->config)->rope_theta;
  WEIR_TRY(read_theta(file, file->root, &file->config->rope_theta));
  WEIR_TRY(read_key(file, "rope_scaling"));
  return read_key(file, "rope_parameters");
}
