/* SPDX-License-Identifier: Apache-2.0
 *
 * Each operation states its FLOPs (a multiply and an add are two; transcendental functions count as
 * one) and the bytes of its operands; `count` does the rest. */
#include "device/dry/dry.h"

#include <stdlib.h>
#include <string.h>

typedef struct dry_device {
  weir_device device; /* first */
  const weir_arena *run_arena, *step_arena;
  weir_dry_watcher *watcher;
  void *watcher_context;
  weir_dry_report report;
} dry_device;

static dry_device *dry_of(weir_device *device) {
  return (dry_device *)device;
}

static weir_dry_count *count_of(weir_dry_report *report, const char *operation) {
  for (int i = 0; i < report->n_counts; i++)
    if (strcmp(report->counts[i].operation, operation) == 0) return &report->counts[i];
  WEIR_ASSERT(report->n_counts, <, WEIR_DRY_MAX_OPERATIONS);
  weir_dry_count *fresh = &report->counts[report->n_counts++];
  *fresh = (weir_dry_count){.operation = operation};
  return fresh;
}

static void watch_peak(dry_device *dry, const char *operation) {
  if (!dry->run_arena) return;
  uint64_t held_bytes = dry->run_arena->used_bytes + dry->step_arena->used_bytes;
  if (held_bytes <= dry->report.peak_bytes) return;
  dry->report.peak_bytes = held_bytes;
  dry->report.peak_operation = operation;
  dry->report.peak_position = dry->device.position;
  for (int kind = 0; kind < WEIR_MEMORY_KIND_COUNT; kind++)
    dry->report.bytes_by_kind[kind] =
        dry->run_arena->used_by_kind[kind] + dry->step_arena->used_by_kind[kind];
}

static void count(weir_device *device, const char *operation, double flops, uint64_t bytes_moved) {
  dry_device *dry = dry_of(device);
  weir_dry_count *entry = count_of(&dry->report, operation);
  entry->n_calls++;
  entry->flops += flops;
  entry->bytes_moved += (double)bytes_moved;
  dry->report.flops += flops;
  dry->report.bytes_moved += (double)bytes_moved;
  watch_peak(dry, operation);
  if (dry->watcher) dry->watcher(dry->watcher_context, operation, &device->position);
}

static uint64_t size(weir_tensor tensor) {
  return weir_tensor_bytes(tensor);
}

static double elements(weir_tensor tensor) {
  return (double)weir_tensor_count(tensor);
}

/* An output that is added to is read as well as written. */
static uint64_t output_size(weir_tensor tensor, bool accumulate) {
  return size(tensor) * (accumulate ? 2 : 1);
}

static void zero(weir_device *device, weir_tensor dst) {
  count(device, "zero", 0, size(dst));
}

static void copy(weir_device *device, weir_tensor dst, weir_tensor src) {
  count(device, "copy", 0, size(dst) + size(src));
}

static void add(weir_device *device, weir_tensor dst, weir_tensor src) {
  count(device, "add", elements(dst), 2 * size(dst) + size(src));
}

static void round_to_bf16(weir_device *device, weir_tensor y, weir_tensor x) {
  count(device, "round", elements(x), size(y) + size(x));
}

static void round_randomly(weir_device *device, weir_tensor y, weir_tensor x,
                           const weir_noise *noise) {
  (void)noise;
  count(device, "round_randomly", elements(x), size(y) + size(x));
}

static void scale(weir_device *device, weir_tensor dst, double factor) {
  (void)factor;
  count(device, "scale", elements(dst), 2 * size(dst));
}

static void write(weir_device *device, weir_tensor dst, const void *host) {
  (void)host;
  count(device, "write", 0, 2 * size(dst));
}

static void read(weir_device *device, void *host, weir_tensor src) {
  (void)host;
  count(device, "read", 0, 2 * size(src));
}

static void embedding_forward(weir_device *device, weir_tensor x, weir_tensor table,
                              weir_tensor ids, bool accumulate) {
  (void)table;
  count(device, "embedding_forward", 0, size(x) + output_size(x, accumulate) + size(ids));
}

static void embedding_backward(weir_device *device, weir_tensor dtable, weir_tensor dx,
                               weir_tensor ids) {
  (void)dtable;
  count(device, "embedding_backward", elements(dx), 3 * size(dx) + size(ids));
}

static void position_forward(weir_device *device, weir_tensor x, weir_tensor table,
                             const weir_sequences *sequences, int64_t first_row) {
  (void)table, (void)sequences, (void)first_row;
  count(device, "position_forward", elements(x), 3 * size(x));
}

static void position_backward(weir_device *device, weir_tensor dtable, weir_tensor dx,
                              const weir_sequences *sequences, int64_t first_row) {
  (void)dtable, (void)sequences, (void)first_row;
  count(device, "position_backward", elements(dx), 3 * size(dx));
}

