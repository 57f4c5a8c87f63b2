/* SPDX-License-Identifier: Apache-2.0
 *
 * Linear layers: products by oneDNN, so cut up that bits do not depend on the plan (I4).
 *
 * Every call of the library is one block of rows by one panel of output columns, on one thread.  A
 * call's shape and leading dimensions are then the same for a given row whatever the number of
 * rows, of threads or the chunk, and equal calls give equal bits.  Weight gradients add block after
 * block, last first, into a panel that one thread owns.  Left to thread itself the library would
 * choose kernels and splits by the number of rows. */
#include "device/cpu/cpu.h"
#include "device/cpu/cpu_operations.h"

#include <dnnl.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Widest panel: wide enough for 9/10 of the library's speed, narrow enough to share out. */
enum { PANEL_COLUMNS = 512, PANEL_MULTIPLE = 32, MIN_SHARED_COLUMNS = 128 };

void weir_cpu_product(char transpose_a, char transpose_b, int64_t m, int64_t n, int64_t k,
                      float alpha, const float *a, int64_t a_stride, const float *b,
                      int64_t b_stride, float beta, float *c, int64_t c_stride) {
  /* Concerns the calling thread's share of the region alone; in a team of one the library would
   * otherwise believe itself outside any and start a team of its own. */
  omp_set_num_threads(1);
  dnnl_status_t status = dnnl_sgemm(transpose_a, transpose_b, m, n, k, alpha, a, a_stride, b,
                                    b_stride, beta, c, c_stride);
  WEIR_ASSERT(status, ==, dnnl_success);
}

/* An even number of equal panels, so that two threads end together; a function of the columns. */
static int64_t panel_width(int64_t columns) {
  int64_t n_panels = cpu_pieces(columns, PANEL_COLUMNS);
  if (columns >= MIN_SHARED_COLUMNS) n_panels += n_panels % 2;
  return cpu_pieces(cpu_pieces(columns, n_panels), PANEL_MULTIPLE) * PANEL_MULTIPLE;
}

/* y [rows, columns] (+)= x op(w) + b, where op(w) is w' or w. */
static void multiply(weir_device *device, weir_tensor y, weir_tensor x, weir_tensor w,
                     char transpose_w, weir_tensor b, bool accumulate) {
  const weir_cpu_kernels *kernels = cpu_kernels(device);
  int64_t width = panel_width(y.cols), n_panels = cpu_pieces(y.cols, width);
  int64_t n_blocks = cpu_pieces(y.rows, WEIR_BLOCK_ROWS);
  float beta = accumulate || weir_tensor_exists(b) ? 1.0f : 0.0f;
#pragma omp parallel for schedule(dynamic, 1) num_threads(device->n_threads)
  for (int64_t i = 0; i < n_panels * n_blocks; i++) {
    int64_t first = i % n_panels * width, n = cpu_min(width, y.cols - first);
    int64_t begin = i / n_panels * WEIR_BLOCK_ROWS, end = cpu_min(begin + WEIR_BLOCK_ROWS, y.rows);
    if (weir_tensor_exists(b)) {
      for (int64_t row = begin; row < end; row++) {
        if (accumulate)
          kernels->add(cpu_row(y, row) + first, cpu_vector(b) + first, n);
        else
          memcpy(cpu_row(y, row) + first, cpu_vector(b) + first, (size_t)n * sizeof(float));
      }
    }
    const float *panel = cpu_vector(w) + (transpose_w == 'T' ? first * w.cols : first);
    weir_cpu_product('N', transpose_w, end - begin, n, x.cols, 1.0f, cpu_row(x, begin), x.cols,
                     panel, w.cols, beta, cpu_row(y, begin) + first, y.cols);
  }
}

static void linear_forward(weir_device *device, weir_tensor y, weir_tensor x, weir_tensor w,
                           weir_tensor b, bool accumulate) {
  CPU_ASSERT_SHAPE(x, device->real, x.rows, w.cols);
  CPU_ASSERT_SHAPE(w, device->real, w.rows, w.cols);
  CPU_ASSERT_SHAPE(y, device->real, x.rows, w.rows);
  if (weir_tensor_exists(b)) CPU_ASSERT_SHAPE(b, device->real, 1, w.rows);
  multiply(device, y, x, w, 'T', b, accumulate);
}

