/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading config.json by the tables of model_config_keys.h.  A key in none of them is counted; a
 * key that would change the mathematics must hold the value that does not. */
#include "formats/model_config.h"

#include "base/files.h"
#include "base/log.h"
#include "formats/model_config_reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double max_parameters = 1e14; /* a thousand times what anyone has trained */

weir_status weir_config_refuse(const weir_config_reader *file, const char *key, const json_t *value,
                               const char *expected) {
  char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
  weir_status status =
      weir_fail(WEIR_BAD_INPUT, "%s: key \"%s\" is %.80s%s, expected %s", file->path, key,
                text ? text : "unreadable", text && strlen(text) > 80 ? "..." : "", expected);
  free(text);
  return status;
}

static bool same_value(const json_t *a, const json_t *b) {
  if (json_is_number(a) && json_is_number(b)) return json_number_value(a) == json_number_value(b);
  return json_equal(a, b);
}

/* The integer or number of a field, within the bounds of its kind; `fallback` where it is silent.
 */
static weir_status read_integer(const weir_config_reader *file, const weir_field *field,
                                const json_t *value, int64_t *target) {
  int64_t least = field->kind == WEIR_FIELD_COUNT ? 0 : 1;
  if (value && (!json_is_integer(value) || json_integer_value(value) < least ||
                json_integer_value(value) > INT32_MAX))
    return weir_config_refuse(file, field->key, value,
                              least ? "an integer from 1 to 2147483647"
                                    : "an integer from 0 to 2147483647");
  *target = value ? json_integer_value(value) : (int64_t)field->fallback;
  return WEIR_OK;
}

static weir_status read_number(const weir_config_reader *file, const weir_field *field,
                               const json_t *value, double *target) {
  bool fraction = field->kind == WEIR_FIELD_FRACTION;
  double number = json_number_value(value); /* 0 for what is not a number */
  if (value && (!(number > 0) || !isfinite(number) || (fraction && !(number <= 1))))
    return weir_config_refuse(file, field->key, value,
                              fraction ? "a number above 0 and at most 1" : "a number above 0");
  *target = value ? number : field->fallback;
  return WEIR_OK;
}

static weir_status read_field(const weir_config_reader *file, const weir_field *field) {
  const json_t *value = weir_config_lookup(file->root, field->key);
  bool is_null = !value && json_object_get(file->root, field->key);
  void *target = (char *)file->config + field->offset;
  if (!value && field->fallback == WEIR_FIELD_REQUIRED)
    return weir_fail(WEIR_BAD_INPUT, "%s: key \"%s\" is missing", file->path, field->key);
  switch (field->kind) {
  case WEIR_FIELD_SIZE_OR_NULL:
    if (is_null) return WEIR_OK; /* the target is 0 */
    /* fall through */
  case WEIR_FIELD_SIZE:
  case WEIR_FIELD_COUNT:
    return read_integer(file, field, value, target);
  case WEIR_FIELD_REAL_OR_NULL:
    if (is_null) return WEIR_OK;
    /* fall through */
  case WEIR_FIELD_FRACTION:
  case WEIR_FIELD_REAL:
    return read_number(file, field, value, target);
  case WEIR_FIELD_FLAG:
    if (value && !json_is_boolean(value))
      return weir_config_refuse(file, field->key, value, "true or false");
    *(bool *)target = value ? json_is_true(value) : field->fallback != 0;
  }
  return WEIR_OK;
}

/* The class in `architectures` must be the model_type's own: a classifier has another head. */
static weir_status check_class(const weir_config_reader *file) {
  const json_t *classes = weir_config_lookup(file->root, "architectures");
  if (!classes || json_array_size(classes) == 0) return WEIR_OK;
  const char *name = json_string_value(json_array_get(classes, 0));
  const char *const *known = weir_config_row(file->config)->classes;
  if (name && (strcmp(name, known[0]) == 0 || strcmp(name, known[1]) == 0)) return WEIR_OK;
  char expected[64];
  snprintf(expected, sizeof expected, "[\"%s\"]", known[0]);
  return weir_config_refuse(file, "architectures", classes, expected);
}

/* "a supported architecture (llama, ... or gpt2)" */
static const char *supported_types(char *text, size_t n_bytes) {
  size_t used = 0;
  for (int i = 0; i < WEIR_ARCHITECTURE_COUNT && used < n_bytes; i++)
    used +=
        (size_t)snprintf(text + used, n_bytes - used, "%s%s",
                         i ? ", " : "a supported architecture: ", weir_architectures[i].model_type);
  return text;
}

