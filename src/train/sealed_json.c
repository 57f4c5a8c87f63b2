/* SPDX-License-Identifier: Apache-2.0 */
#include "train/sealed_json.h"

#include "base/files.h"
#include "base/read_file.h"
#include "train/run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* One spelling for one value, so that a changed byte cannot mean the same. */
enum { CANONICAL = JSON_SORT_KEYS | JSON_COMPACT };

enum { CHECKSUM_TEXT = 17 };

static void checksum_text(uint64_t checksum, char text[CHECKSUM_TEXT]) {
  snprintf(text, CHECKSUM_TEXT, "%016" PRIx64, checksum);
}

/* Hashes a file in stripes whose pages are given back. */
static weir_status describe_file(const char *path, json_t **description) {
  enum { STRIPE_BYTES = 4 << 20 };
  weir_mapping mapping;
  WEIR_TRY(weir_mapping_open(path, &mapping));
  XXH3_state_t *hash = XXH3_createState();
  if (!hash) {
    weir_mapping_close(&mapping);
    return weir_fail(WEIR_FAILED, "%s: no memory to check it", path);
  }
  XXH3_64bits_reset(hash);
  for (uint64_t at = 0; at < mapping.size_bytes; at += STRIPE_BYTES) {
    uint64_t left = mapping.size_bytes - at, n = left < STRIPE_BYTES ? left : STRIPE_BYTES;
    XXH3_64bits_update(hash, mapping.bytes + at, (size_t)n);
    weir_mapping_drop(&mapping, at, n);
  }
  char text[CHECKSUM_TEXT];
  checksum_text(XXH3_64bits_digest(hash), text);
  *description = json_pack("{s:I, s:s}", "bytes", (json_int_t)mapping.size_bytes, "xxh3", text);
  XXH3_freeState(hash);
  weir_mapping_close(&mapping);
  return *description ? WEIR_OK : weir_fail(WEIR_FAILED, "%s: no memory to check it", path);
}

static weir_status describe_files(const char *directory, const char *seal, json_t *files) {
  DIR *entries = opendir(directory);
  if (!entries)
    return weir_fail(weir_status_of_errno(errno), "%s: cannot be listed: %s", directory,
                     strerror(errno));
  weir_status status = WEIR_OK;
  const struct dirent *entry;
  while (status == WEIR_OK && (entry = readdir(entries))) {
    char path[WEIR_PATH_BYTES];
    json_t *description;
    if (entry->d_name[0] == '.' || strcmp(entry->d_name, seal) == 0) continue;
    status = weir_run_folder_name(path, directory, "%s", entry->d_name);
    if (status == WEIR_OK) status = describe_file(path, &description);
    if (status == WEIR_OK) json_object_set_new(files, entry->d_name, description);
  }
  closedir(entries);
  return status;
}

static weir_status check_files(const char *directory, json_t *files) {
  const char *name;
  json_t *expected;
  json_object_foreach(files, name, expected) {
    char path[WEIR_PATH_BYTES];
    json_t *found;
    if (strchr(name, '/')) return weir_fail(WEIR_BAD_INPUT, "%s: bad file name", directory);
    WEIR_TRY(weir_run_folder_name(path, directory, "%s", name));
    WEIR_TRY(describe_file(path, &found));
    const bool is_same = json_equal(found, expected);
    json_decref(found);
    if (!is_same)
      return weir_fail(WEIR_BAD_INPUT,
                       "%s: is damaged: its checksum is not the one it was written with; go back "
                       "to an older checkpoint",
                       path);
  }
  return WEIR_OK;
}

/* The checksum of an object without its "checksum". */
static weir_status seal_of(const char *directory, json_t *object, char text[CHECKSUM_TEXT]) {
  json_object_del(object, "checksum");
  char *canonical = json_dumps(object, CANONICAL);
  if (!canonical) return weir_fail(WEIR_FAILED, "%s: no memory to check it", directory);
  checksum_text(XXH3_64bits(canonical, strlen(canonical)), text);
  free(canonical);
  return WEIR_OK;
}

static weir_status write_text(const char *path, char *text) {
  if (!text) return weir_fail(WEIR_FAILED, "%s: no memory to write it", path);
  weir_status status = weir_file_replace(path, text, strlen(text));
  free(text);
  return status;
}

weir_status weir_json_write(const char *path, const json_t *json) {
  return write_text(path, json_dumps(json, JSON_INDENT(2)));
}

weir_status weir_sealed_json_write(const char *directory, const char *name, json_t *object) {
  char path[WEIR_PATH_BYTES], text[CHECKSUM_TEXT];
  json_t *files = json_object();
  WEIR_TRY(weir_run_folder_name(path, directory, "%s", name));
  json_object_set_new(object, "files", files);
  WEIR_TRY(describe_files(directory, name, files));
  WEIR_TRY(seal_of(directory, object, text));
  json_object_set_new(object, "checksum", json_string(text));
  return write_text(path, json_dumps(object, CANONICAL));
}

/* Parses and compares with the canonical spelling of what was parsed. */
static weir_status read_canonical(const char *path, json_t **object) {
  enum { LIMIT_BYTES = 1 << 24 };
  weir_file_bytes file;
  json_error_t error;
  WEIR_TRY(weir_file_read(path, LIMIT_BYTES, &file));
  *object = json_loadb(file.bytes, (size_t)file.size_bytes, JSON_REJECT_DUPLICATES, &error);
  char *canonical = *object ? json_dumps(*object, CANONICAL) : NULL;
  const bool is_whole = json_is_object(*object) && canonical &&
                        strlen(canonical) == file.size_bytes &&
                        memcmp(canonical, file.bytes, (size_t)file.size_bytes) == 0;
  free(canonical);
  free(file.bytes);
  if (is_whole) return WEIR_OK;
  json_decref(*object);
  return weir_fail(WEIR_BAD_INPUT, "%s: is damaged; go back to an older checkpoint", path);
}

static weir_status check_seal(const char *directory, const char *path, json_t *object) {
  char text[CHECKSUM_TEXT];
  json_t *written = json_incref(json_object_get(object, "checksum"));
  weir_status status = seal_of(directory, object, text);
  const bool is_same = json_is_string(written) && strcmp(json_string_value(written), text) == 0;
  json_decref(written);
  WEIR_TRY(status);
  if (!is_same)
    return weir_fail(WEIR_BAD_INPUT, "%s: is damaged; go back to an older checkpoint", path);
  return check_files(directory, json_object_get(object, "files"));
}

weir_status weir_sealed_json_read(const char *directory, const char *name, json_t **object) {
  char path[WEIR_PATH_BYTES];
  WEIR_TRY(weir_run_folder_name(path, directory, "%s", name));
  WEIR_TRY(read_canonical(path, object));
  weir_status status = check_seal(directory, path, *object);
  if (status != WEIR_OK) json_decref(*object);
  return status;
}
