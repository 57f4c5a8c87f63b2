/* SPDX-License-Identifier: Apache-2.0
 *
 * The vector kernels: inner loops over one row or one run of elements, one table per instruction
 * set.  Kernels know floats and counts; tensors, blocks and threads are their callers' business.
 * "part" arguments are partial sums that the caller zeroed and adds in an order of its own. */
#ifndef WEIR_DEVICE_CPU_KERNELS_H
#define WEIR_DEVICE_CPU_KERNELS_H

#include "core/device.h"

/* What one AdamW update multiplies by, rounded to f32 once. */
typedef struct weir_cpu_adamw {
  float factor, decay, beta1, one_minus_beta1, beta2, one_minus_beta2, step_size;
  float inverse_correction, epsilon;
} weir_cpu_adamw;

typedef struct weir_cpu_kernels {
  const char *isa;

  /* dst += src;  dst *= c;  sum of a * b;  sum of squares, in f64. */
  void (*add)(float *dst, const float *src, int64_t n);
  void (*scale)(float *dst, float c, int64_t n);
  float (*dot)(const float *a, const float *b, int64_t n);
  double (*sum_squares)(const float *x, int64_t n);

  /* Numbers of bf16 in f32 and back; y may be x.  Narrowing is to nearest, ties to even. */
  void (*round)(float *y, const float *x, int64_t n);
  void (*narrow)(uint16_t *y, const float *x, int64_t n);
  void (*widen)(float *y, const uint16_t *x, int64_t n);
  void (*narrow_randomly)(uint16_t *y, const float *x, const uint16_t *random, int64_t n);

  void (*activation_forward)(weir_activation f, float *y, const float *x, int64_t n);
  void (*activation_backward)(weir_activation f, float *dx, const float *dy, const float *x,
                              int64_t n);
  void (*gated_forward)(weir_activation f, float *y, const float *gate, const float *up, int64_t n);
  void (*gated_backward)(weir_activation f, float *dgate, float *dup, const float *dy,
                         const float *gate, const float *up, int64_t n);

  /* One row.  b is NULL but for layer.  dw_part and db_part may be NULL. */
  void (*norm_forward)(weir_norm_kind kind, double epsilon, float *y, const float *x,
                       const float *w, const float *b, int64_t n, bool accumulate);
  void (*norm_backward)(weir_norm_kind kind, double epsilon, float *dx, float *dw_part,
                        float *db_part, const float *dy, const float *x, const float *w, int64_t n,
                        bool accumulate);

  /* Turns one head: column j with column j + half. */
  void (*rope)(float *x, const float *cosine, const float *sine, int64_t half);

  /* Online softmax of one row of scores: scores become exp(score - max) where max is the larger of
   * *max and theirs; *sum is rescaled and grows by theirs.  Returns what earlier sums, and all
   * that was weighted with them, are multiplied by.  A first tile comes with *max = -inf. */
  float (*softmax)(float *scores, int64_t n, float *max, float *sum);
  /* scores become p = exp(score - lse);  dp becomes scale * p * (dp - delta), times the slope of
   * the soft cap that made the scores, if cap is above 0. */
  void (*softmax_backward)(float *scores, float *dp, float lse, float delta, float scale, float cap,
                           int64_t n);
  /* x = cap tanh(x / cap). */
  void (*softcap)(float *x, float cap, int64_t n);

  /* One row of head_tile without its target, and of head_gradient without its one-hot term. */
  void (*head_tile)(float *statistics, const float *logits, int64_t n);
  void (*head_gradient)(float *logits, const float *statistics, float weight, float cap, int64_t n);

  void (*adamw)(const weir_cpu_adamw *adamw, float *w, float *m, float *v, const float *g,
                int64_t n);
} weir_cpu_kernels;

extern const weir_cpu_kernels weir_cpu_kernels_avx512;
extern const weir_cpu_kernels weir_cpu_kernels_avx2;
extern const weir_cpu_kernels weir_cpu_kernels_portable;

#endif
