/* SPDX-License-Identifier: Apache-2.0
 *
 * What a Hugging Face config.json says of a model, as capabilities.
 *
 * The rest of the program asks for capabilities (is there a q/k norm? are positions learned?) and
 * never for the architecture: only reading, writing and tensor names know that.  A key that
 * changes the mathematics and is not supported is an error; other unknown keys are counted. */
#ifndef WEIR_FORMATS_MODEL_CONFIG_H
#define WEIR_FORMATS_MODEL_CONFIG_H

#include "base/status.h"
#include "core/device.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum weir_architecture {
  WEIR_ARCHITECTURE_LLAMA,
  WEIR_ARCHITECTURE_MISTRAL,
  WEIR_ARCHITECTURE_QWEN2,
  WEIR_ARCHITECTURE_QWEN3,
  WEIR_ARCHITECTURE_PHI3,
  WEIR_ARCHITECTURE_GEMMA2,
  WEIR_ARCHITECTURE_GEMMA3,
  WEIR_ARCHITECTURE_GPT2,
  WEIR_ARCHITECTURE_COUNT,
} weir_architecture;

enum { WEIR_MAX_EOS_TOKENS = 8, WEIR_MAX_LAYERS = 10000 };

/* How RoPE's frequencies are stretched for texts longer than those of pretraining. */
typedef enum weir_rope_kind {
  WEIR_ROPE_DEFAULT, /* not at all */
  WEIR_ROPE_LINEAR,  /* all divided by `factor` */
  WEIR_ROPE_LLAMA3, /* the slow ones divided, the fast ones kept, a ramp between (model/rotary.h) */
} weir_rope_kind;

typedef struct weir_rope_scaling {
  weir_rope_kind kind;
  double factor;
  double low_freq_factor, high_freq_factor, original_max_position_embeddings; /* llama3 */
} weir_rope_scaling;

typedef struct weir_model_config {
  weir_architecture architecture;
  int64_t vocab_size, hidden_size, intermediate_size;
  int64_t num_hidden_layers, num_attention_heads, num_key_value_heads, head_dim;
  int64_t max_position_embeddings;
  weir_norm_kind norm;
  double norm_epsilon;
  weir_activation hidden_act;
  bool gated_mlp;         /* down(act(gate) * up), else down(act(up)) */
  bool qk_norm;           /* RMSNorm of every head of q and k before RoPE */
  bool learned_positions; /* a position table instead of RoPE */
  bool post_norms;        /* a norm after the attention and the mlp too, before the residual sum */
  bool scaled_embeddings; /* by sqrt(hidden_size) */
  double attention_softcap, logit_softcap; /* 0: none */
  double query_pre_attn_scalar;            /* scores are divided by its root; 0: by head_dim's */
  bool qkv_bias, attention_output_bias, mlp_bias;
  bool tie_word_embeddings;
  double rope_theta; /* unused with learned positions */
  weir_rope_scaling rope_scaling;
  double rope_local_base_freq; /* theta of layers with a window, unscaled; 0: as the others */
  int64_t sliding_window; /* last keys, its own included, that a token of a windowed layer sees */
  uint8_t windowed_layers[(WEIR_MAX_LAYERS + 7) / 8]; /* a bit each, lowest first */
  bool use_sliding_window;                            /* some layer may have a window */
  /* As in the file, for where layer_types is silent: layers before have no window; every n-th has
   * none. */
  int64_t max_window_layers, sliding_window_pattern;
  double initializer_range;
  weir_dtype dtype;                   /* torch_dtype or dtype; f32 where the file is silent */
  int64_t bos_token_id, pad_token_id; /* -1 where the file has none; padding is kept for others */
  int64_t eos_token_ids[WEIR_MAX_EOS_TOKENS];
  int64_t n_eos_tokens;
  bool asks_for_dropout;  /* a dropout above 0: for a warning, Weir trains without */
  int64_t n_ignored_keys; /* unknown keys that do not change the mathematics */
  char ignored_keys[256]; /* their names, comma separated, for the warning; may end in "..." */
} weir_model_config;

/* Reads and validates `path` (a config.json, or a directory that holds one). */
weir_status weir_model_config_read(const char *path, weir_model_config *config);

/* Says what of the file goes unheeded: unknown keys, dropout. */
void weir_model_config_warn(const weir_model_config *config, const char *path);

/* Writes <directory>/config.json as Hugging Face expects it, atomically, with `dtype` as
 * torch_dtype. */
weir_status weir_model_config_write(const char *directory, const weir_model_config *config,
                                    weir_dtype dtype);

/* The keys that tokens of a layer see, counting back from their own; 0: all before them. */
int64_t weir_model_config_window(const weir_model_config *config, int64_t layer);

/* Number of scalar parameters, tied tensors counted once: for messages. */
int64_t weir_model_config_parameters(const weir_model_config *config);

#endif
