/* SPDX-License-Identifier: Apache-2.0
 *
 * What tokenizer.json says of the stages around the model: normalizer, pre_tokenizer,
 * post_processor, decoder.  Each kind of stage is read in one place, with the keys it may have;
 * a kind, a key or an order of stages that is not here is an error. */
#include "formats/tokenizer_parts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* --- a stage, or a Sequence of stages ---------------------------------------------------- */

typedef weir_status read_stage(const weir_json_node *stage, const char *type, void *context);

static weir_status read_stage_or_sequence(const weir_json_node *stage, const char *list_key,
                                          read_stage *read, void *context) {
  const char *type;
  WEIR_TRY(weir_json_string(stage, "type", &type));
  if (strcmp(type, "Sequence") != 0) return read(stage, type, context);
  char keys[32];
  snprintf(keys, sizeof keys, "type, %s", list_key);
  WEIR_TRY(weir_json_only(stage, keys));
  weir_json_node list, item;
  WEIR_TRY(weir_json_member(stage, list_key, JSON_ARRAY, &list));
  for (size_t i = 0; i < json_array_size(list.value); i++) {
    WEIR_TRY(weir_json_item(&list, i, JSON_OBJECT, &item));
    WEIR_TRY(read_stage_or_sequence(&item, list_key, read, context));
  }
  return WEIR_OK;
}

/* The stage at `key` of the file; none where it is null. */
static weir_status read_stages(const weir_json_node *root, const char *key, const char *list_key,
                               read_stage *read, void *context) {
  if (!weir_json_has(root, key)) return WEIR_OK;
  weir_json_node stage;
  WEIR_TRY(weir_json_member(root, key, JSON_OBJECT, &stage));
  return read_stage_or_sequence(&stage, list_key, read, context);
}

static weir_status unknown_type(const weir_json_node *stage, const char *type, const char *known) {
  return weir_json_fail(stage, "type \"%s\" is not supported (only Sequence, %s)", type, known);
}

/* {"pattern": {"String": ...}}: the literal that is looked for. */
static weir_status read_literal(const weir_json_node *stage, const char **literal) {
  weir_json_node pattern;
  WEIR_TRY(weir_json_member(stage, "pattern", JSON_OBJECT, &pattern));
  WEIR_TRY(weir_json_only(&pattern, "String"));
  WEIR_TRY(weir_json_string(&pattern, "String", literal));
  return **literal ? WEIR_OK : weir_json_fail(&pattern, "an empty String");
}

static weir_status read_replace(const weir_json_node *stage, weir_normalizer *steps) {
  const char *from, *to;
  WEIR_TRY(weir_json_only(stage, "type, pattern, content"));
  WEIR_TRY(read_literal(stage, &from));
  WEIR_TRY(weir_json_string(stage, "content", &to));
  return weir_normalizer_add(steps, WEIR_NORMALIZER_REPLACE, from, to);
}

/* --- normalizer -------------------------------------------------------------------------- */

static weir_status read_normalizer(const weir_json_node *stage, const char *type, void *context) {
  static const struct {
    const char *name;
    weir_normalizer_kind kind;
  } forms[] = {{"NFC", WEIR_NORMALIZER_NFC},
               {"NFD", WEIR_NORMALIZER_NFD},
               {"NFKC", WEIR_NORMALIZER_NFKC},
               {"NFKD", WEIR_NORMALIZER_NFKD}};
  weir_normalizer *normalizer = context;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    if (strcmp(type, forms[i].name) != 0) continue;
    WEIR_TRY(weir_json_only(stage, "type"));
    return weir_normalizer_add(normalizer, forms[i].kind, NULL, NULL);
  }
  if (strcmp(type, "Replace") == 0) return read_replace(stage, normalizer);
  if (strcmp(type, "Prepend") != 0)
    return unknown_type(stage, type, "NFC, NFD, NFKC, NFKD, Prepend, Replace");
  const char *prepended;
  WEIR_TRY(weir_json_only(stage, "type, prepend"));
  WEIR_TRY(weir_json_string(stage, "prepend", &prepended));
  return weir_normalizer_add(normalizer, WEIR_NORMALIZER_PREPEND, NULL, prepended);
}

