/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/tokenizer_files.h"

#include "base/files.h"

#include <stdlib.h>
#include <unistd.h>

static const char main_name[] = "tokenizer.json";
static const char *const other_names[] = {
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
    "chat_template.jinja",
    "generation_config.json",
};

static weir_status copy_file(const char *source, const char *directory, const char *name) {
  weir_mapping mapping;
  WEIR_TRY(weir_mapping_open(source, &mapping));
  char *target = weir_path_join(directory, name);
  weir_status status = target ? weir_file_replace(target, mapping.bytes, mapping.size_bytes)
                              : weir_fail(WEIR_FAILED, "%s: no memory to copy it", source);
  free(target);
  weir_mapping_close(&mapping);
  return status;
}

static weir_status copy_from_directory(const char *source, const char *name, bool required,
                                       const char *directory) {
  char *path = weir_path_join(source, name);
  if (!path) return weir_fail(WEIR_FAILED, "%s: no memory to copy it", source);
  weir_status status = WEIR_OK;
  if (required || access(path, F_OK) == 0) status = copy_file(path, directory, name);
  free(path);
  return status;
}

weir_status weir_tokenizer_files_copy(const char *source, const char *directory) {
  if (!weir_path_is_directory(source)) return copy_file(source, directory, main_name);
  WEIR_TRY(copy_from_directory(source, main_name, true, directory));
  for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
    WEIR_TRY(copy_from_directory(source, other_names[i], false, directory));
  return WEIR_OK;
}