static weir_status read_architecture(const weir_config_reader *file) {
  const json_t *type = weir_config_lookup(file->root, "model_type");
  const json_t *classes = weir_config_lookup(file->root, "architectures");
  const char *type_name = json_string_value(type);
  const char *class_name = json_string_value(json_array_get(classes, 0));
  char supported[256];
  if (!type && !class_name)
    return weir_fail(WEIR_BAD_INPUT, "%s: key \"model_type\" is missing; expected %s", file->path,
                     supported_types(supported, sizeof supported));
  for (int i = 0; i < WEIR_ARCHITECTURE_COUNT; i++) {
    const weir_architecture_row *row = &weir_architectures[i];
    bool match = type ? type_name && strcmp(type_name, row->model_type) == 0
                      : strcmp(class_name, row->classes[0]) == 0;
    if (!match) continue;
    file->config->architecture = (weir_architecture)i;
    return check_class(file);
  }
  return weir_config_refuse(file, type ? "model_type" : "architectures", type ? type : classes,
                            supported_types(supported, sizeof supported));
}

static weir_status read_activation(const weir_config_reader *file) {
  const weir_architecture_row *row = weir_config_row(file->config);
  const json_t *value = weir_config_lookup(file->root, row->activation_key);
  int index =
      weir_value_named(weir_activation_names, value ? json_string_value(value) : row->activation);
  if (index < 0)
    return weir_config_refuse(
        file, row->activation_key, value,
        "\"silu\", \"swish\", \"gelu\", \"gelu_new\" or \"gelu_pytorch_tanh\"");
  file->config->hidden_act = (weir_activation)weir_activation_names[index].value;
  return WEIR_OK;
}

static weir_status read_dtype(const weir_config_reader *file) {
  static const char prefix[] = "torch.";
  const char *key = weir_config_lookup(file->root, "dtype") ? "dtype" : "torch_dtype";
  const json_t *value = weir_config_lookup(file->root, key);
  file->config->dtype = WEIR_DTYPE_F32;
  if (!value) return WEIR_OK;
  const char *name = json_string_value(value);
  if (name && strncmp(name, prefix, sizeof prefix - 1) == 0) name += sizeof prefix - 1;
  int index = weir_value_named(weir_dtype_names, name);
  if (index < 0)
    return weir_config_refuse(file, key, value,
                              "\"float32\", \"bfloat16\", \"float16\" or \"float64\"");
  file->config->dtype = (weir_dtype)weir_dtype_names[index].value;
  return WEIR_OK;
}

static weir_status read_token_id(const weir_config_reader *file, const char *key,
                                 const json_t *value, int64_t *id) {
  if (!json_is_integer(value) || json_integer_value(value) < 0 ||
      json_integer_value(value) > INT32_MAX)
    return weir_config_refuse(file, key, value, "a token id of 0 or above");
  *id = json_integer_value(value);
  return WEIR_OK;
}

static weir_status read_special_tokens(const weir_config_reader *file) {
  weir_model_config *config = file->config;
  const json_t *bos = weir_config_lookup(file->root, "bos_token_id"),
               *eos = weir_config_lookup(file->root, "eos_token_id");
  const json_t *pad = weir_config_lookup(file->root, "pad_token_id");
  config->bos_token_id = -1;
  config->pad_token_id =
      json_is_integer(pad) && json_integer_value(pad) >= 0 ? json_integer_value(pad) : -1;
  if (bos) WEIR_TRY(read_token_id(file, "bos_token_id", bos, &config->bos_token_id));
  if (eos && !json_is_array(eos)) {
    config->n_eos_tokens = 1;
    return read_token_id(file, "eos_token_id", eos, &config->eos_token_ids[0]);
  }
  if (json_array_size(eos) > WEIR_MAX_EOS_TOKENS)
    return weir_config_refuse(file, "eos_token_id", eos, "at most 8 token ids");
  for (size_t i = 0; i < json_array_size(eos); i++)
    WEIR_TRY(read_token_id(file, "eos_token_id", json_array_get(eos, i),
                           &config->eos_token_ids[config->n_eos_tokens++]));
  return WEIR_OK;
}

