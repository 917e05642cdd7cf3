// SPDX-License-Identifier: Apache-2.0
#include "api/transport_list.h"

#include "core/error.h"
#include "transport_sim/transport_sim.h"
#include "transport_usb/transport_usb.h"

#include <string.h>

const struct mw_transport *mwi_find_transport(const struct mw_open_options *o)
{
    if (o->custom)
        return o->custom;
    static const struct mw_transport *const list[] = {&mwi_transport_sim, &mwi_transport_usb};
    for (size_t i = 0; o->transport && i < sizeof list / sizeof *list; i++)
        if (strcmp(o->transport, list[i]->name) == 0)
            return list[i];
    return NULL;
}

int mwi_no_transport(const struct mw_open_options *o)
{
    if (!o->transport)
        return mwi_fail(MW_ERR_INVALID, "transport is NULL: sim and usb are possible");
    return mwi_fail(MW_ERR_NODEV, "transport %s: there is none of that name: sim and usb are",
                    o->transport);
}
