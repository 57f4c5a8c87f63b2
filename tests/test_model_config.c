/* SPDX-License-Identifier: Apache-2.0
 *
 * config.json: what is read, what is refused and in which words, and every key damaged in turn. */
#include "base/files.h"
#include "formats/model_config.h"
#include "model/parameter.h"
#include "support/golden_models.h"

#include <jansson.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

static char directory[] = "/tmp/weir-config-XXXXXX";
static char path[256];

static int make_directory(void **state) {
  (void)state;
  if (!mkdtemp(directory)) return -1;
  snprintf(path, sizeof path, "%s/config.json", directory);
  return 0;
}

static int remove_directory(void **state) {
  (void)state;
  unlink(path);
  return rmdir(directory);
}

static const char llama[] =
    "{\"model_type\":\"llama\",\"vocab_size\":100,\"hidden_size\":32,\"intermediate_size\":40,"
    "\"num_hidden_layers\":2,\"num_attention_heads\":4}";
static const char qwen3[] =
    "{\"model_type\":\"qwen3\",\"vocab_size\":100,\"hidden_size\":32,\"intermediate_size\":40,"
    "\"num_hidden_layers\":2,\"num_attention_heads\":4}";
static const char qwen2[] =
    "{\"model_type\":\"qwen2\",\"vocab_size\":100,\"hidden_size\":32,\"intermediate_size\":40,"
    "\"num_hidden_layers\":2,\"num_attention_heads\":4}";
static const char mistral[] =
    "{\"model_type\":\"mistral\",\"vocab_size\":100,\"hidden_size\":32,\"intermediate_size\":40,"
    "\"num_hidden_layers\":2,\"num_attention_heads\":4,\"num_key_value_heads\":2}";
static const char phi3[] =
    "{\"model_type\":\"phi3\",\"vocab_size\":100,\"hidden_size\":32,\"intermediate_size\":40,"
    "\"num_hidden_layers\":2,\"num_attention_heads\":4}";
static const char gemma2[] =
    "{\"model_type\":\"gemma2\",\"vocab_size\":100,\"hidden_size\":32,\"intermediate_size\":40,"
    "\"num_hidden_layers\":2,\"num_attention_heads\":4,\"num_key_value_heads\":2}";
static const char gemma3[] =
    "{\"model_type\":\"gemma3_text\",\"vocab_size\":100,\"hidden_size\":32,\"intermediate_size\":"
    "40,"
    "\"num_hidden_layers\":2,\"num_attention_heads\":4,\"num_key_value_heads\":2}";
static const char gpt2[] =
    "{\"model_type\":\"gpt2\",\"vocab_size\":100,\"n_embd\":32,\"n_layer\":2,"
    "\"n_head\":4,\"n_positions\":64}";

static weir_status read_text(const char *text, weir_model_config *config) {
  unlink(path); /* or ext4 waits for the disk when a truncated file is closed */
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
  assert_int_equal(fclose(file), 0);
  return weir_model_config_read(path, config);
}

/* `base` with the keys of `changes` set over it; a changed key whose value is "REMOVE" goes. */
static weir_status read_changed(const char *base, const char *changes, weir_model_config *config) {
  json_t *root = json_loads(base, 0, NULL), *change = json_loads(changes, 0, NULL), *value;
  assert_non_null(root);
  assert_non_null(change);
  const char *key;
  json_object_update(root, change);
  json_object_foreach(change, key, value) {
    const char *text = json_string_value(value);
    if (text && strcmp(text, "REMOVE") == 0) json_object_del(root, key);
  }
  char *text = json_dumps(root, 0);
  weir_status status = read_text(text, config);
  free(text);
  json_decref(root);
  json_decref(change);
  return status;
}

