/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights from files and back: the same bits, the right places, and refusals that name the tensor.
 */
#include "base/files.h"
#include "core/convert.h"
#include "formats/weight_files.h"
#include "model/weights.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

static char directory[] = "/tmp/weir-weights-XXXXXX";
static char path[256], index_path[256], shard_paths[2][256];

static int make_directory(void **state) {
  (void)state;
  if (!mkdtemp(directory)) return -1;
  snprintf(path, sizeof path, "%s/model.safetensors", directory);
  snprintf(index_path, sizeof index_path, "%s/model.safetensors.index.json", directory);
  for (int i = 0; i < 2; i++)
    snprintf(shard_paths[i], sizeof shard_paths[i], "%s/model-%d.safetensors", directory, i);
  return 0;
}

static int remove_directory(void **state) {
  (void)state;
  unlink(path);
  return rmdir(directory);
}

/* A model in memory. */
typedef struct model {
  weir_model_config config;
  weir_parameter_table table;
  weir_arena arena;
  weir_tensor *weights;
} model;

static void create_model(model *m, const char *config_path, weir_dtype real) {
  if (weir_model_config_read(config_path, &m->config) != WEIR_OK)
    fail_msg("%s", weir_status_message());
  assert_int_equal(weir_parameter_table_create(&m->config, &m->table), WEIR_OK);
  weir_arena_init(&m->arena, "test", 16 << 20);
  m->weights = calloc((size_t)m->table.n_parameters, sizeof *m->weights);
  for (int64_t i = 0; i < m->table.n_parameters; i++)
    m->weights[i] = weir_tensor_allocate(&m->arena, WEIR_MEMORY_WEIGHTS, real,
                                         m->table.parameters[i].rows, m->table.parameters[i].cols);
}

static void destroy_model(model *m) {
  free(m->weights);
  weir_arena_deinit(&m->arena);
  weir_parameter_table_destroy(&m->table);
}

static void load(model *m, const char *from) {
  if (weir_weights_load(from, &m->config, &m->table, m->weights) != WEIR_OK)
    fail_msg("%s", weir_status_message());
}

static void assert_same_weights(const model *a, const model *b) {
  assert_true(a->table.n_parameters > 0);
  for (int64_t i = 0; i < a->table.n_parameters; i++)
    assert_memory_equal(weir_tensor_data(a->weights[i]), weir_tensor_data(b->weights[i]),
                        weir_tensor_bytes(a->weights[i]));
}

/* Every tensor that both files must hold, bit for bit. */
static void assert_same_files(const char *a_path, const char *b_path) {
  weir_safetensors *a, *b;
  assert_int_equal(weir_safetensors_open(a_path, &a), WEIR_OK);
  assert_int_equal(weir_safetensors_open(b_path, &b), WEIR_OK);
  assert_int_equal(weir_safetensors_count(a), weir_safetensors_count(b));
  assert_true(weir_safetensors_count(a) > 0);
  for (size_t i = 0; i < weir_safetensors_count(a); i++) {
    const weir_safetensors_entry *x = weir_safetensors_at(a, i);
    const weir_safetensors_entry *y = weir_safetensors_find(b, x->name);
    if (!y) fail_msg("%s is not in %s", x->name, b_path);
    assert_string_equal(x->dtype, y->dtype);
    assert_int_equal(x->n_dims, y->n_dims);
    assert_memory_equal(x->shape, y->shape, (size_t)x->n_dims * sizeof *x->shape);
    assert_memory_equal(weir_safetensors_data(a, x), weir_safetensors_data(b, y), x->size_bytes);
  }
  assert_string_equal(weir_safetensors_metadata(b, "format"), "pt");
  weir_safetensors_close(a);
  weir_safetensors_close(b);
}

/* Loads `from` in both arithmetic types, saves it as f32, and finds the same file again. */
static void check_round_trip(const char *from) {
  static const weir_dtype reals[] = {WEIR_DTYPE_F32, WEIR_DTYPE_F64};
  char *original = weir_path_join(from, "model.safetensors");
  for (size_t i = 0; i < 2; i++) {
    model m, again;
    create_model(&m, from, reals[i]);
    create_model(&again, from, reals[i]);
    assert_int_equal(weir_weights_check(from, &m.config, &m.table), WEIR_OK);
    load(&m, from);
    assert_int_equal(weir_weights_save(path, &m.table, m.weights, WEIR_DTYPE_F32), WEIR_OK);
    assert_same_files(original, path);
    load(&again, directory);
    assert_same_weights(&m, &again);
    destroy_model(&m);
    destroy_model(&again);
  }
  free(original);
}

