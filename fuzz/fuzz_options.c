/* SPDX-License-Identifier: Apache-2.0
 *
 * Options: the first byte chooses a command, by a letter; then stand the lines of a YAML file, or,
 * in upper case, the words of a command line, one a line.  What was accepted can be dumped, and
 * the dump is accepted. */
#include "cli/arguments.h"
#include "cli/commands.h"
#include "formats/documents.h"
#include "formats/yaml_options.h"
#include "fuzz.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_WORDS = 64 };

/* Cuts a copy of the text at its newlines. */
static weir_status read_words(weir_options *options, const char *text, size_t n_bytes) {
  char *copy = malloc(n_bytes + 1), *words[MAX_WORDS], *next = copy;
  bool wants_help = false;
  int n_words = 0;
  FUZZ_DEMAND(copy);
  memcpy(copy, text, n_bytes);
  copy[n_bytes] = '\0';
  while (next && n_words < MAX_WORDS)
    words[n_words++] = strsep(&next, "\n");
  weir_status status = weir_arguments_read(options, n_words, words, &wants_help);
  free(copy);
  return status;
}

static bool dump_and_read(const weir_options *options, const weir_command *command) {
  char path[256];
  weir_options *again;
  snprintf(path, sizeof path, "%s/options.yaml", fuzz_directory());
  if (weir_yaml_options_write(options, path) != WEIR_OK) return false;
  FUZZ_DEMAND(weir_options_create(&again, weir_option_table, weir_n_option_rows, command->bit) ==
              WEIR_OK);
  FUZZ_DEMAND(weir_yaml_options_read(again, path) == WEIR_OK);
  weir_options_destroy(again);
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
  if (n_bytes < 1) return 0;
  const weir_command *command = &weir_commands[(size_t)tolower(bytes[0]) % weir_n_commands];
  const char *text = (const char *)bytes + 1;
  weir_options *options;
  FUZZ_DEMAND(weir_options_create(&options, weir_option_table, weir_n_option_rows, command->bit) ==
              WEIR_OK);
  weir_status status = isupper(bytes[0])
                           ? read_words(options, text, n_bytes - 1)
                           : weir_yaml_options_read_bytes(options, "fuzz", text, n_bytes - 1);
  if (status == WEIR_OK && !dump_and_read(options, command)) /* YAML holds nothing but UTF-8 */
    FUZZ_DEMAND(weir_utf8_valid_bytes(text, n_bytes - 1) < n_bytes - 1);
  weir_options_destroy(options);
  return 0;
}