static void defaults_are_those_of_transformers(void **state) {
  (void)state;
  weir_model_config config;
  assert_int_equal(read_text(llama, &config), WEIR_OK);
  assert_int_equal(config.num_key_value_heads, 4);
  assert_int_equal(config.head_dim, 8);
  assert_int_equal(config.norm, WEIR_NORM_RMS);
  assert_int_equal(config.hidden_act, WEIR_ACTIVATION_SILU);
  assert_true(config.gated_mlp && !config.qk_norm && !config.learned_positions);
  assert_true(!config.qkv_bias && !config.attention_output_bias && !config.mlp_bias);
  assert_false(config.tie_word_embeddings);
  assert_true(config.rope_theta == 10000 && config.norm_epsilon == 1e-6);
  assert_true(config.initializer_range == 0.02);
  assert_int_equal(config.dtype, WEIR_DTYPE_F32);
  assert_int_equal(config.bos_token_id, -1);
  assert_int_equal(config.n_eos_tokens, 0);
  assert_int_equal(config.n_ignored_keys, 0);

  assert_int_equal(read_text(qwen3, &config), WEIR_OK);
  assert_int_equal(config.head_dim, 128);
  assert_true(config.qk_norm);

  assert_int_equal(read_text(gpt2, &config), WEIR_OK);
  assert_int_equal(config.norm, WEIR_NORM_LAYER);
  assert_int_equal(config.intermediate_size, 128);
  assert_int_equal(config.hidden_act, WEIR_ACTIVATION_GELU_TANH);
  assert_true(config.learned_positions && !config.gated_mlp && config.tie_word_embeddings);
  assert_true(config.qkv_bias && config.attention_output_bias && config.mlp_bias);
  assert_true(config.norm_epsilon == 1e-5);
  assert_int_equal(config.max_position_embeddings, 64);
}

static void both_spellings_are_read(void **state) {
  (void)state;
  weir_model_config config;
  assert_int_equal(read_changed(llama, "{\"rope_theta\":5e5,\"rope_scaling\":null}", &config), 0);
  assert_true(config.rope_theta == 5e5);
  assert_int_equal(read_changed(llama,
                                "{\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":"
                                "1000000}}",
                                &config),
                   0);
  assert_true(config.rope_theta == 1e6);
  assert_int_equal(read_changed(llama, "{\"rope_scaling\":{\"type\":\"default\"}}", &config), 0);
  assert_int_equal(read_changed(llama, "{\"dtype\":\"bfloat16\"}", &config), 0);
  assert_int_equal(config.dtype, WEIR_DTYPE_BF16);
  assert_int_equal(read_changed(llama, "{\"torch_dtype\":\"torch.float16\"}", &config), 0);
  assert_int_equal(config.dtype, WEIR_DTYPE_F16);
  assert_int_equal(read_changed(llama, "{\"eos_token_id\":7,\"bos_token_id\":0}", &config), 0);
  assert_int_equal(config.n_eos_tokens, 1);
  assert_int_equal(config.eos_token_ids[0], 7);
  assert_int_equal(config.bos_token_id, 0);
  assert_int_equal(read_changed(llama, "{\"eos_token_id\":[7,9],\"bos_token_id\":null}", &config),
                   0);
  assert_int_equal(config.n_eos_tokens, 2);
  assert_int_equal(config.eos_token_ids[1], 9);
  assert_int_equal(read_changed(qwen3,
                                "{\"head_dim\":12,\"layer_types\":[\"full_attention\","
                                "\"full_attention\"],\"sliding_window\":4096}",
                                &config),
                   0);
  assert_int_equal(config.head_dim, 12);
  assert_int_equal(read_changed(llama,
                                "{\"model_type\":\"REMOVE\",\"architectures\":"
                                "[\"LlamaForCausalLM\"]}",
                                &config),
                   0);
}

static void expect_windows(const char *base, const char *changes, int64_t first, int64_t second) {
  weir_model_config config;
  if (read_changed(base, changes, &config) != WEIR_OK) fail_msg("%s", weir_status_message());
  assert_int_equal(weir_model_config_window(&config, 0), first);
  assert_int_equal(weir_model_config_window(&config, 1), second);
}