static char *golden(const char *name) {
  static char text[512];
  snprintf(text, sizeof text, "%s/golden/%s", WEIR_TEST_DIR, name);
  return text;
}

static void every_architecture_round_trips(void **state) {
  (void)state;
  static const char *const names[] = {"llama", "llama-tied-biases", "qwen3", "gpt2",
                                      "gpt2-untied-gelu"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    check_round_trip(golden(names[i]));
}

static void trained_models_round_trip(void **state) {
  (void)state;
  static const char *const names[] = {"models/stories260K", "models/tiny-random-gpt2"};
  const char *fixtures = getenv("WEIR_FIXTURES");
  if (!fixtures) {
    print_message("skipped: WEIR_FIXTURES is not set, trained models\n");
    skip();
  }
  for (size_t i = 0; i < 2; i++) {
    char *from = weir_path_join(fixtures, names[i]);
    check_round_trip(from);
    free(from);
  }
}

static void fused_and_transposed_parts_find_their_places(void **state) {
  (void)state;
  model m;
  create_model(&m, golden("gpt2"), WEIR_DTYPE_F64);
  load(&m, golden("gpt2"));
  weir_weight_files files;
  assert_int_equal(weir_weight_files_open(golden("gpt2"), &files), WEIR_OK);
  int64_t D = m.config.hidden_size;
  weir_weight file = weir_weight_files_find(&files, "transformer.h.1.attn.c_attn.weight");
  weir_weight bias = weir_weight_files_find(&files, "transformer.h.1.attn.c_attn.bias");
  const float *fused = weir_safetensors_data(file.file, file.entry);
  const float *fused_bias = weir_safetensors_data(bias.file, bias.entry);
  static const weir_role parts[][2] = {{WEIR_ROLE_Q, WEIR_ROLE_Q_BIAS},
                                       {WEIR_ROLE_K, WEIR_ROLE_K_BIAS},
                                       {WEIR_ROLE_V, WEIR_ROLE_V_BIAS}};
  for (int64_t part = 0; part < 3; part++) {
    const double *w = weir_tensor_data(m.weights[weir_parameter_find(&m.table, 2, parts[part][0])]);
    const double *b = weir_tensor_data(m.weights[weir_parameter_find(&m.table, 2, parts[part][1])]);
    for (int64_t out = 0; out < D; out++) {
      assert_true(b[out] == (double)fused_bias[part * D + out]);
      for (int64_t in = 0; in < D; in++)
        assert_true(w[out * D + in] == (double)fused[in * 3 * D + part * D + out]);
    }
  }
  weir_weight_files_close(&files);
  destroy_model(&m);
}

/* Sizes that are no multiples of any tile. */
static void odd_sizes_round_trip(void **state) {
  (void)state;
  static const char config[] = "{\"model_type\":\"gpt2\",\"vocab_size\":300,\"n_embd\":150,"
                               "\"n_layer\":1,\"n_head\":3,\"n_positions\":7,\"n_inner\":333}";
  char *config_path = weir_path_join(directory, "config.json");
  assert_int_equal(weir_file_replace(config_path, config, sizeof config - 1), WEIR_OK);
  static const weir_dtype dtypes[] = {WEIR_DTYPE_F64, WEIR_DTYPE_F32, WEIR_DTYPE_BF16,
                                      WEIR_DTYPE_F16};
  model m, again;
  create_model(&m, config_path, WEIR_DTYPE_F64);
  create_model(&again, config_path, WEIR_DTYPE_F64);
  for (int64_t i = 0; i < m.table.n_parameters; i++) {
    double *w = weir_tensor_data(m.weights[i]);
    for (int64_t j = 0; j < weir_tensor_count(m.weights[i]); j++)
      w[j] = (double)(i + 1) / (double)(j + 3);
  }
  for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
    assert_int_equal(weir_weights_save(path, &m.table, m.weights, dtypes[d]), WEIR_OK);
    load(&again, directory);
    for (int64_t i = 0; i < m.table.n_parameters; i++) {
      const double *w = weir_tensor_data(m.weights[i]), *got = weir_tensor_data(again.weights[i]);
      for (int64_t j = 0; j < weir_tensor_count(m.weights[i]); j++) {
        double narrow, expected;
        weir_convert(&narrow, dtypes[d], &w[j], WEIR_DTYPE_F64, 1);
        weir_convert(&expected, WEIR_DTYPE_F64, &narrow, dtypes[d], 1);
        assert_true(got[j] == expected);
      }
    }
  }
  unlink(config_path);
  free(config_path);
  destroy_model(&m);
  destroy_model(&again);
}

