/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows looked up in a table, by token id or by position in the sequence. */
#include "core/convert.h"
#include "device/ref/ref_operations.h"

static void embedding_forward(weir_device *device, weir_tensor x, weir_tensor table,
                              weir_tensor ids, bool accumulate) {
  int64_t C = x.rows, D = x.cols;
  REF_ASSERT_SHAPE(x, device->real, C, D);
  const bool is_bf16 = table.dtype == WEIR_DTYPE_BF16;
  REF_ASSERT_SHAPE(table, is_bf16 ? WEIR_DTYPE_BF16 : device->real, table.rows, D);
  REF_ASSERT_SHAPE(ids, WEIR_DTYPE_I32, 1, C);
  WEIR_ASSERT(is_bf16 && accumulate, ==, false);
  for (int64_t c = 0; c < C; c++) {
    int64_t id = ref_ids(ids)[c];
    WEIR_ASSERT(id, >=, 0);
    WEIR_ASSERT(id, <, table.rows);
    double *to = ref_row(x, c);
    if (is_bf16) {
      weir_convert(to, WEIR_DTYPE_F64, weir_tensor_data(weir_tensor_rows(table, id, id + 1)),
                   WEIR_DTYPE_BF16, D);
      continue;
    }
    const double *from = ref_row(table, id);
    for (int64_t j = 0; j < D; j++)
      to[j] = (accumulate ? to[j] : 0) + from[j];
  }
}

static void embedding_backward(weir_device *device, weir_tensor dtable, weir_tensor dx,
                               weir_tensor ids) {
  int64_t C = dx.rows, D = dx.cols;
  REF_ASSERT_SHAPE(dx, device->real, C, D);
  REF_ASSERT_SHAPE(dtable, device->real, dtable.rows, D);
  REF_ASSERT_SHAPE(ids, WEIR_DTYPE_I32, 1, C);
  for (int64_t i = 0; i < C; i++) {
    int64_t c = ref_row_in_sum_order(i, C), id = ref_ids(ids)[c];
    WEIR_ASSERT(id, >=, 0);
    WEIR_ASSERT(id, <, dtable.rows);
    ref_add_scaled(ref_row(dtable, id), 1, ref_row(dx, c), D);
  }
}

static int64_t position_of(const weir_sequences *sequences, int64_t token) {
  WEIR_ASSERT(token, <, sequences->n_tokens);
  return token - weir_sequences_begin(sequences, token);
}

static void position_forward(weir_device *device, weir_tensor x, weir_tensor table,
                             const weir_sequences *sequences, int64_t first_row) {
  int64_t C = x.rows, D = x.cols;
  REF_ASSERT_SHAPE(x, device->real, C, D);
  REF_ASSERT_SHAPE(table, device->real, table.rows, D);
  for (int64_t c = 0; c < C; c++) {
    int64_t position = position_of(sequences, first_row + c);
    WEIR_ASSERT(position, <, table.rows);
    ref_add_scaled(ref_row(x, c), 1, ref_row(table, position), D);
  }
}

static void position_backward(weir_device *device, weir_tensor dtable, weir_tensor dx,
                              const weir_sequences *sequences, int64_t first_row) {
  int64_t C = dx.rows, D = dx.cols;
  REF_ASSERT_SHAPE(dx, device->real, C, D);
  REF_ASSERT_SHAPE(dtable, device->real, dtable.rows, D);
  for (int64_t i = 0; i < C; i++) {
    int64_t c = ref_row_in_sum_order(i, C), position = position_of(sequences, first_row + c);
    WEIR_ASSERT(position, <, dtable.rows);
    ref_add_scaled(ref_row(dtable, position), 1, ref_row(dx, c), D);
  }
}

void weir_ref_operations_embedding(weir_device_operations *operations) {
  operations->embedding_forward = embedding_forward;
  operations->embedding_backward = embedding_backward;
  operations->position_forward = position_forward;
  operations->position_backward = position_backward;
}
