// SPDX-License-Identifier: Apache-2.0
//
// What every way to run a job does: opening its device, moving its data, and saying how it failed.
#include "systems/job.h"

#include "analysis/costs.h"
#include "device/device_build.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 256 << 10 }; ///< bytes of each GPU

static const struct mw_generator *const generators[] = {
    &mw_generate_unicast, &mw_generate_overlap,   &mw_generate_nvls,
    &mw_generate_moe_hub, &mw_generate_flashdmoe, &mw_generate_dysharp_basic,
    &mw_generate_dysharp, &mw_generate_moeswitch};

int mw_job_begin(struct job *j, const struct mw_system *system)
{
    j->system = system;
    j->generator = NULL;
    for (unsigned i = 0; i < sizeof generators / sizeof *generators; i++)
        if (strcmp(generators[i]->name, system->name) == 0)
            j->generator = generators[i];
    if (!j->generator)
        return mw_fail(j->err, MW_EXIT_INPUT, "%s: there is no such system", system->name);
    return MW_EXIT_OK;
}

/// Whether all settings are costs of software, which streams wait for.
static bool costs_alone(const struct mw_settings *settings)
{
    struct mw_costs costs;
    for (unsigned i = 0; i < settings->count; i++)
        if (!mw_costs_place(&costs, settings->item[i].name))
            return false;
    return true;
}

/// The fewest primitives that are enough for the system, as far as is known: a setting may require
/// any.
static enum mw_primitives primitives_of(const struct job *j)
{
    const struct mw_system *s = j->system;
    const struct mw_settings *settings = &j->params->settings;
    if (j->every || !costs_alone(settings) || j->params->link_cycles > 1 ||
        j->params->shape.dispatch_type != MW_ROWTYPE_BF16 ||
        j->params->shape.passes != MW_RUN_FORWARD || s->target_list_cache || s->switch_reductions ||
        s->token_order || s->dispatch_throttle)
        return MW_PRIMITIVES_ALL;
    if (settings->count || s->row_ranges || s->gathered || s->row_sparse || s->source_lists)
        return MW_PRIMITIVES_PUBLISHED;
    return MW_PRIMITIVES_BASIC;
}

static void open_options(const struct job *j, struct mw_open_options *o)
{
    mw_device_options(&j->params->device, o);
    o->gpus = j->params->shape.gpus;
    o->flit_bytes = j->params->flit_bytes;
    o->link_latency = j->params->link_latency;
    o->small = j->small;
    o->fst = j->params->fst;
}

int mw_job_open(struct job *j)
{
    struct mw_open_options o;
    if (j->params->device.usb && j->small)
        return mw_fail(j->err, MW_EXIT_INPUT, "--set small: only with --device sim");
    open_options(j, &o);
    o.primitives = primitives_of(j);
    // one at a time: a model that is missing is built once
    static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&opening);
    int status = mw_device_open_built(&o, &j->device, j->err);
    pthread_mutex_unlock(&opening);
    return status;
}

int mw_job_info(struct job *j, struct mw_device_info *info)
{
    if (j->built) {
        struct mw_open_options o;
        open_options(j, &o);
        mw_device_built(info, &o);
        return MW_EXIT_OK;
    }
    int code = mw_info(j->device, info);
    return code ? mw_job_failed(j, "device", code) : MW_EXIT_OK;
}

void mw_job_streams(void *job, unsigned gpu, struct mw_stream *s)
{
    const struct job *j = job;
    const bool cached = j->config.handle == MW_HANDLE_CACHED;
    const struct mw_place at = {.system = j->system,
                                .gpus = j->w->shape.gpus,
                                .gpu = gpu,
                                .tokens = j->w->shape.tokens_per_gpu,
                                .layout = &j->layout,
                                .group = j->all ? (unsigned)mw_multicast_group(j->all) : 0,
                                .early = mw_early_tokens(j->system, j->params, j->w, cached),
                                .cached = cached,
                                .gradients = mw_makes_gradients(j->w, j->layer)};
    j->generator->make(s, &at);
}