static void norm_forward(weir_device *device, weir_norm_kind kind, double epsilon, weir_tensor y,
                         weir_tensor x, weir_tensor w, weir_tensor b, bool accumulate) {
  (void)epsilon;
  count(device, "norm_forward", elements(x) * (kind == WEIR_NORM_LAYER ? 7 : 4),
        output_size(y, accumulate) + size(x) + size(w) + size(b));
}

static void norm_backward(weir_device *device, weir_norm_kind kind, double epsilon, weir_tensor dx,
                          weir_tensor dw, weir_tensor db, weir_tensor dy, weir_tensor x,
                          weir_tensor w, bool accumulate) {
  (void)epsilon;
  count(device, "norm_backward", elements(x) * (kind == WEIR_NORM_LAYER ? 14 : 10),
        output_size(dx, accumulate) + size(dy) + size(x) + size(w) + 2 * (size(dw) + size(db)));
}

static void linear_forward(weir_device *device, weir_tensor y, weir_tensor x, weir_tensor w,
                           weir_tensor b, bool accumulate) {
  WEIR_ASSERT(x.cols, ==, w.cols);
  WEIR_ASSERT(y.cols, ==, w.rows);
  WEIR_ASSERT(y.rows, ==, x.rows);
  count(device, "linear_forward", 2 * elements(x) * (double)w.rows,
        output_size(y, accumulate) + size(x) + size(w) + size(b));
}

static void linear_backward_input(weir_device *device, weir_tensor dx, weir_tensor dy,
                                  weir_tensor w, bool accumulate) {
  WEIR_ASSERT(dx.cols, ==, w.cols);
  WEIR_ASSERT(dy.cols, ==, w.rows);
  WEIR_ASSERT(dx.rows, ==, dy.rows);
  count(device, "linear_backward_input", 2 * elements(dx) * (double)w.rows,
        output_size(dx, accumulate) + size(dy) + size(w));
}

static void linear_backward_weight(weir_device *device, weir_tensor dw, weir_tensor db,
                                   weir_tensor dy, weir_tensor x) {
  WEIR_ASSERT(dw.rows, ==, dy.cols);
  WEIR_ASSERT(dw.cols, ==, x.cols);
  WEIR_ASSERT(dy.rows, ==, x.rows);
  count(device, "linear_backward_weight", 2 * elements(x) * (double)dw.rows,
        2 * (size(dw) + size(db)) + size(dy) + size(x));
}

static void rope(weir_device *device, weir_tensor x, int64_t head_size, const weir_rope *angles,
                 const weir_sequences *sequences, int64_t first_row, int direction) {
  (void)head_size, (void)angles, (void)sequences, (void)first_row, (void)direction;
  count(device, "rope", 3 * elements(x), 2 * size(x));
}

/* K floats a pair and head, twice for a multiply and an add, for each of `n_products`. */
static double attention_flops(const weir_attention *attention, int64_t n_rows, int n_products) {
  double pairs = (double)weir_sequences_pairs(attention->sequences, attention->first_row,
                                              attention->first_row + n_rows, attention->window);
  return pairs * (double)(attention->n_heads * attention->head_size * 2 * n_products);
}

static void attention_forward(weir_device *device, const weir_attention *attention, weir_tensor o,
                              weir_tensor lse, weir_tensor q, weir_tensor k, weir_tensor v) {
  count(device, "attention_forward", attention_flops(attention, q.rows, 2),
        size(o) + size(lse) + size(q) + size(k) + size(v));
}

/* Scores again, dP, dV, dQ, dK. */
static void attention_backward(weir_device *device, const weir_attention *attention, weir_tensor dq,
                               weir_tensor dk, weir_tensor dv, weir_tensor dout, weir_tensor q,
                               weir_tensor k, weir_tensor v, weir_tensor o, weir_tensor lse) {
  count(device, "attention_backward", attention_flops(attention, q.rows, 5),
        size(dq) + 2 * (size(dk) + size(dv)) + size(dout) + size(q) + size(k) + size(v) + size(o) +
            size(lse));
}

static void activation_forward(weir_device *device, weir_activation f, weir_tensor y,
                               weir_tensor x) {
  (void)f;
  count(device, "activation_forward", 4 * elements(x), size(y) + size(x));
}

static void activation_backward(weir_device *device, weir_activation f, weir_tensor dx,
                                weir_tensor dy, weir_tensor x) {
  (void)f;
  count(device, "activation_backward", 8 * elements(x), size(dx) + size(dy) + size(x));
}

static void gated_forward(weir_device *device, weir_activation f, weir_tensor y, weir_tensor gate,
                          weir_tensor up) {
  (void)f;
  count(device, "gated_forward", 5 * elements(y), size(y) + size(gate) + size(up));
}

