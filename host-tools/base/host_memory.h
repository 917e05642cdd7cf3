// SPDX-License-Identifier: Apache-2.0
//
// Memory of this machine.
#ifndef MW_HOST_HOST_MEMORY_H
#define MW_HOST_HOST_MEMORY_H

#include <stdint.h>

/// Bytes that the system can give, from a file like /proc/meminfo. 0: unknown.
uint64_t mw_memory_available(const char *path);

#endif
