// SPDX-License-Identifier: Apache-2.0
//
// Runs one system on one device: layout, tables, streams, rows, counters, and the check of every
// output element. The parts of the workload are three experts of each GPU. The routing entry of
// every row names this GPU's expert for the part. So a part is expert.rows of gathered tokens.
#include "analysis/costs.h"
#include "base/interrupt.h"
#include "base/seconds.h"
#include "device/device_build.h"
#include "device/setting_table.h"
#include "systems/layer_counters.h"
#include "tp/streams.h"
#include "tp/tp_bounds.h"
#include "tp/tp_golden.h"
#include "tp_run/tp_run.h"

#include <stdlib.h>
#include <string.h>

enum { PATTERN = 0xa5 }; ///< value of each byte that the workload will write

struct job {
    const struct mw_run_params *params;
    const struct mw_tp_problem *p;
    const struct mw_tp_system *system;
    enum mw_tp_order order;
    unsigned ranges;
    struct mw_device *device;
    struct mw_layer_config config;
    struct mw_layout layout;
    struct mw_multicast *group[MW_MAX_PORTS + 1]; ///< one of each GPU, and one of all GPUs
    unsigned all, one[MW_MAX_PORTS];
    struct mw_error *err;
};

/// Context of fetch(), which reads samples while the device runs.
struct recording {
    struct mw_monitor *monitor;
    struct mw_device *device;
};

static bool tiles(const struct job *j)
{
    return mw_tp_by_homes(j->system);
}

static bool merged(const struct job *j)
{
    return j->system->gather == MW_TP_MERGED;
}

static int failed(struct job *j, const char *what, int code)
{
    return mw_device_failed(j->err, what, code);
}

// ---- device and layer ---------------------------------------------------------------------------

const char *mw_tp_lack(const struct mw_tp_system *system, bool reduces,
                       const struct mw_device_info *info)
{
    const bool red = mw_tp_pushes(system) || system->reduce == MW_TP_STEPS;
    if (!info->gathered)
        return "gathered";
    if (!info->more_events)
        return "more_events";
    if (!info->delay)
        return "delay";
    if (mw_tp_by_homes(system) && !info->tile_reductions)
        return "tile_reductions";
    if (red && reduces && !info->multimem_red)
        return "multimem_red";
    if (mw_tp_adds_up(system) && !info->merge_reds)
        return "merge_reds";
    return system->gather == MW_TP_MERGED && !info->merge_loads ? "merge_loads" : NULL;
}

static int open_device(struct job *j, struct mw_device_info *info)
{
    const struct mw_run_params *p = j->params;
    struct mw_open_options o;
    if (p->device.usb && mw_setting_value(&p->settings, "small", 0))
        return mw_fail(j->err, MW_EXIT_INPUT, "--set small: only with --device sim");
    mw_device_options(&p->device, &o);
    o.gpus = j->p->gpus;
    o.flit_bytes = j->p->flit_bytes;
    o.link_latency = p->link_latency;
    o.small = mw_setting_value(&p->settings, "small", 0);
    o.primitives = p->link_cycles > 1 || p->settings.count || tiles(j) ? MW_PRIMITIVES_ALL
                                                                       : MW_PRIMITIVES_PUBLISHED;
    int status = mw_device_open_built(&o, &j->device, j->err);
    int code = status ? 0 : mw_info(j->device, info);
    return code ? failed(j, "device", code) : status;
}

int mw_tp_device_lack(const struct mw_run_params *params, const struct mw_tp_problem *p,
                      const struct mw_tp_system *system, const char **lack, struct mw_error *err)
{
    struct job j = {.params = params, .p = p, .system = system, .err = err};
    struct mw_device_info info;
    int status = open_device(&j, &info);
    if (!status)
        *lack = mw_tp_lack(system, mw_tp_reduces(p), &info);
    mw_close(j.device);
    return status;
}

