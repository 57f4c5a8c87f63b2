/* SPDX-License-Identifier: Apache-2.0
 *
 * weir tokenize: a text to one JSON array of ids; with --decode the ids back to the text, byte for
 * byte.  --no-special-tokens says, either way, that the ids are without the special tokens which
 * the tokenizer adds by itself. */
#include "base/read_file.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "formats/token_ids.h"
#include "formats/tokenizer.h"

#include <stdlib.h>
#include <string.h>

static weir_status encode(const weir_tokenizer *tokenizer, const weir_file_bytes *input,
                          bool special_tokens) {
  weir_ids ids = {0};
  weir_status status =
      weir_tokenizer_encode(tokenizer, input->bytes, input->size_bytes, special_tokens, &ids);
  if (status == WEIR_OK) {
    weir_print("[");
    for (size_t i = 0; i < ids.count; i++)
      weir_print("%s%d", i ? ", " : "", (int)ids.data[i]);
    weir_print("]\n");
  }
  weir_ids_deinit(&ids);
  return status;
}

static weir_status decode(const weir_tokenizer *tokenizer, const char *name,
                          const weir_file_bytes *input, bool special_tokens) {
  weir_ids ids = {0};
  weir_bytes text = {0};
  weir_status status = weir_token_ids_parse(name, input->bytes, input->size_bytes,
                                            weir_tokenizer_vocab_size(tokenizer), &ids);
  if (status == WEIR_OK)
    status = weir_tokenizer_decode(tokenizer, ids.data, ids.count, special_tokens, &text);
  if (status == WEIR_OK) weir_print_bytes(text.data, text.count);
  weir_bytes_deinit(&text);
  weir_ids_deinit(&ids);
  return status;
}

weir_status weir_command_tokenize(const weir_options *options) {
  const char *path = weir_options_string(options, "input");
  const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
  bool special_tokens = !weir_options_boolean(options, "no_special_tokens");
  weir_tokenizer *tokenizer;
  weir_file_bytes input = {0};
  WEIR_TRY(weir_tokenizer_open(weir_options_string(options, "tokenizer"), &tokenizer));
  weir_status status = weir_file_read(path, INT32_MAX, &input);
  if (status == WEIR_OK && weir_options_boolean(options, "decode")) {
    status = decode(tokenizer, name, &input, special_tokens);
  } else if (status == WEIR_OK) {
    status = encode(tokenizer, &input, special_tokens);
    if (status != WEIR_OK) status = weir_fail_at(status, "%s", name);
  }
  free(input.bytes);
  weir_tokenizer_close(tokenizer);
  return status;
}
