/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading config.json: one table of the keys that are stored, one of the keys that are understood
 * otherwise.  A key in neither is counted; a key that would change the mathematics must hold the
 * value that does not.  Defaults are those of Hugging Face Transformers' configuration classes. */
#include "formats/model_config.h"

#include "base/files.h"
#include "base/log.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LLAMA = 1 << WEIR_ARCHITECTURE_LLAMA, QWEN3 = 1 << WEIR_ARCHITECTURE_QWEN3 };
enum { GPT2 = 1 << WEIR_ARCHITECTURE_GPT2, ROTARY = LLAMA | QWEN3, ALL = LLAMA | QWEN3 | GPT2 };

static const struct {
  const char *model_type;
  const char *classes[2]; /* with the head, without */
} architectures[] = {
    [WEIR_ARCHITECTURE_LLAMA] = {"llama", {"LlamaForCausalLM", "LlamaModel"}},
    [WEIR_ARCHITECTURE_QWEN3] = {"qwen3", {"Qwen3ForCausalLM", "Qwen3Model"}},
    [WEIR_ARCHITECTURE_GPT2] = {"gpt2", {"GPT2LMHeadModel", "GPT2Model"}},
};
enum { N_ARCHITECTURES = sizeof architectures / sizeof *architectures };
static const char supported_types[] = "llama, qwen3 and gpt2 are supported";

typedef enum field_kind { SIZE, REAL, FLAG } field_kind;

/* Keys stored as they are.  `fallback`: where the key is absent or null; REQUIRED: an error;
 * DERIVED: found from other fields afterwards. */
enum { REQUIRED = -1, DERIVED = 0 };
typedef struct field {
  const char *key;
  int architectures;
  field_kind kind;
  size_t offset;
  double fallback;
} field;

#define AT(member) offsetof(weir_model_config, member)
static const field fields[] = {
    {"vocab_size", ALL, SIZE, AT(vocab_size), REQUIRED},
    {"hidden_size", ROTARY, SIZE, AT(hidden_size), REQUIRED},
    {"n_embd", GPT2, SIZE, AT(hidden_size), REQUIRED},
    {"intermediate_size", ROTARY, SIZE, AT(intermediate_size), REQUIRED},
    {"n_inner", GPT2, SIZE, AT(intermediate_size), DERIVED},
    {"num_hidden_layers", ROTARY, SIZE, AT(num_hidden_layers), REQUIRED},
    {"n_layer", GPT2, SIZE, AT(num_hidden_layers), REQUIRED},
    {"num_attention_heads", ROTARY, SIZE, AT(num_attention_heads), REQUIRED},
    {"n_head", GPT2, SIZE, AT(num_attention_heads), REQUIRED},
    {"num_key_value_heads", ROTARY, SIZE, AT(num_key_value_heads), DERIVED},
    {"head_dim", LLAMA, SIZE, AT(head_dim), DERIVED},
    {"head_dim", QWEN3, SIZE, AT(head_dim), 128},
    {"max_position_embeddings", LLAMA, SIZE, AT(max_position_embeddings), 2048},
    {"max_position_embeddings", QWEN3, SIZE, AT(max_position_embeddings), 32768},
    {"n_positions", GPT2, SIZE, AT(max_position_embeddings), 1024},
    {"rms_norm_eps", ROTARY, REAL, AT(norm_epsilon), 1e-6},
    {"layer_norm_epsilon", GPT2, REAL, AT(norm_epsilon), 1e-5},
    {"initializer_range", ALL, REAL, AT(initializer_range), 0.02},
    {"attention_bias", ROTARY, FLAG, AT(qkv_bias), false},
    {"mlp_bias", LLAMA, FLAG, AT(mlp_bias), false},
    {"tie_word_embeddings", ROTARY, FLAG, AT(tie_word_embeddings), false},
    {"tie_word_embeddings", GPT2, FLAG, AT(tie_word_embeddings), true},
};

/* Keys that are not stored. */
typedef struct key_rule {
  const char *key;
  int architectures;
  enum { HARMLESS, READ_APART, DROPOUT, NEUTRAL } rule;
  const char *neutral; /* JSON: the one value that leaves the mathematics alone */
} key_rule;