weir_status weir_tokenizer_read_normalizer(const weir_json_node *root,
                                           weir_normalizer *normalizer) {
  return read_stages(root, "normalizer", "normalizers", read_normalizer, normalizer);
}

/* --- pre_tokenizer
 * --------------------------------------------------------------------------------- */

static weir_status read_byte_level(const weir_json_node *stage, bool *add_prefix_space,
                                   bool *use_regex) {
  bool trim_offsets;
  WEIR_TRY(weir_json_only(stage, "type, add_prefix_space, trim_offsets, use_regex"));
  WEIR_TRY(weir_json_boolean(stage, "add_prefix_space", add_prefix_space));
  WEIR_TRY(weir_json_boolean(stage, "trim_offsets", &trim_offsets));
  return weir_json_boolean_or(stage, "use_regex", true, use_regex);
}

static weir_status add_split(const weir_json_node *stage, weir_pretokenizer *pretokenizer,
                             const char *pattern, weir_split_behavior behavior, bool invert) {
  weir_status status = weir_pretokenizer_add(pretokenizer, pattern, behavior, invert);
  return status == WEIR_OK ? status : weir_fail_at(status, "%s: %s", stage->file, stage->where);
}

static weir_status read_byte_level_pretokenizer(const weir_json_node *stage,
                                                weir_tokenizer *tokenizer) {
  bool add_prefix_space, use_regex;
  WEIR_TRY(read_byte_level(stage, &add_prefix_space, &use_regex));
  if (add_prefix_space)
    return weir_json_fail(stage, "add_prefix_space is not supported: decoding could not undo it");
  tokenizer->bpe.byte_level = true;
  if (!use_regex) return WEIR_OK;
  return add_split(stage, &tokenizer->pretokenizer, weir_gpt2_pattern, WEIR_SPLIT_ISOLATED, false);
}

static weir_status append_escaped(const char *literal, weir_bytes *regex) {
  for (; *literal; literal++) {
    if (ispunct((unsigned char)*literal)) WEIR_TRY(weir_bytes_append(regex, "\\", 1));
    WEIR_TRY(weir_bytes_append(regex, literal, 1));
  }
  return weir_bytes_append(regex, "", 1);
}

static weir_status read_pattern(const weir_json_node *stage, weir_bytes *regex) {
  weir_json_node pattern;
  WEIR_TRY(weir_json_member(stage, "pattern", JSON_OBJECT, &pattern));
  const char *text;
  if (!weir_json_has(&pattern, "Regex")) {
    WEIR_TRY(read_literal(stage, &text));
    return append_escaped(text, regex);
  }
  WEIR_TRY(weir_json_only(&pattern, "Regex"));
  WEIR_TRY(weir_json_string(&pattern, "Regex", &text));
  return weir_bytes_append(regex, text, strlen(text) + 1);
}

static weir_status read_behavior(const weir_json_node *stage, weir_split_behavior *behavior) {
  static const char *const names[] = {
      [WEIR_SPLIT_ISOLATED] = "Isolated",
      [WEIR_SPLIT_REMOVED] = "Removed",
      [WEIR_SPLIT_MERGED_WITH_PREVIOUS] = "MergedWithPrevious",
      [WEIR_SPLIT_MERGED_WITH_NEXT] = "MergedWithNext",
      [WEIR_SPLIT_CONTIGUOUS] = "Contiguous",
  };
  const char *name;
  WEIR_TRY(weir_json_string(stage, "behavior", &name));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(name, names[i]) == 0) {
      *behavior = (weir_split_behavior)i;
      return WEIR_OK;
    }
  return weir_json_fail(stage,
                        "behavior \"%s\" is not supported (only Isolated, Removed, "
                        "MergedWithPrevious, MergedWithNext, Contiguous)",
                        name);
}

static weir_status read_split(const weir_json_node *stage, weir_pretokenizer *pretokenizer) {
  weir_split_behavior behavior = WEIR_SPLIT_ISOLATED;
  bool invert;
  WEIR_TRY(weir_json_only(stage, "type, pattern, behavior, invert"));
  WEIR_TRY(read_behavior(stage, &behavior));
  WEIR_TRY(weir_json_boolean(stage, "invert", &invert));
  weir_bytes regex = {0};
  weir_status status = read_pattern(stage, &regex);
  if (status == WEIR_OK) status = add_split(stage, pretokenizer, regex.data, behavior, invert);
  weir_bytes_deinit(&regex);
  return status;
}

