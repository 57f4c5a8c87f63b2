/* SPDX-License-Identifier: Apache-2.0
 *
 * `weir gradients` as others call it: its one line of output, and a file whose tensors have the
 * model's own names and shapes and the values that Transformers computes (tests/golden). */
#include "formats/safetensors.h"
#include "support/program.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATH_BYTES = 4096 };

typedef struct command_device {
  const char *name, *dtype; /* dtype of the file */
  double relative, of_all;  /* tolerance: relative |g*| + of_all |all| */
} command_device;

typedef struct command_case {
  const char *model;
  const command_device *device;
  const char *stash, *chunk_rows;
} command_case;

static double element(const weir_safetensors *file, const weir_safetensors_entry *entry, size_t i) {
  const void *data = weir_safetensors_data(file, entry);
  return strcmp(entry->dtype, "F64") == 0 ? ((const double *)data)[i]
                                          : (double)((const float *)data)[i];
}

static size_t n_elements(const weir_safetensors_entry *entry) {
  return entry->size_bytes / (strcmp(entry->dtype, "F64") == 0 ? 8 : 4);
}

static double norm_of(const weir_safetensors *file, const weir_safetensors_entry *entry) {
  double sum = 0.0;
  for (size_t i = 0; i < n_elements(entry); i++)
    sum += element(file, entry, i) * element(file, entry, i);
  return sqrt(sum);
}

static double norm_of_all(const weir_safetensors *model, const weir_safetensors *golden) {
  double norm = 0.0;
  for (size_t i = 0; i < weir_safetensors_count(model); i++) {
    const char *name = weir_safetensors_at(model, i)->name;
    norm = hypot(norm, norm_of(golden, weir_safetensors_find(golden, name)));
  }
  return norm;
}

static void require_close(const char *what, double error, double tolerance) {
  if (!isfinite(error) || !(error <= tolerance))
    fail_msg("%s: off by %.3g, allowed %.3g", what, error, tolerance);
}

static void compare_tensor(const weir_safetensors *found, const weir_safetensors_entry *like,
                           const weir_safetensors *golden, const command_case *test, double all) {
  const weir_safetensors_entry *entry = weir_safetensors_find(found, like->name);
  if (!entry) fail_msg("%s is not in the file of gradients", like->name);
  assert_string_equal(entry->dtype, test->device->dtype);
  assert_int_equal(entry->n_dims, like->n_dims);
  assert_memory_equal(entry->shape, like->shape, (size_t)like->n_dims * sizeof *like->shape);
  const weir_safetensors_entry *expected = weir_safetensors_find(golden, like->name);
  assert_non_null(expected);
  assert_true(n_elements(entry) > 0);
  assert_int_equal(n_elements(entry), n_elements(expected));
  double error = 0.0;
  for (size_t i = 0; i < n_elements(entry); i++) {
    double difference = element(found, entry, i) - element(golden, expected, i);
    error += difference * difference;
  }
  require_close(like->name, sqrt(error),
                test->device->relative * norm_of(golden, expected) + test->device->of_all * all);
}

static weir_safetensors *open_file(const char *directory, const char *name) {
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  weir_safetensors *file;
  if (weir_safetensors_open(path, &file) != WEIR_OK) fail_msg("%s", weir_status_message());
  return file;
}

static void remove_file(const char *directory, const char *name) {
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  assert_int_equal(remove(path), 0);
}

/* Standard output is exactly `loss <%.17g>` and a newline. */
static double read_loss(const char *directory) {
  char path[PATH_BYTES], line[64] = "", exact[64], *end;
  snprintf(path, sizeof path, "%s/out", directory);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  assert_true(fread(line, 1, sizeof line - 1, file) > strlen("loss "));
  fclose(file);
  double loss = strtod(line + strlen("loss "), &end);
  snprintf(exact, sizeof exact, "loss %.17g\n", loss);
  assert_string_equal(line, exact);
  return loss;
}

static void test_gradients(void **state) {
  const command_case *test = *state;
  char directory[PATH_BYTES - 64], messages[4096];
  char scratch[] = "/tmp/weir-test-XXXXXX";
  assert_non_null(mkdtemp(scratch));
  snprintf(directory, sizeof directory, "%s/golden/%s", WEIR_TEST_DIR, test->model);
  int code = program_run(messages, sizeof messages,
                         "gradients --model '%s' --ids '%s/ids.json' --device %s --stash %s "
                         "--chunk-rows %s --output %s/gradients.safetensors >%s/out",
                         directory, directory, test->device->name, test->stash, test->chunk_rows,
                         scratch, scratch);
  if (code != 0) fail_msg("exit %d: %s", code, messages);

  weir_safetensors *model = open_file(directory, "model.safetensors");
  weir_safetensors *golden = open_file(directory, "golden.safetensors");
  weir_safetensors *found = open_file(scratch, "gradients.safetensors");
  double loss = element(golden, weir_safetensors_find(golden, "loss"), 0);
  double all = norm_of_all(model, golden);
  require_close("loss", fabs(read_loss(scratch) - loss), test->device->relative * loss);
  assert_int_equal(weir_safetensors_count(found), weir_safetensors_count(model));
  for (size_t i = 0; i < weir_safetensors_count(model); i++)
    compare_tensor(found, weir_safetensors_at(model, i), golden, test, all);

  weir_safetensors_close(found);
  weir_safetensors_close(golden);
  weir_safetensors_close(model);
  remove_file(scratch, "gradients.safetensors");
  remove_file(scratch, "out");
  assert_int_equal(rmdir(scratch), 0);
}

static const command_device ref = {"ref", "F64", 1e-9, 0.0}, cpu = {"cpu", "F32", 1e-5, 1e-8};

static const command_case cases[] = {
    {"llama", &ref, "all", "512"},
    {"llama", &cpu, "input", "16"},
    {"llama-tied-biases", &ref, "attn", "13"},
    {"llama-tied-biases", &cpu, "all", "512"},
    {"qwen3", &ref, "input", "8"},
    {"qwen3", &cpu, "attn", "512"},
    {"gpt2", &ref, "input", "20"},
    {"gpt2", &cpu, "attn", "7"},
    {"gpt2-untied-gelu", &ref, "attn", "512"},
    {"gpt2-untied-gelu", &cpu, "input", "1"},
};

enum { N_CASES = sizeof cases / sizeof *cases };

int main(void) {
  struct CMUnitTest tests[N_CASES] = {0};
  char names[N_CASES][64];
  for (size_t i = 0; i < N_CASES; i++) {
    snprintf(names[i], sizeof names[i], "weir gradients of %s on %s", cases[i].model,
             cases[i].device->name);
    tests[i] = (struct CMUnitTest){.name = names[i],
                                   .test_func = test_gradients,
                                   .initial_state = (void *)(uintptr_t)&cases[i]};
  }
  return cmocka_run_group_tests_name("weir gradients", tests, NULL, NULL);
}
