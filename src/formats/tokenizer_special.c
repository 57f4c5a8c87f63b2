/* SPDX-License-Identifier: Apache-2.0
 *
 * Which tokens begin and end a text, from the files beside tokenizer.json: by name in
 * tokenizer_config.json, else in special_tokens_map.json; else by id in generation_config.json.
 * None of them need be there; what is there must be right.
 *
 * Transformers' classes for Llama's and Gemma's tokenizers put the begin and end token around a
 * text as add_bos_token and add_eos_token of tokenizer_config.json say, whatever post_processor
 * tokenizer.json has; its other classes leave that to the file.  So do we. */
#include "base/files.h"
#include "formats/tokenizer_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "bos_token": "<s>", or {"content": "<s>", ...}. */
static weir_status read_name(const weir_json_node *root, const char *key,
                             const weir_tokenizer *tokenizer, int32_t *id) {
  if (!weir_json_has(root, key)) return WEIR_OK;
  const char *name;
  if (json_is_object(json_object_get(root->value, key))) {
    weir_json_node member;
    WEIR_TRY(weir_json_member(root, key, JSON_OBJECT, &member));
    WEIR_TRY(weir_json_string(&member, "content", &name));
  } else {
    WEIR_TRY(weir_json_string(root, key, &name));
  }
  *id = weir_tokenizer_token_id(tokenizer, name);
  return *id >= 0 ? WEIR_OK : weir_json_fail(root, "%s \"%s\" is not in tokenizer.json", key, name);
}

/* "eos_token_id": 2, or a list, of which the first counts. */
static weir_status read_id(const weir_json_node *root, const char *key,
                           const weir_tokenizer *tokenizer, int32_t *id) {
  if (!weir_json_has(root, key)) return WEIR_OK;
  const json_t *value = json_object_get(root->value, key);
  if (json_is_array(value)) value = json_array_get(value, 0);
  json_int_t found = json_is_integer(value) ? json_integer_value(value) : -1;
  if (found < 0 || found >= weir_tokenizer_vocab_size(tokenizer))
    return weir_json_fail(root, "%s is not a token id of tokenizer.json", key);
  *id = (int32_t)found;
  return WEIR_OK;
}

static bool decides_by_flags(const char *class_name) {
  static const char *const names[] = {"Llama", "CodeLlama", "Gemma"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const size_t n = strlen(names[i]);
    if (strncmp(class_name, names[i], n) == 0 &&
        (strcmp(class_name + n, "Tokenizer") == 0 || strcmp(class_name + n, "TokenizerFast") == 0))
      return true;
  }
  return false;
}

/* One flag: the token goes on its side of every text, or does not. */
static weir_status read_flag(const weir_json_node *root, const char *key, int32_t token_id,
                             int32_t *side_id) {
  bool adds;
  if (!weir_json_has(root, key)) return WEIR_OK;
  WEIR_TRY(weir_json_boolean(root, key, &adds));
  if (adds && token_id < 0) return weir_json_fail(root, "%s is true, but no token is named", key);
  *side_id = adds ? token_id : -1;
  return WEIR_OK;
}

static weir_status read_flags(const char *directory, weir_tokenizer *tokenizer) {
  char *file = weir_path_join(directory, "tokenizer_config.json");
  if (!file) return weir_fail(WEIR_FAILED, "out of memory");
  weir_json_node root = {0};
  weir_status status = access(file, F_OK) == 0 ? weir_json_read(file, &root) : WEIR_OK;
  const char *class_name = json_string_value(json_object_get(root.value, "tokenizer_class"));
  if (status == WEIR_OK && class_name && decides_by_flags(class_name)) {
    status = read_flag(&root, "add_bos_token", tokenizer->bos_id, &tokenizer->prefix_id);
    if (status == WEIR_OK)
      status = read_flag(&root, "add_eos_token", tokenizer->eos_id, &tokenizer->suffix_id);
  }
  json_decref((json_t *)root.value);
  free(file);
  return status;
}

weir_status weir_tokenizer_read_special(const char *directory, weir_tokenizer *tokenizer) {
  typedef weir_status read_key(const weir_json_node *, const char *, const weir_tokenizer *,
                               int32_t *);
  static const struct {
    const char *file, *bos, *eos;
    read_key *read;
  } sources[] = {
      {"tokenizer_config.json", "bos_token", "eos_token", read_name},
      {"special_tokens_map.json", "bos_token", "eos_token", read_name},
      {"generation_config.json", "bos_token_id", "eos_token_id", read_id},
  };
  weir_status status = WEIR_OK;
  for (size_t i = 0; i < sizeof sources / sizeof *sources && status == WEIR_OK; i++) {
    char *file = weir_path_join(directory, sources[i].file);
    if (!file) return weir_fail(WEIR_FAILED, "out of memory");
    weir_json_node root = {0};
    if (access(file, F_OK) == 0) {
      status = weir_json_read(file, &root);
      if (status == WEIR_OK && !json_is_object(root.value))
        status = weir_json_fail(&root, "expected an object");
      if (status == WEIR_OK && tokenizer->bos_id < 0)
        status = sources[i].read(&root, sources[i].bos, tokenizer, &tokenizer->bos_id);
      if (status == WEIR_OK && tokenizer->eos_id < 0)
        status = sources[i].read(&root, sources[i].eos, tokenizer, &tokenizer->eos_id);
      json_decref((json_t *)root.value);
    }
    free(file);
  }
  return status == WEIR_OK ? read_flags(directory, tokenizer) : status;
}
