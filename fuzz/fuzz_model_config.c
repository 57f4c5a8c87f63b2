/* SPDX-License-Identifier: Apache-2.0
 *
 * config.json: what is accepted can be written, and reads back as the same model. */
#include "formats/model_config.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
  weir_model_config config, again;
  if (weir_model_config_read(fuzz_file("config.json", bytes, n_bytes), &config) != WEIR_OK)
    return 0;
  FUZZ_DEMAND(weir_model_config_parameters(&config) > 0);
  FUZZ_DEMAND(weir_model_config_write(fuzz_directory(), &config, WEIR_DTYPE_F32) == WEIR_OK);
  FUZZ_DEMAND(weir_model_config_read(fuzz_directory(), &again) == WEIR_OK);
  FUZZ_DEMAND(weir_model_config_parameters(&config) == weir_model_config_parameters(&again));
  return 0;
}
