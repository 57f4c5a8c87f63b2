/* SPDX-License-Identifier: Apache-2.0 */
#include "model/embedding.h"

#include "model/parameter.h"

#include <math.h>

void weir_embedding_run(weir_device *device, const weir_model_config *config,
                        const weir_tensor *weights, bool bf16_weights, weir_tensor x,
                        weir_tensor ids, const weir_sequences *sequences, int64_t first_row) {
  const weir_device_operations *operations = device->operations;
  operations->embedding_forward(device, x, weights[WEIR_ROLE_EMBEDDING], ids, false);
  if (bf16_weights) operations->round(device, x, x);
  if (config->scaled_embeddings) operations->scale(device, x, sqrt((double)config->hidden_size));
  if (config->learned_positions)
    operations->position_forward(device, x, weights[WEIR_ROLE_POSITIONS], sequences, first_row);
}

void weir_embedding_gradient(weir_device *device, const weir_model_config *config,
                             const weir_tensor *gradients, weir_tensor dx, weir_tensor ids,
                             const weir_sequences *sequences) {
  const weir_device_operations *operations = device->operations;
  if (config->learned_positions)
    operations->position_backward(device, gradients[WEIR_ROLE_POSITIONS], dx, sequences, 0);
  if (config->scaled_embeddings) operations->scale(device, dx, sqrt((double)config->hidden_size));
  operations->embedding_backward(device, gradients[WEIR_ROLE_EMBEDDING], dx, ids);
}
