// SPDX-License-Identifier: Apache-2.0
//
// Structs that start with their size. Every header has had fields of at most 8 bytes there, aligned
// to their size, and has only added to the end. So the size of such a struct is a multiple of 8,
// and none of those ends inside a field.
#include "core/struct_size.h"

#include "core/error.h"

#include <string.h>

enum {
    UNIT = 8,
    LATER =
        256, ///< bytes that later headers may add: what a program claims beyond them is no struct
};

struct known {
    const char *name;
    size_t first, bytes; ///< of the first header's and of this one's
};
#define KNOWN(type, end) \
    { \
#type, ((end) + UNIT - 1) / UNIT *UNIT, sizeof(struct type) \
    }

static const struct known OPEN = KNOWN(mw_open_options, offsetof(struct mw_open_options, backend)),
                          LAYER = KNOWN(mw_layer_config,
                                        offsetof(struct mw_layer_config, adder_bypass)),
                          WAIT = KNOWN(mw_wait_options, sizeof(struct mw_wait_options)),
                          PROP = KNOWN(mw_dymulticast_prop,
                                       offsetof(struct mw_dymulticast_prop, dispatch_type)),
                          TRANSPORT =
                              KNOWN(mw_transport, offsetof(struct mw_transport, total_cycles));

static bool is_size(const struct known *k, size_t size)
{
    return size % UNIT == 0 && size >= k->first && size <= k->bytes + LATER;
}

static int check(const struct known *k, size_t size)
{
    return is_size(k, size)
               ? 0
               : mwi_fail(MW_ERR_INVALID, "%s: its size is %zu: set it to sizeof(struct %s)",
                          k->name, size, k->name);
}

/// Fields that the program's struct does not have yet are 0. Fields that only later libraries have
/// must be 0.
static int take(const struct known *k, void *own, const void *given)
{
    size_t size;
    memcpy(&size, given, sizeof size);
    int status = check(k, size);
    for (size_t i = k->bytes; i < size && !status; i++)
        if (((const char *)given)[i])
            status = mwi_fail(MW_ERR_VERSION,
                              "%s: byte %zu is set, the library's has %zu: upgrade the library",
                              k->name, i, k->bytes);
    if (status)
        return status;
    memset(own, 0, k->bytes);
    memcpy(own, given, size < k->bytes ? size : k->bytes);
    memcpy(own, &k->bytes, sizeof k->bytes);
    return 0;
}

static void give(const struct known *k, void *to, const void *defaults, size_t size)
{
    const size_t none = 0;
    if (!to || size < sizeof size)
        return;
    if (!is_size(k, size)) {
        memcpy(to, &none, sizeof none);
        return;
    }
    memset(to, 0, size);
    memcpy(to, defaults, size < k->bytes ? size : k->bytes);
    memcpy(to, &size, sizeof size);
}

// ---- each of them -------------------------------------------------------------------------------

int mwi_take_open(struct mw_open_options *own, const struct mw_open_options *given)
{
    return take(&OPEN, own, given);
}

int mwi_take_layer(struct mw_layer_config *own, const struct mw_layer_config *given)
{
    return take(&LAYER, own, given);
}

int mwi_take_wait(struct mw_wait_options *own, const struct mw_wait_options *given)
{
    if (given)
        return take(&WAIT, own, given);
    *own = (struct mw_wait_options){.size = sizeof *own};
    return 0;
}

int mwi_take_prop(struct mw_dymulticast_prop *own, const struct mw_dymulticast_prop *given)
{
    return take(&PROP, own, given);
}

int mwi_take_transport(struct mw_transport *own, const struct mw_transport *given)
{
    int status = take(&TRANSPORT, own, given);
    if (status)
        return status;
    const char *missing = !own->name        ? "name"
                          : !own->open      ? "open"
                          : !own->close     ? "close"
                          : !own->cfg_read  ? "cfg_read"
                          : !own->cfg_write ? "cfg_write"
                          : !own->mem_write ? "mem_write"
                          : !own->mem_read  ? "mem_read"
                          : !own->run_until ? "run_until"
                                            : NULL;
    return missing ? mwi_fail(MW_ERR_INVALID, "mw_transport: %s is NULL", missing) : 0;
}

int mwi_check_layer_size(const struct mw_layer_config *config)
{
    return check(&LAYER, config->size);
}

void mwi_give_open(struct mw_open_options *to, const struct mw_open_options *defaults, size_t size)
{
    give(&OPEN, to, defaults, size);
}

void mwi_give_layer(struct mw_layer_config *to, const struct mw_layer_config *defaults, size_t size)
{
    give(&LAYER, to, defaults, size);
}
