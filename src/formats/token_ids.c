/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/token_ids.h"

#include "base/read_file.h"
#include "formats/json_node.h"

#include <stdlib.h>
#include <string.h>

static weir_status append_all(const weir_json_node *root, int64_t vocab_size, weir_ids *ids) {
  if (!json_is_array(root->value)) return weir_json_fail(root, "expected a JSON array of ids");
  for (size_t i = 0; i < json_array_size(root->value); i++) {
    weir_json_node item;
    WEIR_TRY(weir_json_item(root, i, JSON_INTEGER, &item));
    json_int_t id = json_integer_value(item.value);
    if (id < 0 || id >= vocab_size)
      return weir_json_fail(&item, "%lld is not a token id: the vocabulary has 0 to %lld",
                            (long long)id, (long long)vocab_size - 1);
    WEIR_TRY(weir_ids_append(ids, (int32_t)id));
  }
  return WEIR_OK;
}

weir_status weir_token_ids_parse(const char *name, const char *text, size_t n_bytes,
                                 int64_t vocab_size, weir_ids *ids) {
  weir_json_node root;
  WEIR_TRY(weir_json_parse(name, text, n_bytes, &root));
  weir_status status = append_all(&root, vocab_size, ids);
  json_decref((json_t *)root.value);
  return status;
}

weir_status weir_token_ids_read(const char *path, int64_t vocab_size, weir_ids *ids) {
  weir_file_bytes file;
  WEIR_TRY(weir_file_read(path, INT32_MAX, &file));
  const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
  weir_status status = weir_token_ids_parse(name, file.bytes, file.size_bytes, vocab_size, ids);
  free(file.bytes);
  return status;
}