static const key_rule rules[] = {
    {"model_type", ALL, READ_APART, NULL},
    {"architectures", ALL, READ_APART, NULL},
    {"hidden_act", ROTARY, READ_APART, NULL},
    {"activation_function", GPT2, READ_APART, NULL},
    {"dtype", ALL, READ_APART, NULL},
    {"torch_dtype", ALL, READ_APART, NULL},
    {"bos_token_id", ALL, READ_APART, NULL},
    {"eos_token_id", ALL, READ_APART, NULL},
    {"rope_theta", ROTARY, READ_APART, NULL},
    {"rope_scaling", ROTARY, READ_APART, NULL},
    {"rope_parameters", ROTARY, READ_APART, NULL},
    {"layer_types", ROTARY, READ_APART, NULL},

    {"attention_dropout", ROTARY, DROPOUT, NULL},
    {"attn_pdrop", GPT2, DROPOUT, NULL},
    {"embd_pdrop", GPT2, DROPOUT, NULL},
    {"resid_pdrop", GPT2, DROPOUT, NULL},

    {"scale_attn_weights", GPT2, NEUTRAL, "true"},
    {"scale_attn_by_inverse_layer_idx", GPT2, NEUTRAL, "false"},
    {"reorder_and_upcast_attn", GPT2, NEUTRAL, "false"},
    {"add_cross_attention", ALL, NEUTRAL, "false"},
    {"is_encoder_decoder", ALL, NEUTRAL, "false"},
    {"pruned_heads", ALL, NEUTRAL, "{}"},
    {"quantization_config", ALL, NEUTRAL, "null"},
    {"auto_map", ALL, NEUTRAL, "null"},
    {"use_sliding_window", ROTARY, NEUTRAL, "false"},
    {"sliding_window", LLAMA, NEUTRAL, "null"},
    {"partial_rotary_factor", ROTARY, NEUTRAL, "1"},
    {"attn_logit_softcapping", ROTARY, NEUTRAL, "null"},
    {"final_logit_softcapping", ROTARY, NEUTRAL, "null"},
    {"query_pre_attn_scalar", ROTARY, NEUTRAL, "null"},
    {"embedding_multiplier", ROTARY, NEUTRAL, "1"},
    {"attention_multiplier", ROTARY, NEUTRAL, "null"},
    {"residual_multiplier", ROTARY, NEUTRAL, "1"},
    {"logits_scaling", ROTARY, NEUTRAL, "1"},
    {"logit_scale", ROTARY, NEUTRAL, "1"},

    {"sliding_window", QWEN3, HARMLESS, NULL}, /* unread unless use_sliding_window */
    {"max_window_layers", QWEN3, HARMLESS, NULL},
    {"pretraining_tp", LLAMA, HARMLESS, NULL}, /* the order of additions only */
    {"n_ctx", GPT2, HARMLESS, NULL},
    {"summary_activation", GPT2, HARMLESS, NULL},
    {"summary_first_dropout", GPT2, HARMLESS, NULL},
    {"summary_proj_to_labels", GPT2, HARMLESS, NULL},
    {"summary_type", GPT2, HARMLESS, NULL},
    {"summary_use_proj", GPT2, HARMLESS, NULL},
    {"_name_or_path", ALL, HARMLESS, NULL},
    {"_attn_implementation", ALL, HARMLESS, NULL},
    {"_attn_implementation_autoset", ALL, HARMLESS, NULL},
    {"attn_implementation", ALL, HARMLESS, NULL},
    {"chunk_size_feed_forward", ALL, HARMLESS, NULL},
    {"finetuning_task", ALL, HARMLESS, NULL},
    {"id2label", ALL, HARMLESS, NULL},
    {"is_decoder", ALL, HARMLESS, NULL},
    {"label2id", ALL, HARMLESS, NULL},
    {"output_attentions", ALL, HARMLESS, NULL},
    {"output_hidden_states", ALL, HARMLESS, NULL},
    {"pad_token_id", ALL, HARMLESS, NULL},
    {"problem_type", ALL, HARMLESS, NULL},
    {"return_dict", ALL, HARMLESS, NULL},
    {"task_specific_params", ALL, HARMLESS, NULL},
    {"tokenizer_class", ALL, HARMLESS, NULL},
    {"torchscript", ALL, HARMLESS, NULL},
    {"transformers_version", ALL, HARMLESS, NULL},
    {"use_cache", ALL, HARMLESS, NULL},
};

static const struct {
  const char *name;
  weir_activation activation;
} activations[] = {
    {"silu", WEIR_ACTIVATION_SILU},
    {"swish", WEIR_ACTIVATION_SILU},
    {"gelu", WEIR_ACTIVATION_GELU},
    {"gelu_new", WEIR_ACTIVATION_GELU_TANH},
    {"gelu_pytorch_tanh", WEIR_ACTIVATION_GELU_TANH},
};

