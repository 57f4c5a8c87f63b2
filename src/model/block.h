/* SPDX-License-Identifier: Apache-2.0
 *
 * One decoder layer over one chunk of rows, forward and backward.
 *
 *   n1 = norm(x)    q, k, v = n1 Wq, n1 Wk, n1 Wv      q, k = rope(head_norm(q, k))
 *   o = attention(q, K[:b], V[:b])                     h = x + o Wo
 *   n2 = norm(h)    a = f(n2 Wgate) * (n2 Wup)         y = h + a Wdown
 * and with post-norms  h = x + norm(o Wo),  y = h + norm(a Wdown).
 *
 * Every intermediate is a *value* with a name.  A value is either present (a stash kept it) or
 * computed into the tensor bound to it; the same function therefore serves the forward pass and
 * the rebuilding in backward, and gives the same bits in both (I4).  This file knows nothing of
 * chunks' order, policies or lifetimes: that is stream/. */
#ifndef WEIR_MODEL_BLOCK_H
#define WEIR_MODEL_BLOCK_H

#include "core/device.h"
#include "formats/model_config.h"
#include "model/parameter.h"

/* X(constant): in the order of computation */
#define WEIR_VALUES(X)                                                                             \
  X(INPUT)               /* x   [C,D] */                                                           \
  X(ATTENTION_NORMED)    /* n1  [C,D] */                                                           \
  X(Q_RAW)               /* before the head norm, where there is one [C,H*K] */                    \
  X(Q)                   /* [C,H*K] */                                                             \
  X(K_RAW)               /* before the head norm, where there is one [C,G*K] */                    \
  X(K)                   /* [C,G*K] */                                                             \
  X(V)                   /* [C,G*K] */                                                             \
  X(ATTENTION)           /* o   [C,H*K] */                                                         \
  X(LSE)                 /* [C,H] */                                                               \
  X(ATTENTION_PROJECTED) /* o Wo, where there are post-norms [C,D] */                              \
  X(MIDDLE)              /* h   [C,D] */                                                           \
  X(MLP_NORMED)          /* n2  [C,D] */                                                           \
  X(GATE)                /* where the mlp is gated [C,F] */                                        \
  X(UP)                  /* [C,F] */                                                               \
  X(ACTIVATED)           /* a   [C,F] */                                                           \
  X(MLP_PROJECTED)       /* a Wdown, where there are post-norms [C,D] */

typedef enum weir_value {
#define X(constant) WEIR_VALUE_##constant,
  WEIR_VALUES(X)
#undef X
      WEIR_VALUE_COUNT
} weir_value;

/* A set of values, one bit each. */
typedef uint32_t weir_value_set;
static inline weir_value_set weir_value_bit(weir_value value) {
  return (weir_value_set)1 << value;
}

/* Columns of a value; 0 where this model has no such value. */
int64_t weir_value_cols(const weir_model_config *config, weir_value value);

/* What a layer works with, for all its chunks. */
typedef struct weir_block {
  weir_device *device;
  weir_arena *arena; /* for the temporaries of one call, released before it returns */
  const weir_model_config *config;
  const weir_rope *rope;
  const weir_sequences *sequences;
  int64_t window;               /* of this layer's attention, 0 for none */
  const weir_tensor *weights;   /* [WEIR_ROLE_COUNT], absent where the model has none */
  const weir_tensor *gradients; /* likewise, for backward */
  weir_tensor keys, values;     /* [T,G*K], rows filled as chunks go by */
  weir_tensor dkeys, dvalues;   /* [T,G*K], for backward */
  bool rounds;                  /* every value but LSE, and the output, to bf16 where it is born */
} weir_block;

/* Computes K and V of the chunk that starts at token first_row into the block's rows, using the
 * tensors bound to ATTENTION_NORMED and K_RAW in `value`; INPUT is read. */
void weir_block_keys_values(const weir_block *block, int64_t first_row,
                            const weir_tensor value[WEIR_VALUE_COUNT]);

/* Computes every value that is not in `present` into its bound tensor, then `output` [C,D] if it
 * exists.  Bindings may alias where core/device.h allows it (weir_block_bind does); MIDDLE may be
 * `output` itself, and `output` may be INPUT. */
void weir_block_forward(const weir_block *block, int64_t first_row,
                        const weir_tensor value[WEIR_VALUE_COUNT], weir_value_set present,
                        weir_tensor output);

/* All values of the chunk are present.  g [C,D]: in, the gradient of the layer's output; out, of
 * its input.  Adds to the weights' gradients and to dkeys, dvalues of rows [0, first_row + C),
 * whose rows [first_row, first_row + C) it completes and turns back.  Chunks come last to first.
 * GATE and UP are overwritten. */
void weir_block_backward(const weir_block *block, int64_t first_row,
                         const weir_tensor value[WEIR_VALUE_COUNT], weir_tensor g);

#endif
