/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON files, and one that seals its directory: it holds the size and checksum (XXH3, 64 bits) of
 * every other file there, and of itself. */
#ifndef WEIR_TRAIN_SEALED_JSON_H
#define WEIR_TRAIN_SEALED_JSON_H

#include "base/status.h"

#include <jansson.h>

/* Atomically, indented, numbers to the last bit. */
weir_status weir_json_write(const char *path, const json_t *json);

/* Writes `object` with two more keys, "files" and "checksum", as the last file of the directory. */
weir_status weir_sealed_json_write(const char *directory, const char *name, json_t *object);

/* Reads it back (a new reference, with "files"); fails where the directory lacks a file, or any
 * byte of any of them, or of the seal, is not what was written. */
weir_status weir_sealed_json_read(const char *directory, const char *name, json_t **object);

#endif
