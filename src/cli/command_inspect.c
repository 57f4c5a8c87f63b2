/* SPDX-License-Identifier: Apache-2.0
 *
 * weir inspect FILE.safetensors: one line a tensor, in the order of the data. */
#include "base/files.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "formats/safetensors.h"

#include <inttypes.h>
#include <string.h>

static void print_name(const char *name) {
  char escaped[512];
  weir_print("%s", weir_log_escape(escaped, sizeof escaped, name, strlen(name)));
}

static void print_tensor(const weir_safetensors_entry *entry) {
  print_name(entry->name);
  weir_print("\t%s\t[", entry->dtype);
  for (int i = 0; i < entry->n_dims; i++)
    weir_print("%s%" PRId64, i ? ", " : "", entry->shape[i]);
  weir_print("]\n");
}

weir_status weir_command_inspect(const weir_options *options) {
  const char *path = weir_options_string(options, "input");
  weir_safetensors *file;
  WEIR_TRY(weir_safetensors_open(path, &file));
  size_t n_tensors = weir_safetensors_count(file);
  uint64_t data_bytes = 0;
  for (size_t i = 0; i < n_tensors && !weir_print_is_closed(); i++) {
    print_tensor(weir_safetensors_at(file, i));
    data_bytes += weir_safetensors_at(file, i)->size_bytes;
  }
  weir_log_info("%zu tensors, %" PRIu64 " bytes of data", n_tensors, data_bytes);
  weir_safetensors_close(file);
  return WEIR_OK;
}
