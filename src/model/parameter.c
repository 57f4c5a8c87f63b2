/* SPDX-License-Identifier: Apache-2.0
 *
 * One row a role: what it is called in each family of files, its shape, and whether a model has it.
 * A new architecture adds names, not code.  Parameters of one unit with one name are parts of one
 * fused tensor, stacked in the order of their roles. */
#include "model/parameter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Symbols of the shape legend (core/device.h); HK is H*K, GK is G*K. */
typedef enum shape_symbol { ONE, SYM_V, SYM_P, SYM_D, SYM_HK, SYM_GK, SYM_K, SYM_F } shape_symbol;

typedef struct role_row {
  const char *llama; /* names in Llama-like files; %lld is the layer */
  const char *gpt2;
  shape_symbol rows, cols;
} role_row;

static const role_row role_rows[WEIR_ROLE_COUNT] = {
    [WEIR_ROLE_EMBEDDING] = {"model.embed_tokens.weight", "transformer.wte.weight", SYM_V, SYM_D},
    [WEIR_ROLE_POSITIONS] = {NULL, "transformer.wpe.weight", SYM_P, SYM_D},
    [WEIR_ROLE_ATTENTION_NORM] = {"model.layers.%lld.input_layernorm.weight",
                                  "transformer.h.%lld.ln_1.weight", ONE, SYM_D},
    [WEIR_ROLE_ATTENTION_NORM_BIAS] = {NULL, "transformer.h.%lld.ln_1.bias", ONE, SYM_D},
    [WEIR_ROLE_Q] = {"model.layers.%lld.self_attn.q_proj.weight",
                     "transformer.h.%lld.attn.c_attn.weight", SYM_HK, SYM_D},
    [WEIR_ROLE_Q_BIAS] = {"model.layers.%lld.self_attn.q_proj.bias",
                          "transformer.h.%lld.attn.c_attn.bias", ONE, SYM_HK},
    [WEIR_ROLE_K] = {"model.layers.%lld.self_attn.k_proj.weight",
                     "transformer.h.%lld.attn.c_attn.weight", SYM_GK, SYM_D},
    [WEIR_ROLE_K_BIAS] = {"model.layers.%lld.self_attn.k_proj.bias",
                          "transformer.h.%lld.attn.c_attn.bias", ONE, SYM_GK},
    [WEIR_ROLE_V] = {"model.layers.%lld.self_attn.v_proj.weight",
                     "transformer.h.%lld.attn.c_attn.weight", SYM_GK, SYM_D},
    [WEIR_ROLE_V_BIAS] = {"model.layers.%lld.self_attn.v_proj.bias",
                          "transformer.h.%lld.attn.c_attn.bias", ONE, SYM_GK},
    [WEIR_ROLE_Q_NORM] = {"model.layers.%lld.self_attn.q_norm.weight", NULL, ONE, SYM_K},
    [WEIR_ROLE_K_NORM] = {"model.layers.%lld.self_attn.k_norm.weight", NULL, ONE, SYM_K},
    [WEIR_ROLE_O] = {"model.layers.%lld.self_attn.o_proj.weight",
                     "transformer.h.%lld.attn.c_proj.weight", SYM_D, SYM_HK},
    [WEIR_ROLE_O_BIAS] = {"model.layers.%lld.self_attn.o_proj.bias",
                          "transformer.h.%lld.attn.c_proj.bias", ONE, SYM_D},
    [WEIR_ROLE_ATTENTION_POST_NORM] = {"model.layers.%lld.post_attention_layernorm.weight", NULL,
                                       ONE, SYM_D},
    [WEIR_ROLE_MLP_NORM] = {"model.layers.%lld.post_attention_layernorm.weight",
                            "transformer.h.%lld.ln_2.weight", ONE, SYM_D},
    [WEIR_ROLE_MLP_NORM_BIAS] = {NULL, "transformer.h.%lld.ln_2.bias", ONE, SYM_D},
    [WEIR_ROLE_GATE] = {"model.layers.%lld.mlp.gate_proj.weight", NULL, SYM_F, SYM_D},
    [WEIR_ROLE_GATE_BIAS] = {"model.layers.%lld.mlp.gate_proj.bias", NULL, ONE, SYM_F},
    [WEIR_ROLE_UP] = {"model.layers.%lld.mlp.up_proj.weight", "transformer.h.%lld.mlp.c_fc.weight",
                      SYM_F, SYM_D},
    [WEIR_ROLE_UP_BIAS] = {"model.layers.%lld.mlp.up_proj.bias", "transformer.h.%lld.mlp.c_fc.bias",
                           ONE, SYM_F},
    [WEIR_ROLE_DOWN] = {"model.layers.%lld.mlp.down_proj.weight",
                        "transformer.h.%lld.mlp.c_proj.weight", SYM_D, SYM_F},
    [WEIR_ROLE_DOWN_BIAS] = {"model.layers.%lld.mlp.down_proj.bias",
                             "transformer.h.%lld.mlp.c_proj.bias", ONE, SYM_D},
    [WEIR_ROLE_MLP_POST_NORM] = {"model.layers.%lld.post_feedforward_layernorm.weight", NULL, ONE,
                                 SYM_D},
    [WEIR_ROLE_FINAL_NORM] = {"model.norm.weight", "transformer.ln_f.weight", ONE, SYM_D},
    [WEIR_ROLE_FINAL_NORM_BIAS] = {NULL, "transformer.ln_f.bias", ONE, SYM_D},
    [WEIR_ROLE_HEAD] = {"lm_head.weight", "lm_head.weight", SYM_V, SYM_D},
};