static weir_status read_digits(const weir_json_node *stage, weir_pretokenizer *pretokenizer) {
  bool individual;
  WEIR_TRY(weir_json_only(stage, "type, individual_digits"));
  WEIR_TRY(weir_json_boolean(stage, "individual_digits", &individual));
  return add_split(stage, pretokenizer, individual ? "\\p{N}" : "\\p{N}+", WEIR_SPLIT_ISOLATED,
                   false);
}

/* prepend_scheme, or what files had before it. */
static weir_status read_prepend_scheme(const weir_json_node *stage,
                                       weir_metaspace_prepend *prepend) {
  static const char *const names[] = {"never", "first", "always"};
  const char *name = "always";
  bool add_prefix_space;
  if (weir_json_has(stage, "prepend_scheme"))
    WEIR_TRY(weir_json_string(stage, "prepend_scheme", &name));
  WEIR_TRY(weir_json_boolean_or(stage, "add_prefix_space", true, &add_prefix_space));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(name, names[i]) != 0) continue;
    if (!add_prefix_space && i > 0)
      return weir_json_fail(stage, "add_prefix_space false contradicts prepend_scheme \"%s\"",
                            name);
    *prepend = (weir_metaspace_prepend)i;
    return WEIR_OK;
  }
  return weir_json_fail(stage, "prepend_scheme \"%s\": expected always, first or never", name);
}

/* The keys of the stage, which is the same before and after the model. */
static weir_status read_metaspace(const weir_json_node *stage, weir_metaspace *metaspace,
                                  bool *split) {
  const char *replacement;
  int32_t character;
  WEIR_TRY(weir_json_only(stage, "type, replacement, str_rep, add_prefix_space, prepend_scheme, "
                                 "split"));
  WEIR_TRY(weir_json_string(stage, "replacement", &replacement));
  const size_t n_bytes = strlen(replacement);
  if (n_bytes == 0 || weir_utf8_next(replacement, n_bytes, &character) != n_bytes)
    return weir_json_fail(stage, "replacement \"%s\": expected one character", replacement);
  memcpy(metaspace->replacement, replacement, n_bytes + 1);
  WEIR_TRY(weir_json_boolean_or(stage, "split", true, split));
  return read_prepend_scheme(stage, &metaspace->prepend);
}

static weir_status read_metaspace_pretokenizer(const weir_json_node *stage,
                                               weir_tokenizer *tokenizer) {
  bool split;
  if (tokenizer->pretokenizer.count > 0 || *tokenizer->metaspace.replacement)
    return weir_json_fail(stage, "\"Metaspace\" after another stage is not supported");
  WEIR_TRY(read_metaspace(stage, &tokenizer->metaspace, &split));
  if (!split) return WEIR_OK;
  weir_bytes regex = {0};
  weir_status status = append_escaped(tokenizer->metaspace.replacement, &regex);
  if (status == WEIR_OK)
    status =
        add_split(stage, &tokenizer->pretokenizer, regex.data, WEIR_SPLIT_MERGED_WITH_NEXT, false);
  weir_bytes_deinit(&regex);
  return status;
}

static weir_status read_pretokenizer(const weir_json_node *stage, const char *type, void *context) {
  weir_tokenizer *tokenizer = context;
  if (tokenizer->bpe.byte_level)
    return weir_json_fail(stage, "\"%s\" after ByteLevel is not supported", type);
  if (strcmp(type, "Metaspace") == 0) return read_metaspace_pretokenizer(stage, tokenizer);
  if (strcmp(type, "ByteLevel") == 0) return read_byte_level_pretokenizer(stage, tokenizer);
  if (strcmp(type, "Split") == 0) return read_split(stage, &tokenizer->pretokenizer);
  if (strcmp(type, "Digits") == 0) return read_digits(stage, &tokenizer->pretokenizer);
  return unknown_type(stage, type, "ByteLevel, Metaspace, Split, Digits");
}

