/* SPDX-License-Identifier: Apache-2.0
 *
 * The device contract: the operations a training step is made of.
 *
 * A step is plain C that calls a device through this table.  `ref` computes in f64 and is obvious,
 * `cpu` is fast, `dry` holds no data and counts.  Operations are queued in order and never fail;
 * wrong shapes are programmers' mistakes and are asserted.
 *
 * Dtypes: `real` is the device's arithmetic type (f64 on ref, f32 on cpu).  Unless a line says
 * otherwise every tensor is `real`; gradients accumulate in `real`.  ids are i32.
 *
 * Shapes use one legend: T tokens of the micro-batch, C rows of a chunk, D hidden, H query heads,
 * G key/value heads, K head size, F ffn, V vocabulary.  N is any number of rows.
 *
 * Rows and blocks (I4): every operation treats its rows in blocks of WEIR_BLOCK_ROWS counted from
 * its row 0, the last block may be shorter, and a row's bits depend on nothing outside its block.
 * Sums over rows (weight gradients, dK, dV) add block by block, LAST block first.  Chunks start at
 * multiples of the block, so chunk size changes no bits.  Neither does the number of threads.
 *
 * "accumulate" means: true adds to what the output holds, false overwrites it.
 * Aliasing is forbidden unless a line allows it; what it allows is tested.
 * Scratch: an operation may use the device's `workspace`, never other memory. */
#ifndef WEIR_CORE_DEVICE_H
#define WEIR_CORE_DEVICE_H

#include "core/sequences.h"
#include "core/tensor.h"

enum { WEIR_BLOCK_ROWS = 256 };

/* Scratch per thread, for every operation of every device. */
enum { WEIR_WORKSPACE_BYTES_PER_THREAD = 4 << 20 };

typedef enum weir_norm_kind {
  WEIR_NORM_RMS,
  WEIR_NORM_LAYER,
  WEIR_NORM_RMS_PLUS_ONE, /* RMSNorm whose weight is stored less 1 */
} weir_norm_kind;

typedef enum weir_activation {
  WEIR_ACTIVATION_SILU,      /* x / (1 + exp(-x)) */
  WEIR_ACTIVATION_GELU,      /* x Phi(x), by erf */
  WEIR_ACTIVATION_GELU_TANH, /* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), "gelu_new" */
} weir_activation;

/* Rotary embedding, Su et al. 2021, arXiv:2104.09864, in the half-split form of Hugging Face:
 * column j of a head pairs with column j + K/2 and turns by position * inverse_frequencies[j].
 * Host data: borrowed, K/2 values, constant for the run. */
typedef struct weir_rope {
  const double *inverse_frequencies;
  double scale; /* multiplies cos and sin; 1 for plain RoPE */
} weir_rope;

/* What attention operations need to know beside their tensors. */
typedef struct weir_attention {
  int64_t n_heads, n_kv_heads, head_size; /* H, G, K; query head h reads K/V head h / (H/G) */
  double scale;                           /* of the scores, usually 1/sqrt(K) */
  double softcap; /* above 0: a score s becomes softcap tanh(s / softcap) before the softmax */
  const weir_sequences *sequences;
  int64_t first_row; /* the token that query row 0 is; keys start at token 0 */
  int64_t window;    /* a query sees the last `window` keys, its own included; 0: all before it */
} weir_attention;

typedef struct weir_adamw {
  double learning_rate, beta1, beta2, epsilon, weight_decay;
  int64_t step; /* 1 for the first update: the bias corrections are 1 - beta^step */
} weir_adamw;

/* Random bits: element i of a tensor takes 16 of number (first + i) / 4 of a stream of base/rng.h.
 */
typedef struct weir_noise {
  uint64_t seed, stream;
  int64_t first; /* a multiple of 4 */
} weir_noise;

