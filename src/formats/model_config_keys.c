/* SPDX-License-Identifier: Apache-2.0
 *
 * Defaults are those of Hugging Face Transformers' configuration classes. */
#include "formats/model_config_keys.h"

#include <string.h>

enum {
  LLAMA = 1 << WEIR_ARCHITECTURE_LLAMA,
  MISTRAL = 1 << WEIR_ARCHITECTURE_MISTRAL,
  QWEN2 = 1 << WEIR_ARCHITECTURE_QWEN2,
  QWEN3 = 1 << WEIR_ARCHITECTURE_QWEN3,
  GPT2 = 1 << WEIR_ARCHITECTURE_GPT2,
  PHI3 = 1 << WEIR_ARCHITECTURE_PHI3,
  GEMMA2 = 1 << WEIR_ARCHITECTURE_GEMMA2,
  GEMMA3 = 1 << WEIR_ARCHITECTURE_GEMMA3,
  QWEN = QWEN2 | QWEN3,
  GEMMA = GEMMA2 | GEMMA3,
  ROTARY = LLAMA | MISTRAL | QWEN | PHI3 | GEMMA,
  ALL = ROTARY | GPT2,
};

const weir_architecture_row weir_architectures[WEIR_ARCHITECTURE_COUNT] = {
    [WEIR_ARCHITECTURE_LLAMA] = {.model_type = "llama",
                                 .classes = {"LlamaForCausalLM", "LlamaModel"},
                                 .activation_key = "hidden_act",
                                 .activation = "silu",
                                 .norm = WEIR_NORM_RMS,
                                 .gated_mlp = true,
                                 .output_bias = true,
                                 .rope_theta = 10000},
    [WEIR_ARCHITECTURE_MISTRAL] = {.model_type = "mistral",
                                   .classes = {"MistralForCausalLM", "MistralModel"},
                                   .activation_key = "hidden_act",
                                   .activation = "silu",
                                   .norm = WEIR_NORM_RMS,
                                   .gated_mlp = true,
                                   .rope_theta = 10000},
    [WEIR_ARCHITECTURE_QWEN2] = {.model_type = "qwen2",
                                 .classes = {"Qwen2ForCausalLM", "Qwen2Model"},
                                 .activation_key = "hidden_act",
                                 .activation = "silu",
                                 .norm = WEIR_NORM_RMS,
                                 .gated_mlp = true,
                                 .qkv_bias = true,
                                 .layer_types = true,
                                 .windows_on_request = true,
                                 .rope_theta = 10000},
    [WEIR_ARCHITECTURE_QWEN3] = {.model_type = "qwen3",
                                 .classes = {"Qwen3ForCausalLM", "Qwen3Model"},
                                 .activation_key = "hidden_act",
                                 .activation = "silu",
                                 .norm = WEIR_NORM_RMS,
                                 .gated_mlp = true,
                                 .qk_norm = true,
                                 .output_bias = true,
                                 .layer_types = true,
                                 .windows_on_request = true,
                                 .rope_theta = 10000},
    [WEIR_ARCHITECTURE_PHI3] = {.model_type = "phi3",
                                .classes = {"Phi3ForCausalLM", "Phi3Model"},
                                .activation_key = "hidden_act",
                                .activation = "silu",
                                .norm = WEIR_NORM_RMS,
                                .gated_mlp = true,
                                .rope_theta = 10000},
    [WEIR_ARCHITECTURE_GEMMA2] = {.model_type = "gemma2",
                                  .classes = {"Gemma2ForCausalLM", "Gemma2Model"},
                                  .activation_key = "hidden_activation",
                                  .activation = "gelu_pytorch_tanh",
                                  .norm = WEIR_NORM_RMS_PLUS_ONE,
                                  .gated_mlp = true,
                                  .post_norms = true,
                                  .scaled_embeddings = true,
                                  .sliding_window_pattern = 2,
                                  .output_bias = true,
                                  .layer_types = true,
                                  .rope_theta = 10000},
    [WEIR_ARCHITECTURE_GEMMA3] = {.model_type = "gemma3_text",
                                  .classes = {"Gemma3ForCausalLM", "Gemma3TextModel"},
                                  .activation_key = "hidden_activation",
                                  .activation = "gelu_pytorch_tanh",
                                  .norm = WEIR_NORM_RMS_PLUS_ONE,
                                  .gated_mlp = true,
                                  .post_norms = true,
                                  .scaled_embeddings = true,
                                  .qk_norm = true,
                                  .output_bias = true,
                                  .layer_types = true,
                                  .rope_theta = 1000000},
    [WEIR_ARCHITECTURE_GPT2] = {.model_type = "gpt2",
                                .classes = {"GPT2LMHeadModel", "GPT2Model"},
                                .activation_key = "activation_function",
                                .activation = "gelu_new",
                                .norm = WEIR_NORM_LAYER,
                                .learned_positions = true,
                                .mlp_bias = true,
                                .qkv_bias = true,
                                .output_bias = true},
};

