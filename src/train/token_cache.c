/* SPDX-License-Identifier: Apache-2.0 */
#include "train/token_cache.h"

#include "base/directory.h"
#include "base/environment.h"
#include "base/log.h"
#include "train/corpus_builder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { STRIPE_BYTES = 1 << 20 };

static const char magic[8] = "weirtok1";

typedef struct cache_header {
  char magic[8];
  uint64_t key;
  int64_t n_tokens, n_documents;
  weir_corpus_counts counts;
  uint64_t tokens_checksum, documents_checksum;
  uint64_t header_checksum; /* of what is before it */
} cache_header;

static uint64_t header_checksum(const cache_header *header) {
  return XXH3_64bits(header, offsetof(cache_header, header_checksum));
}

/* ---- the key ---- */

/* Adds the mapped bytes, giving back the pages. */
static void add_mapped(XXH3_state_t *state, const weir_mapping *mapping, uint64_t begin,
                       uint64_t end) {
  for (uint64_t at = begin, n; at < end; at += n) {
    n = end - at < STRIPE_BYTES ? end - at : STRIPE_BYTES;
    XXH3_64bits_update(state, mapping->bytes + at, (size_t)n);
    weir_mapping_drop(mapping, at, n);
  }
}

/* The ending of its name decides how a file is read, so it counts too. */
static weir_status add_file(XXH3_state_t *state, const char *path) {
  const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
  weir_mapping mapping;
  WEIR_TRY(weir_mapping_open(path, &mapping));
  XXH3_64bits_update(state, dot ? dot : "", dot ? strlen(dot) + 1 : 1);
  XXH3_64bits_update(state, &mapping.size_bytes, sizeof mapping.size_bytes);
  add_mapped(state, &mapping, 0, mapping.size_bytes);
  weir_mapping_close(&mapping);
  return WEIR_OK;
}

static weir_status add_settings(XXH3_state_t *state, const weir_corpus_settings *settings) {
  const char *separator = settings->separator ? settings->separator : "";
  const uint64_t numbers[] = {weir_tokenizer_fingerprint(settings->tokenizer),
                              (uint64_t)(int64_t)settings->eos_token_id,
                              (uint64_t)settings->vocab_size, settings->learn_prompts};
  XXH3_64bits_update(state, WEIR_VERSION, sizeof WEIR_VERSION);
  XXH3_64bits_update(state, numbers, sizeof numbers);
  XXH3_64bits_update(state, separator, strlen(separator) + 1);
  return WEIR_OK;
}

static weir_status find_key(const weir_corpus_settings *settings, const char *const *paths,
                            size_t n_paths, uint64_t *key) {
  XXH3_state_t *state = XXH3_createState();
  if (!state) return weir_fail(WEIR_FAILED, "no memory for a checksum");
  XXH3_64bits_reset(state);
  weir_status status = add_settings(state, settings);
  for (size_t i = 0; i < n_paths && status == WEIR_OK; i++)
    status = add_file(state, paths[i]);
  *key = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  return status;
}

static char *path_of(const char *directory, uint64_t key) {
  char name[40];
  snprintf(name, sizeof name, "tokens-%016" PRIx64 ".bin", key);
  return weir_path_join(directory, name);
}

weir_status weir_token_cache_path(const weir_corpus_settings *settings, const char *const *paths,
                                  size_t n_paths, char **path) {
  uint64_t key;
  WEIR_TRY(find_key(settings, paths, n_paths, &key));
  *path = path_of(settings->cache, key);
  return *path ? WEIR_OK : weir_fail(WEIR_FAILED, "no memory for a name");
}

char *weir_token_cache_directory(void) {
  const char *cache = weir_environment("XDG_CACHE_HOME"), *home = weir_environment("HOME");
  if (cache && *cache == '/') return weir_path_join(cache, "weir");
  return home && *home == '/' ? weir_path_join(home, ".cache/weir") : NULL;
}

/* ---- opening ---- */

static uint64_t checksum_of(const weir_mapping *mapping, uint64_t begin, uint64_t end) {
  XXH3_state_t *state = XXH3_createState();
  if (!state) return 0;
  XXH3_64bits_reset(state);
  add_mapped(state, mapping, begin, end);
  const uint64_t checksum = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  return checksum;
}

/* What is wrong with the file, or NULL.  Sizes are compared in parts that cannot overflow. */
static const char *check(const weir_mapping *mapping, uint64_t key, cache_header *header) {
  const uint64_t size_bytes = mapping->size_bytes;
  if (size_bytes < sizeof *header) return "is cut short";
  memcpy(header, mapping->bytes, sizeof *header);
  if (memcmp(header->magic, magic, sizeof magic) != 0) return "is of another version";
  if (header->header_checksum != header_checksum(header) || header->key != key) return "is damaged";
  const uint64_t left_bytes = size_bytes - sizeof *header;
  if ((uint64_t)header->n_tokens > left_bytes / sizeof(uint32_t)) return "is cut short";
  const uint64_t tokens_end = sizeof *header + (uint64_t)header->n_tokens * sizeof(uint32_t);
  if ((size_bytes - tokens_end) % sizeof(weir_span) != 0 ||
      (size_bytes - tokens_end) / sizeof(weir_span) != (uint64_t)header->n_documents)
    return "is cut short";
  if (checksum_of(mapping, sizeof *header, tokens_end) != header->tokens_checksum ||
      checksum_of(mapping, tokens_end, size_bytes) != header->documents_checksum)
    return "is damaged";
  return NULL;
}