void mw_job_step(struct job *j, double to)
{
    j->from = j->to;
    j->to = to;
}

bool mw_job_goes_on(struct job *j, double done)
{
    const struct mw_run_params *p = j->params;
    double share = j->from + (j->to - j->from) * (done < 1 ? done : 1);
    if (p->progress && !p->progress(p->progress_context, j->layer, share, j->cycles))
        j->stopped = true;
    return !j->stopped;
}

int mw_job_interrupted(struct job *j)
{
    return mw_fail(j->err, MW_EXIT_INTERRUPTED, "interrupted");
}

int mw_job_failed(struct job *j, const char *what, int code)
{
    return mw_device_failed(j->err, what, code);
}

int mw_job_stuck(struct job *j, const char *what, int code)
{
    if (code != MW_ERR_TIMEOUT)
        return mw_fail(j->err, MW_EXIT_FAILED, "%s: %s", what, mw_message());
    mw_fail(j->err, MW_EXIT_STUCK, "%s: %s", what, mw_message());
    j->result->state = mw_state_report(j->device);
    return MW_EXIT_STUCK;
}

static int look(void *context, uint64_t tokens, uint64_t total, uint64_t cycles)
{
    struct job *j = context;
    (void)tokens, (void)total;
    j->cycles = cycles;
    return !mw_job_goes_on(j, 1);
}

int mw_job_wait_fed(struct job *j, uint32_t number, const char *what, struct mw_fed *fed)
{
    struct mw_wait_options o = {
        .size = sizeof o, .quiet_cycles = j->quiet_cycles, .progress = look, .progress_context = j};
    int code = mw_fed_wait(j->device, number, &o, fed);
    if (j->stopped || code == MW_ERR_CANCELED)
        return mw_job_interrupted(j);
    return code ? mw_job_stuck(j, what, code) : MW_EXIT_OK;
}

/// What each GPU has of the values, so many a row.
static void make_parts(const struct mw_workload *w, const uint16_t *values, size_t width,
                       struct mw_tokens *part)
{
    const size_t own = w->shape.tokens_per_gpu;
    for (size_t g = 0; g < w->shape.gpus; g++)
        part[g] = (struct mw_tokens){.tokens = (unsigned)own, .x = values + g * own * width};
}

/// Rows of each GPU that are moved at once: few enough that a run can be stopped in between.
static unsigned rows_at_once(const struct job *j)
{
    unsigned rows = AT_ONCE >> j->layout.row_shift;
    return rows < j->w->shape.tokens_per_gpu ? rows : j->w->shape.tokens_per_gpu;
}

int mw_job_load_rows(struct job *j, uint64_t address, const uint16_t *values, const char *what)
{
    return mw_job_load_words(j, address, values, j->w->shape.hidden, what);
}

unsigned mw_job_dispatch_words(const struct job *j)
{
    return (unsigned)mw_dispatch_bytes(j->w) / 2;
}

void mw_job_pack_hidden(const struct job *j, unsigned layer, uint16_t *words)
{
    const struct mw_shape *s = &j->w->shape;
    const uint16_t *x = j->w->layer[layer].x;
    const float *scales = j->w->layer[layer].scales;
    const size_t per_row = mw_row_type_scales(s->dispatch_type, s->hidden);
    for (size_t t = 0; t < j->w->tokens; t++)
        mw_row_type_pack(s->dispatch_type, x + t * s->hidden, scales ? scales + t * per_row : NULL,
                         s->hidden, words + t * mw_job_dispatch_words(j));
}

