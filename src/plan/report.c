/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/report.h"

#include "base/number_text.h"

#include <stdio.h>
#include <stdlib.h>

void weir_step_position_text(const weir_step_position *position, char *text, size_t text_bytes) {
  if (position->layer >= 0)
    snprintf(text, text_bytes, "%s, layer %lld, row %lld", position->phase,
             (long long)position->layer, (long long)position->first_row);
  else
    snprintf(text, text_bytes, "%s, row %lld", position->phase, (long long)position->first_row);
}

static int64_t longest_row(const weir_plan_request *request) {
  int64_t longest = 0;
  for (int64_t i = 0; i < request->n_rows; i++)
    if (request->rows[i].n_tokens > longest) longest = request->rows[i].n_tokens;
  return longest;
}

static int64_t tokens_per_step(const weir_plan_request *request) {
  int64_t n_tokens = 0;
  for (int64_t i = 0; i < request->n_rows; i++)
    n_tokens += request->rows[i].n_tokens;
  return n_tokens;
}

/* Name of the policy of every layer, or "mixed". */
static const char *stash_name(const weir_plan_request *request) {
  const weir_stash_policy *stash = request->settings.stash;
  for (int64_t layer = 1; layer < request->config->num_hidden_layers; layer++)
    if (stash[layer] != stash[0]) return "mixed";
  return weir_stash_policy_name(stash[0]);
}

static void print_dtypes(FILE *out, const weir_plan_request *request) {
  weir_holding table[WEIR_HOLDINGS];
  weir_precision_table(&request->settings.precision, request->real, table);
  fprintf(out, "  dtypes: ");
  for (int i = 0; i < WEIR_HOLDINGS; i++)
    fprintf(out, "%s%s %s", i ? ", " : "", table[i].what, weir_dtype_name(table[i].dtype));
  fprintf(out, "\n");
}

static void print_bytes(FILE *out, const char *name, uint64_t bytes, const char *help) {
  char size[WEIR_BYTES_TEXT];
  fprintf(out, "  %-12s %11s  %16llu bytes  %s\n", name, weir_bytes_to_text(bytes, size),
          (unsigned long long)bytes, help);
}

char *weir_plan_text(const weir_plan_request *request, const weir_plan *plan) {
  char *text = NULL, where[128];
  size_t text_bytes;
  FILE *out = open_memstream(&text, &text_bytes);
  if (!out) return NULL;
  fprintf(out, "plan for %lld parameters, %lld layers, rows of %lld tokens, %lld a step\n",
          (long long)weir_model_config_parameters(request->config),
          (long long)request->config->num_hidden_layers, (long long)longest_row(request),
          (long long)tokens_per_step(request));
  fprintf(out, "  chunks of %lld rows, head %lld rows x %lld classes, stash %s, %d threads\n",
          (long long)request->settings.chunk_rows, (long long)request->settings.head_rows,
          (long long)request->settings.head_columns, stash_name(request), request->n_threads);
  print_dtypes(out, request);
  fprintf(out, "held at the peak:\n");
  for (int kind = 0; kind < WEIR_MEMORY_KIND_COUNT; kind++)
    if (plan->dry.bytes_by_kind[kind])
      print_bytes(out, weir_memory_kind_name((weir_memory_kind)kind), plan->dry.bytes_by_kind[kind],
                  weir_memory_kind_help((weir_memory_kind)kind));
  if (plan->data_bytes) print_bytes(out, "rows", plan->data_bytes, "tokens and tables of the data");
  if (plan->library_bytes)
    print_bytes(out, "library", plan->library_bytes, "program, libraries and thread stacks");
  weir_step_position_text(&plan->dry.peak_position, where, sizeof where);
  fprintf(out, "peak of the process: ");
  char size[WEIR_BYTES_TEXT];
  fprintf(out, "%s (%llu bytes), in %s (%s)\n", weir_bytes_to_text(plan->peak_bytes, size),
          (unsigned long long)plan->peak_bytes, plan->dry.peak_operation, where);
  fprintf(out, "one step: %.3g TFLOP, %.3g GB moved\n", plan->dry.flops / 1e12,
          plan->dry.bytes_moved / 1e9);
  fclose(out);
  return text;
}

static json_t *bytes_json(uint64_t bytes) {
  return json_integer((json_int_t)bytes);
}

static json_t *kinds_json(const weir_plan *plan) {
  json_t *kinds = json_object();
  for (int kind = 0; kind < WEIR_MEMORY_KIND_COUNT; kind++)
    json_object_set_new(kinds, weir_memory_kind_name((weir_memory_kind)kind),
                        bytes_json(plan->dry.bytes_by_kind[kind]));
  json_object_set_new(kinds, "rows", bytes_json(plan->data_bytes));
  json_object_set_new(kinds, "library", bytes_json(plan->library_bytes));
  return kinds;
}

static json_t *settings_json(const weir_plan_request *request) {
  json_t *stash = json_array();
  for (int64_t layer = 0; layer < request->config->num_hidden_layers; layer++)
    json_array_append_new(stash,
                          json_string(weir_stash_policy_name(request->settings.stash[layer])));
  return json_pack("{s:I, s:I, s:I, s:o}", "chunk_rows", (json_int_t)request->settings.chunk_rows,
                   "head_rows", (json_int_t)request->settings.head_rows, "head_columns",
                   (json_int_t)request->settings.head_columns, "stash", stash);
}

static json_t *dtypes_json(const weir_plan_request *request) {
  weir_holding table[WEIR_HOLDINGS];
  weir_precision_table(&request->settings.precision, request->real, table);
  json_t *dtypes = json_object();
  for (int i = 0; i < WEIR_HOLDINGS; i++)
    json_object_set_new(dtypes, table[i].what, json_string(weir_dtype_name(table[i].dtype)));
  return dtypes;
}

static json_t *operations_json(const weir_plan *plan) {
  json_t *operations = json_object();
  for (int i = 0; i < plan->dry.n_counts; i++) {
    const weir_dry_count *count = &plan->dry.counts[i];
    json_object_set_new(operations, count->operation,
                        json_pack("{s:I, s:f, s:f}", "calls", (json_int_t)count->n_calls, "flops",
                                  count->flops, "bytes_moved", count->bytes_moved));
  }
  return operations;
}

json_t *weir_plan_json(const weir_plan_request *request, const weir_plan *plan) {
  char where[128];
  weir_step_position_text(&plan->dry.peak_position, where, sizeof where);
  return json_pack(
      "{s:i, s:I, s:s, s:s, s:o, s:{s:I, s:I}, s:f, s:f, s:n, s:I, s:I, s:s, s:o, s:i, s:o, s:o}",
      "format_version", 1, "peak_bytes", (json_int_t)plan->peak_bytes, "peak_operation",
      plan->dry.peak_operation, "peak_position", where, "bytes_by_kind", kinds_json(plan), "arenas",
      "run", (json_int_t)plan->run_arena_bytes, "step", (json_int_t)plan->step_arena_bytes, "flops",
      plan->dry.flops, "bytes_moved", plan->dry.bytes_moved, "seconds_per_step", "max_row_tokens",
      (json_int_t)longest_row(request), "tokens_per_step", (json_int_t)tokens_per_step(request),
      "dtype", weir_dtype_name(request->real), "dtypes", dtypes_json(request), "threads",
      request->n_threads, "settings", settings_json(request), "operations", operations_json(plan));
}
