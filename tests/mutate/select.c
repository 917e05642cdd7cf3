// SPDX-License-Identifier: Apache-2.0
//
// Which mutation of a mutated netlist is active: the number in MW_MUTANT, 0 for none. The netlist
// calls this once, when it starts.
#include <stdlib.h>

int mw_mutant(void);

int mw_mutant(void)
{
    const char *number = getenv("MW_MUTANT");
    return number ? atoi(number) : 0;
}
