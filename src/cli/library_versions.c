/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/library_versions.h"

#include "base/status.h"
#include "device/cpu/products_version.h"

#include <gnu/libc-version.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <utf8proc.h>
#include <xxhash.h>
#include <yaml.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

typedef struct version_list {
  weir_library_version *items;
  size_t n_items;
} version_list;

__attribute__((format(printf, 3, 4))) static void add(version_list *list, const char *name,
                                                      const char *format, ...) {
  WEIR_ASSERT(list->n_items, <, WEIR_MAX_LIBRARIES);
  weir_library_version *item = &list->items[list->n_items++];
  item->name = name;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(item->version, sizeof item->version, format, arguments);
  va_end(arguments);
}

size_t weir_library_versions(weir_library_version libraries[WEIR_MAX_LIBRARIES]) {
  version_list list = {.items = libraries};
  char dnnl[32];
  weir_cpu_products_version(dnnl, sizeof dnnl);
  add(&list, "oneDNN", "%s", dnnl);
  add(&list, "OpenMP", "%d", _OPENMP);
  add(&list, "jansson", "%s", jansson_version_str());
  add(&list, "libyaml", "%s", yaml_get_version_string());
  char pcre2[64] = "";
  if (pcre2_config(PCRE2_CONFIG_VERSION, NULL) <= (int)sizeof pcre2)
    pcre2_config(PCRE2_CONFIG_VERSION, pcre2);
  add(&list, "PCRE2", "%s", pcre2);
  add(&list, "utf8proc", "%s", utf8proc_version());
  unsigned xxhash = XXH_versionNumber();
  add(&list, "xxHash", "%u.%u.%u", xxhash / 10000, xxhash / 100 % 100, xxhash % 100);
  add(&list, "libc", "glibc %s", gnu_get_libc_version());
#ifdef __clang__
  add(&list, "compiler", "clang %s", __clang_version__);
#else
  add(&list, "compiler", "gcc %s", __VERSION__);
#endif
  return list.n_items;
}
