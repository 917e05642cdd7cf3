// SPDX-License-Identifier: Apache-2.0
#include "watch.h"

#include "log.h"

void watch_begin(struct watch *w)
{
    w->layer = false;
    w->link_errors = GET(MW_SOC__LINK__ERRORS, hw_read(SOC(link)));
}

uint32_t watch_first_error(const struct board *b)
{
    uint32_t nodes = hw_read(FABRIC(node_error));
    uint32_t first = GET(MW_FABRIC__ERROR__FIRST, hw_read(FABRIC(error)));
    for (unsigned g = 0; g < b->gpus && !first; g++)
        if (nodes >> g & 1)
            first = hw_read(NODE(g, status.error)) & 0xff;
    return first;
}

static void layer(struct watch *w, const struct board *b, bool fed)
{
    bool busy = !fed && hw_read(FABRIC(state)) & MW_FABRIC__STATE__BUSY_bm;
    if (w->layer && !busy) {
        uint32_t first = watch_first_error(b);
        if (first)
            log_add(b, MW_LOG_FABRIC, first);
    }
    w->layer = busy;
}

static void link(struct watch *w, const struct board *b)
{
    uint32_t state = hw_read(SOC(link)), errors = GET(MW_SOC__LINK__ERRORS, state);
    if (errors != w->link_errors)
        log_add(b, MW_LOG_LINK, GET(MW_SOC__LINK__STATUS, state));
    w->link_errors = errors;
}

static void bus(const struct board *b)
{
    uint32_t fault = hw_read(SOC(fault));
    if (!(fault & MW_SOC__FAULT__VALID_bm))
        return;
    log_add(b, MW_LOG_BUS, fault & MW_SOC__FAULT__ADDR_bm);
    hw_write(SOC(fault), 0);
}

void watch_poll(struct watch *w, const struct board *b, bool fed)
{
    layer(w, b, fed);
    link(w, b);
    bus(b);
}