static const struct {
  const char *name;
  weir_dtype dtype;
} dtype_names[] = {
    {"float32", WEIR_DTYPE_F32},
    {"bfloat16", WEIR_DTYPE_BF16},
    {"float16", WEIR_DTYPE_F16},
    {"float64", WEIR_DTYPE_F64},
};

enum { MAX_LAYERS = 10000 };
static const double max_parameters = 1e14; /* a thousand times what anyone has trained */

/* The file being read. */
typedef struct reader {
  const char *path;
  json_t *root;
  weir_model_config *config;
} reader;

/* "<path>: key "<key>" is <value>, expected <...>". */
static weir_status refuse(const reader *file, const char *key, const json_t *value,
                          const char *expected) {
  char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
  weir_status status =
      weir_fail(WEIR_BAD_INPUT, "%s: key \"%s\" is %.80s%s, expected %s", file->path, key,
                text ? text : "unreadable", text && strlen(text) > 80 ? "..." : "", expected);
  free(text);
  return status;
}

/* NULL where the key is absent or null. */
static const json_t *lookup(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  return json_is_null(value) ? NULL : value;
}

static bool same_value(const json_t *a, const json_t *b) {
  if (json_is_number(a) && json_is_number(b)) return json_number_value(a) == json_number_value(b);
  return json_equal(a, b);
}

static weir_status read_field(const reader *file, const field *row) {
  const json_t *value = lookup(file->root, row->key);
  void *target = (char *)file->config + row->offset;
  if (!value && row->fallback == REQUIRED)
    return weir_fail(WEIR_BAD_INPUT, "%s: key \"%s\" is missing", file->path, row->key);
  switch (row->kind) {
  case SIZE:
    if (value && (!json_is_integer(value) || json_integer_value(value) < 1 ||
                  json_integer_value(value) > INT32_MAX))
      return refuse(file, row->key, value, "an integer from 1 to 2147483647");
    *(int64_t *)target = value ? json_integer_value(value) : (int64_t)row->fallback;
    break;
  case REAL:
    if (value && (!json_is_number(value) || !(json_number_value(value) > 0) ||
                  !(json_number_value(value) <= 1)))
      return refuse(file, row->key, value, "a number above 0 and at most 1");
    *(double *)target = value ? json_number_value(value) : row->fallback;
    break;
  case FLAG:
    if (value && !json_is_boolean(value)) return refuse(file, row->key, value, "true or false");
    *(bool *)target = value ? json_is_true(value) : row->fallback != 0;
    break;
  }
  return WEIR_OK;
}

/* The class in `architectures` must be the model_type's own: a classifier has another head. */
static weir_status check_class(const reader *file) {
  const json_t *classes = lookup(file->root, "architectures");
  if (!classes || json_array_size(classes) == 0) return WEIR_OK;
  const char *name = json_string_value(json_array_get(classes, 0));
  const char *const *known = architectures[file->config->architecture].classes;
  if (name && (strcmp(name, known[0]) == 0 || strcmp(name, known[1]) == 0)) return WEIR_OK;
  char expected[64];
  snprintf(expected, sizeof expected, "[\"%s\"]", known[0]);
  return refuse(file, "architectures", classes, expected);
}

static weir_status read_architecture(const reader *file) {
  const json_t *type = lookup(file->root, "model_type");
  const json_t *classes = lookup(file->root, "architectures");
  const char *type_name = json_string_value(type);
  const char *class_name = json_string_value(json_array_get(classes, 0));
  if (!type && !class_name)
    return weir_fail(WEIR_BAD_INPUT, "%s: key \"model_type\" is missing; %s", file->path,
                     supported_types);
  for (int i = 0; i < N_ARCHITECTURES; i++) {
    bool match = type ? type_name && strcmp(type_name, architectures[i].model_type) == 0
                      : strcmp(class_name, architectures[i].classes[0]) == 0;
    if (!match) continue;
    file->config->architecture = (weir_architecture)i;
    return check_class(file);
  }
  return refuse(file, type ? "model_type" : "architectures", type ? type : classes,
                "a supported architecture (llama, qwen3 and gpt2 are)");
}

static weir_status read_activation(const reader *file) {
  bool gpt2 = file->config->architecture == WEIR_ARCHITECTURE_GPT2;
  const char *key = gpt2 ? "activation_function" : "hidden_act";
  const json_t *value = lookup(file->root, key);
  const char *name = value ? json_string_value(value) : gpt2 ? "gelu_new" : "silu";
  for (size_t i = 0; name && i < sizeof activations / sizeof *activations; i++)
    if (strcmp(activations[i].name, name) == 0) {
      file->config->hidden_act = activations[i].activation;
      return WEIR_OK;
    }
  return refuse(file, key, value,
                "\"silu\", \"swish\", \"gelu\", \"gelu_new\" or \"gelu_pytorch_tanh\"");
}

