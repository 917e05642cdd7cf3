// SPDX-License-Identifier: Apache-2.0
//
// What this processor has of what models need (sim/made.py has the list).
#ifndef MW_CPU_H
#define MW_CPU_H

#include <stdbool.h>

/// Whether it has a feature, by its name in /proc/cpuinfo. Of a name that no model needs: no.
bool mwi_cpu_has(const char *name);

#endif
