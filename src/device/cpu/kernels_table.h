/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel table of one instruction set.  A kernels_<isa>.c names itself and includes this; the
 * build compiles each with that instruction set's flags. */
#include "device/cpu/kernels_pointwise.h"
#include "device/cpu/kernels_rows.h"

#define WEIR_CPU_KERNELS(isa_name)                                                                 \
  const weir_cpu_kernels weir_cpu_kernels_##isa_name = {                                           \
      .isa = #isa_name,                                                                            \
      .add = add,                                                                                  \
      .scale = scale,                                                                              \
      .dot = dot,                                                                                  \
      .sum_squares = sum_squares,                                                                  \
      .round = round_bf16,                                                                         \
      .narrow = narrow,                                                                            \
      .widen = widen,                                                                              \
      .narrow_randomly = narrow_randomly,                                                          \
      .activation_forward = activation_forward,                                                    \
      .activation_backward = activation_backward,                                                  \
      .gated_forward = gated_forward,                                                              \
      .gated_backward = gated_backward,                                                            \
      .norm_forward = norm_forward,                                                                \
      .norm_backward = norm_backward,                                                              \
      .rope = rope,                                                                                \
      .softmax = softmax,                                                                          \
      .softmax_backward = softmax_backward,                                                        \
      .softcap = softcap,                                                                          \
      .head_tile = head_tile,                                                                      \
      .head_gradient = head_gradient,                                                              \
      .adamw = adamw_update,                                                                       \
  }