static weir_status read_dtype(const reader *file) {
  static const char prefix[] = "torch.";
  const char *key = lookup(file->root, "dtype") ? "dtype" : "torch_dtype";
  const json_t *value = lookup(file->root, key);
  file->config->dtype = WEIR_DTYPE_F32;
  if (!value) return WEIR_OK;
  const char *name = json_string_value(value);
  if (name && strncmp(name, prefix, sizeof prefix - 1) == 0) name += sizeof prefix - 1;
  for (size_t i = 0; name && i < sizeof dtype_names / sizeof *dtype_names; i++)
    if (strcmp(dtype_names[i].name, name) == 0) {
      file->config->dtype = dtype_names[i].dtype;
      return WEIR_OK;
    }
  return refuse(file, key, value, "\"float32\", \"bfloat16\", \"float16\" or \"float64\"");
}

static weir_status read_token_id(const reader *file, const char *key, const json_t *value,
                                 int64_t *id) {
  if (!json_is_integer(value) || json_integer_value(value) < 0 ||
      json_integer_value(value) > INT32_MAX)
    return refuse(file, key, value, "a token id of 0 or above");
  *id = json_integer_value(value);
  return WEIR_OK;
}

static weir_status read_special_tokens(const reader *file) {
  weir_model_config *config = file->config;
  const json_t *bos = lookup(file->root, "bos_token_id"), *eos = lookup(file->root, "eos_token_id");
  config->bos_token_id = -1;
  if (bos) WEIR_TRY(read_token_id(file, "bos_token_id", bos, &config->bos_token_id));
  if (eos && !json_is_array(eos)) {
    config->n_eos_tokens = 1;
    return read_token_id(file, "eos_token_id", eos, &config->eos_token_ids[0]);
  }
  if (json_array_size(eos) > WEIR_MAX_EOS_TOKENS)
    return refuse(file, "eos_token_id", eos, "at most 8 token ids");
  for (size_t i = 0; i < json_array_size(eos); i++)
    WEIR_TRY(read_token_id(file, "eos_token_id", json_array_get(eos, i),
                           &config->eos_token_ids[config->n_eos_tokens++]));
  return WEIR_OK;
}

static weir_status read_rope_theta(const reader *file, const json_t *object) {
  const json_t *theta = lookup(object, "rope_theta");
  if (!theta) return WEIR_OK;
  double value = json_number_value(theta); /* 0 for what is not a number */
  if (!(value > 0) || !isfinite(value))
    return refuse(file, "rope_theta", theta, "a number above 0");
  file->config->rope_theta = value;
  return WEIR_OK;
}

/* rope_scaling (old, beside rope_theta) and rope_parameters (new, holding it) say the same. */
static weir_status read_rope_object(const reader *file, const char *key) {
  static const char *const type_keys[] = {"rope_type", "type"}; /* "type" is older still */
  const json_t *object = lookup(file->root, key);
  if (!object) return WEIR_OK;
  if (!json_is_object(object)) return refuse(file, key, object, "an object or null");
  for (size_t i = 0; i < 2; i++) {
    const json_t *type = lookup(object, type_keys[i]);
    const char *name = json_string_value(type);
    if (type && (!name || strcmp(name, "default") != 0))
      return refuse(file, key, object, "a rope_type of \"default\", the one supported");
  }
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)object, name, value) {
    bool known = strcmp(name, "rope_type") == 0 || strcmp(name, "type") == 0 ||
                 strcmp(name, "rope_theta") == 0;
    bool neutral = strcmp(name, "partial_rotary_factor") == 0 && json_number_value(value) == 1;
    if (!known && !neutral && !json_is_null(value))
      return refuse(file, key, object, "no more than rope_type \"default\" and rope_theta");
  }
  return read_rope_theta(file, object);
}

static weir_status read_rope(const reader *file) {
  if (file->config->learned_positions) return WEIR_OK;
  file->config->rope_theta = 10000;
  WEIR_TRY(read_rope_theta(file, file->root));
  WEIR_TRY(read_rope_object(file, "rope_scaling"));
  return read_rope_object(file, "rope_parameters");
}

