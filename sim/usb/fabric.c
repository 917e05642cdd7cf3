// SPDX-License-Identifier: Apache-2.0
//
// The Verilated fabric as a backend of the device, through its C interface.
#include "device.h"

#include "fabric_regs.h"
#include "load.h"
#include "mw_sim.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fabric {
    void *library;
    const struct mw_sim_ops *ops;
    struct mw_sim *model;
    uint64_t begun; ///< cycle of the last reset
};

static int cfg(void *context, bool write, uint32_t address, uint32_t *value)
{
    struct fabric *f = context;
    return f->ops->cfg(f->model, write, address, value);
}

static int mem(void *context, bool write, unsigned gpu, uint64_t offset, uint8_t *data,
               size_t bytes)
{
    struct fabric *f = context;
    struct mw_sim_transfer t = {.gpu = gpu,
                                .write = write,
                                .flit = offset / f->ops->flit_bytes,
                                .flits = bytes / f->ops->flit_bytes,
                                .data = data};
    return f->ops->transfer(f->model, &t, 1) ? -1 : 0;
}

static bool run(void *context, uint64_t cycles)
{
    struct fabric *f = context;
    return f->ops->run(f->model, cycles);
}

static uint64_t total(void *context)
{
    struct fabric *f = context;
    return f->ops->cycles(f->model) - f->begun;
}

/// As after power-up, except the memories, which may hold anything. Cycles are counted from 0.
static int reset(void *context)
{
    struct fabric *f = context;
    f->begun = f->ops->cycles(f->model);
    f->ops->reset(f->model);
    return 0;
}

static void close_fabric(void *context)
{
    struct fabric *f = context;
    if (f->model)
        f->ops->destroy(f->model);
    if (f->library)
        dlclose(f->library);
    free(f);
}

bool mwd_load(const char *path, enum mwi_model of, void **library, void *function, size_t size)
{
    struct mw_simulation made;
    char message[400];
    if (mwi_model_note(path, of, &made, message, sizeof message)) {
        fprintf(stderr, "%s\n", message);
        return false;
    }
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *name = of == MWI_FABRIC ? "mw_sim_get_ops" : "mw_device_get_ops";
    void *symbol = *library ? dlsym(*library, name) : NULL;
    if (!symbol) {
        fprintf(stderr, "%s\n", dlerror());
        return false;
    }
    memcpy(function, &symbol, size); // C has no cast from an object to a function
    return true;
}

static bool load(struct fabric *f, const char *path)
{
    mw_sim_get_ops_fn get_ops;
    if (!mwd_load(path, MWI_FABRIC, &f->library, &get_ops, sizeof get_ops))
        return false;
    f->ops = get_ops();
    if (f->ops->abi == MW_SIM_ABI && (f->model = f->ops->create(NULL)))
        return true;
    fprintf(stderr, "%s: the model cannot be made\n", path);
    return false;
}

bool mwd_fabric(struct mwd_backend *backend, const char *model)
{
    struct fabric *f = calloc(1, sizeof *f);
    uint32_t size = 0;
    if (!f)
        return false;
    if (!load(f, model) || f->ops->cfg(f->model, false, offsetof(mw_fabric_t, size), &size)) {
        close_fabric(f);
        return false;
    }
    unsigned log = (size & MW_FABRIC__SIZE__MEM_LOG2_bm) >> MW_FABRIC__SIZE__MEM_LOG2_bp;
    *backend = (struct mwd_backend){.context = f,
                                    .name = "Verilated fabric",
                                    .gpus = f->ops->gpus,
                                    .flit_bytes = f->ops->flit_bytes,
                                    .mem_bytes = UINT64_C(1) << log,
                                    .cfg = cfg,
                                    .mem = mem,
                                    .run = run,
                                    .cycles = total,
                                    .reset = reset,
                                    .close = close_fabric};
    return true;
}
