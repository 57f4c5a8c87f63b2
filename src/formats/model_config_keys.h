/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys of config.json as tables, which reading and writing share: what an architecture is
 * without saying so, which keys are stored and where, and how every other known key is judged. */
#ifndef WEIR_FORMATS_MODEL_CONFIG_KEYS_H
#define WEIR_FORMATS_MODEL_CONFIG_KEYS_H

#include "formats/model_config.h"

#include <stddef.h>

/* What no key says. */
typedef struct weir_architecture_row {
  const char *model_type;
  const char *classes[2]; /* with the head, without */
  const char *activation_key, *activation;
  weir_norm_kind norm;
  bool gated_mlp, learned_positions, qk_norm, post_norms, scaled_embeddings;
  bool mlp_bias, qkv_bias; /* always; elsewhere keys say it */
  bool output_bias;        /* of the attention, where q, k and v have one */
  bool layer_types;        /* the key is heeded; elsewhere it may only repeat what the others say */
  bool windows_on_request; /* use_sliding_window turns them on */
  int64_t sliding_window_pattern; /* where no key says it */
  double rope_theta;              /* where the file is silent */
} weir_architecture_row;

extern const weir_architecture_row weir_architectures[WEIR_ARCHITECTURE_COUNT];

typedef enum weir_field_kind {
  WEIR_FIELD_SIZE,         /* int64_t, 1 or more */
  WEIR_FIELD_COUNT,        /* int64_t, 0 or more */
  WEIR_FIELD_SIZE_OR_NULL, /* int64_t, 1 or more; 0 where it is null */
  WEIR_FIELD_FRACTION,     /* double, above 0 and at most 1 */
  WEIR_FIELD_REAL,         /* double above 0 */
  WEIR_FIELD_REAL_OR_NULL, /* double above 0; 0 where it is null */
  WEIR_FIELD_FLAG,         /* bool */
} weir_field_kind;

/* A key stored as it is.  `fallback` stands where the key is absent, or null where null says
 * nothing else; REQUIRED: an error; DERIVED: found from other fields afterwards. */
enum { WEIR_FIELD_REQUIRED = -1, WEIR_FIELD_DERIVED = 0 };
typedef struct weir_field {
  const char *key;
  int architectures; /* bits 1 << weir_architecture */
  weir_field_kind kind;
  size_t offset; /* in weir_model_config */
  double fallback;
} weir_field;

extern const weir_field weir_fields[];
extern const size_t weir_n_fields;

/* A key that is not stored. */
typedef struct weir_key_rule {
  const char *key;
  int architectures;
  enum { WEIR_KEY_HARMLESS, WEIR_KEY_READ_APART, WEIR_KEY_DROPOUT, WEIR_KEY_NEUTRAL } rule;
  const char *neutral; /* JSON: the one value that leaves the mathematics alone */
} weir_key_rule;

extern const weir_key_rule weir_key_rules[];
extern const size_t weir_n_key_rules;

/* Names of values; the first of several that mean the same is the one written. */
typedef struct weir_value_name {
  const char *name;
  int value;
} weir_value_name;

extern const weir_value_name weir_activation_names[], weir_dtype_names[], weir_rope_names[];

/* The value's name; or the value's index in the table, -1 for none. */
const char *weir_value_name_of(const weir_value_name *table, int value);
int weir_value_named(const weir_value_name *table, const char *name);

#endif