static void windows_are_those_of_transformers(void **state) {
  (void)state;
  expect_windows(llama, "{}", 0, 0);
  expect_windows(gpt2, "{}", 0, 0);
  expect_windows(mistral, "{}", 4096, 4096);
  expect_windows(mistral, "{\"sliding_window\":null}", 0, 0);
  expect_windows(mistral, "{\"sliding_window\":7}", 7, 7);
  expect_windows(phi3, "{}", 0, 0);
  expect_windows(gemma2, "{}", 4096, 0);
  expect_windows(gemma2, "{\"layer_types\":[\"full_attention\",\"sliding_attention\"]}", 0, 4096);
  expect_windows(gemma3, "{\"sliding_window\":512}", 512, 512);
  expect_windows(gemma3, "{\"sliding_window\":512,\"sliding_window_pattern\":2}", 512, 0);
  expect_windows(gemma3, "{\"sliding_window_pattern\":1}", 0, 0);
  expect_windows(phi3, "{\"sliding_window\":2047}", 2047, 2047);
  expect_windows(qwen2, "{\"sliding_window\":7,\"max_window_layers\":1}", 0, 0);
  expect_windows(qwen2, "{\"use_sliding_window\":true,\"max_window_layers\":1}", 0, 4096);
  expect_windows(qwen2, "{\"use_sliding_window\":true,\"max_window_layers\":0}", 4096, 4096);
  expect_windows(qwen2, "{\"use_sliding_window\":true}", 0, 0); /* from layer 28 on */
  expect_windows(qwen3,
                 "{\"use_sliding_window\":true,\"sliding_window\":3,\"max_window_layers\":1,"
                 "\"layer_types\":[\"sliding_attention\",\"full_attention\"]}",
                 3, 0);
}

static void gemma_defaults_are_those_of_transformers(void **state) {
  (void)state;
  weir_model_config config;
  assert_int_equal(read_text(gemma2, &config), WEIR_OK);
  assert_int_equal(config.norm, WEIR_NORM_RMS_PLUS_ONE);
  assert_int_equal(config.hidden_act, WEIR_ACTIVATION_GELU_TANH);
  assert_true(config.post_norms && config.scaled_embeddings && config.gated_mlp);
  assert_true(config.tie_word_embeddings && !config.qk_norm);
  assert_true(config.head_dim == 256 && config.query_pre_attn_scalar == 256);
  assert_true(config.attention_softcap == 50 && config.logit_softcap == 30);
  assert_true(config.rope_theta == 10000 && config.rope_local_base_freq == 0);
  assert_int_equal(read_changed(gemma2,
                                "{\"attn_logit_softcapping\":null,\"final_logit_softcapping\":null,"
                                "\"query_pre_attn_scalar\":144.5}",
                                &config),
                   WEIR_OK);
  assert_true(config.attention_softcap == 0 && config.logit_softcap == 0);
  assert_true(config.query_pre_attn_scalar == 144.5);

  assert_int_equal(read_text(gemma3, &config), WEIR_OK);
  assert_true(config.qk_norm && config.post_norms && config.scaled_embeddings);
  assert_true(config.attention_softcap == 0 && config.logit_softcap == 0);
  assert_true(config.rope_theta == 1e6 && config.rope_local_base_freq == 1e4);
  assert_int_equal(
      read_changed(
          gemma3,
          "{\"rope_parameters\":{\"full_attention\":{\"rope_type\":\"linear\",\"factor\":8,"
          "\"rope_theta\":3e6},\"sliding_attention\":{\"rope_type\":\"default\","
          "\"rope_theta\":2e4}}}",
          &config),
      WEIR_OK);
  assert_true(config.rope_theta == 3e6 && config.rope_local_base_freq == 2e4);
  assert_true(config.rope_scaling.kind == WEIR_ROPE_LINEAR && config.rope_scaling.factor == 8);
}

static void rope_scaling_is_read_in_both_spellings(void **state) {
  (void)state;
  static const char *const texts[] = {
      "{\"rope_theta\":5e5,\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8.0,"
      "\"low_freq_factor\":1,\"high_freq_factor\":4.0,\"original_max_position_embeddings\":8192}}",
      "{\"rope_parameters\":{\"rope_theta\":5e5,\"rope_type\":\"llama3\",\"factor\":8.0,"
      "\"low_freq_factor\":1,\"high_freq_factor\":4.0,\"original_max_position_embeddings\":8192}}",
  };
  weir_model_config config;
  for (int i = 0; i < 2; i++) {
    assert_int_equal(read_changed(llama, texts[i], &config), WEIR_OK);
    assert_int_equal(config.rope_scaling.kind, WEIR_ROPE_LLAMA3);
    assert_true(config.rope_theta == 5e5 && config.rope_scaling.factor == 8);
    assert_true(config.rope_scaling.low_freq_factor == 1);
    assert_true(config.rope_scaling.high_freq_factor == 4);
    assert_true(config.rope_scaling.original_max_position_embeddings == 8192);
  }
  assert_int_equal(
      read_changed(llama, "{\"rope_scaling\":{\"type\":\"linear\",\"factor\":2}}", &config), 0);
  assert_int_equal(config.rope_scaling.kind, WEIR_ROPE_LINEAR);
  assert_int_equal(read_text(llama, &config), WEIR_OK);
  assert_int_equal(config.rope_scaling.kind, WEIR_ROPE_DEFAULT);
}