weir_status weir_tokenizer_read_pretokenizer(const weir_json_node *root,
                                             weir_tokenizer *tokenizer) {
  return read_stages(root, "pre_tokenizer", "pretokenizers", read_pretokenizer, tokenizer);
}

/* --- post_processor
 * -------------------------------------------------------------------------------- */

/* {"SpecialToken": {"id": NAME}}: NAME's one id in the template's table. */
static weir_status read_template_token(const weir_json_node *piece, const weir_json_node *table,
                                       int32_t *id) {
  weir_json_node token, entry, ids, item;
  const char *name;
  WEIR_TRY(weir_json_only(piece, "SpecialToken"));
  WEIR_TRY(weir_json_member(piece, "SpecialToken", JSON_OBJECT, &token));
  WEIR_TRY(weir_json_string(&token, "id", &name));
  WEIR_TRY(weir_json_member(table, name, JSON_OBJECT, &entry));
  WEIR_TRY(weir_json_member(&entry, "ids", JSON_ARRAY, &ids));
  if (*id >= 0 || json_array_size(ids.value) != 1)
    return weir_json_fail(piece, "more than one special token on one side of the text is not "
                                 "supported");
  WEIR_TRY(weir_json_item(&ids, 0, JSON_INTEGER, &item));
  json_int_t value = json_integer_value(item.value);
  if (value < 0 || value > INT32_MAX) return weir_json_fail(&item, "not a token id");
  *id = (int32_t)value;
  return WEIR_OK;
}

static weir_status read_template(const weir_json_node *stage, weir_tokenizer *tokenizer) {
  weir_json_node single, table, piece, sequence;
  WEIR_TRY(weir_json_only(stage, "type, single, pair, special_tokens"));
  WEIR_TRY(weir_json_member(stage, "single", JSON_ARRAY, &single));
  WEIR_TRY(weir_json_member(stage, "special_tokens", JSON_OBJECT, &table));
  bool after_text = false;
  for (size_t i = 0; i < json_array_size(single.value); i++) {
    WEIR_TRY(weir_json_item(&single, i, JSON_OBJECT, &piece));
    if (!weir_json_has(&piece, "Sequence")) {
      WEIR_TRY(read_template_token(&piece, &table,
                                   after_text ? &tokenizer->suffix_id : &tokenizer->prefix_id));
      continue;
    }
    const char *name;
    WEIR_TRY(weir_json_only(&piece, "Sequence"));
    WEIR_TRY(weir_json_member(&piece, "Sequence", JSON_OBJECT, &sequence));
    WEIR_TRY(weir_json_string(&sequence, "id", &name));
    if (after_text || strcmp(name, "A") != 0)
      return weir_json_fail(&piece, "expected the sequence A, once");
    after_text = true;
  }
  return after_text ? WEIR_OK : weir_json_fail(&single, "expected the sequence A");
}

static weir_status read_postprocessor(const weir_json_node *stage, const char *type,
                                      void *context) {
  weir_tokenizer *tokenizer = context;
  bool ignored; /* ByteLevel moves offsets, which nobody here asks for */
  if (strcmp(type, "ByteLevel") == 0) return read_byte_level(stage, &ignored, &ignored);
  if (strcmp(type, "TemplateProcessing") != 0)
    return unknown_type(stage, type, "ByteLevel, TemplateProcessing");
  if (tokenizer->prefix_id >= 0 || tokenizer->suffix_id >= 0)
    return weir_json_fail(stage, "a second TemplateProcessing is not supported");
  return read_template(stage, tokenizer);
}

weir_status weir_tokenizer_read_postprocessor(const weir_json_node *root,
                                              weir_tokenizer *tokenizer) {
  return read_stages(root, "post_processor", "processors", read_postprocessor, tokenizer);
}

/* --- decoder
 * ---------------------------------------------------------------------------------------- */

/* The order in which stages may follow each other; only Replace may come twice. */
typedef enum decoder_stage {
  STAGE_NONE,
  STAGE_REPLACE,
  STAGE_BYTE_FALLBACK,
  STAGE_FUSE,
  STAGE_STRIP,
  STAGE_BYTE_LEVEL,
  STAGE_METASPACE,
} decoder_stage;

