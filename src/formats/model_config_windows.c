/* SPDX-License-Identifier: Apache-2.0
 *
 * Which layers have a sliding window.  Transformers says it in several ways, which become one bit a
 * layer here; a layer_types that an architecture does not heed may only repeat the others. */
#include "formats/model_config_reader.h"

#include <string.h>

static const char windowed_type[] = "sliding_attention", full_type[] = "full_attention";

static bool is_windowed(const weir_model_config *config, int64_t layer) {
  return config->windowed_layers[layer / 8] >> layer % 8 & 1;
}

static void set_windowed(weir_model_config *config, int64_t layer, bool windowed) {
  uint8_t bit = (uint8_t)(1 << layer % 8), *byte = &config->windowed_layers[layer / 8];
  *byte = (uint8_t)(windowed ? *byte | bit : *byte & ~bit);
}

int64_t weir_model_config_window(const weir_model_config *config, int64_t layer) {
  return is_windowed(config, layer) ? config->sliding_window : 0;
}

/* Where layer_types is silent. */
static bool windowed_by_default(const weir_model_config *config, int64_t layer) {
  int64_t pattern = config->sliding_window_pattern;
  return config->sliding_window > 0 && layer >= config->max_window_layers &&
         (pattern == 0 || (layer + 1) % pattern != 0);
}

weir_status weir_config_read_windows(const weir_config_reader *file) {
  weir_model_config *config = file->config;
  int64_t n_layers = config->num_hidden_layers;
  bool heeded = weir_config_row(config)->layer_types;
  const json_t *types = weir_config_lookup(file->root, "layer_types");
  if (config->sliding_window_pattern > 0 && config->sliding_window == 0)
    return weir_config_refuse(file, "sliding_window", json_object_get(file->root, "sliding_window"),
                              "an integer: some layers have a window");
  if (weir_config_row(config)->windows_on_request && !config->use_sliding_window)
    config->sliding_window = 0;
  config->use_sliding_window = config->sliding_window > 0;
  for (int64_t i = 0; i < n_layers; i++)
    set_windowed(config, i, windowed_by_default(config, i));
  if (!types || config->learned_positions) return WEIR_OK;

  if (json_array_size(types) != (size_t)n_layers)
    return weir_config_refuse(file, "layer_types", types, "a list with one type for each layer");
  for (int64_t i = 0; i < n_layers; i++) {
    const char *type = json_string_value(json_array_get(types, (size_t)i));
    bool windowed = type && strcmp(type, windowed_type) == 0;
    if (!windowed && (!type || strcmp(type, full_type) != 0))
      return weir_config_refuse(file, "layer_types", types,
                                "\"full_attention\" or \"sliding_attention\" for each layer");
    if (windowed && config->sliding_window == 0)
      return weir_config_refuse(file, "layer_types", types,
                                "\"full_attention\" once for each layer: no sliding_window is on");
    if (!heeded && windowed != is_windowed(config, i))
      return weir_config_refuse(file, "layer_types", types,
                                "the types that follow from sliding_window, or none");
    set_windowed(config, i, windowed);
  }
  return WEIR_OK;
}
