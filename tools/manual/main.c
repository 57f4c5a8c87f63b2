/* SPDX-License-Identifier: Apache-2.0
 *
 * weir-manual DIRECTORY: writes every file below DIRECTORY where an installation wants it below
 * PREFIX/share.  The folders must exist. */
#include "manual.h"

#include <stdlib.h>
#include <string.h>

static const char *directory;

static FILE *start(const char *name) {
  char path[4096];
  int n = snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *file = n < (int)sizeof path ? fopen(path, "w") : NULL;
  if (file) return file;
  perror(name);
  exit(1);
}

static void finish(FILE *file, const char *name) {
  if (!ferror(file) && fclose(file) == 0) return;
  perror(name);
  exit(1);
}

static void write_pages(void) {
  for (size_t i = 0; i < weir_n_commands; i++) {
    char name[64];
    snprintf(name, sizeof name, "man/man1/weir-%s.1", weir_commands[i].name);
    for (char *c = name; *c; c++)
      if (*c == ' ') *c = '-';
    FILE *file = start(name);
    write_command_page(file, &weir_commands[i]);
    finish(file, name);
  }
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*write)(FILE *file);
  } files[] = {
      {"man/man1/weir.1", write_overview_page},
      {"bash-completion/completions/weir", write_bash},
      {"zsh/site-functions/_weir", write_zsh},
      {"fish/vendor_completions.d/weir.fish", write_fish},
      {"doc/weir/reference.md", write_reference},
  };
  if (argc != 2) {
    fprintf(stderr, "usage: weir-manual DIRECTORY\n");
    return 2;
  }
  directory = argv[1];
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    FILE *file = start(files[i].name);
    files[i].write(file);
    finish(file, files[i].name);
  }
  write_pages();
  return 0;
}