/* Where an architecture departs from its family. */
static const struct {
  weir_architecture architecture;
  weir_role role;
  const char *name;
} other_names[] = {
    {WEIR_ARCHITECTURE_PHI3, WEIR_ROLE_Q, "model.layers.%lld.self_attn.qkv_proj.weight"},
    {WEIR_ARCHITECTURE_PHI3, WEIR_ROLE_K, "model.layers.%lld.self_attn.qkv_proj.weight"},
    {WEIR_ARCHITECTURE_PHI3, WEIR_ROLE_V, "model.layers.%lld.self_attn.qkv_proj.weight"},
    {WEIR_ARCHITECTURE_PHI3, WEIR_ROLE_GATE, "model.layers.%lld.mlp.gate_up_proj.weight"},
    {WEIR_ARCHITECTURE_PHI3, WEIR_ROLE_UP, "model.layers.%lld.mlp.gate_up_proj.weight"},
    {WEIR_ARCHITECTURE_GEMMA2, WEIR_ROLE_MLP_NORM,
     "model.layers.%lld.pre_feedforward_layernorm.weight"},
    {WEIR_ARCHITECTURE_GEMMA3, WEIR_ROLE_MLP_NORM,
     "model.layers.%lld.pre_feedforward_layernorm.weight"},
};

/* A printf format for the layer. */
static const char *name_format(weir_architecture architecture, weir_role role) {
  for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
    if (other_names[i].architecture == architecture && other_names[i].role == role)
      return other_names[i].name;
  return architecture == WEIR_ARCHITECTURE_GPT2 ? role_rows[role].gpt2 : role_rows[role].llama;
}

static int64_t symbol_size(const weir_model_config *config, shape_symbol symbol) {
  switch (symbol) {
  case ONE:
    return 1;
  case SYM_V:
    return config->vocab_size;
  case SYM_P:
    return config->max_position_embeddings;
  case SYM_D:
    return config->hidden_size;
  case SYM_HK:
    return config->num_attention_heads * config->head_dim;
  case SYM_GK:
    return config->num_key_value_heads * config->head_dim;
  case SYM_K:
    return config->head_dim;
  case SYM_F:
    return config->intermediate_size;
  }
  return 0;
}

static bool has_role(const weir_model_config *config, weir_role role) {
  switch (role) {
  case WEIR_ROLE_POSITIONS:
    return config->learned_positions;
  case WEIR_ROLE_ATTENTION_NORM_BIAS:
  case WEIR_ROLE_MLP_NORM_BIAS:
  case WEIR_ROLE_FINAL_NORM_BIAS:
    return config->norm == WEIR_NORM_LAYER;
  case WEIR_ROLE_Q_BIAS:
  case WEIR_ROLE_K_BIAS:
  case WEIR_ROLE_V_BIAS:
    return config->qkv_bias;
  case WEIR_ROLE_O_BIAS:
    return config->attention_output_bias;
  case WEIR_ROLE_Q_NORM:
  case WEIR_ROLE_K_NORM:
    return config->qk_norm;
  case WEIR_ROLE_ATTENTION_POST_NORM:
  case WEIR_ROLE_MLP_POST_NORM:
    return config->post_norms;
  case WEIR_ROLE_GATE:
    return config->gated_mlp;
  case WEIR_ROLE_GATE_BIAS:
    return config->gated_mlp && config->mlp_bias;
  case WEIR_ROLE_UP_BIAS:
  case WEIR_ROLE_DOWN_BIAS:
    return config->mlp_bias;
  case WEIR_ROLE_HEAD:
    return !config->tie_word_embeddings;
  default:
    return true;
  }
}

