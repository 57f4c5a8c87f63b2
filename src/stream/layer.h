/* SPDX-License-Identifier: Apache-2.0
 *
 * One layer over a whole row, chunk by chunk.
 *
 * Forward goes first chunk to last: K and V of earlier chunks are there when a later one attends.
 * Backward goes last to first: dK and dV of a chunk are complete when the chunk itself is done, so
 * one sweep suffices and the gradient is replaced in place (design: StreamBP, arXiv:2506.03077). */
#ifndef WEIR_STREAM_LAYER_H
#define WEIR_STREAM_LAYER_H

#include "stream/unit.h"

/* Reads slot->kept[INPUT] [T,D], fills the slot's other values, writes output [T,D], which may be
 * the input itself where nothing will be rebuilt.  Slot and output may be bf16 where values are
 * rounded to it.
 *
 * Decoding goes on from a KV cache: the output, the input and the slot's other values may have
 * fewer rows than the row has tokens, N of them.  They are then its last N tokens, and K and V of
 * the slot, which have a row for every token, hold the earlier ones already. */
void weir_layer_forward(weir_run *run, const weir_unit *unit, const weir_sequences *sequences,
                        const weir_stash_slot *slot, weir_tensor output);

/* Rebuilds what the slot does not keep and replaces g [T,D], the gradient of the layer's output, by
 * that of its input; adds to unit->gradients.  The slot's contents are used up. */
void weir_layer_backward(weir_run *run, const weir_unit *unit, const weir_sequences *sequences,
                         const weir_stash_slot *slot, weir_tensor g);

#endif