static void gated_backward(weir_device *device, weir_activation f, weir_tensor dgate,
                           weir_tensor dup, weir_tensor dy, weir_tensor gate, weir_tensor up) {
  (void)f;
  count(device, "gated_backward", 10 * elements(dy),
        size(dgate) + size(dup) + size(dy) + size(gate) + size(up));
}

static void softcap(weir_device *device, weir_tensor x, double cap) {
  (void)cap;
  count(device, "softcap", 3 * elements(x), 2 * size(x));
}

static void head_tile(weir_device *device, weir_tensor statistics, weir_tensor logits,
                      weir_tensor targets, int64_t first_class) {
  (void)first_class;
  count(device, "head_tile", 5 * elements(logits),
        size(logits) + 2 * size(statistics) + size(targets));
}

static void head_finish(weir_device *device, weir_tensor logprob, weir_tensor entropy,
                        weir_tensor correct, weir_tensor statistics, weir_tensor targets) {
  count(device, "head_finish", 5 * elements(logprob),
        size(logprob) + size(entropy) + size(correct) + size(statistics) + size(targets));
}

static void head_gradient(weir_device *device, weir_tensor logits, weir_tensor statistics,
                          weir_tensor targets, weir_tensor weights, int64_t first_class,
                          double cap) {
  (void)first_class, (void)cap;
  count(device, "head_gradient", 3 * elements(logits),
        2 * size(logits) + size(statistics) + size(targets) + size(weights));
}

static void token_sums(weir_device *device, weir_tensor sums, weir_tensor logprob,
                       weir_tensor entropy, weir_tensor correct, weir_tensor weights) {
  count(device, "token_sums", 5 * elements(logprob),
        2 * size(sums) + size(logprob) + size(entropy) + size(correct) + size(weights));
}

static void sum_squares(weir_device *device, weir_tensor sum, weir_tensor x) {
  count(device, "sum_squares", 2 * elements(x), size(x) + 2 * size(sum));
}

static void clip_factor(weir_device *device, weir_tensor factor, weir_tensor sum, double max_norm) {
  (void)max_norm;
  count(device, "clip_factor", 4, size(factor) + size(sum));
}

static void adamw(weir_device *device, const weir_adamw *settings, weir_tensor w, weir_tensor m,
                  weir_tensor v, weir_tensor g, weir_tensor factor) {
  (void)settings;
  count(device, "adamw", 16 * elements(w),
        2 * (size(w) + size(m) + size(v)) + size(g) + size(factor));
}

static const weir_device_operations operations = {
    .zero = zero,
    .copy = copy,
    .add = add,
    .round = round_to_bf16,
    .round_randomly = round_randomly,
    .scale = scale,
    .write = write,
    .read = read,
    .embedding_forward = embedding_forward,
    .embedding_backward = embedding_backward,
    .position_forward = position_forward,
    .position_backward = position_backward,
    .norm_forward = norm_forward,
    .norm_backward = norm_backward,
    .linear_forward = linear_forward,
    .linear_backward_input = linear_backward_input,
    .linear_backward_weight = linear_backward_weight,
    .rope = rope,
    .attention_forward = attention_forward,
    .attention_backward = attention_backward,
    .activation_forward = activation_forward,
    .activation_backward = activation_backward,
    .gated_forward = gated_forward,
    .gated_backward = gated_backward,
    .softcap = softcap,
    .head_tile = head_tile,
    .head_finish = head_finish,
    .head_gradient = head_gradient,
    .token_sums = token_sums,
    .sum_squares = sum_squares,
    .clip_factor = clip_factor,
    .adamw = adamw,
};

weir_status weir_dry_create(weir_dtype real, int n_threads, weir_device **device) {
  dry_device *dry = calloc(1, sizeof *dry);
  if (!dry) return weir_fail(WEIR_FAILED, "no memory for the dry device");
  dry->device =
      (weir_device){.name = "dry", .operations = &operations, .real = real, .n_threads = n_threads};
  *device = &dry->device;
  return WEIR_OK;
}

void weir_dry_destroy(weir_device *device) {
  free(dry_of(device));
}

void weir_dry_watch_arenas(weir_device *device, const weir_arena *run_arena,
                           const weir_arena *step_arena) {
  dry_of(device)->run_arena = run_arena;
  dry_of(device)->step_arena = step_arena;
}

void weir_dry_watch(weir_device *device, weir_dry_watcher *watcher, void *context) {
  dry_of(device)->watcher = watcher;
  dry_of(device)->watcher_context = context;
}

const weir_dry_report *weir_dry_report_of(const weir_device *device) {
  return &((const dry_device *)device)->report;
}
