/* SPDX-License-Identifier: Apache-2.0
 *
 * Strict reading of JSON: a value that knows its file and its path from the root, so that every
 * error names both.  Refused: duplicate keys, text that is not UTF-8, a value of another type than
 * asked for, and, where a reader says which keys it understands, any other key. */
#ifndef WEIR_FORMATS_JSON_NODE_H
#define WEIR_FORMATS_JSON_NODE_H

#include "base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct weir_json_node {
  const char *file; /* borrowed, for messages */
  const json_t *value;
  char where[128]; /* "pre_tokenizer.pretokenizers[0]"; "" at the root; may end cut off */
} weir_json_node;

/* Parses the whole file into `root`, which owns the tree: json_decref() its value in the end. */
weir_status weir_json_read(const char *file, weir_json_node *root);
/* The same from memory; `file` is what messages call it. */
weir_status weir_json_parse(const char *file, const char *text, size_t n_bytes,
                            weir_json_node *root);

/* The member `key`, which must be there and of that type.  JSON_TRUE stands for either boolean. */
weir_status weir_json_member(const weir_json_node *node, const char *key, json_type type,
                             weir_json_node *member);
/* The i-th item of an array, which must be of that type. */
weir_status weir_json_item(const weir_json_node *node, size_t i, json_type type,
                           weir_json_node *item);
/* Is there a member of that name that is not null? */
bool weir_json_has(const weir_json_node *node, const char *key);

/* Members by value; `string` is borrowed from the tree, the integer lies in [0, INT32_MAX]. */
weir_status weir_json_string(const weir_json_node *node, const char *key, const char **string);
weir_status weir_json_boolean(const weir_json_node *node, const char *key, bool *boolean);
weir_status weir_json_int32(const weir_json_node *node, const char *key, int *integer);
/* A boolean that may be missing or null. */
weir_status weir_json_boolean_or(const weir_json_node *node, const char *key, bool otherwise,
                                 bool *boolean);

/* Fails where the object has a key that is not in the list "type, pattern, content". */
weir_status weir_json_only(const weir_json_node *node, const char *keys);

/* WEIR_BAD_INPUT, "<file>: <where>: <message>". */
weir_status weir_json_fail(const weir_json_node *node, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