static weir_status take_mapping(weir_corpus *corpus, const weir_mapping *mapping,
                                const cache_header *header) {
  const uint64_t tokens_end = sizeof *header + (uint64_t)header->n_tokens * sizeof(uint32_t);
  const uint64_t documents_bytes = mapping->size_bytes - tokens_end;
  weir_span *documents = malloc((size_t)documents_bytes + 1);
  if (!documents)
    return weir_fail(WEIR_FAILED, "no memory for %lld documents", (long long)header->n_documents);
  memcpy(documents, mapping->bytes + tokens_end, (size_t)documents_bytes);
  weir_mapping_drop(mapping, tokens_end, documents_bytes);
  *corpus = (weir_corpus){
      .tokens = (const uint32_t *)(const void *)(mapping->bytes + sizeof *header),
      .n_stored_tokens = header->n_tokens,
      .documents = documents,
      .n_documents = header->n_documents,
      .n_tokens = header->n_tokens,
      .counts = header->counts,
      .tokens_checksum = header->tokens_checksum,
      .mapping = *mapping,
  };
  return WEIR_OK;
}

/* *is_usable is false, and nothing is opened, where there is no such cache or it is not whole. */
static weir_status open_cache(weir_corpus *corpus, const char *path, uint64_t key,
                              bool *is_usable) {
  weir_mapping mapping;
  cache_header header;
  *is_usable = false;
  if (access(path, F_OK) != 0) return WEIR_OK;
  WEIR_TRY(weir_mapping_open(path, &mapping));
  const char *problem = check(&mapping, key, &header);
  if (problem) {
    weir_log_warning("%s %s: it is made anew", path, problem);
    weir_mapping_close(&mapping);
    return WEIR_OK;
  }
  weir_status status = take_mapping(corpus, &mapping, &header);
  *is_usable = status == WEIR_OK;
  if (status != WEIR_OK) weir_mapping_close(&mapping);
  return status;
}

/* ---- making ---- */

/* The documents, and then the header over the room that was left for it. */
static weir_status end_file(weir_replacement *file, const weir_corpus_builder *builder,
                            uint64_t key) {
  const size_t documents_bytes = (size_t)builder->n_documents * sizeof *builder->documents;
  WEIR_TRY(weir_replacement_append(file, builder->documents, documents_bytes));
  cache_header header = {
      .key = key,
      .n_tokens = builder->n_tokens,
      .n_documents = builder->n_documents,
      .counts = builder->counts,
      .tokens_checksum = XXH3_64bits_digest(builder->checksum),
      .documents_checksum = XXH3_64bits(builder->documents, documents_bytes),
  };
  memcpy(header.magic, magic, sizeof magic);
  header.header_checksum = header_checksum(&header);
  if (fseeko(file->stream, 0, SEEK_SET) != 0)
    return weir_fail(WEIR_FAILED, "%s: cannot be written: %s", file->path, strerror(errno));
  return weir_replacement_append(file, &header, sizeof header);
}

static weir_status fill_file(weir_replacement *file, const weir_corpus_settings *settings,
                             const char *const *paths, size_t n_paths, uint64_t key) {
  const cache_header room = {0};
  weir_corpus_builder builder;
  WEIR_TRY(weir_replacement_append(file, &room, sizeof room));
  weir_status status = weir_corpus_builder_init(&builder, settings, file);
  if (status == WEIR_OK) status = weir_corpus_builder_read(&builder, paths, n_paths);
  if (status == WEIR_OK) status = end_file(file, &builder, key);
  weir_corpus_builder_deinit(&builder);
  return status;
}

static weir_status make_cache(const char *path, const weir_corpus_settings *settings,
                              const char *const *paths, size_t n_paths, uint64_t key) {
  weir_replacement file;
  WEIR_TRY(weir_directory_make(settings->cache));
  weir_log_info("tokens are kept in %s", path);
  WEIR_TRY(weir_replacement_open(path, &file));
  weir_status status = fill_file(&file, settings, paths, n_paths, key);
  if (status == WEIR_OK) return weir_replacement_commit(&file);
  weir_replacement_abandon(&file);
  return status;
}

weir_status weir_token_cache_read(weir_corpus *corpus, const weir_corpus_settings *settings,
                                  const char *const *paths, size_t n_paths) {
  uint64_t key;
  bool is_usable;
  WEIR_TRY(find_key(settings, paths, n_paths, &key));
  char *path = path_of(settings->cache, key);
  if (!path) return weir_fail(WEIR_FAILED, "no memory for a name");
  weir_status status = open_cache(corpus, path, key, &is_usable);
  if (status == WEIR_OK && !is_usable) {
    status = make_cache(path, settings, paths, n_paths, key);
    if (status == WEIR_OK) status = open_cache(corpus, path, key, &is_usable);
    if (status == WEIR_OK && !is_usable)
      status = weir_fail(WEIR_FAILED, "%s: what was written cannot be read back", path);
  }
  free(path);
  return status;
}