#define SIZE         WEIR_FIELD_SIZE
#define COUNT        WEIR_FIELD_COUNT
#define SIZE_OR_NULL WEIR_FIELD_SIZE_OR_NULL
#define FRACTION     WEIR_FIELD_FRACTION
#define REAL         WEIR_FIELD_REAL
#define REAL_OR_NULL WEIR_FIELD_REAL_OR_NULL
#define FLAG         WEIR_FIELD_FLAG
#define REQUIRED     WEIR_FIELD_REQUIRED
#define DERIVED      WEIR_FIELD_DERIVED
#define AT(member)   offsetof(weir_model_config, member)
const weir_field weir_fields[] = {
    {"vocab_size", ALL, SIZE, AT(vocab_size), REQUIRED},
    {"hidden_size", ROTARY, SIZE, AT(hidden_size), REQUIRED},
    {"n_embd", GPT2, SIZE, AT(hidden_size), REQUIRED},
    {"intermediate_size", ROTARY, SIZE, AT(intermediate_size), REQUIRED},
    {"n_inner", GPT2, SIZE, AT(intermediate_size), DERIVED},
    {"num_hidden_layers", ROTARY, SIZE, AT(num_hidden_layers), REQUIRED},
    {"n_layer", GPT2, SIZE, AT(num_hidden_layers), REQUIRED},
    {"num_attention_heads", ROTARY, SIZE, AT(num_attention_heads), REQUIRED},
    {"n_head", GPT2, SIZE, AT(num_attention_heads), REQUIRED},
    {"num_key_value_heads", LLAMA | QWEN | PHI3, SIZE, AT(num_key_value_heads), DERIVED},
    {"num_key_value_heads", MISTRAL | GEMMA, SIZE, AT(num_key_value_heads), REQUIRED},
    {"head_dim", LLAMA | MISTRAL | QWEN2 | PHI3, SIZE, AT(head_dim), DERIVED},
    {"head_dim", QWEN3, SIZE, AT(head_dim), 128},
    {"head_dim", GEMMA, SIZE, AT(head_dim), 256},
    {"max_position_embeddings", LLAMA, SIZE, AT(max_position_embeddings), 2048},
    {"max_position_embeddings", QWEN, SIZE, AT(max_position_embeddings), 32768},
    {"max_position_embeddings", MISTRAL, SIZE, AT(max_position_embeddings), 131072},
    {"max_position_embeddings", PHI3, SIZE, AT(max_position_embeddings), 4096},
    {"max_position_embeddings", GEMMA2, SIZE, AT(max_position_embeddings), 8192},
    {"max_position_embeddings", GEMMA3, SIZE, AT(max_position_embeddings), 131072},
    {"n_positions", GPT2, SIZE, AT(max_position_embeddings), 1024},
    {"rms_norm_eps", ROTARY & ~PHI3, FRACTION, AT(norm_epsilon), 1e-6},
    {"rms_norm_eps", PHI3, FRACTION, AT(norm_epsilon), 1e-5},
    {"layer_norm_epsilon", GPT2, FRACTION, AT(norm_epsilon), 1e-5},
    {"initializer_range", ALL, FRACTION, AT(initializer_range), 0.02},
    {"attention_bias", LLAMA | QWEN3 | GEMMA, FLAG, AT(qkv_bias), false},
    {"mlp_bias", LLAMA, FLAG, AT(mlp_bias), false},
    {"tie_word_embeddings", ROTARY & ~GEMMA, FLAG, AT(tie_word_embeddings), false},
    {"tie_word_embeddings", GPT2 | GEMMA, FLAG, AT(tie_word_embeddings), true},
    {"use_sliding_window", QWEN, FLAG, AT(use_sliding_window), false},
    {"sliding_window", MISTRAL | QWEN | GEMMA, SIZE_OR_NULL, AT(sliding_window), 4096},
    {"sliding_window", PHI3, SIZE_OR_NULL, AT(sliding_window), 0},
    {"sliding_window_pattern", GEMMA3, SIZE, AT(sliding_window_pattern), 6},
    {"max_window_layers", QWEN, COUNT, AT(max_window_layers), 28},
    {"query_pre_attn_scalar", GEMMA, REAL, AT(query_pre_attn_scalar), 256},
    {"attn_logit_softcapping", GEMMA2, REAL_OR_NULL, AT(attention_softcap), 50},
    {"final_logit_softcapping", GEMMA2, REAL_OR_NULL, AT(logit_softcap), 30},
    {"final_logit_softcapping", GEMMA3, REAL_OR_NULL, AT(logit_softcap), 0},
    {"rope_local_base_freq", GEMMA3, REAL, AT(rope_local_base_freq), 10000},
};
const size_t weir_n_fields = sizeof weir_fields / sizeof *weir_fields;