/* Columns of the `statistics` tensor of the head. */
enum {
  WEIR_HEAD_MAX,      /* largest logit so far */
  WEIR_HEAD_SUM,      /* sum of exp(logit - max) */
  WEIR_HEAD_WEIGHTED, /* sum of logit * exp(logit - max), for the entropy */
  WEIR_HEAD_TARGET,   /* the target's logit */
  WEIR_HEAD_COLUMNS,
};

/* Entries of the `sums` tensor of token_sums, f64. */
enum {
  WEIR_SUM_LOSS,    /* sum of weight * logprob: the loss, where weight = d loss / d logprob */
  WEIR_SUM_CORRECT, /* rows with a non-zero weight whose arg-max was the target */
  WEIR_SUM_ENTROPY, /* sum of entropies over the same rows */
  WEIR_SUM_ROWS,    /* number of the same rows */
  WEIR_SUM_COUNT,
};

typedef struct weir_device weir_device;

typedef struct weir_device_operations {
  /* dst = 0, or dst = src, or dst += src.  Same shapes.  copy also converts between `real` and
   * bf16: widening is exact, narrowing rounds as `round` does and is exact after it. */
  void (*zero)(weir_device *device, weir_tensor dst);
  void (*copy)(weir_device *device, weir_tensor dst, weir_tensor src);
  void (*add)(weir_device *device, weir_tensor dst, weir_tensor src);
  /* y = x rounded to the nearest bf16, ties to even; both stay `real`.  y may be x. */
  void (*round)(weir_device *device, weir_tensor y, weir_tensor x);
  /* y bf16 = x `real`, taken as f32, rounded to one of its two neighbours at random, so that the
   * mean is x (Gupta et al. 2015, arXiv:1502.02551): away from zero where the low half of its bits
   * and 16 random ones carry. */
  void (*round_randomly)(weir_device *device, weir_tensor y, weir_tensor x,
                         const weir_noise *noise);
  /* dst = factor * dst. */
  void (*scale)(weir_device *device, weir_tensor dst, double factor);

  /* Between the host and the device; `host` holds weir_tensor_bytes() bytes of the tensor's dtype.
   * write may return before it has happened: host memory stays unchanged until the step ends.
   * read waits for everything queued before it; call it only after a step. */
  void (*write)(weir_device *device, weir_tensor dst, const void *host);
  void (*read)(weir_device *device, void *host, weir_tensor src);

  /* Embedding: x[c] (+)= table[ids[c]].  x [C,D] out, table [V,D], ids [1,C] i32 in [0,V).
   * The table may be bf16 where nothing is added to x. */
  void (*embedding_forward)(weir_device *device, weir_tensor x, weir_tensor table, weir_tensor ids,
                            bool accumulate);
  /* dtable[ids[c]] += dx[c], blocks last first, rows of a block in rising order. */
  void (*embedding_backward)(weir_device *device, weir_tensor dtable, weir_tensor dx,
                             weir_tensor ids);
  /* Learned positions: x[c] += table[position of token first_row + c].  table [P,D]. */
  void (*position_forward)(weir_device *device, weir_tensor x, weir_tensor table,
                           const weir_sequences *sequences, int64_t first_row);
  void (*position_backward)(weir_device *device, weir_tensor dtable, weir_tensor dx,
                            const weir_sequences *sequences, int64_t first_row);

  /* RMSNorm (Zhang & Sennrich 2019, arXiv:1910.07467) or LayerNorm (Ba et al. 2016,
   * arXiv:1607.06450), over the columns of each row:
   *   rms:   y = x * r * w,               r = 1 / sqrt(mean(x^2) + epsilon)
   *   rms plus one: rms with 1 + w for w
   *   layer: y = (x - m) * r * w + b,     m = mean(x), r = 1 / sqrt(mean((x - m)^2) + epsilon)
   * y [N,D] (+)=, may alias x when not accumulating;  x [N,D];  w [1,D];  b [1,D], for layer. */
  void (*norm_forward)(weir_device *device, weir_norm_kind kind, double epsilon, weir_tensor y,
                       weir_tensor x, weir_tensor w, weir_tensor b, bool accumulate);
  /* dx [N,D] (+)=, may alias dy, or x, when not accumulating;  dy [N,D];  x [N,D] as in forward
   * (its statistics are computed again);  dw, db [1,D] +=, db for layer.
   * Both dw and db may be absent together: no parameter gradient wanted. */
  void (*norm_backward)(weir_device *device, weir_norm_kind kind, double epsilon, weir_tensor dx,
                        weir_tensor dw, weir_tensor db, weir_tensor dy, weir_tensor x,
                        weir_tensor w, bool accumulate);

  /* Products.  w [O,I] as Hugging Face stores linear layers; b [1,O] or absent.
   *   linear_forward:          y [N,O] (+)= x [N,I] w' + b
   *   linear_backward_input:   dx [N,I] (+)= dy [N,O] w
   *   linear_backward_weight:  dw [O,I] += dy' x;  db [1,O] += column sums of dy, or absent */
  void (*linear_forward)(weir_device *device, weir_tensor y, weir_tensor x, weir_tensor w,
                         weir_tensor b, bool accumulate);
  void (*linear_backward_input)(weir_device *device, weir_tensor dx, weir_tensor dy, weir_tensor w,
                                bool accumulate);
  void (*linear_backward_weight)(weir_device *device, weir_tensor dw, weir_tensor db,
                                 weir_tensor dy, weir_tensor x);

  /* Turns every head of x [C, heads*K] in place by the position of its token; `direction` is +1
   * forward and -1 backward (the transpose of a rotation).  Angles, cos and sin in f64, rounded
   * to `real` once. */
  void (*rope)(weir_device *device, weir_tensor x, int64_t head_size, const weir_rope *rope,
               const weir_sequences *sequences, int64_t first_row, int direction);

  /* Causal attention inside each sequence and window, never as a T x T matrix (Dao et al. 2022,
   * arXiv:2205.14135; online softmax of Milakov & Gimelshein 2018, arXiv:1805.02867).
   *   o [C,H*K] out;  lse [C,H] out, log of the sum of exp(scores);  q [C,H*K];
   *   k, v [T',G*K], T' >= first_row + C: keys of tokens 0 .. T'-1, at least up to the last query
   * Query token t sees keys max(sequence's first, t - window + 1) .. t (Beltagy et al. 2020,
   * arXiv:2004.05150); tiles that no query of a block sees are not computed.
   * Key tiles are counted from token 0, so that the chunk changes no bits. */
  void (*attention_forward)(weir_device *device, const weir_attention *attention, weir_tensor o,
                            weir_tensor lse, weir_tensor q, weir_tensor k, weir_tensor v);
  /*   dq [C,H*K] overwritten, may alias dout;  dk, dv [T',G*K] +=, query blocks last first;
   *   dout [C,H*K];  q, k, v, o, lse as forward left them. */
  void (*attention_backward)(weir_device *device, const weir_attention *attention, weir_tensor dq,
                             weir_tensor dk, weir_tensor dv, weir_tensor dout, weir_tensor q,
                             weir_tensor k, weir_tensor v, weir_tensor o, weir_tensor lse);

  /* y = f(x);  dx = dy f'(x).  All [C,F]; y may alias x, dx may alias dy or x. */
  void (*activation_forward)(weir_device *device, weir_activation f, weir_tensor y, weir_tensor x);
  void (*activation_backward)(weir_device *device, weir_activation f, weir_tensor dx,
                              weir_tensor dy, weir_tensor x);
  /* Gated (Shazeer 2020, arXiv:2002.05202): y = f(gate) * up.  All [C,F]; y may alias gate or up;
   * dgate may alias gate, dup may alias up, either may alias dy (not both). */
  void (*gated_forward)(weir_device *device, weir_activation f, weir_tensor y, weir_tensor gate,
                        weir_tensor up);
  void (*gated_backward)(weir_device *device, weir_activation f, weir_tensor dgate, weir_tensor dup,
                         weir_tensor dy, weir_tensor gate, weir_tensor up);

  /* x = cap tanh(x / cap), cap above 0 (Gemma 2, arXiv:2408.00118). */
  void (*softcap)(weir_device *device, weir_tensor x, double cap);

  /* The head sees logits one tile at a time: logits [R,Vt] are classes first_class ..
   * first_class+Vt-1.  targets [1,R] i32, in [0,V), or -1 where a row has none (its target logit
   * reads as 0 and its gradient is zero whatever its weight).
   * head_tile folds one tile into statistics [R, WEIR_HEAD_COLUMNS]; a tile with first_class 0
   * starts afresh. */
  void (*head_tile)(weir_device *device, weir_tensor statistics, weir_tensor logits,
                    weir_tensor targets, int64_t first_class);
  /* After the last tile: logprob [1,R] = target - lse;  entropy [1,R] of the distribution;
   * correct [1,R] = 1 where no logit exceeds the target's, else 0.  Rows without a target: 0. */
  void (*head_finish)(weir_device *device, weir_tensor logprob, weir_tensor entropy,
                      weir_tensor correct, weir_tensor statistics, weir_tensor targets);
  /* In place: logits become d loss / d logits = weight * (one-hot(target) - softmax), where
   * weights [1,R] f64 = d loss / d logprob.  softcap above 0: the logits came from `softcap`, and
   * what it was given is meant: times 1 - (logit / softcap)^2. */
  void (*head_gradient)(weir_device *device, weir_tensor logits, weir_tensor statistics,
                        weir_tensor targets, weir_tensor weights, int64_t first_class,
                        double softcap);
  /* sums [1, WEIR_SUM_COUNT] f64 +=, over all rows in rising order; the vectors are [1,T],
   * weights f64. */
  void (*token_sums)(weir_device *device, weir_tensor sums, weir_tensor logprob,
                     weir_tensor entropy, weir_tensor correct, weir_tensor weights);

  /* sum [1,1] f64 += sum of squares of x, in fixed blocks of elements: threads change no bits. */
  void (*sum_squares)(weir_device *device, weir_tensor sum, weir_tensor x);
  /* factor [1,1] f64 = min(1, max_norm / (sqrt(sum) + 1e-6)), as torch's clip_grad_norm_; 1 where
   * max_norm <= 0; 0 where the sum is not finite, which adamw obeys. */
  void (*clip_factor)(weir_device *device, weir_tensor factor, weir_tensor sum, double max_norm);
  /* AdamW (Loshchilov & Hutter 2019, arXiv:1711.05101), in PyTorch's order:
   *   g' = factor * g;  w -= lr*wd*w;  m = b1 m + (1-b1) g';  v = b2 v + (1-b2) g'^2
   *   w -= lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + epsilon)
   * w, m, v, g of one shape; factor [1,1] f64.  A factor of 0 changes nothing at all: the step is
   * not taken, and that it is not is the device's to know (I8). */
  void (*adamw)(weir_device *device, const weir_adamw *adamw, weir_tensor w, weir_tensor m,
                weir_tensor v, weir_tensor g, weir_tensor factor);
} weir_device_operations;

/* Where the step is, for messages and for the plan ("backward, layer 3, row 512").  The step keeps
 * it; devices only read it. */
typedef struct weir_step_position {
  const char *phase; /* "forward", "backward", "head", "optimizer", ... a literal */
  int64_t layer;     /* -1 outside layers */
  int64_t first_row; /* of the chunk */
} weir_step_position;

/* What every device begins with; a concrete device embeds it first. */
struct weir_device {
  const char *name; /* "ref", "cpu", "dry" */
  const weir_device_operations *operations;
  weir_dtype real;
  int n_threads;
  weir_tensor workspace; /* set by the run: n_threads * WEIR_WORKSPACE_BYTES_PER_THREAD */
  weir_step_position position;
};

#endif