/* What an architecture is and no key says. */
static void derive_capabilities(weir_model_config *config) {
  const weir_architecture_row *row = weir_config_row(config);
  config->norm = row->norm;
  config->gated_mlp = row->gated_mlp;
  config->learned_positions = row->learned_positions;
  config->qk_norm = row->qk_norm;
  config->post_norms = row->post_norms;
  config->scaled_embeddings = row->scaled_embeddings;
  if (row->sliding_window_pattern) config->sliding_window_pattern = row->sliding_window_pattern;
  config->qkv_bias = config->qkv_bias || row->qkv_bias;
  config->attention_output_bias = config->qkv_bias && row->output_bias;
  config->mlp_bias = config->mlp_bias || row->mlp_bias;
}

static weir_status derive_sizes(const weir_config_reader *file) {
  weir_model_config *config = file->config;
  int64_t heads = config->num_attention_heads;
  if (config->intermediate_size == WEIR_FIELD_DERIVED)
    config->intermediate_size = 4 * config->hidden_size;
  if (config->num_key_value_heads == WEIR_FIELD_DERIVED) config->num_key_value_heads = heads;
  if (config->head_dim != WEIR_FIELD_DERIVED) return WEIR_OK;
  if (config->hidden_size % heads != 0)
    return weir_fail(WEIR_BAD_INPUT,
                     "%s: the hidden size %" PRId64 " is not a multiple of the %" PRId64
                     " attention heads",
                     file->path, config->hidden_size, heads);
  config->head_dim = config->hidden_size / heads;
  return WEIR_OK;
}

static weir_status check_sizes(const weir_config_reader *file) {
  const weir_model_config *config = file->config;
  if (config->num_attention_heads % config->num_key_value_heads != 0)
    return weir_fail(WEIR_BAD_INPUT,
                     "%s: num_attention_heads %" PRId64
                     " is not a multiple of num_key_value_heads %" PRId64,
                     file->path, config->num_attention_heads, config->num_key_value_heads);
  if (!config->learned_positions && config->head_dim % 2 != 0)
    return weir_fail(WEIR_BAD_INPUT,
                     "%s: head_dim %" PRId64 " is odd; rotary positions turn pairs of columns",
                     file->path, config->head_dim);
  if (config->num_hidden_layers > WEIR_MAX_LAYERS)
    return weir_fail(WEIR_BAD_INPUT, "%s: %" PRId64 " layers are more than the %d allowed",
                     file->path, config->num_hidden_layers, WEIR_MAX_LAYERS);
  return WEIR_OK;
}

/* In floating point, which cannot overflow and is exact up to 2^53. */
static double count_parameters(const weir_model_config *config) {
  double D = (double)config->hidden_size, F = (double)config->intermediate_size;
  double V = (double)config->vocab_size, P = (double)config->max_position_embeddings;
  double K = (double)config->head_dim, HK = (double)config->num_attention_heads * K;
  double qkv = HK + 2 * (double)config->num_key_value_heads * K;
  double norm = config->norm == WEIR_NORM_LAYER ? 2 * D : D;
  double inner = config->gated_mlp ? 2 * F : F; /* columns of the mlp's first products */
  double layer = (config->post_norms ? 4 : 2) * norm + qkv * D + D * HK + inner * D + D * F;
  if (config->qkv_bias) layer += qkv;
  if (config->attention_output_bias) layer += D;
  if (config->qk_norm) layer += 2 * K;
  if (config->mlp_bias) layer += inner + D;
  return V * D + (config->learned_positions ? P * D : 0) +
         (double)config->num_hidden_layers * layer + norm +
         (config->tie_word_embeddings ? 0 : V * D);
}

int64_t weir_model_config_parameters(const weir_model_config *config) {
  return (int64_t)count_parameters(config);
}

static void count_ignored(weir_model_config *config, const char *key) {
  size_t used = strlen(config->ignored_keys), room = sizeof config->ignored_keys - used;
  const char *separator = config->n_ignored_keys++ > 0 ? ", " : "";
  static const char more[] = ", ...";
  if (used >= sizeof more && strcmp(config->ignored_keys + used + 1 - sizeof more, more) == 0)
    return;
  if (strlen(separator) + strlen(key) + sizeof more <= room)
    snprintf(config->ignored_keys + used, room, "%s%s", separator, key);
  else
    snprintf(config->ignored_keys + used, room, "%s", used > 0 ? more : more + 2);
}

