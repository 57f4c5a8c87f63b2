/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files that read config.json share. */
#ifndef WEIR_FORMATS_MODEL_CONFIG_READER_H
#define WEIR_FORMATS_MODEL_CONFIG_READER_H

#include "formats/model_config_keys.h"

#include <jansson.h>

/* The file being read. */
typedef struct weir_config_reader {
  const char *path;
  json_t *root;
  weir_model_config *config;
} weir_config_reader;

/* Fails with "<path>: key "<key>" is <value>, expected <...>". */
weir_status weir_config_refuse(const weir_config_reader *file, const char *key, const json_t *value,
                               const char *expected);

/* NULL where the key is absent or null. */
static inline const json_t *weir_config_lookup(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  return json_is_null(value) ? NULL : value;
}

static inline const weir_architecture_row *weir_config_row(const weir_model_config *config) {
  return &weir_architectures[config->architecture];
}

/* rope_theta, rope_scaling, rope_parameters. */
weir_status weir_config_read_rope(const weir_config_reader *file);

/* Which layers have a window: layer_types, or what the fields already read say.  The number of
 * layers has been checked. */
weir_status weir_config_read_windows(const weir_config_reader *file);

#endif
