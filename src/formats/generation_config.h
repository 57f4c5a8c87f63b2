/* SPDX-License-Identifier: Apache-2.0
 *
 * The tokens that end a text: those of config.json, and those of generation_config.json, which
 * chat models keep apart.  What else that file says (how its makers like to sample) is not read:
 * the options of the command decide. */
#ifndef WEIR_FORMATS_GENERATION_CONFIG_H
#define WEIR_FORMATS_GENERATION_CONFIG_H

#include "formats/model_config.h"

typedef struct weir_generation_config {
  int64_t eos_token_ids[2 * WEIR_MAX_EOS_TOKENS];
  int64_t n_eos_tokens;
} weir_generation_config;

/* A directory without the file is fine. */
weir_status weir_generation_config_read(const char *directory, const weir_model_config *config,
                                        weir_generation_config *generation);

#endif
