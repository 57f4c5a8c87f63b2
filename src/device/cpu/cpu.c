/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/cpu.h"

#include "device/cpu/cpu_operations.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Best first. */
static const weir_cpu_kernels *const all_kernels[] = {
    &weir_cpu_kernels_avx512,
    &weir_cpu_kernels_avx2,
    &weir_cpu_kernels_portable,
};
enum { N_KERNELS = sizeof all_kernels / sizeof *all_kernels };

static bool processor_has(const weir_cpu_kernels *kernels) {
  if (kernels == &weir_cpu_kernels_avx512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (kernels == &weir_cpu_kernels_avx2)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return true;
}

static weir_status choose_kernels(const char *isa, const weir_cpu_kernels **kernels) {
  for (int i = 0; i < N_KERNELS; i++) {
    if (isa != NULL && strcmp(isa, all_kernels[i]->isa) != 0) continue;
    *kernels = all_kernels[i];
    if (processor_has(*kernels)) return WEIR_OK;
    if (isa != NULL)
      return weir_fail(WEIR_BAD_INPUT, "this processor has no %s; use \"portable\" or none", isa);
  }
  return weir_fail(WEIR_BAD_INPUT,
                   "unknown instruction set \"%s\": expected avx512, avx2 or portable", isa);
}

weir_status weir_cpu_create(int n_threads, const char *isa, weir_device **device) {
  WEIR_ASSERT(n_threads, >=, 1);
  const weir_cpu_kernels *kernels = NULL;
  WEIR_TRY(choose_kernels(isa, &kernels));
  weir_cpu *cpu = calloc(1, sizeof *cpu);
  if (!cpu) return weir_fail(WEIR_FAILED, "no memory for the cpu device");
  weir_cpu_operations_memory(&cpu->operations);
  weir_cpu_operations_embedding(&cpu->operations);
  weir_cpu_operations_norm(&cpu->operations);
  weir_cpu_operations_linear(&cpu->operations);
  weir_cpu_operations_rope(&cpu->operations);
  weir_cpu_operations_attention(&cpu->operations);
  weir_cpu_operations_activation(&cpu->operations);
  weir_cpu_operations_head(&cpu->operations);
  weir_cpu_operations_optimizer(&cpu->operations);
  cpu->kernels = kernels;
  cpu->base = (weir_device){.name = "cpu",
                            .operations = &cpu->operations,
                            .real = WEIR_DTYPE_F32,
                            .n_threads = n_threads};
  *device = &cpu->base;
  return WEIR_OK;
}

void weir_cpu_destroy(weir_device *device) {
  free(device);
}

const char *weir_cpu_isa_name(const weir_device *device) {
  return cpu_kernels(device)->isa;
}

float *weir_cpu_scratch(const weir_device *device) {
  const uint64_t bytes = WEIR_WORKSPACE_BYTES_PER_THREAD;
  WEIR_ASSERT(weir_tensor_bytes(device->workspace), >=, (uint64_t)device->n_threads * bytes);
  uint8_t *base = weir_tensor_data(device->workspace);
  return (float *)(void *)(base + (uint64_t)omp_get_thread_num() * bytes);
}