static weir_status check_layer_types(const reader *file) {
  const json_t *types = lookup(file->root, "layer_types");
  if (!types) return WEIR_OK;
  bool full = json_array_size(types) == (size_t)file->config->num_hidden_layers;
  for (size_t i = 0; i < json_array_size(types); i++) {
    const char *type = json_string_value(json_array_get(types, i));
    full = full && type && strcmp(type, "full_attention") == 0;
  }
  if (full) return WEIR_OK;
  return refuse(file, "layer_types", types, "\"full_attention\" once for each layer");
}

/* What an architecture is and no key says; what one key says for several capabilities. */
static void derive_capabilities(weir_model_config *config) {
  bool gpt2 = config->architecture == WEIR_ARCHITECTURE_GPT2;
  config->norm = gpt2 ? WEIR_NORM_LAYER : WEIR_NORM_RMS;
  config->gated_mlp = !gpt2;
  config->learned_positions = gpt2;
  config->qk_norm = config->architecture == WEIR_ARCHITECTURE_QWEN3;
  if (gpt2) config->qkv_bias = config->mlp_bias = true;
  config->attention_output_bias = config->qkv_bias;
}

static weir_status derive_sizes(const reader *file) {
  weir_model_config *config = file->config;
  int64_t heads = config->num_attention_heads;
  if (config->intermediate_size == DERIVED) config->intermediate_size = 4 * config->hidden_size;
  if (config->num_key_value_heads == DERIVED) config->num_key_value_heads = heads;
  if (config->head_dim != DERIVED) return WEIR_OK;
  if (config->hidden_size % heads != 0)
    return weir_fail(WEIR_BAD_INPUT,
                     "%s: the hidden size %" PRId64 " is not a multiple of the %" PRId64
                     " attention heads",
                     file->path, config->hidden_size, heads);
  config->head_dim = config->hidden_size / heads;
  return WEIR_OK;
}

static weir_status check_sizes(const reader *file) {
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
  if (config->num_hidden_layers > MAX_LAYERS)
    return weir_fail(WEIR_BAD_INPUT, "%s: %" PRId64 " layers are more than the %d allowed",
                     file->path, config->num_hidden_layers, MAX_LAYERS);
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
  double layer = 2 * norm + qkv * D + D * HK + inner * D + D * F;
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

static weir_status apply_rule(const reader *file, const key_rule *rule, const json_t *value) {
  if (rule->rule == DROPOUT) {
    if (!json_is_number(value)) return refuse(file, rule->key, value, "a number");
    if (json_number_value(value) != 0) file->config->asks_for_dropout = true;
  }
  if (rule->rule != NEUTRAL) return WEIR_OK;
  json_t *neutral = json_loads(rule->neutral, JSON_DECODE_ANY, NULL);
  /* null turns a feature off, except those that are on when neutral */
  bool same = same_value(value, neutral) || (json_is_null(value) && !json_is_true(neutral));
  json_decref(neutral);
  char expected[64];
  snprintf(expected, sizeof expected, "%s: other values are not supported", rule->neutral);
  return same ? WEIR_OK : refuse(file, rule->key, value, expected);
}

static weir_status check_key(const reader *file, const char *key, const json_t *value) {
  int architecture = 1 << file->config->architecture;
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    if ((fields[i].architectures & architecture) && strcmp(fields[i].key, key) == 0) return WEIR_OK;
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if ((rules[i].architectures & architecture) && strcmp(rules[i].key, key) == 0)
      return apply_rule(file, &rules[i], value);
  count_ignored(file->config, key);
  return WEIR_OK;
}

static weir_status read_config(const reader *file) {
  WEIR_TRY(read_architecture(file));
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    if (fields[i].architectures & 1 << file->config->architecture)
      WEIR_TRY(read_field(file, &fields[i]));
  derive_capabilities(file->config);
  const char *key;
  json_t *value;
  json_object_foreach(file->root, key, value) WEIR_TRY(check_key(file, key, value));
  WEIR_TRY(read_activation(file));
  WEIR_TRY(read_dtype(file));
  WEIR_TRY(read_special_tokens(file));
  WEIR_TRY(read_rope(file));
  WEIR_TRY(check_layer_types(file));
  WEIR_TRY(derive_sizes(file));
  WEIR_TRY(check_sizes(file));
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
  reader file = {.path = path, .config = config};
  file.root = json_loadb(mapping.bytes ? (const char *)mapping.bytes : "", mapping.size_bytes,
                         JSON_REJECT_DUPLICATES, &error);
  weir_mapping_close(&mapping);
  if (!file.root)
    return weir_fail(WEIR_BAD_INPUT, "%s: line %d, column %d: not valid JSON: %s", path, error.line,
                     error.column, error.text);
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
