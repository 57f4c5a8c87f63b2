/* SPDX-License-Identifier: Apache-2.0
 *
 * tokenizer.json: what is accepted encodes any text into its own ids, and decodes them. */
#include "formats/tokenizer.h"
#include "fuzz.h"

#include <string.h>

static void use(const weir_tokenizer *tokenizer) {
  static const char text[] = "The weir holds  the\tstream\n at 1 level: caf\xc3\xa9 \xe2\x96\x81 "
                             "\xf0\x9f\x8c\x8a <s></s><|end|> don't 12345";
  weir_ids ids = {0};
  weir_bytes back = {0};
  if (weir_tokenizer_encode(tokenizer, text, strlen(text), true, &ids) == WEIR_OK) {
    for (size_t i = 0; i < ids.count; i++)
      FUZZ_DEMAND(ids.data[i] >= 0 && ids.data[i] < weir_tokenizer_vocab_size(tokenizer));
    FUZZ_DEMAND(weir_tokenizer_decode(tokenizer, ids.data, ids.count, true, &back) == WEIR_OK);
  }
  weir_ids_deinit(&ids);
  weir_bytes_deinit(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
  weir_tokenizer *tokenizer;
  if (weir_tokenizer_open(fuzz_file("tokenizer.json", bytes, n_bytes), &tokenizer) != WEIR_OK)
    return 0;
  use(tokenizer);
  weir_tokenizer_close(tokenizer);
  return 0;
}
