// SPDX-License-Identifier: Apache-2.0
//
// What the library stores of a device's tables, while there is a device and after a reset.
#include "core/known_tables.h"

#include <stdlib.h>

int mwi_tables_make(struct mw_device *d)
{
    struct mwi_tables *t = calloc(1, sizeof *t);
    if (t)
        t->set = malloc(2 * d->info.experts * sizeof *t->set);
    if (!t || !t->set) {
        free(t);
        return mwi_fail(MW_ERR_NOMEM, "no memory for the device's tables");
    }
    t->has = t->set + d->info.experts;
    for (unsigned e = 0; e < 2 * d->info.experts; e++)
        t->set[e] = MWI_UNKNOWN;
    d->tables = t;
    return 0;
}

void mwi_tables_free(struct mw_device *d)
{
    if (d->tables)
        free(d->tables->set);
    free(d->tables);
    d->tables = NULL;
}

void mwi_tables_forget(struct mw_device *d)
{
    struct mwi_tables *t = d->tables;
    for (unsigned g = 0; g < MWI_GROUPS; g++)
        t->group[g].known = false;
    for (unsigned e = 0; e < d->info.experts; e++)
        t->has[e] = MWI_UNKNOWN;
}
