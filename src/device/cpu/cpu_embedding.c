/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables: rows gathered by id or by position, and gradients scattered back.  Scattering is
 * parallel over columns, so that every column adds its rows in the one order of the contract. */
#include "device/cpu/cpu_operations.h"

#include <string.h>

enum { SCATTER_COLUMNS = 64 };

/* The table row of row c: an id, or a position. */
typedef struct table_index {
  const int32_t *ids;
  const weir_sequences *sequences; /* where there are no ids */
  int64_t first_row;
  int64_t n_entries;
} table_index;

static int64_t entry_of(const table_index *index, int64_t c) {
  int64_t token = index->first_row + c;
  int64_t entry =
      index->ids != NULL ? index->ids[c] : token - weir_sequences_begin(index->sequences, token);
  WEIR_ASSERT(entry, >=, 0);
  WEIR_ASSERT(entry, <, index->n_entries);
  return entry;
}

static void gather(weir_device *device, weir_tensor x, weir_tensor table, const table_index *index,
                   bool accumulate) {
  CPU_ASSERT_SHAPE(x, device->real, x.rows, table.cols);
  const bool is_bf16 = table.dtype == WEIR_DTYPE_BF16;
  CPU_ASSERT_SHAPE(table, is_bf16 ? WEIR_DTYPE_BF16 : device->real, table.rows, table.cols);
  WEIR_ASSERT(is_bf16 && accumulate, ==, false);
  const weir_cpu_kernels *kernels = cpu_kernels(device);
#pragma omp parallel for num_threads(device->n_threads) if (weir_tensor_count(x) >                 \
                                                            CPU_PARALLEL_ELEMENTS)
  for (int64_t c = 0; c < x.rows; c++) {
    const int64_t entry = entry_of(index, c);
    if (is_bf16)
      kernels->widen(cpu_row(x, c), cpu_bf16(table) + entry * table.cols, x.cols);
    else if (accumulate)
      kernels->add(cpu_row(x, c), cpu_row(table, entry), x.cols);
    else
      memcpy(cpu_row(x, c), cpu_row(table, entry), (size_t)x.cols * sizeof(float));
  }
}

static void scatter(weir_device *device, weir_tensor dtable, weir_tensor dx,
                    const table_index *index) {
  CPU_ASSERT_SHAPE(dx, device->real, dx.rows, dtable.cols);
  CPU_ASSERT_SHAPE(dtable, device->real, dtable.rows, dtable.cols);
  const weir_cpu_kernels *kernels = cpu_kernels(device);
  int64_t last_block = cpu_pieces(dx.rows, WEIR_BLOCK_ROWS) - 1;
#pragma omp parallel for num_threads(device->n_threads) if (weir_tensor_count(dx) >                \
                                                            CPU_PARALLEL_ELEMENTS)
  for (int64_t column = 0; column < dx.cols; column += SCATTER_COLUMNS) {
    int64_t n = cpu_min(SCATTER_COLUMNS, dx.cols - column);
    for (int64_t block = last_block; block >= 0; block--) {
      int64_t end = cpu_min((block + 1) * WEIR_BLOCK_ROWS, dx.rows);
      for (int64_t c = block * WEIR_BLOCK_ROWS; c < end; c++)
        kernels->add(cpu_row(dtable, entry_of(index, c)) + column, cpu_row(dx, c) + column, n);
    }
  }
}

static table_index by_id(weir_tensor ids, int64_t n_rows, weir_tensor table) {
  CPU_ASSERT_SHAPE(ids, WEIR_DTYPE_I32, 1, n_rows);
  return (table_index){.ids = cpu_ids(ids), .n_entries = table.rows};
}

static table_index by_position(const weir_sequences *sequences, int64_t first_row, int64_t n_rows,
                               weir_tensor table) {
  WEIR_ASSERT(first_row + n_rows, <=, sequences->n_tokens);
  return (table_index){.sequences = sequences, .first_row = first_row, .n_entries = table.rows};
}

static void embedding_forward(weir_device *device, weir_tensor x, weir_tensor table,
                              weir_tensor ids, bool accumulate) {
  table_index index = by_id(ids, x.rows, table);
  gather(device, x, table, &index, accumulate);
}

static void embedding_backward(weir_device *device, weir_tensor dtable, weir_tensor dx,
                               weir_tensor ids) {
  table_index index = by_id(ids, dx.rows, dtable);
  scatter(device, dtable, dx, &index);
}

static void position_forward(weir_device *device, weir_tensor x, weir_tensor table,
                             const weir_sequences *sequences, int64_t first_row) {
  table_index index = by_position(sequences, first_row, x.rows, table);
  gather(device, x, table, &index, true);
}

static void position_backward(weir_device *device, weir_tensor dtable, weir_tensor dx,
                              const weir_sequences *sequences, int64_t first_row) {
  table_index index = by_position(sequences, first_row, dx.rows, dtable);
  scatter(device, dtable, dx, &index);
}

void weir_cpu_operations_embedding(weir_device_operations *operations) {
  operations->embedding_forward = embedding_forward;
  operations->embedding_backward = embedding_backward;
  operations->position_forward = position_forward;
  operations->position_backward = position_backward;
}
