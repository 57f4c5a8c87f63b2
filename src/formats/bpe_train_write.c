/* SPDX-License-Identifier: Apache-2.0
 *
 * A learnt vocabulary as the files that Hugging Face Transformers, and weir, load. */
#include "base/files.h"
#include "formats/bpe_train_parts.h"
#include "formats/byte_level.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* How a token is spelled in the file, in `spelling`, terminated. */
static weir_status spell(const weir_bpe_trainer *trainer, size_t id, weir_bytes *spelling) {
  size_t n_bytes;
  const char *bytes = weir_string_table_at(&trainer->tokens, id, &n_bytes);
  spelling->count = 0;
  if (id == 0) return weir_bytes_append(spelling, WEIR_END_OF_TEXT, sizeof WEIR_END_OF_TEXT);
  WEIR_TRY(weir_byte_level_spell(bytes, n_bytes, spelling));
  return weir_bytes_append(spelling, "", 1);
}

static weir_status fill_vocabulary(const weir_bpe_trainer *trainer, json_t *vocab,
                                   weir_bytes *spelling) {
  for (size_t id = 0; id < trainer->tokens.count; id++) {
    WEIR_TRY(spell(trainer, id, spelling));
    if (json_object_set_new(vocab, spelling->data, json_integer((json_int_t)id)) != 0)
      return weir_fail(WEIR_FAILED, "out of memory for the vocabulary");
  }
  return WEIR_OK;
}

static weir_status fill_merges(const weir_bpe_trainer *trainer, json_t *merges,
                               weir_bytes *spelling) {
  weir_bytes line = {0};
  weir_status status = WEIR_OK;
  for (size_t i = 0; i < trainer->n_merges && status == WEIR_OK; i++) {
    line.count = 0;
    status = spell(trainer, (size_t)trainer->merges[i].left, spelling);
    if (status == WEIR_OK) status = weir_bytes_append(&line, spelling->data, spelling->count);
    if (status == WEIR_OK) status = spell(trainer, (size_t)trainer->merges[i].right, spelling);
    if (status == WEIR_OK) status = weir_bytes_append(&line, spelling->data, spelling->count);
    if (status != WEIR_OK) break;
    line.data[strlen(line.data)] = ' ';
    if (json_array_append_new(merges, json_string(line.data)) != 0)
      status = weir_fail(WEIR_FAILED, "out of memory for the merges");
  }
  weir_bytes_deinit(&line);
  return status;
}

static json_t *byte_level(void) {
  return json_pack("{ss sb sb sb}", "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 1,
                   "use_regex", 1);
}

/* The whole file around the two lists, which it takes over; NULL without memory. */
static json_t *tokenizer_file(json_t *vocab, json_t *merges) {
  json_t *end_of_text =
      json_pack("{si ss sb sb sb sb sb}", "id", 0, "content", WEIR_END_OF_TEXT, "single_word", 0,
                "lstrip", 0, "rstrip", 0, "normalized", 0, "special", 1);
  json_t *model =
      json_pack("{ss sn sn sn sn sb sb sb so so}", "type", "BPE", "dropout", "unk_token",
                "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", 0, "byte_fallback",
                0, "ignore_merges", 0, "vocab", vocab, "merges", merges);
  return json_pack("{ss sn sn s[o] sn so so so so}", "version", "1.0", "truncation", "padding",
                   "added_tokens", end_of_text, "normalizer", "pre_tokenizer", byte_level(),
                   "post_processor", byte_level(), "decoder", byte_level(), "model", model);
}

static json_t *config_file(void) {
  return json_pack("{ss ss ss sb sb}", "tokenizer_class", "PreTrainedTokenizerFast", "bos_token",
                   WEIR_END_OF_TEXT, "eos_token", WEIR_END_OF_TEXT, "add_prefix_space", 0,
                   "clean_up_tokenization_spaces", 0);
}

/* Takes over `root`, which may be NULL where there was no memory for it. */
static weir_status write_json(json_t *root, const char *directory, const char *name) {
  char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
  char *path = weir_path_join(directory, name);
  json_decref(root);
  weir_status status = text && path ? weir_file_replace(path, text, strlen(text))
                                    : weir_fail(WEIR_FAILED, "out of memory for %s", name);
  free(path);
  free(text);
  return status;
}

weir_status weir_bpe_trainer_write(const weir_bpe_trainer *trainer, const char *directory) {
  json_t *vocab = json_object(), *merges = json_array();
  weir_bytes spelling = {0};
  weir_status status = vocab && merges ? fill_vocabulary(trainer, vocab, &spelling)
                                       : weir_fail(WEIR_FAILED, "out of memory");
  if (status == WEIR_OK) status = fill_merges(trainer, merges, &spelling);
  weir_bytes_deinit(&spelling);
  if (status != WEIR_OK) {
    json_decref(vocab);
    json_decref(merges);
    return status;
  }
  WEIR_TRY(write_json(tokenizer_file(vocab, merges), directory, "tokenizer.json"));
  return write_json(config_file(), directory, "tokenizer_config.json");
}