/// Open the device, and check that it has all that the system needs.
static int open_whole(struct job *j)
{
    struct mw_device_info info;
    int status = open_device(j, &info);
    const char *lack = status ? NULL : mw_tp_lack(j->system, mw_tp_reduces(j->p), &info);
    if (lack) {
        struct mw_error cause;
        mw_device_lacks(&cause, &j->params->device, lack);
        return mw_fail(j->err, MW_EXIT_INPUT, "%s: %s", j->system->name, cause.text);
    }
    return status || !merged(j) ? status : mw_tp_check_entries(j->p, info.merge_entries, j->err);
}

/// How many numbers the gathered rows of all parts take.
static unsigned gathered_rows(const struct job *j)
{
    const unsigned own = MW_TP_PARTS * mw_tp_own(j->p);
    unsigned shift = 0;
    while (1u << shift < own)
        shift++;
    return tiles(j) ? j->p->gpus << shift : j->p->gpus * own;
}

/// The number of a part's row, as gathered token.
static unsigned number(const struct job *j, enum mw_tp_part part, unsigned home, unsigned place)
{
    return tiles(j) ? mw_tp_number(j->p, j->layout.token_shift, part, home, place)
                    : (unsigned)part * j->p->o.rows + mw_tp_place(j->p, j->ranges, home, place);
}

static uint64_t address(const struct job *j, bool output, unsigned number)
{
    const uint64_t base = output ? j->layout.yd_base : j->layout.xd_base;
    return base + (uint64_t)number * mw_tp_row_bytes(j->p);
}

/// Loads move rows from the output of LN to the input of GEMM-2.
static void configure_loads(struct job *j)
{
    j->config.merge_loads = true;
    j->config.load_first = mw_tp_number(j->p, 0, MW_TP_GEMM_2, 0, 0);
    j->config.load_expert = MW_TP_GEMM_2;
    j->config.merge_entries = j->p->o.merge_entries;
    j->config.keep_answers = j->p->o.keep;
    j->config.load_bytes = j->p->o.load_bytes;
}

static int configure(struct job *j)
{
    const struct mw_tp_problem *p = j->p;
    struct mw_layer_config *c = &j->config;
    mw_layer_defaults(c);
    c->k = 1;
    c->tokens_per_gpu = MW_TP_PARTS * mw_tp_own(p);
    c->row_bytes = mw_tp_row_bytes(p);
    c->experts_per_gpu = MW_TP_PARTS;
    c->rows_per_expert = p->o.rows;
    c->received_rows = gathered_rows(j);
    c->tile = p->tile;
    c->expert_cycles = (unsigned)mw_tp_layer_cycles(p);
    c->link_cycles = p->link_cycles;
    c->target_list_cache = c->switch_reductions = c->tile_reductions = tiles(j);
    c->adder_bypass = mw_tp_adder_bypass(p, j->system);
    c->own_by_adder = j->system->gather == MW_TP_LOADS;
    c->open_rows = j->params->open_rows;
    if (merged(j))
        configure_loads(j);
    if (mw_tp_adds_up(j->system)) {
        c->sum_entries = MW_BUILT_SUMS;
        c->sum_gpus = p->gpus - 1;
        c->sum_first = mw_tp_number(p, 0, MW_TP_LN, 0, 0);
    }
    int status = mw_settings_apply(&j->params->settings, c, j->err);
    if (status)
        return status;
    int code = mw_layout_make(j->device, c, &j->layout);
    if (code)
        return failed(j, "the device cannot hold this run", code);
    j->layout.st_lo = j->layout.yd_base; // sums are stored where a part's output is
    if (tiles(j))                        // they go to the input of LN, or are what is gathered
        j->layout.out_base =
            address(j, j->system->reduce == MW_TP_TILES && merged(j) && !mw_tp_has(p, MW_TP_LN),
                    number(j, MW_TP_LN, 0, 0));
    // index load_first is the first result of LN, or without LN the first sum
    const bool sums = mw_tp_pushes(j->system) && !mw_tp_has(p, MW_TP_LN);
    if (merged(j))
        j->layout.load_base = address(j, !sums, number(j, MW_TP_LN, 0, 0)) -
                              (uint64_t)c->load_first * mw_tp_row_bytes(p);
    code = mw_expert_map_even(j->device, MW_TP_PARTS * p->gpus);
    return code ? failed(j, "expert map", code) : MW_EXIT_OK;
}