static void linear_backward_input(weir_device *device, weir_tensor dx, weir_tensor dy,
                                  weir_tensor w, bool accumulate) {
  CPU_ASSERT_SHAPE(dy, device->real, dy.rows, w.rows);
  CPU_ASSERT_SHAPE(w, device->real, w.rows, w.cols);
  CPU_ASSERT_SHAPE(dx, device->real, dy.rows, w.cols);
  multiply(device, dx, dy, w, 'N', (weir_tensor){0}, accumulate);
}

/* db[first .. first+n) += column sums of rows [begin, end) of dy, summed on their own first. */
static void add_column_sums(weir_device *device, weir_tensor db, weir_tensor dy, int64_t begin,
                            int64_t end, int64_t first, int64_t n) {
  const weir_cpu_kernels *kernels = cpu_kernels(device);
  float *sums = weir_cpu_scratch(device);
  memset(sums, 0, (size_t)n * sizeof *sums);
  for (int64_t row = begin; row < end; row++)
    kernels->add(sums, cpu_row(dy, row) + first, n);
  kernels->add(cpu_vector(db) + first, sums, n);
}

static void linear_backward_weight(weir_device *device, weir_tensor dw, weir_tensor db,
                                   weir_tensor dy, weir_tensor x) {
  CPU_ASSERT_SHAPE(dy, device->real, x.rows, dw.rows);
  CPU_ASSERT_SHAPE(x, device->real, x.rows, dw.cols);
  CPU_ASSERT_SHAPE(dw, device->real, dw.rows, dw.cols);
  if (weir_tensor_exists(db)) CPU_ASSERT_SHAPE(db, device->real, 1, dw.rows);
  int64_t width = panel_width(dw.rows), n_panels = cpu_pieces(dw.rows, width);
  int64_t last_block = cpu_pieces(x.rows, WEIR_BLOCK_ROWS) - 1;
#pragma omp parallel for schedule(dynamic, 1) num_threads(device->n_threads)
  for (int64_t panel = 0; panel < n_panels; panel++) {
    int64_t first = panel * width, n = cpu_min(width, dw.rows - first);
    for (int64_t block = last_block; block >= 0; block--) {
      int64_t begin = block * WEIR_BLOCK_ROWS, end = cpu_min(begin + WEIR_BLOCK_ROWS, x.rows);
      weir_cpu_product('T', 'N', n, dw.cols, end - begin, 1.0f, cpu_row(dy, begin) + first, dy.cols,
                       cpu_row(x, begin), x.cols, 1.0f, cpu_row(dw, first), dw.cols);
      if (weir_tensor_exists(db)) add_column_sums(device, db, dy, begin, end, first, n);
    }
  }
}

void weir_cpu_operations_linear(weir_device_operations *operations) {
  operations->linear_forward = linear_forward;
  operations->linear_backward_input = linear_backward_input;
  operations->linear_backward_weight = linear_backward_weight;
}

/* Each form of product the device uses, small (where the library reads operands in place) and
 * large (where it packs them), on every thread at once. */
weir_status weir_cpu_warm_up(weir_device *device) {
  static const char forms[][2] = {{'N', 'T'}, {'N', 'N'}, {'T', 'N'}};
  static const int64_t sizes[] = {1, 16, 100, 256, 1024};
  enum { N_FORMS = 3, N_SIZES = 5, LARGEST = 1024 };
  const size_t count = (size_t)LARGEST * LARGEST;
  float *data = calloc(((size_t)device->n_threads + 2) * count, sizeof *data);
  if (!data) return weir_fail(WEIR_FAILED, "no memory to warm up the product library");
#pragma omp parallel num_threads(device->n_threads)
  {
    float *c = data + (2 + (size_t)omp_get_thread_num()) * count;
    for (int i = 0; i < N_SIZES * N_FORMS * 2; i++) {
      int64_t n = sizes[i / (N_FORMS * 2)];
      const char *form = forms[i / 2 % N_FORMS];
      weir_cpu_product(form[0], form[1], n, n, n, 1.0f, data, n, data + count, n, (float)(i % 2), c,
                       n);
    }
  }
  free(data);
  return WEIR_OK;
}