static int64_t role_unit(const weir_model_config *config, weir_role role, int64_t layer) {
  if (role < WEIR_ROLE_ATTENTION_NORM) return 0;
  return role >= WEIR_ROLE_FINAL_NORM ? config->num_hidden_layers + 1 : layer + 1;
}

static void append(weir_parameter_table *table, const weir_model_config *config, weir_role role,
                   int64_t layer) {
  if (!has_role(config, role)) return;
  const role_row *row = &role_rows[role];
  bool gpt2 = config->architecture == WEIR_ARCHITECTURE_GPT2;
  int64_t i = table->n_parameters++;
  weir_parameter *parameter = &table->parameters[i];
  *parameter = (weir_parameter){
      .role = role,
      .unit = role_unit(config, role, layer),
      .rows = symbol_size(config, row->rows),
      .cols = symbol_size(config, row->cols),
      .is_vector = row->rows == ONE,
  };
  table->index[parameter->unit * WEIR_ROLE_COUNT + role] = i;
  parameter->file_transposed =
      gpt2 && role >= WEIR_ROLE_Q && role <= WEIR_ROLE_DOWN_BIAS && !parameter->is_vector;
  snprintf(parameter->file_name, sizeof parameter->file_name,
           name_format(config->architecture, role), (long long)layer);
}

/* Finds the place of every parameter in its tensor of the file. */
static void join_parts(weir_parameter_table *table) {
  for (int64_t i = 0; i < table->n_parameters; i++) {
    weir_parameter *part = &table->parameters[i];
    for (weir_role role = 0; role < WEIR_ROLE_COUNT; role++) {
      int64_t other = weir_parameter_find(table, part->unit, role);
      if (other < 0) continue;
      const weir_parameter *sibling = &table->parameters[other];
      if (strcmp(sibling->file_name, part->file_name) != 0) continue;
      int64_t outputs = sibling->is_vector ? sibling->cols : sibling->rows;
      part->file_rows += outputs;
      if (other < i) part->file_row += outputs;
    }
  }
}

weir_status weir_parameter_table_create(const weir_model_config *config,
                                        weir_parameter_table *table) {
  int64_t n_layers = config->num_hidden_layers;
  size_t capacity = (size_t)(n_layers + 2) * WEIR_ROLE_COUNT;
  *table = (weir_parameter_table){.n_units = n_layers + 2,
                                  .parameters = calloc(capacity, sizeof *table->parameters),
                                  .index = malloc(capacity * sizeof *table->index)};
  if (!table->parameters || !table->index) {
    weir_parameter_table_destroy(table);
    return weir_fail(WEIR_FAILED, "no memory for the parameter table");
  }
  for (size_t i = 0; i < capacity; i++)
    table->index[i] = -1;
  for (weir_role role = 0; role < WEIR_ROLE_ATTENTION_NORM; role++)
    append(table, config, role, 0);
  for (int64_t layer = 0; layer < n_layers; layer++)
    for (weir_role role = WEIR_ROLE_ATTENTION_NORM; role < WEIR_ROLE_FINAL_NORM; role++)
      append(table, config, role, layer);
  for (weir_role role = WEIR_ROLE_FINAL_NORM; role < WEIR_ROLE_COUNT; role++)
    append(table, config, role, 0);
  join_parts(table);
  return WEIR_OK;
}

void weir_parameter_table_destroy(weir_parameter_table *table) {
  free(table->parameters);
  free(table->index);
  *table = (weir_parameter_table){0};
}

int64_t weir_parameter_find(const weir_parameter_table *table, int64_t unit, weir_role role) {
  return table->index[unit * WEIR_ROLE_COUNT + role];
}

int weir_parameter_file_shape(const weir_parameter *parameter, int64_t shape[2]) {
  shape[0] = parameter->file_transposed ? parameter->cols : parameter->file_rows;
  shape[1] = parameter->file_transposed ? parameter->file_rows : parameter->cols;
  return parameter->is_vector ? 1 : 2;
}