/// A static group of the GPUs first .. last.
static int make_group(struct job *j, unsigned index, unsigned first, unsigned last,
                      unsigned *number)
{
    struct mw_multicast **m = &j->group[index];
    int code = mw_multicast_create(j->device, j->layout.end, m);
    for (unsigned g = first; g <= last && !code; g++)
        code = mw_multicast_add_device(*m, g);
    if (!code)
        code = mw_multicast_bind_addr(*m, 0);
    if (code)
        return failed(j, "static group", code);
    *number = (unsigned)mw_multicast_group(*m);
    return MW_EXIT_OK;
}

static int make_groups(struct job *j)
{
    const bool each =
        (j->system->gather != MW_TP_MULTICAST && !merged(j)) || mw_tp_pushes(j->system);
    int status = make_group(j, MW_MAX_PORTS, 0, j->p->gpus - 1, &j->all);
    for (unsigned g = 0; g < j->p->gpus && each && !status; g++)
        status = make_group(j, g, g, g, &j->one[g]);
    return status;
}

static void make_streams(void *context, unsigned gpu, struct mw_stream *s)
{
    const struct job *j = context;
    const struct mw_tp_at at = {.p = j->p,
                                .layout = &j->layout,
                                .gpu = gpu,
                                .ranges = j->ranges,
                                .all = j->all,
                                .one = j->one};
    j->system->make(&at, s);
}

static int set_up(struct job *j)
{
    unsigned tokens[MW_MAX_PORTS] = {0}, experts[MW_MAX_PORTS];
    int status, code;
    if ((status = open_whole(j)) || (status = configure(j)) || (status = make_groups(j)))
        return status;
    code = mw_streams_load(j->device, &j->layout, MW_STREAMS, make_streams, j);
    if (code)
        return failed(j, "instruction streams", code);
    for (unsigned g = 0; g < j->p->gpus; g++)
        experts[g] = MW_TP_PARTS;
    code = mw_layer_configure(j->device, &j->config, &j->layout, tokens, experts,
                              (1u << MW_STREAMS) - 1);
    return code ? failed(j, "layer", code) : MW_EXIT_OK;
}

// ---- data ---------------------------------------------------------------------------------------

static size_t row_bytes(const struct job *j)
{
    return mw_tp_row_bytes(j->p);
}

/// The place of a logical row of a part in a buffer of all M rows.
static unsigned place_of(const struct job *j, unsigned row)
{
    const unsigned own = mw_tp_own(j->p);
    return tiles(j) ? row : mw_tp_place(j->p, j->ranges, row / own, row % own);
}

/// Rows of some GPUs. They move concurrently, those of each GPU through its own port.
struct batch {
    unsigned first, gpus;     ///< of GPUs first .. first + gpus - 1
    unsigned most;            ///< GPUs for which there is room
    uint16_t *rows;           ///< M of each GPU
    struct mw_transfer *list; ///< room for one from each home to each GPU
};

enum { BATCH_BYTES = 1 << 28 }; ///< of rows

static int batch_make(struct job *j, struct batch *b)
{
    const size_t rows = j->p->o.rows * row_bytes(j);
    const size_t room = BATCH_BYTES / rows ? BATCH_BYTES / rows : 1;
    *b = (struct batch){.most = room < j->p->gpus ? (unsigned)room : j->p->gpus};
    b->rows = malloc(b->most * rows);
    b->list = calloc((size_t)b->most * j->p->gpus, sizeof *b->list);
    return b->rows && b->list ? MW_EXIT_OK : mw_fail_memory(j->err, "the rows");
}

static void batch_free(struct batch *b)
{
    free(b->rows);
    free(b->list);
}

/// Continue with the next GPUs. False: there are no more.
static bool batch_next(const struct job *j, struct batch *b)
{
    const unsigned left = j->p->gpus - (b->first + b->gpus);
    b->first += b->gpus;
    b->gpus = left < b->most ? left : b->most;
    return b->gpus;
}

