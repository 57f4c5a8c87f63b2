/* SPDX-License-Identifier: Apache-2.0
 *
 * `weir eval` from outside: the three forms of its report say the same, and a model that computes
 * nothing usable is an error, here and in `weir gradients`. */
#include "support/program.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char model[] = WEIR_TEST_DIR "/golden/llama";

static void reports_agree(void **state) {
  (void)state;
  char text[16384], json_text[16384], first[16];
  assert_int_equal(
      program_run(text, sizeof text, "eval --model %s --ids %s/ids.json", model, model), 0);
  assert_int_equal(program_run(json_text, sizeof json_text,
                               "eval --model %s --ids %s/ids.json --per-token --json", model,
                               model),
                   0);
  double loss, perplexity;
  long long tokens;
  assert_int_equal(sscanf(text, "loss %lf perplexity %lf tokens %lld", &loss, &perplexity, &tokens),
                   3);
  json_t *report = json_loads(json_text, 0, NULL);
  const json_t *losses = json_object_get(report, "token_losses");
  assert_true(json_real_value(json_object_get(report, "loss")) == loss);
  assert_true(fabs(perplexity - exp(loss)) <= 1e-7 * perplexity);
  assert_int_equal(json_integer_value(json_object_get(report, "tokens")), tokens);
  assert_int_equal(json_array_size(losses), tokens + 1);
  assert_true(json_is_null(json_array_get(losses, 0)));
  double sum = 0;
  for (size_t i = 1; i < json_array_size(losses); i++) {
    assert_true(json_is_real(json_array_get(losses, i)));
    sum += json_real_value(json_array_get(losses, i));
  }
  if (!(fabs(sum / (double)tokens - loss) <= 1e-6 * loss))
    fail_msg("token losses have the mean %g, the loss is %g", sum / (double)tokens, loss);
  json_decref(report);

  assert_int_equal(
      program_run(text, sizeof text, "eval --model %s --ids %s/ids.json --per-token", model, model),
      0);
  assert_int_equal(sscanf(text, "%*d\t%15s\n", first), 1);
  assert_string_equal(first, "-");
}

/* The last weight of the file becomes a NaN. */
static void a_nan_is_an_error(void **state) {
  (void)state;
  char directory[] = "/tmp/weir-eval-XXXXXX", line[1024], out[4096];
  assert_non_null(mkdtemp(directory));
  snprintf(line, sizeof line,
           "cp %s/* %s && cd %s && printf '\\000\\000\\300\\177' | dd of=model.safetensors bs=1 "
           "seek=$(($(wc -c <model.safetensors) - 4)) conv=notrunc 2>/dev/null",
           model, directory, directory);
  assert_int_equal(system(line), 0);
  static const char *const commands[] = {"eval", "eval --json", "gradients --output out"};
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    assert_int_equal(chdir(directory), 0);
    assert_int_equal(
        program_run(out, sizeof out, "%s --model %s --ids ids.json", commands[i], directory), 1);
    if (!strstr(out, directory) || !strstr(out, "the loss is"))
      fail_msg("%s: %s", commands[i], out);
    assert_int_equal(access("out", F_OK), -1);
  }
  snprintf(line, sizeof line, "rm -r %s", directory);
  assert_int_equal(system(line), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reports_agree),
      cmocka_unit_test(a_nan_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
