// SPDX-License-Identifier: Apache-2.0
//
// See host_memory.h.
#include "base/host_memory.h"

#include <stdio.h>

uint64_t mw_memory_available(const char *path)
{
    char line[256];
    unsigned long long kib = 0;
    FILE *f = fopen(path, "r");
    while (f && !kib && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) != 1)
            kib = 0;
    if (f)
        fclose(f);
    return kib << 10;
}