static uint16_t *batch_rows(const struct job *j, const struct batch *b, unsigned gpu)
{
    return b->rows + (size_t)(gpu - b->first) * j->p->o.rows * j->p->hidden;
}

/// Move a part's rows between the memories of the GPUs and the batch: all at once, or home by
/// home.
static int move_rows(struct job *j, struct batch *b, bool write, bool output, enum mw_tp_part part)
{
    const unsigned own = mw_tp_own(j->p), homes = tiles(j) ? j->p->gpus : 1;
    const size_t bytes = j->p->o.rows / homes * row_bytes(j);
    size_t count = 0;
    for (unsigned g = b->first; g < b->first + b->gpus; g++)
        for (unsigned h = 0; h < homes; h++)
            if (homes == 1 || part != MW_TP_LN || h == g)
                b->list[count++] =
                    (struct mw_transfer){g, address(j, output, number(j, part, h, 0)), bytes,
                                         batch_rows(j, b, g) + (size_t)h * own * j->p->hidden};
    const int code =
        write ? mw_mem_write(j->device, b->list, count) : mw_mem_read(j->device, b->list, count);
    return code ? failed(j, write ? "rows" : "output rows", code) : MW_EXIT_OK;
}

/// Routing entries of a GPU: its own expert for the part, and the weight of the row.
static void make_routing(const struct job *j, unsigned gpu, uint8_t *table)
{
    const unsigned rows = j->p->o.rows, own = mw_tp_own(j->p);
    for (unsigned part = 0; part < MW_TP_PARTS; part++)
        for (unsigned row = 0; row < rows; row++) {
            const int16_t expert = (int16_t)(MW_TP_PARTS * gpu + part);
            const float w = mw_tp_weight(j->p, j->order, (enum mw_tp_part)part, row);
            const size_t at = number(j, (enum mw_tp_part)part, row / own, row % own);
            if (!tiles(j) || part != MW_TP_LN || row / own == gpu)
                mw_route_pack(table + at * MW_ROUTE_BYTES, &expert, &w, 1);
        }
}

static int load_routing(struct job *j, struct batch *b)
{
    const size_t bytes = (size_t)gathered_rows(j) * MW_ROUTE_BYTES;
    uint8_t *tables = calloc(b->gpus, bytes);
    if (!tables)
        return mw_fail_memory(j->err, "routing tables");
    for (unsigned i = 0; i < b->gpus; i++) {
        make_routing(j, b->first + i, tables + i * bytes);
        b->list[i] =
            (struct mw_transfer){b->first + i, j->layout.gt_base, bytes, tables + i * bytes};
    }
    int code = mw_mem_write(j->device, b->list, b->gpus);
    for (unsigned i = 0; i < b->gpus && mw_tp_adds_up(j->system); i++) {
        const unsigned g = b->first + i; // own tokens of `sum` are the own rows of GEMM-1
        const size_t first = (size_t)number(j, MW_TP_GEMM_1, g, 0) * MW_ROUTE_BYTES;
        b->list[i] =
            (struct mw_transfer){g, j->layout.rt_base, (size_t)mw_tp_own(j->p) * MW_ROUTE_BYTES,
                                 tables + i * bytes + first};
    }
    if (!code && mw_tp_adds_up(j->system))
        code = mw_mem_write(j->device, b->list, b->gpus);
    free(tables);
    return code ? failed(j, "routing tables", code) : MW_EXIT_OK;
}

/// Load the input of the workload at each GPU: that of GEMM-1, or the own rows that are gathered.
static int load_input(struct job *j, struct batch *b)
{
    const unsigned own = mw_tp_own(j->p), hidden = j->p->hidden;
    const bool reduces = mw_tp_reduces(j->p);
    memset(b->rows, PATTERN, b->gpus * j->p->o.rows * row_bytes(j));
    for (unsigned g = b->first; g < b->first + b->gpus; g++)
        for (unsigned row = 0; row < j->p->o.rows; row++)
            for (unsigned e = 0; e < hidden && (reduces || row / own == g); e++)
                batch_rows(j, b, g)[(size_t)place_of(j, row) * hidden + e] =
                    mw_tp_value(j->p, j->order, g, row, e);
    return move_rows(j, b, true, !reduces, reduces ? MW_TP_GEMM_1 : MW_TP_LN);
}