static void dropout_and_unknown_keys_are_counted(void **state) {
  (void)state;
  weir_model_config config;
  assert_int_equal(read_changed(gpt2, "{\"resid_pdrop\":0.1,\"zeta\":1,\"_eta\":{}}", &config), 0);
  assert_true(config.asks_for_dropout);
  assert_int_equal(config.n_ignored_keys, 2);
  assert_string_equal(config.ignored_keys, "zeta, _eta");
  assert_int_equal(read_changed(gpt2, "{\"resid_pdrop\":0.0}", &config), 0);
  assert_false(config.asks_for_dropout);

  json_t *many = json_object();
  for (int i = 0; i < 100; i++) {
    char key[32];
    snprintf(key, sizeof key, "unknown_key_number_%d", i);
    json_object_set_new(many, key, json_true());
  }
  char *text = json_dumps(many, 0);
  assert_int_equal(read_changed(gpt2, text, &config), 0);
  assert_int_equal(config.n_ignored_keys, 100);
  size_t n = strlen(config.ignored_keys);
  assert_string_equal(config.ignored_keys + n - 5, ", ...");
  free(text);
  json_decref(many);
}

static void refuses_and_says_why(void **state) {
  (void)state;
  static const struct {
    const char *base, *changes, *says;
  } cases[] = {
      {llama, "{\"model_type\":\"mamba\"}", "qwen3"},
      {llama, "{\"model_type\":3}", "model_type"},
      {llama, "{\"model_type\":\"REMOVE\"}", "model_type"},
      {llama, "{\"architectures\":[\"LlamaForSequenceClassification\"]}", "LlamaForCausalLM"},
      {llama, "{\"architectures\":\"LlamaForCausalLM\",\"model_type\":\"REMOVE\"}", "model_type"},
      {llama, "{\"hidden_act\":\"relu\"}", "silu"},
      {llama, "{\"hidden_act\":1}", "hidden_act"},
      {gpt2, "{\"activation_function\":\"tanh\"}", "gelu_new"},
      {llama, "{\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4}}", "default"},
      {llama, "{\"rope_scaling\":{\"type\":\"dynamic\",\"factor\":4}}", "default"},
      {llama, "{\"rope_scaling\":{\"rope_type\":\"default\",\"factor\":4}}", "rope_scaling"},
      {llama, "{\"rope_parameters\":{\"full_attention\":{}}}", "rope_parameters"},
      {llama, "{\"rope_parameters\":[]}", "object"},
      {llama, "{\"rope_theta\":0}", "rope_theta"},
      {llama, "{\"rope_theta\":\"big\"}", "rope_theta"},
      {llama, "{\"dtype\":\"int8\"}", "bfloat16"},
      {llama, "{\"eos_token_id\":\"2\"}", "eos_token_id"},
      {llama, "{\"eos_token_id\":[1,2,3,4,5,6,7,8,9]}", "at most 8"},
      {llama, "{\"bos_token_id\":-5}", "bos_token_id"},
      {llama, "{\"num_attention_heads\":5}", "multiple"},
      {llama, "{\"num_key_value_heads\":3}", "multiple"},
      {llama, "{\"head_dim\":7}", "odd"},
      {llama, "{\"hidden_size\":32.0}", "integer"},
      {llama, "{\"hidden_size\":0}", "integer"},
      {llama, "{\"hidden_size\":-32}", "integer"},
      {llama, "{\"hidden_size\":true}", "integer"},
      {llama, "{\"hidden_size\":2147483648}", "integer"},
      {llama, "{\"num_hidden_layers\":10001}", "layers"},
      {llama, "{\"hidden_size\":2147483640,\"intermediate_size\":2147483647}", "parameters"},
      {gpt2, "{\"n_embd\":2147483644}", "parameters"},
      {llama, "{\"rms_norm_eps\":0}", "rms_norm_eps"},
      {llama, "{\"rms_norm_eps\":\"1e-5\"}", "rms_norm_eps"},
      {llama, "{\"tie_word_embeddings\":1}", "true or false"},
      {llama, "{\"sliding_window\":4096}", "sliding_window"},
      {llama, "{\"quantization_config\":{\"bits\":4}}", "quantization_config"},
      {llama, "{\"partial_rotary_factor\":0.5}", "partial_rotary_factor"},
      {llama, "{\"rope_scaling\":{\"rope_type\":\"linear\"}}", "every key"},
      {llama, "{\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":0}}", "above 0"},
      {llama, "{\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":2,\"low_freq_factor\":1}}",
       "no more than"},
      {llama,
       "{\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8,\"low_freq_factor\":4,"
       "\"high_freq_factor\":4,\"original_max_position_embeddings\":8192}}",
       "below high_freq_factor"},
      {mistral, "{\"num_key_value_heads\":\"REMOVE\"}", "missing"},
      {mistral, "{\"sliding_window\":0}", "sliding_window"},
      {mistral, "{\"sliding_window\":2.5}", "sliding_window"},
      {mistral, "{\"layer_types\":[\"full_attention\",\"sliding_attention\"]}", "follow"},
      {phi3, "{\"rope_scaling\":{\"type\":\"longrope\",\"short_factor\":[],\"long_factor\":[]}}",
       "default"},
      {gemma2, "{\"sliding_window\":null}", "sliding_window"},
      {gemma2, "{\"sliding_window_pattern\":3}", "sliding_window_pattern"},
      {gemma2, "{\"attn_logit_softcapping\":-1}", "attn_logit_softcapping"},
      {gemma2, "{\"final_logit_softcapping\":\"30\"}", "above 0"},
      {gemma2, "{\"query_pre_attn_scalar\":0}", "above 0"},
      {gemma3, "{\"attn_logit_softcapping\":50}", "attn_logit_softcapping"},
      {gemma3, "{\"use_bidirectional_attention\":true}", "bidirectional"},
      {gemma3, "{\"rope_parameters\":{\"full_attention\":{},\"other\":{}}}", "no more than"},
      {gemma3,
       "{\"rope_parameters\":{\"sliding_attention\":{\"rope_type\":\"linear\",\"factor\":2}}}",
       "sliding_attention"},
      {gemma3, "{\"model_type\":\"gemma3\"}", "gemma3_text"},
      {phi3, "{\"partial_rotary_factor\":0.75}", "partial_rotary_factor"},
      {mistral, "{\"attention_bias\":true}", "attention_bias"},
      {qwen2, "{\"attention_bias\":false}", "attention_bias"},
      {qwen2, "{\"max_window_layers\":-1}", "from 0"},
      {qwen3, "{\"use_sliding_window\":true,\"layer_types\":[\"full_attention\",3]}",
       "layer_types"},
      {qwen3,
       "{\"use_sliding_window\":true,\"sliding_window\":null,\"layer_types\":[\"full_attention\","
       "\"sliding_attention\"]}",
       "sliding_window is on"},
      {qwen3, "{\"use_sliding_window\":1}", "use_sliding_window"},
      {qwen3, "{\"layer_types\":[\"full_attention\",\"sliding_attention\"]}", "layer_types"},
      {qwen3, "{\"layer_types\":[\"full_attention\"]}", "layer_types"},
      {gpt2, "{\"scale_attn_weights\":false}", "scale_attn_weights"},
      {gpt2, "{\"scale_attn_weights\":null}", "scale_attn_weights"},
      {gpt2, "{\"scale_attn_by_inverse_layer_idx\":true}", "inverse_layer"},
      {gpt2, "{\"reorder_and_upcast_attn\":true}", "reorder"},
      {gpt2, "{\"add_cross_attention\":true}", "add_cross_attention"},
      {gpt2, "{\"resid_pdrop\":\"high\"}", "resid_pdrop"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    weir_model_config config;
    if (read_changed(cases[i].base, cases[i].changes, &config) != WEIR_BAD_INPUT)
      fail_msg("not refused: %s", cases[i].changes);
    const char *message = weir_status_message();
    if (!strstr(message, cases[i].says) || !strstr(message, path))
      fail_msg("%s: message lacks \"%s\": %s", cases[i].changes, cases[i].says, message);
  }
}