typedef struct decoder_reading {
  weir_decoder *decoder;
  weir_tokenizer *tokenizer;
  decoder_stage last;
} decoder_reading;

static weir_status read_strip(const weir_json_node *stage, weir_tokenizer *tokenizer) {
  const char *content;
  int start, stop;
  WEIR_TRY(weir_json_only(stage, "type, content, start, stop"));
  WEIR_TRY(weir_json_string(stage, "content", &content));
  WEIR_TRY(weir_json_int32(stage, "start", &start));
  WEIR_TRY(weir_json_int32(stage, "stop", &stop));
  if (stop != 0 || strlen(content) != 1)
    return weir_json_fail(stage, "expected one ASCII character as content, and stop 0");
  tokenizer->n_strip = start;
  tokenizer->strip_byte = content[0];
  return WEIR_OK;
}

/* The space that encoding may have put before a text is not part of it. */
static weir_status read_metaspace_decoder(const weir_json_node *stage, decoder_reading *reading) {
  weir_metaspace metaspace;
  bool ignored;
  WEIR_TRY(read_metaspace(stage, &metaspace, &ignored));
  reading->tokenizer->n_strip = metaspace.prepend != WEIR_METASPACE_NEVER;
  reading->tokenizer->strip_byte = ' ';
  return weir_normalizer_add(&reading->decoder->replacements, WEIR_NORMALIZER_REPLACE,
                             metaspace.replacement, " ");
}

static weir_status read_decoder_stage(const weir_json_node *stage, decoder_stage kind,
                                      decoder_reading *reading) {
  bool ignored;
  switch (kind) {
  case STAGE_REPLACE:
    return read_replace(stage, &reading->decoder->replacements);
  case STAGE_BYTE_FALLBACK:
    reading->decoder->byte_fallback = true;
    return weir_json_only(stage, "type");
  case STAGE_FUSE:
    return weir_json_only(stage, "type");
  case STAGE_STRIP:
    return read_strip(stage, reading->tokenizer);
  case STAGE_METASPACE:
    return read_metaspace_decoder(stage, reading);
  default:
    reading->decoder->byte_level = true;
    return read_byte_level(stage, &ignored, &ignored);
  }
}

static weir_status read_decoder(const weir_json_node *stage, const char *type, void *context) {
  static const char *const names[] = {"",      "Replace",   "ByteFallback", "Fuse",
                                      "Strip", "ByteLevel", "Metaspace"};
  decoder_reading *reading = context;
  for (decoder_stage kind = STAGE_REPLACE; kind <= STAGE_METASPACE; kind++) {
    if (strcmp(type, names[kind]) != 0) continue;
    decoder_stage last = reading->last;
    reading->last = kind;
    bool in_order = kind == STAGE_REPLACE      ? last <= STAGE_REPLACE
                    : kind == STAGE_STRIP      ? last == STAGE_FUSE
                    : kind == STAGE_BYTE_LEVEL ? last == STAGE_NONE
                    : kind == STAGE_METASPACE  ? last == STAGE_NONE || last == STAGE_BYTE_FALLBACK
                                               : last < kind;
    if (!in_order)
      return weir_json_fail(stage,
                            "\"%s\" here is not supported (only ByteLevel alone; "
                            "Metaspace, after ByteFallback or alone; or Replace, ByteFallback, "
                            "Fuse, Strip in this order)",
                            type);
    return read_decoder_stage(stage, kind, reading);
  }
  return unknown_type(stage, type, "ByteLevel, Metaspace, Replace, ByteFallback, Fuse, Strip");
}

weir_status weir_tokenizer_read_decoder(const weir_json_node *root, weir_decoder *decoder,
                                        weir_tokenizer *tokenizer) {
  decoder_reading reading = {decoder, tokenizer, STAGE_NONE};
  WEIR_TRY(read_stages(root, "decoder", "decoders", read_decoder, &reading));
  if (reading.last == STAGE_NONE)
    return weir_json_fail(root, "without a decoder, tokens cannot be joined to text");
  if (decoder->byte_level != tokenizer->bpe.byte_level)
    return weir_json_fail(root, "pre_tokenizer and decoder must both be ByteLevel, or neither");
  return WEIR_OK;
}
