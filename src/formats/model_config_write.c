/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing config.json with the keys that Hugging Face Transformers reads. */
#include "base/files.h"
#include "formats/model_config.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *activation_name(weir_activation activation) {
  switch (activation) {
  case WEIR_ACTIVATION_SILU:
    return "silu";
  case WEIR_ACTIVATION_GELU:
    return "gelu";
  case WEIR_ACTIVATION_GELU_TANH:
    return "gelu_new";
  }
  return "";
}

static const char *dtype_name(weir_dtype dtype) {
  switch (dtype) {
  case WEIR_DTYPE_F64:
    return "float64";
  case WEIR_DTYPE_BF16:
    return "bfloat16";
  case WEIR_DTYPE_F16:
    return "float16";
  default:
    return "float32";
  }
}

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

static json_t *common_json(const weir_model_config *config, weir_dtype dtype) {
  return json_pack("{s:I, s:f, s:b, s:o, s:o, s:s, s:b}", "vocab_size",
                   (json_int_t)config->vocab_size, "initializer_range", config->initializer_range,
                   "tie_word_embeddings", config->tie_word_embeddings, "bos_token_id",
                   integer_or_null(config->bos_token_id), "eos_token_id", eos_json(config),
                   "torch_dtype", dtype_name(dtype), "use_cache", 1);
}

static json_t *gpt2_json(const weir_model_config *config) {
  return json_pack(
      "{s:s, s:[s], s:I, s:I, s:I, s:I, s:I, s:f, s:s, s:f, s:f, s:f}", "model_type", "gpt2",
      "architectures", "GPT2LMHeadModel", "n_embd", (json_int_t)config->hidden_size, "n_inner",
      (json_int_t)config->intermediate_size, "n_layer", (json_int_t)config->num_hidden_layers,
      "n_head", (json_int_t)config->num_attention_heads, "n_positions",
      (json_int_t)config->max_position_embeddings, "layer_norm_epsilon", config->norm_epsilon,
      "activation_function", activation_name(config->hidden_act), "attn_pdrop", 0.0, "embd_pdrop",
      0.0, "resid_pdrop", 0.0);
}

static json_t *rotary_json(const weir_model_config *config) {
  return json_pack(
      "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:f, s:f, s:n, s:b, s:f}", "hidden_size",
      (json_int_t)config->hidden_size, "intermediate_size", (json_int_t)config->intermediate_size,
      "num_hidden_layers", (json_int_t)config->num_hidden_layers, "num_attention_heads",
      (json_int_t)config->num_attention_heads, "num_key_value_heads",
      (json_int_t)config->num_key_value_heads, "head_dim", (json_int_t)config->head_dim,
      "max_position_embeddings", (json_int_t)config->max_position_embeddings, "hidden_act",
      activation_name(config->hidden_act), "rms_norm_eps", config->norm_epsilon, "rope_theta",
      config->rope_theta, "rope_scaling", "attention_bias", config->qkv_bias, "attention_dropout",
      0.0);
}

static json_t *llama_json(const weir_model_config *config) {
  return json_pack("{s:s, s:[s], s:b}", "model_type", "llama", "architectures", "LlamaForCausalLM",
                   "mlp_bias", config->mlp_bias);
}

static json_t *qwen3_json(void) {
  return json_pack("{s:s, s:[s], s:b, s:n}", "model_type", "qwen3", "architectures",
                   "Qwen3ForCausalLM", "use_sliding_window", 0, "sliding_window");
}

/* Moves the keys of `part` into `root`; NULL, with both gone, where either is. */
static json_t *merge(json_t *root, json_t *part) {
  bool merged = json_object_update(root, part) == 0;
  json_decref(part);
  if (merged) return root;
  json_decref(root);
  return NULL;
}

static json_t *config_json(const weir_model_config *config, weir_dtype dtype) {
  json_t *common = common_json(config, dtype);
  switch (config->architecture) {
  case WEIR_ARCHITECTURE_LLAMA:
    return merge(merge(common, rotary_json(config)), llama_json(config));
  case WEIR_ARCHITECTURE_QWEN3:
    return merge(merge(common, rotary_json(config)), qwen3_json());
  case WEIR_ARCHITECTURE_GPT2:
    return merge(common, gpt2_json(config));
  }
  return common;
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
