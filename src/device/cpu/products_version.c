/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/products_version.h"

#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>

void weir_cpu_products_version(char *version, size_t version_bytes) {
  const dnnl_version_t *dnnl = dnnl_version();
  snprintf(version, version_bytes, "%d.%d.%d", dnnl->major, dnnl->minor, dnnl->patch);
}

const char *weir_cpu_products_isa(void) {
  dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
  if ((isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core) return "AVX-512";
  if ((isa & dnnl_cpu_isa_avx2) == dnnl_cpu_isa_avx2) return "AVX2";
  return "SSE4.1 or less";
}