#define HARMLESS   WEIR_KEY_HARMLESS
#define READ_APART WEIR_KEY_READ_APART
#define DROPOUT    WEIR_KEY_DROPOUT
#define NEUTRAL    WEIR_KEY_NEUTRAL
const weir_key_rule weir_key_rules[] = {
    {"model_type", ALL, READ_APART, NULL},
    {"architectures", ALL, READ_APART, NULL},
    {"hidden_act", ROTARY, READ_APART, NULL},
    {"hidden_activation", GEMMA, READ_APART, NULL}, /* and hidden_act goes unheeded */
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
    {"embd_pdrop", GPT2 | PHI3, DROPOUT, NULL},
    {"resid_pdrop", GPT2 | PHI3, DROPOUT, NULL},

    {"attention_bias", MISTRAL | PHI3, NEUTRAL, "false"},
    {"attention_bias", QWEN2, NEUTRAL, "true"},
    {"mlp_bias", MISTRAL | QWEN | PHI3 | GEMMA, NEUTRAL, "false"},
    {"scale_attn_weights", GPT2, NEUTRAL, "true"},
    {"scale_attn_by_inverse_layer_idx", GPT2, NEUTRAL, "false"},
    {"reorder_and_upcast_attn", GPT2, NEUTRAL, "false"},
    {"add_cross_attention", ALL, NEUTRAL, "false"},
    {"is_encoder_decoder", ALL, NEUTRAL, "false"},
    {"pruned_heads", ALL, NEUTRAL, "{}"},
    {"quantization_config", ALL, NEUTRAL, "null"},
    {"auto_map", ALL, NEUTRAL, "null"},
    {"use_bidirectional_attention", GEMMA3, NEUTRAL, "false"},
    {"sliding_window_pattern", GEMMA2, NEUTRAL, "2"},
    {"use_sliding_window", LLAMA, NEUTRAL, "false"},
    {"sliding_window", LLAMA, NEUTRAL, "null"},
    {"partial_rotary_factor", ROTARY, NEUTRAL, "1"},
    {"attn_logit_softcapping", ROTARY & ~GEMMA2, NEUTRAL, "null"},
    {"final_logit_softcapping", ROTARY & ~GEMMA, NEUTRAL, "null"},
    {"query_pre_attn_scalar", ROTARY & ~GEMMA, NEUTRAL, "null"},
    {"embedding_multiplier", ROTARY, NEUTRAL, "1"},
    {"attention_multiplier", ROTARY, NEUTRAL, "null"},
    {"residual_multiplier", ROTARY, NEUTRAL, "1"},
    {"logits_scaling", ROTARY, NEUTRAL, "1"},
    {"logit_scale", ROTARY, NEUTRAL, "1"},

    {"pretraining_tp", LLAMA, HARMLESS, NULL},                  /* the order of additions only */
    {"original_max_position_embeddings", PHI3, HARMLESS, NULL}, /* longrope's */
    {"cache_implementation", GEMMA, HARMLESS, NULL},
    {"_sliding_window_pattern", GEMMA3, HARMLESS, NULL}, /* written, never read */
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
    {"pad_token_id", ALL, READ_APART, NULL},
    {"problem_type", ALL, HARMLESS, NULL},
    {"return_dict", ALL, HARMLESS, NULL},
    {"task_specific_params", ALL, HARMLESS, NULL},
    {"tokenizer_class", ALL, HARMLESS, NULL},
    {"torchscript", ALL, HARMLESS, NULL},
    {"transformers_version", ALL, HARMLESS, NULL},
    {"use_cache", ALL, HARMLESS, NULL},
};
const size_t weir_n_key_rules = sizeof weir_key_rules / sizeof *weir_key_rules;

const weir_value_name weir_activation_names[] = {
    {"silu", WEIR_ACTIVATION_SILU},          {"swish", WEIR_ACTIVATION_SILU},
    {"gelu", WEIR_ACTIVATION_GELU},          {"gelu_pytorch_tanh", WEIR_ACTIVATION_GELU_TANH},
    {"gelu_new", WEIR_ACTIVATION_GELU_TANH}, {NULL, 0},
};

const weir_value_name weir_dtype_names[] = {
    {"float32", WEIR_DTYPE_F32},
    {"bfloat16", WEIR_DTYPE_BF16},
    {"float16", WEIR_DTYPE_F16},
    {"float64", WEIR_DTYPE_F64},
    {NULL, 0},
};

const weir_value_name weir_rope_names[] = {
    {"default", WEIR_ROPE_DEFAULT},
    {"linear", WEIR_ROPE_LINEAR},
    {"llama3", WEIR_ROPE_LLAMA3},
    {NULL, 0},
};

const char *weir_value_name_of(const weir_value_name *table, int value) {
  while (table->name && table->value != value)
    table++;
  return table->name ? table->name : "";
}

int weir_value_named(const weir_value_name *table, const char *name) {
  for (int i = 0; name && table[i].name; i++)
    if (strcmp(table[i].name, name) == 0) return i;
  return -1;
}