static void refuses_what_is_not_a_configuration(void **state) {
  (void)state;
  static const char *const texts[] = {"",
                                      "[]",
                                      "3",
                                      "{",
                                      "{\"a\":1,\"a\":1}",
                                      "{\"a\":\"\xff\"}",
                                      "{\"vocab_size\":1e999}",
                                      "{\"vocab_size\":99999999999999999999}",
                                      "{\"rms_norm_eps\":NaN}",
                                      "{} {}"};
  weir_model_config config;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    assert_int_equal(read_text(texts[i], &config), WEIR_BAD_INPUT);
  assert_int_equal(weir_model_config_read("/nonexistent", &config), WEIR_BAD_INPUT);
  assert_int_equal(weir_model_config_read("/", &config), WEIR_BAD_INPUT);
}

static void read_golden(const char *name, json_t **root, weir_model_config *config) {
  char file[512];
  snprintf(file, sizeof file, "%s/golden/%s/config.json", WEIR_TEST_DIR, name);
  *root = json_load_file(file, 0, NULL);
  assert_non_null(*root);
  assert_int_equal(weir_model_config_read(file, config), WEIR_OK);
  assert_int_equal(config->n_ignored_keys, 0);
}

/* Every key of every model: gone, and of every wrong kind.  Whatever the answer, no crash, and a
 * refusal always has a message of its own. */
