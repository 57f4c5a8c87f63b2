/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that see a row whole: norms, rotations, softmax, the head.
 *
 * A lane sums the columns that fall on it in rising order, then lanes are added in order: the same
 * additions wherever the row lies. */
#ifndef WEIR_DEVICE_CPU_KERNELS_ROWS_H
#define WEIR_DEVICE_CPU_KERNELS_ROWS_H

#include "device/cpu/kernels.h"
#include "device/cpu/kernels_pointwise.h"

typedef struct row_statistics {
  float mean, inverse_deviation;
} row_statistics;

static row_statistics norm_statistics(weir_norm_kind kind, double epsilon, const float *x,
                                      int64_t n) {
  double mean = 0;
  if (kind == WEIR_NORM_LAYER) {
    vec sum = {0};
    FOR_EACH_VECTOR(i, n)
    sum += vec_load(x + i, n - i);
    mean = vec_sum(sum) / (double)n;
  }
  vec squares = {0};
  FOR_EACH_VECTOR(i, n) {
    /* Lanes beyond the end must centre to zero. */
    vec centred = vec_load_or(x + i, n - i, (float)mean) - (float)mean;
    squares = vec_fma(centred, centred, squares);
  }
  return (row_statistics){(float)mean, (float)(1.0 / sqrt(vec_sum(squares) / (double)n + epsilon))};
}

/* What the stored weight lacks. */
static float norm_offset(weir_norm_kind kind) {
  return kind == WEIR_NORM_RMS_PLUS_ONE ? 1.0f : 0.0f;
}

static void norm_forward(weir_norm_kind kind, double epsilon, float *y, const float *x,
                         const float *w, const float *b, int64_t n, bool accumulate) {
  row_statistics s = norm_statistics(kind, epsilon, x, n);
  float offset = norm_offset(kind);
  FOR_EACH_VECTOR(i, n) {
    vec normal = (vec_load(x + i, n - i) - s.mean) * s.inverse_deviation;
    vec bias = b != NULL ? vec_load(b + i, n - i) : vec_set(0.0f);
    vec out = vec_fma(normal, vec_load(w + i, n - i) + offset, bias);
    if (accumulate) out += vec_load(y + i, n - i);
    vec_store(y + i, n - i, out);
  }
}

/* With normal = (x - mean) r and g = dy w, or dy (1 + w):  dx = r (g - mean(g) - normal mean(g
 * normal)); rms has no mean(g) term. */
static void norm_backward(weir_norm_kind kind, double epsilon, float *dx, float *dw_part,
                          float *db_part, const float *dy, const float *x, const float *w,
                          int64_t n, bool accumulate) {
  row_statistics s = norm_statistics(kind, epsilon, x, n);
  float offset = norm_offset(kind);
  vec g_sum = {0}, g_normal_sum = {0};
  FOR_EACH_VECTOR(i, n) {
    vec normal = (vec_load(x + i, n - i) - s.mean) * s.inverse_deviation;
    vec d = vec_load(dy + i, n - i);
    vec g = d * (vec_load(w + i, n - i) + offset); /* zero beyond the end */
    g_sum += g;
    g_normal_sum = vec_fma(g, normal, g_normal_sum);
    if (dw_part != NULL)
      vec_store(dw_part + i, n - i, vec_fma(d, normal, vec_load(dw_part + i, n - i)));
    if (db_part != NULL) vec_store(db_part + i, n - i, d + vec_load(db_part + i, n - i));
  }
  float g_mean = kind == WEIR_NORM_LAYER ? (float)(vec_sum(g_sum) / (double)n) : 0.0f;
  float slope = (float)(vec_sum(g_normal_sum) / (double)n);
  FOR_EACH_VECTOR(i, n) {
    vec normal = (vec_load(x + i, n - i) - s.mean) * s.inverse_deviation;
    vec g = vec_load(dy + i, n - i) * (vec_load(w + i, n - i) + offset) - g_mean;
    vec d = vec_fma(normal, vec_set(-slope), g) * s.inverse_deviation;
    if (accumulate) d += vec_load(dx + i, n - i);
    vec_store(dx + i, n - i, d);
  }
}

