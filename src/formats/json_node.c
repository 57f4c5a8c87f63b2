/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/json_node.h"

#include "base/files.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *type_name(json_type type) {
  switch (type) {
  case JSON_OBJECT:
    return "an object";
  case JSON_ARRAY:
    return "an array";
  case JSON_STRING:
    return "a string";
  case JSON_INTEGER:
    return "an integer";
  case JSON_REAL:
    return "a real number";
  case JSON_TRUE:
  case JSON_FALSE:
    return "a boolean";
  default:
    return "null";
  }
}

weir_status weir_json_fail(const weir_json_node *node, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return weir_fail(WEIR_BAD_INPUT, "%s: %s%s%s", node->file, node->where,
                   node->where[0] ? ": " : "", text);
}

weir_status weir_json_parse(const char *file, const char *text, size_t n_bytes,
                            weir_json_node *root) {
  if (n_bytes == 0) return weir_fail(WEIR_BAD_INPUT, "%s:1:1: not JSON: it is empty", file);
  json_error_t error;
  json_t *value = json_loadb(text, n_bytes, JSON_REJECT_DUPLICATES, &error);
  if (!value)
    return weir_fail(WEIR_BAD_INPUT, "%s:%d:%d: not JSON: %s", file, error.line, error.column,
                     error.text);
  *root = (weir_json_node){.file = file, .value = value};
  return WEIR_OK;
}

weir_status weir_json_read(const char *file, weir_json_node *root) {
  weir_mapping mapping = {0};
  WEIR_TRY(weir_mapping_open(file, &mapping));
  weir_status status = weir_json_parse(file, (const char *)mapping.bytes, mapping.size_bytes, root);
  weir_mapping_close(&mapping);
  return status;
}

static weir_status check_type(const weir_json_node *node, json_type type) {
  if (json_typeof(node->value) == type) return WEIR_OK;
  if (type == JSON_TRUE && json_is_boolean(node->value)) return WEIR_OK;
  return weir_json_fail(node, "expected %s, found %s", type_name(type),
                        type_name(json_typeof(node->value)));
}

/* The node below `node` that holds `value`; the path may end cut off. */
static weir_json_node below(const weir_json_node *node, const json_t *value, const char *format,
                            ...) __attribute__((format(printf, 3, 4)));
static weir_json_node below(const weir_json_node *node, const json_t *value, const char *format,
                            ...) {
  weir_json_node found = {.file = node->file, .value = value};
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(found.where, sizeof found.where, format, arguments);
  va_end(arguments);
  return found;
}

weir_status weir_json_member(const weir_json_node *node, const char *key, json_type type,
                             weir_json_node *member) {
  const json_t *value = json_object_get(node->value, key);
  *member = *node;
  if (!value) return weir_json_fail(node, "the key \"%s\" is missing", key);
  *member = below(node, value, "%s%s%s", node->where, node->where[0] ? "." : "", key);
  return check_type(member, type);
}

weir_status weir_json_item(const weir_json_node *node, size_t i, json_type type,
                           weir_json_node *item) {
  const json_t *value = json_array_get(node->value, i);
  *item = *node;
  if (!value) return weir_json_fail(node, "expected at least %zu items", i + 1);
  *item = below(node, value, "%s[%zu]", node->where, i);
  return check_type(item, type);
}

bool weir_json_has(const weir_json_node *node, const char *key) {
  const json_t *value = json_object_get(node->value, key);
  return value && !json_is_null(value);
}

weir_status weir_json_string(const weir_json_node *node, const char *key, const char **string) {
  weir_json_node member;
  WEIR_TRY(weir_json_member(node, key, JSON_STRING, &member));
  *string = json_string_value(member.value);
  return WEIR_OK;
}

weir_status weir_json_boolean(const weir_json_node *node, const char *key, bool *boolean) {
  weir_json_node member;
  WEIR_TRY(weir_json_member(node, key, JSON_TRUE, &member));
  *boolean = json_is_true(member.value);
  return WEIR_OK;
}

weir_status weir_json_boolean_or(const weir_json_node *node, const char *key, bool otherwise,
                                 bool *boolean) {
  *boolean = otherwise;
  return weir_json_has(node, key) ? weir_json_boolean(node, key, boolean) : WEIR_OK;
}

weir_status weir_json_int32(const weir_json_node *node, const char *key, int *integer) {
  weir_json_node member;
  WEIR_TRY(weir_json_member(node, key, JSON_INTEGER, &member));
  json_int_t value = json_integer_value(member.value);
  if (value < 0 || value > INT32_MAX)
    return weir_json_fail(&member, "%lld is not in [0, %d]", (long long)value, INT32_MAX);
  *integer = (int)value;
  return WEIR_OK;
}

static bool listed(const char *keys, const char *key) {
  size_t length = strlen(key);
  for (const char *at = keys; *at;) {
    size_t n = strcspn(at, ",");
    if (n == length && memcmp(at, key, n) == 0) return true;
    at += n;
    at += strspn(at, ", ");
  }
  return false;
}

weir_status weir_json_only(const weir_json_node *node, const char *keys) {
  for (void *i = json_object_iter((json_t *)node->value); i;
       i = json_object_iter_next((json_t *)node->value, i))
    if (!listed(keys, json_object_iter_key(i)))
      return weir_json_fail(node, "the key \"%s\" is not understood (only %s)",
                            json_object_iter_key(i), keys);
  return WEIR_OK;
}