static void survives_every_damaged_key(void **state) {
  (void)state;
  static const char *const values[] = {"null",   "true",
                                       "\"x\"",  "[]",
                                       "{}",     "-1",
                                       "0",      "0.5",
                                       "1e308",  "-1e-5",
                                       "[[]]",   "9223372036854775807",
                                       "[null]", "{\"rope_type\":[]}",
                                       "7",      "2147483647"};
  for (size_t i = 0; i < N_GOLDEN_MODELS; i++) {
    weir_model_config config;
    json_t *root;
    read_golden(golden_models[i], &root, &config);
    void *next = json_object_iter(root);
    for (; next; next = json_object_iter_next(root, next)) {
      const char *key = json_object_iter_key(next);
      for (size_t j = 0; j <= sizeof values / sizeof *values; j++) {
        json_t *damaged = json_copy(root);
        if (j == 0)
          json_object_del(damaged, key);
        else
          json_object_set_new(damaged, key, json_loads(values[j - 1], JSON_DECODE_ANY, NULL));
        char *text = json_dumps(damaged, 0);
        weir_fail(WEIR_FAILED, "stale");
        if (read_text(text, &config) != WEIR_OK)
          assert_non_null(strstr(weir_status_message(), path));
        else
          assert_true(weir_model_config_parameters(&config) > 0);
        free(text);
        json_decref(damaged);
      }
    }
    json_decref(root);
  }
}

/* What is written reads back to the same capabilities. */
static void assert_same_config(const weir_model_config *a, const weir_model_config *b) {
#define SAME(member) assert_memory_equal(&a->member, &b->member, sizeof a->member)
  SAME(architecture);
  SAME(vocab_size);
  SAME(hidden_size);
  SAME(intermediate_size);
  SAME(num_hidden_layers);
  SAME(num_attention_heads);
  SAME(num_key_value_heads);
  SAME(head_dim);
  SAME(max_position_embeddings);
  SAME(norm);
  SAME(norm_epsilon);
  SAME(hidden_act);
  SAME(gated_mlp);
  SAME(qk_norm);
  SAME(learned_positions);
  SAME(qkv_bias);
  SAME(attention_output_bias);
  SAME(mlp_bias);
  SAME(tie_word_embeddings);
  SAME(rope_theta);
  SAME(rope_scaling);
  SAME(sliding_window);
  SAME(rope_local_base_freq);
  SAME(post_norms);
  SAME(scaled_embeddings);
  SAME(attention_softcap);
  SAME(logit_softcap);
  SAME(query_pre_attn_scalar);
  SAME(windowed_layers);
  SAME(initializer_range);
  SAME(bos_token_id);
  SAME(pad_token_id);
  SAME(eos_token_ids);
  SAME(n_eos_tokens);
#undef SAME
}

