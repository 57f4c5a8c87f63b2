/* SPDX-License-Identifier: Apache-2.0
 *
 * weir tokenize: a text to one JSON array of ids; with --decode the ids back to the text, byte for
 * byte.  --no-special-tokens says, either way, that the ids are without the special tokens which
 * the tokenizer adds by itself. */
#include "base/read_file.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "formats/json_node.h"
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

static weir_status read_ids(const weir_json_node *root, weir_ids *ids) {
  if (!json_is_array(root->value)) return weir_json_fail(root, "expected a JSON array of ids");
  for (size_t i = 0; i < json_array_size(root->value); i++) {
    weir_json_node item;
    WEIR_TRY(weir_json_item(root, i, JSON_INTEGER, &item));
    json_int_t id = json_integer_value(item.value);
    if (id < 0 || id > INT32_MAX)
      return weir_json_fail(&item, "%lld is not a token id", (long long)id);
    WEIR_TRY(weir_ids_append(ids, (int32_t)id));
  }
  return WEIR_OK;
}

static weir_status decode(const weir_tokenizer *tokenizer, const char *name,
                          const weir_file_bytes *input, bool special_tokens) {
  weir_json_node root;
  WEIR_TRY(weir_json_parse(name, input->bytes, input->size_bytes, &root));
  weir_ids ids = {0};
  weir_bytes text = {0};
  weir_status status = read_ids(&root, &ids);
  if (status == WEIR_OK)
    status = weir_tokenizer_decode(tokenizer, ids.data, ids.count, special_tokens, &text);
  if (status == WEIR_OK) weir_print_bytes(text.data, text.count);
  weir_bytes_deinit(&text);
  weir_ids_deinit(&ids);
  json_decref((json_t *)root.value);
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