/// Fill the rows that the workload writes with a pattern. Sums that are added up in memory start
/// with 0.
static int load_pattern(struct job *j, struct batch *b)
{
    const size_t bytes = b->gpus * j->p->o.rows * row_bytes(j);
    int status = MW_EXIT_OK;
    memset(b->rows, j->system->reduce == MW_TP_PUSH ? 0 : PATTERN, bytes);
    if (mw_tp_reduces(j->p))
        status = move_rows(j, b, true, false, MW_TP_LN);
    memset(b->rows, PATTERN, bytes);
    if (!status && mw_tp_gathers(j->p))
        status = move_rows(j, b, true, false, MW_TP_GEMM_2);
    if (!status && mw_tp_has(j->p, MW_TP_GEMM_2))
        status = move_rows(j, b, true, true, MW_TP_GEMM_2);
    return status;
}

static int load_data(struct job *j)
{
    const struct mw_tp_problem *p = j->p;
    uint16_t coefficients[MW_TP_PARTS * MW_MAX_PORTS];
    struct batch b;
    int status = batch_make(j, &b);
    while (!status && batch_next(j, &b)) {
        if (!(status = load_routing(j, &b)) && !(status = load_input(j, &b)))
            status = load_pattern(j, &b);
        if (!status && mw_interrupted)
            status = mw_fail(j->err, MW_EXIT_INTERRUPTED, "interrupted");
    }
    batch_free(&b);
    for (unsigned g = 0; g < p->gpus; g++)
        for (unsigned part = 0; part < MW_TP_PARTS; part++)
            coefficients[MW_TP_PARTS * g + part] =
                mw_tp_coefficient(p, j->order, g, (enum mw_tp_part)part);
    int code = status ? 0 : mw_coefficients_load(j->device, &j->layout, MW_TP_PARTS, coefficients);
    return code ? failed(j, "coefficients", code) : status;
}

// ---- check --------------------------------------------------------------------------------------

static void compare(const struct job *j, struct mw_tp_result *r, unsigned gpu,
                    const uint16_t *golden, const uint16_t *rows)
{
    const unsigned own = mw_tp_own(j->p), hidden = j->p->hidden;
    for (unsigned row = 0; row < j->p->o.rows; row++) {
        if (!mw_tp_output_everywhere(j->p) && row / own != gpu)
            continue;
        for (unsigned e = 0; e < hidden; e++) {
            const uint16_t want =
                mw_tp_golden_last(j->p, j->order, gpu, row, golden[(size_t)row * hidden + e]);
            const uint16_t got = rows[(size_t)place_of(j, row) * hidden + e];
            if (want == got)
                continue;
            if (!r->layer.wrong++)
                r->first = (struct mw_tp_mismatch){gpu, row, e, want, got};
        }
    }
}

static int check(struct job *j, struct mw_tp_result *r)
{
    const bool second = mw_tp_has(j->p, MW_TP_GEMM_2);
    const enum mw_tp_part part = mw_tp_output_everywhere(j->p) ? MW_TP_GEMM_2 : MW_TP_LN;
    uint16_t *golden = malloc(j->p->o.rows * row_bytes(j));
    struct batch b;
    int status = batch_make(j, &b);
    if (!status && !golden)
        status = mw_fail_memory(j->err, "the golden result");
    if (!status)
        mw_tp_golden(j->p, j->order, golden);
    while (!status && batch_next(j, &b)) {
        status = move_rows(j, &b, false, second, part);
        for (unsigned g = b.first; g < b.first + b.gpus && !status; g++)
            compare(j, r, g, golden, batch_rows(j, &b, g));
    }
    free(golden);
    batch_free(&b);
    return status;
}