/* How a copy of a model's file differs from the original. */
typedef struct edit {
  const char *without;             /* a tensor left out */
  const char *rename, *renamed_to; /* a tensor under another name */
  const char *extra, *extra_dtype; /* one tensor more ... */
  int64_t extra_shape[4];          /* ... of this shape, zero-terminated, full of zeros */
  const char *extra_copy_of;       /* ... or the copy of another */
  bool strip_prefix;               /* of GPT-2 */
} edit;

static const char *edited_name(const edit *e, const char *name) {
  if (e->rename && strcmp(name, e->rename) == 0) return e->renamed_to;
  if (e->strip_prefix && strncmp(name, "transformer.", 12) == 0) return name + 12;
  return name;
}

static void write_copy(const char *from, const char *to, const edit *e) {
  weir_safetensors *file;
  weir_safetensors_writer *writer;
  char *original = weir_path_join(from, "model.safetensors");
  assert_int_equal(weir_safetensors_open(original, &file), WEIR_OK);
  assert_int_equal(weir_safetensors_writer_create(to, &writer), WEIR_OK);
  size_t n = weir_safetensors_count(file);
  for (size_t i = 0; i < n; i++) {
    const weir_safetensors_entry *t = weir_safetensors_at(file, i);
    if (e->without && strcmp(t->name, e->without) == 0) continue;
    weir_safetensors_writer_declare(writer, edited_name(e, t->name), t->dtype, t->shape, t->n_dims);
  }
  const weir_safetensors_entry *twin =
      e->extra_copy_of ? weir_safetensors_find(file, e->extra_copy_of) : NULL;
  int n_extra = 0;
  while (n_extra < 4 && e->extra_shape[n_extra])
    n_extra++;
  if (twin)
    weir_safetensors_writer_declare(writer, e->extra, twin->dtype, twin->shape, twin->n_dims);
  else if (e->extra)
    weir_safetensors_writer_declare(writer, e->extra, e->extra_dtype, e->extra_shape, n_extra);
  assert_int_equal(weir_safetensors_writer_begin(writer), WEIR_OK);
  for (size_t i = 0; i < n; i++) {
    const weir_safetensors_entry *t = weir_safetensors_at(file, i);
    if (e->without && strcmp(t->name, e->without) == 0) continue;
    weir_safetensors_writer_append(writer, weir_safetensors_data(file, t), t->size_bytes);
  }
  if (twin)
    weir_safetensors_writer_append(writer, weir_safetensors_data(file, twin), twin->size_bytes);
  if (e->extra && !twin) {
    static const uint8_t zeros[65536];
    uint64_t bytes;
    weir_safetensors_size(weir_safetensors_dtype_bits(e->extra_dtype), e->extra_shape, n_extra,
                          &bytes);
    weir_safetensors_writer_append(writer, zeros, bytes);
  }
  assert_int_equal(weir_safetensors_writer_finish(writer), WEIR_OK);
  weir_safetensors_close(file);
  free(original);
}

