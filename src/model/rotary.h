/* SPDX-License-Identifier: Apache-2.0
 *
 * The frequencies of rotary embedding (Su et al. 2021, arXiv:2104.09864), stretched as the model's
 * configuration says.  With f(j) = theta^(-2j/K) and w(j) = 2 pi / f(j), the wavelength:
 *   linear   f / factor
 *   llama3   f where w < P / high, f / factor where w > P / low, and between them
 *            (1 - s) f / factor + s f,  s = (P / w - low) / (high - low),
 *            P the positions of pretraining (Llama 3.1's own scaling) */
#ifndef WEIR_MODEL_ROTARY_H
#define WEIR_MODEL_ROTARY_H

#include "formats/model_config.h"

/* Fills frequencies [head_size / 2]. */
void weir_rotary_frequencies(double theta, const weir_rope_scaling *scaling, int64_t head_size,
                             double *frequencies);

#endif