static void rope(float *x, const float *cosine, const float *sine, int64_t half) {
  FOR_EACH_VECTOR(i, half) {
    vec low = vec_load(x + i, half - i), high = vec_load(x + half + i, half - i);
    vec c = vec_load(cosine + i, half - i), s = vec_load(sine + i, half - i);
    vec_store(x + i, half - i, vec_fma(low, c, -(high * s)));
    vec_store(x + half + i, half - i, vec_fma(high, c, low * s));
  }
}

static float row_largest(const float *x, int64_t n) {
  vec largest = vec_set(VEC_LOWEST);
  FOR_EACH_VECTOR(i, n)
  largest = vec_max(largest, vec_load_or(x + i, n - i, VEC_LOWEST));
  return vec_largest(largest);
}

static float softmax(float *scores, int64_t n, float *max, float *sum) {
  float largest = row_largest(scores, n);
  largest = *max > largest ? *max : largest;
  vec total = {0};
  FOR_EACH_VECTOR(i, n) {
    vec p = vec_exp(vec_load_or(scores + i, n - i, VEC_LOWEST) - largest);
    total += p;
    vec_store(scores + i, n - i, p);
  }
  float rescale = largest > *max ? expf(*max - largest) : 1.0f;
  *sum = (float)((double)*sum * (double)rescale + vec_sum(total));
  *max = largest;
  return rescale;
}

static void softcap(float *x, float cap, int64_t n) {
  FOR_EACH_VECTOR(i, n)
  vec_store(x + i, n - i, cap * vec_tanh(vec_load(x + i, n - i) / cap));
}

/* d x for d (cap tanh(x / cap)) = 1, from the capped value. */
SIMD vec softcap_slope(vec capped, float cap) {
  vec t = capped / cap;
  return vec_fma(-t, t, vec_set(1.0f));
}

static void softmax_backward(float *scores, float *dp, float lse, float delta, float score_scale,
                             float cap, int64_t n) {
  FOR_EACH_VECTOR(i, n) {
    vec score = vec_load(scores + i, n - i), p = vec_exp(score - lse);
    vec ds = score_scale * p * (vec_load(dp + i, n - i) - delta);
    if (cap > 0) ds *= softcap_slope(score, cap);
    vec_store(scores + i, n - i, p);
    vec_store(dp + i, n - i, ds);
  }
}

/* Sums over a vocabulary are long: f64 between pieces of this many classes. */
enum { HEAD_PIECE = 512 };

static void head_tile(float *statistics, const float *logits, int64_t n) {
  float old = statistics[WEIR_HEAD_MAX], largest = row_largest(logits, n);
  largest = old > largest ? old : largest;
  double rescale = exp((double)old - (double)largest);
  double sum = (double)statistics[WEIR_HEAD_SUM] * rescale;
  double weighted = (double)statistics[WEIR_HEAD_WEIGHTED] * rescale;
  for (int64_t begin = 0; begin < n; begin += HEAD_PIECE) {
    int64_t end = begin + HEAD_PIECE < n ? begin + HEAD_PIECE : n;
    vec piece_sum = {0}, piece_weighted = {0};
    for (int64_t i = begin; i < end; i += WEIR_LANES) {
      vec logit = vec_load_or(logits + i, end - i, VEC_LOWEST);
      vec p = vec_exp(logit - largest);
      piece_sum += p;
      piece_weighted = vec_fma(p, logit, piece_weighted);
    }
    sum += vec_sum(piece_sum);
    weighted += vec_sum(piece_weighted);
  }
  statistics[WEIR_HEAD_MAX] = largest;
  statistics[WEIR_HEAD_SUM] = (float)sum;
  statistics[WEIR_HEAD_WEIGHTED] = (float)weighted;
}

static void head_gradient(float *logits, const float *statistics, float weight, float cap,
                          int64_t n) {
  float factor = -weight / statistics[WEIR_HEAD_SUM];
  FOR_EACH_VECTOR(i, n) {
    vec logit = vec_load(logits + i, n - i);
    vec d = vec_exp(logit - statistics[WEIR_HEAD_MAX]) * factor;
    if (cap > 0) d *= softcap_slope(logit, cap);
    vec_store(logits + i, n - i, d);
  }
}

#endif
