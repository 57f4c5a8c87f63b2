/* SPDX-License-Identifier: Apache-2.0
 *
 * What the system says this process holds. */
#ifndef WEIR_BASE_PROCESS_H
#define WEIR_BASE_PROCESS_H

#include <stdint.h>

/* Memory resident now, and the most there ever was; 0 where the system does not say.  Pages of
 * mapped files count while they are resident. */
uint64_t weir_process_resident_bytes(void);
uint64_t weir_process_peak_bytes(void);

#endif
