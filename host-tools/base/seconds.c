// SPDX-License-Identifier: Apache-2.0
#include "base/seconds.h"

#include <time.h>

double mw_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
