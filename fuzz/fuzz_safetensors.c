/* SPDX-License-Identifier: Apache-2.0
 *
 * A safetensors file: the header, and every byte that the header says is there. */
#include "formats/safetensors.h"
#include "fuzz.h"

static void touch(const weir_safetensors *file, const weir_safetensors_entry *entry) {
  const volatile uint8_t *data = weir_safetensors_data(file, entry);
  if (entry->size_bytes == 0) return;
  (void)data[0];
  (void)data[entry->size_bytes - 1];
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
  weir_safetensors *file;
  if (weir_safetensors_open(fuzz_file("model.safetensors", bytes, n_bytes), &file) != WEIR_OK)
    return 0;
  for (size_t i = 0; i < weir_safetensors_count(file); i++) {
    const weir_safetensors_entry *entry = weir_safetensors_at(file, i);
    FUZZ_DEMAND(weir_safetensors_find(file, entry->name) == entry);
    FUZZ_DEMAND(entry->offset_bytes <= n_bytes && entry->size_bytes <= n_bytes);
    touch(file, entry);
  }
  weir_safetensors_metadata(file, "format");
  weir_safetensors_close(file);
  return 0;
}