static weir_status apply_rule(const weir_config_reader *file, const weir_key_rule *rule,
                              const json_t *value) {
  if (rule->rule == WEIR_KEY_DROPOUT) {
    if (!json_is_number(value)) return weir_config_refuse(file, rule->key, value, "a number");
    if (json_number_value(value) != 0) file->config->asks_for_dropout = true;
  }
  if (rule->rule != WEIR_KEY_NEUTRAL) return WEIR_OK;
  json_t *neutral = json_loads(rule->neutral, JSON_DECODE_ANY, NULL);
  /* null turns a feature off, except those that are on when neutral */
  bool same = same_value(value, neutral) || (json_is_null(value) && !json_is_true(neutral));
  json_decref(neutral);
  char expected[64];
  snprintf(expected, sizeof expected, "%s: other values are not supported", rule->neutral);
  return same ? WEIR_OK : weir_config_refuse(file, rule->key, value, expected);
}

static weir_status check_key(const weir_config_reader *file, const char *key, const json_t *value) {
  int architecture = 1 << file->config->architecture;
  for (size_t i = 0; i < weir_n_fields; i++)
    if ((weir_fields[i].architectures & architecture) && strcmp(weir_fields[i].key, key) == 0)
      return WEIR_OK;
  for (size_t i = 0; i < weir_n_key_rules; i++)
    if ((weir_key_rules[i].architectures & architecture) && strcmp(weir_key_rules[i].key, key) == 0)
      return apply_rule(file, &weir_key_rules[i], value);
  count_ignored(file->config, key);
  return WEIR_OK;
}

static weir_status read_config(const weir_config_reader *file) {
  WEIR_TRY(read_architecture(file));
  for (size_t i = 0; i < weir_n_fields; i++)
    if (weir_fields[i].architectures & 1 << file->config->architecture)
      WEIR_TRY(read_field(file, &weir_fields[i]));
  derive_capabilities(file->config);
  const char *key;
  json_t *value;
  json_object_foreach(file->root, key, value) WEIR_TRY(check_key(file, key, value));
  WEIR_TRY(read_activation(file));
  WEIR_TRY(read_dtype(file));
  WEIR_TRY(read_special_tokens(file));
  WEIR_TRY(derive_sizes(file));
  WEIR_TRY(check_sizes(file));
  WEIR_TRY(weir_config_read_rope(file));
  WEIR_TRY(weir_config_read_windows(file));
  double n_parameters = count_parameters(file->config);
  if (n_parameters > max_parameters)
    return weir_fail(WEIR_BAD_INPUT, "%s: its sizes make a model of %.3g parameters; is one wrong?",
                     file->path, n_parameters);
  return WEIR_OK;
}

static weir_status read_file(const char *path, weir_model_config *config) {
  weir_mapping mapping;
  json_error_t error;
  WEIR_TRY(weir_mapping_open(path, &mapping));
  weir_config_reader file = {.path = path, .config = config};
  file.root = json_loadb(mapping.bytes ? (const char *)mapping.bytes : "", mapping.size_bytes,
                         JSON_REJECT_DUPLICATES, &error);
  weir_mapping_close(&mapping);
  if (!file.root)
    return weir_fail(WEIR_BAD_INPUT, "%s:%d:%d: not JSON: %s", path, error.line, error.column,
                     error.text);
  weir_status status = json_is_object(file.root)
                           ? read_config(&file)
                           : weir_fail(WEIR_BAD_INPUT, "%s: not a JSON object", path);
  json_decref(file.root);
  return status;
}

weir_status weir_model_config_read(const char *path, weir_model_config *config) {
  *config = (weir_model_config){0};
  char *file = weir_path_is_directory(path) ? weir_path_join(path, "config.json") : strdup(path);
  weir_status status =
      file ? read_file(file, config) : weir_fail(WEIR_FAILED, "%s: no memory to read it", path);
  free(file);
  return status;
}

void weir_model_config_warn(const weir_model_config *config, const char *path) {
  char escaped[4 * sizeof config->ignored_keys];
  if (config->n_ignored_keys > 0)
    weir_log_warning("%s: %" PRId64 " unknown keys ignored: %s", path, config->n_ignored_keys,
                     weir_log_escape(escaped, sizeof escaped, config->ignored_keys,
                                     strlen(config->ignored_keys)));
  if (config->asks_for_dropout) weir_log_warning("%s asks for dropout; weir runs without", path);
}
