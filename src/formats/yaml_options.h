/* SPDX-License-Identifier: Apache-2.0
 *
 * Options in a YAML file: one mapping from option names to a value, or to a list of values.
 *
 * The schema is the option table.  An unknown key, a key given twice, a value of the wrong type or
 * out of range, a nested mapping, an anchor, a tag or a second document is an error that names
 * file, line and column.  What the writer wrote, the reader reads back to the same values. */
#ifndef WEIR_FORMATS_YAML_OPTIONS_H
#define WEIR_FORMATS_YAML_OPTIONS_H

#include "base/option.h"

/* Sets options from the file, as WEIR_ORIGIN_CONFIG. */
weir_status weir_yaml_options_read(weir_options *options, const char *path);

/* The same for bytes in memory; `name` stands for the file in messages. */
weir_status weir_yaml_options_read_bytes(weir_options *options, const char *name, const char *bytes,
                                         size_t n_bytes);

/* Writes every option that has a value, replacing the file atomically; not `config` itself, which
 * has done its work, nor positional arguments. */
weir_status weir_yaml_options_write(const weir_options *options, const char *path);

#endif