int mw_job_load_hidden(struct job *j, unsigned layer, uint64_t address)
{
    static const char what[] = "hidden values";
    if (j->w->shape.dispatch_type == MW_ROWTYPE_BF16)
        return mw_job_load_rows(j, address, j->w->layer[layer].x, what);
    uint16_t *words = malloc((size_t)j->w->tokens * mw_job_dispatch_words(j) * sizeof *words);
    if (!words)
        return mw_fail_memory(j->err, what);
    mw_job_pack_hidden(j, layer, words);
    int status = mw_job_load_words(j, address, words, mw_job_dispatch_words(j), what);
    free(words);
    return status;
}

int mw_job_load_words(struct job *j, uint64_t address, const uint16_t *values, unsigned width,
                      const char *what)
{
    struct mw_tokens part[MW_MAX_GPUS];
    unsigned own = j->w->shape.tokens_per_gpu;
    for (unsigned from = 0, count; from < own; from += count) {
        count = own - from < rows_at_once(j) ? own - from : rows_at_once(j);
        make_parts(j->w, values + (size_t)from * width, width, part);
        for (unsigned g = 0; g < j->w->shape.gpus; g++)
            part[g].tokens = count;
        int code = mw_rows_load(j->device, address + ((uint64_t)from << j->layout.row_shift),
                                2 * width, j->layout.row_shift, part);
        if (code)
            return mw_job_failed(j, what, code);
        if (!mw_job_goes_on(j, (double)(from + count) / own))
            return mw_job_interrupted(j);
    }
    return MW_EXIT_OK;
}

int mw_job_read_rows(struct job *j, uint64_t address, uint16_t *values, const char *what)
{
    const struct mw_shape *s = &j->w->shape;
    unsigned tokens[MW_MAX_GPUS], own = s->tokens_per_gpu;
    uint16_t *out[MW_MAX_GPUS];
    for (unsigned from = 0, count; from < own; from += count) {
        count = own - from < rows_at_once(j) ? own - from : rows_at_once(j);
        for (size_t g = 0; g < s->gpus; g++) {
            tokens[g] = count;
            out[g] = values + (g * own + from) * s->hidden;
        }
        int code = mw_rows_read(j->device, address + ((uint64_t)from << j->layout.row_shift),
                                2 * s->hidden, j->layout.row_shift, tokens, out);
        if (code)
            return mw_job_failed(j, what, code);
        if (!mw_job_goes_on(j, (double)(from + count) / own))
            return mw_job_interrupted(j);
    }
    return MW_EXIT_OK;
}

/// The tables of all GPUs, which take whole units of their memories, side by side.
static int move_gradients(struct job *j, uint64_t address, uint32_t *dw, bool write)
{
    const struct mw_shape *s = &j->w->shape;
    const size_t own = (size_t)s->tokens_per_gpu * mw_gradient_places(j->w->k);
    const size_t bytes = (4 * own + MW_MEM_ALIGN - 1) / MW_MEM_ALIGN * MW_MEM_ALIGN;
    struct mw_transfer list[MW_MAX_GPUS];
    uint32_t *tables = malloc(s->gpus * bytes);
    if (!tables)
        return mw_fail_memory(j->err, "gradients of gate weights");
    for (size_t i = 0; i < s->gpus * bytes / 4; i++)
        tables[i] = MW_NO_GRADIENT;
    for (unsigned g = 0; g < s->gpus; g++)
        list[g] = (struct mw_transfer){g, address, bytes, tables + g * (bytes / 4)};
    const int code =
        write ? mw_mem_write(j->device, list, s->gpus) : mw_mem_read(j->device, list, s->gpus);
    for (unsigned g = 0; g < s->gpus && !write; g++)
        memcpy(dw + g * own, tables + g * (bytes / 4), 4 * own);
    free(tables);
    return code ? mw_job_failed(j, "gradients of gate weights", code) : MW_EXIT_OK;
}

int mw_job_clear_gradients(struct job *j, uint64_t address)
{
    return move_gradients(j, address, NULL, true);
}

int mw_job_read_gradients(struct job *j, uint64_t address, uint32_t *dw)
{
    return move_gradients(j, address, dw, false);
}
