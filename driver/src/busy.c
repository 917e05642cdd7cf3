// SPDX-License-Identifier: Apache-2.0
//
// What may be done while layers run: nothing beside one of mw_layer_run; beside fed ones, moving data of buffers of the
// layout that no layer uses which is not known to be done.
#include "internal.h"

int mwi_check_idle(const struct mw_device *device, const char *call)
{
    return device->running || device->fed.count ? mwi_fail(MW_ERR_STATE, "%s: a layer runs", call)
                                                : 0;
}

bool mwi_in_use(const struct mw_device *d, unsigned buffer)
{
    for (unsigned i = 0; i < d->fed.count; i++)
        if (d->fed.buffer[i] == buffer)
            return true;
    return false;
}

static bool inside(const struct mw_transfer *t, uint32_t base, uint32_t bytes)
{
    return t->address >= base && t->address - base <= bytes &&
           t->bytes <= bytes - (t->address - base);
}

static bool is_free(const struct mw_device *d, const struct mw_transfer *t)
{
    const struct mw_layout *l = &d->fed.layout;
    for (unsigned i = 0; i < l->buffers; i++) {
        const struct mw_feed_buffer *b = &l->buffer[i];
        if (!mwi_in_use(d, i) &&
            (inside(t, b->rt_base, l->rt_bytes) || inside(t, b->xs_base, l->row_bytes) ||
             inside(t, b->out_base, l->row_bytes)))
            return true;
    }
    return false;
}

int mwi_check_free(const struct mw_device *device, const char *call, const struct mw_transfer *list,
                   size_t count)
{
    if (device->running)
        return mwi_check_idle(device, call);
    for (size_t i = 0; i < count && device->fed.count; i++)
        if (!is_free(device, &list[i]))
            return mwi_fail(MW_ERR_STATE,
                            "%s: a layer runs, and transfer %zu (0x%llx + %zu bytes) is not inside "
                            "a part of a buffer that none uses",
                            call, i, (unsigned long long)list[i].address, list[i].bytes);
    return 0;
}