// ---- the run ------------------------------------------------------------------------------------

static int take_counters(struct job *j, struct mw_tp_result *r)
{
    struct mw_counters *c = malloc(sizeof *c);
    if (!c)
        return mw_fail_memory(j->err, "counters");
    int code = mw_counters_read(j->device, c);
    if (!code)
        mw_layer_counters(&r->layer, c, j->p->gpus);
    if (!code)
        code = mw_load_counters_read(j->device, &r->loads);
    if (!code)
        code = mw_sum_counters_read(j->device, &r->sums);
    free(c);
    return code ? failed(j, "counters", code) : MW_EXIT_OK;
}

/// Called while the device runs: reads samples. A failure appears as missing samples.
static int fetch(void *context, uint64_t tokens, uint64_t total, uint64_t cycles)
{
    struct recording *at = context;
    (void)tokens, (void)total, (void)cycles;
    mw_monitor_fetch(at->monitor, at->device);
    return 0;
}

/// Let ports and GPUs record what the parameters request.
static int start_recording(struct job *j, struct mw_layer_result *r)
{
    const unsigned classes = 1u << MW_CLS_STORE | 1u << MW_CLS_PART;
    struct mw_tp_bounds b;
    int status = MW_EXIT_OK;
    mw_tp_bounds(j->p, j->system, &b);
    if (j->params->monitor)
        status = mw_monitor_start(&r->monitor, j->device, j->params, j->p->gpus, b.own.cycles,
                                  classes, j->err);
    if (!status && j->params->timeline)
        status = mw_timeline_start(&r->timeline, j->device, j->err);
    return status;
}

static int run(struct job *j, struct mw_tp_result *r)
{
    struct mw_wait_options o = {.size = sizeof o,
                                .quiet_cycles =
                                    mw_setting_value(&j->params->settings, "quiet_cycles", 0),
                                .stop = &mw_interrupted};
    int status = start_recording(j, &r->layer);
    if (status)
        return status;
    struct recording recording = {r->layer.monitor, j->device};
    if (r->layer.monitor) {
        o.progress = fetch;
        o.progress_context = &recording;
        o.step_cycles = mw_monitor_step(r->layer.monitor);
    }
    int code = mw_launch(j->device);
    if (!code)
        code = mw_wait(j->device, &o, &r->layer.cycles);
    if (!code && r->layer.monitor)
        code = mw_monitor_finish(r->layer.monitor, j->device);
    if (code == MW_ERR_CANCELED)
        return mw_fail(j->err, MW_EXIT_INTERRUPTED, "interrupted");
    if (code) {
        r->run.state = code == MW_ERR_TIMEOUT ? mw_state_report(j->device) : NULL;
        return mw_fail(j->err, code == MW_ERR_TIMEOUT ? MW_EXIT_STUCK : MW_EXIT_FAILED, "%s: %s",
                       j->system->name, mw_message());
    }
    if (j->params->timeline)
        status = mw_timeline_stop(r->layer.timeline, j->device, j->err);
    if (!status)
        status = take_counters(j, r);
    return status ? status : check(j, r);
}

int mw_tp_device_run(const struct mw_run_params *params, const struct mw_tp_problem *p,
                     struct mw_tp_result *r, struct mw_error *err)
{
    struct job j = {.params = params,
                    .p = p,
                    .system = r->system,
                    .order = mw_tp_order_of(r->system),
                    .ranges = r->system->ranges(p),
                    .err = err};
    const double start = mw_seconds();
    int status = set_up(&j);
    if (!status)
        mw_simulation_info(j.device, &r->run.model); // or there is none
    if (!status)
        status = load_data(&j);
    if (!status)
        status = run(&j, r);
    r->run.layers = 1;
    r->run.layer = &r->layer;
    r->run.seconds = mw_seconds() - start;
    if (j.device)
        r->run.simulated_cycles = mw_total_cycles(j.device);
    for (unsigned i = 0; i <= MW_MAX_PORTS; i++)
        mw_multicast_destroy(j.group[i]);
    mw_close(j.device);
    return status;
}