static void refuses_other_tensors_by_name(void **state) {
  (void)state;
  static const struct {
    const char *model;
    edit change;
    const char *says[2];
  } cases[] = {
      {"llama", {.without = "model.norm.weight"}, {"model.norm.weight", "missing"}},
      {"llama",
       {.without = "model.layers.1.mlp.up_proj.weight"},
       {"model.layers.1.mlp.up_proj.weight", "missing"}},
      {"llama", {.without = "lm_head.weight"}, {"lm_head.weight", "missing"}},
      {"gpt2",
       {.without = "transformer.h.0.attn.c_attn.weight"},
       {"h.0.attn.c_attn.weight", "missing"}},
      {"llama",
       {.extra = "model.layers.2.mlp.up_proj.weight", .extra_dtype = "F32", .extra_shape = {3}},
       {"model.layers.2.mlp.up_proj.weight", "unexpected"}},
      {"llama",
       {.extra = "model.layers.0.self_attn.q_proj.bias", .extra_dtype = "F32", .extra_shape = {32}},
       {"model.layers.0.self_attn.q_proj.bias", "unexpected"}},
      {"llama",
       {.extra = "h.0.attn.bias", .extra_dtype = "BOOL", .extra_shape = {8}},
       {"h.0.attn.bias", "unexpected"}},
      {"gpt2",
       {.extra = "model.layers.0.self_attn.rotary_emb.inv_freq",
        .extra_dtype = "F32",
        .extra_shape = {4}},
       {"inv_freq", "unexpected"}},
      {"llama",
       {.without = "model.norm.weight",
        .extra = "model.norm.weight",
        .extra_dtype = "F32",
        .extra_shape = {33}},
       {"[33]", "[32]"}},
      {"llama",
       {.without = "model.norm.weight",
        .extra = "model.norm.weight",
        .extra_dtype = "F32",
        .extra_shape = {1, 32}},
       {"[1, 32]", "[32]"}},
      {"llama",
       {.without = "model.layers.0.mlp.up_proj.weight",
        .extra = "model.layers.0.mlp.up_proj.weight",
        .extra_dtype = "F32",
        .extra_shape = {32, 40}},
       {"[32, 40]", "[40, 32]"}},
      {"llama",
       {.without = "model.norm.weight",
        .extra = "model.norm.weight",
        .extra_dtype = "I32",
        .extra_shape = {32}},
       {"model.norm.weight", "I32"}},
      {"llama-tied-biases",
       {.extra = "lm_head.weight", .extra_dtype = "F32", .extra_shape = {97, 32}},
       {"lm_head.weight", "tie_word_embeddings"}},
      {"gpt2",
       {.extra = "lm_head.weight", .extra_dtype = "F32", .extra_shape = {1}},
       {"lm_head.weight", "differs"}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    model m;
    create_model(&m, golden(cases[i].model), WEIR_DTYPE_F32);
    write_copy(golden(cases[i].model), path, &cases[i].change);
    weir_status checked = weir_weights_check(directory, &m.config, &m.table);
    if (checked != WEIR_BAD_INPUT) fail_msg("case %zu was not refused", i);
    for (int j = 0; j < 2; j++)
      if (!strstr(weir_status_message(), cases[i].says[j]))
        fail_msg("case %zu: no \"%s\" in: %s", i, cases[i].says[j], weir_status_message());
    assert_non_null(strstr(weir_status_message(), path));
    assert_int_equal(weir_weights_load(directory, &m.config, &m.table, m.weights), WEIR_BAD_INPUT);
    destroy_model(&m);
  }
}

static void accepts_what_is_known_to_be_harmless(void **state) {
  (void)state;
  static const struct {
    const char *model;
    edit change;
  } cases[] = {
      {"gpt2",
       {.extra = "transformer.h.0.attn.bias", .extra_dtype = "U8", .extra_shape = {1, 1, 48, 48}}},
      {"gpt2",
       {.extra = "h.1.attn.masked_bias",
        .extra_dtype = "F32",
        .extra_shape = {1},
        .strip_prefix = true}},
      {"gpt2", {.extra = "lm_head.weight", .extra_copy_of = "transformer.wte.weight"}},
      {"llama",
       {.extra = "model.layers.0.self_attn.rotary_emb.inv_freq",
        .extra_dtype = "F32",
        .extra_shape = {4}}},
      {"qwen3", {.extra = "lm_head.weight", .extra_copy_of = "model.embed_tokens.weight"}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    model m, original;
    create_model(&m, golden(cases[i].model), WEIR_DTYPE_F32);
    create_model(&original, golden(cases[i].model), WEIR_DTYPE_F32);
    load(&original, golden(cases[i].model));
    write_copy(golden(cases[i].model), path, &cases[i].change);
    load(&m, directory);
    assert_same_weights(&m, &original);
    destroy_model(&m);
    destroy_model(&original);
  }
}

static void names_are_written_as_they_were_read(void **state) {
  (void)state;
  static const edit stripped = {.strip_prefix = true};
  model m;
  create_model(&m, golden("gpt2"), WEIR_DTYPE_F32);
  write_copy(golden("gpt2"), path, &stripped);
  load(&m, directory);
  assert_string_equal(m.table.parameters[0].file_name, "wte.weight");
  assert_int_equal(weir_weights_save(path, &m.table, m.weights, WEIR_DTYPE_F32), WEIR_OK);
  weir_safetensors *file;
  assert_int_equal(weir_safetensors_open(path, &file), WEIR_OK);
  assert_non_null(weir_safetensors_find(file, "h.0.attn.c_attn.weight"));
  assert_null(weir_safetensors_find(file, "transformer.h.0.attn.c_attn.weight"));
  weir_safetensors_close(file);
  /* The same table then reads a file that has the prefix. */
  load(&m, golden("gpt2"));
  assert_string_equal(m.table.parameters[0].file_name, "transformer.wte.weight");
  destroy_model(&m);
}

static void write_text(const char *to, const char *text) {
  assert_int_equal(weir_file_replace(to, text, strlen(text)), WEIR_OK);
}

/* Two shards: one tensor in the second, all others in the first. */
static void write_shards(const char *index_of_norm) {
  static const edit first = {.without = "model.norm.weight"};
  static const int64_t shape[] = {32};
  write_copy(golden("llama"), shard_paths[0], &first);
  weir_safetensors *file, *whole;
  weir_safetensors_writer *writer;
  assert_int_equal(weir_safetensors_open(shard_paths[0], &file), WEIR_OK);
  char *original = weir_path_join(golden("llama"), "model.safetensors");
  assert_int_equal(weir_safetensors_open(original, &whole), WEIR_OK);
  assert_int_equal(weir_safetensors_writer_create(shard_paths[1], &writer), WEIR_OK);
  weir_safetensors_writer_declare(writer, "model.norm.weight", "F32", shape, 1);
  weir_safetensors_writer_begin(writer);
  weir_safetensors_writer_append(
      writer, weir_safetensors_data(whole, weir_safetensors_find(whole, "model.norm.weight")), 128);
  assert_int_equal(weir_safetensors_writer_finish(writer), WEIR_OK);

  static char text[8192];
  size_t used = (size_t)snprintf(text, sizeof text, "{\"weight_map\":{\"model.norm.weight\":%s",
                                 index_of_norm);
  for (size_t i = 0; i < weir_safetensors_count(file); i++)
    used += (size_t)snprintf(text + used, sizeof text - used, ",\"%s\":\"model-0.safetensors\"",
                             weir_safetensors_at(file, i)->name);
  snprintf(text + used, sizeof text - used, "}}");
  write_text(index_path, text);
  weir_safetensors_close(file);
  weir_safetensors_close(whole);
  free(original);
}

static void shards_are_one_model(void **state) {
  (void)state;
  static const char *const wrong[] = {"\"model-0.safetensors\"",
                                      "\"absent.safetensors\"",
                                      "\"../model-1.safetensors\"",
                                      "3",
                                      "\"\"",
                                      "null"};
  model m, original;
  create_model(&m, golden("llama"), WEIR_DTYPE_F32);
  create_model(&original, golden("llama"), WEIR_DTYPE_F32);
  load(&original, golden("llama"));
  unlink(path);
  write_shards("\"model-1.safetensors\"");
  load(&m, directory);
  assert_same_weights(&m, &original);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    write_shards(wrong[i]);
    assert_int_equal(weir_weights_check(directory, &m.config, &m.table), WEIR_BAD_INPUT);
  }
  write_text(index_path, "{\"weight_map\":[]}");
  assert_int_equal(weir_weights_check(directory, &m.config, &m.table), WEIR_BAD_INPUT);
  write_text(index_path, "not JSON");
  assert_int_equal(weir_weights_check(directory, &m.config, &m.table), WEIR_BAD_INPUT);
  unlink(index_path);
  for (int i = 0; i < 2; i++)
    unlink(shard_paths[i]);
  assert_int_equal(weir_weights_check(directory, &m.config, &m.table), WEIR_BAD_INPUT);
  assert_non_null(strstr(weir_status_message(), "model.safetensors"));
  destroy_model(&m);
  destroy_model(&original);
}

static void a_failed_save_leaves_no_trace(void **state) {
  (void)state;
  model m;
  create_model(&m, golden("llama"), WEIR_DTYPE_F32);
  load(&m, golden("llama"));
  assert_int_equal(weir_weights_save("/nonexistent/x", &m.table, m.weights, WEIR_DTYPE_F32),
                   WEIR_BAD_INPUT);
  destroy_model(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_architecture_round_trips),
      cmocka_unit_test(trained_models_round_trip),
      cmocka_unit_test(fused_and_transposed_parts_find_their_places),
      cmocka_unit_test(odd_sizes_round_trip),
      cmocka_unit_test(refuses_other_tensors_by_name),
      cmocka_unit_test(accepts_what_is_known_to_be_harmless),
      cmocka_unit_test(names_are_written_as_they_were_read),
      cmocka_unit_test(shards_are_one_model),
      cmocka_unit_test(a_failed_save_leaves_no_trace),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