static void writing_round_trips(void **state) {
  (void)state;
  for (size_t i = 0; i < N_GOLDEN_MODELS; i++) {
    weir_model_config config, again;
    json_t *root;
    read_golden(golden_models[i], &root, &config);
    config.norm_epsilon = 1.1e-5 / 3; /* needs all digits */
    config.eos_token_ids[0] = 7;
    config.n_eos_tokens = (int64_t)i % 3;
    config.eos_token_ids[1] = i % 3 == 2 ? 9 : 0;
    if (i % 3 == 0) config.eos_token_ids[0] = 0;
    assert_int_equal(weir_model_config_write(directory, &config, WEIR_DTYPE_BF16), WEIR_OK);
    assert_int_equal(weir_model_config_read(directory, &again), WEIR_OK);
    assert_same_config(&config, &again);
    assert_int_equal(again.dtype, WEIR_DTYPE_BF16);
    assert_int_equal(again.n_ignored_keys, 0);
    json_t *written = json_load_file(path, 0, NULL);
    assert_true(json_equal(json_object_get(written, "architectures"),
                           json_object_get(root, "architectures")));
    assert_true(
        json_equal(json_object_get(written, "model_type"), json_object_get(root, "model_type")));
    json_decref(written);
    json_decref(root);
  }
}

static void parameters_are_those_of_the_table(void **state) {
  (void)state;
  for (size_t i = 0; i < N_GOLDEN_MODELS; i++) {
    weir_model_config config;
    json_t *root;
    weir_parameter_table table;
    read_golden(golden_models[i], &root, &config);
    json_decref(root);
    assert_int_equal(weir_parameter_table_create(&config, &table), WEIR_OK);
    int64_t n = 0;
    for (int64_t j = 0; j < table.n_parameters; j++)
      n += table.parameters[j].rows * table.parameters[j].cols;
    weir_parameter_table_destroy(&table);
    assert_int_equal(weir_model_config_parameters(&config), n);
  }
}

static void real_configurations_are_read(void **state) {
  (void)state;
  static const struct {
    const char *file;
    int64_t n_parameters;
  } cases[] = {
      {"configs/Qwen3-0.6B.config.json", 596049920}, {"configs/Qwen3-4B.config.json", 4022468096},
      {"configs/Qwen3-8B.config.json", 8190735360},  {"models/stories260K", 260032},
      {"models/tiny-random-gpt2", 111968},
  };
  const char *fixtures = getenv("WEIR_FIXTURES");
  if (!fixtures) {
    print_message("skipped: WEIR_FIXTURES is not set, real configurations\n");
    skip();
  }
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *file = weir_path_join(fixtures, cases[i].file);
    weir_model_config config;
    if (weir_model_config_read(file, &config) != WEIR_OK) fail_msg("%s", weir_status_message());
    assert_int_equal(config.n_ignored_keys, 0);
    assert_int_equal(weir_model_config_parameters(&config), cases[i].n_parameters);
    free(file);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults_are_those_of_transformers),
      cmocka_unit_test(both_spellings_are_read),
      cmocka_unit_test(windows_are_those_of_transformers),
      cmocka_unit_test(gemma_defaults_are_those_of_transformers),
      cmocka_unit_test(rope_scaling_is_read_in_both_spellings),
      cmocka_unit_test(dropout_and_unknown_keys_are_counted),
      cmocka_unit_test(refuses_and_says_why),
      cmocka_unit_test(refuses_what_is_not_a_configuration),
      cmocka_unit_test(survives_every_damaged_key),
      cmocka_unit_test(writing_round_trips),
      cmocka_unit_test(parameters_are_those_of_the_table),
      cmocka_unit_test(real_configurations_are_read),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
