// SPDX-License-Identifier: Apache-2.0
//
// A stack of layers through the device's queue, without the host in between: all forward layers,
// then the backward layers in the opposite order. The output rows of each are the hidden values, or
// the gradients, of the next one, in the same memory. A device keeps the handle of the layer that
// counted last, which the backward layer of the last forward layer uses. Before the others, their
// forward layers run once more (recompute), or they count again.
//
// Each of these layers has run alone before, and its bits and flits are checked. In the stack, bits
// and cycles must be the same, and so must the counters of its last layer.
#include "systems/job.h"
#include "systems/layer_counters.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 128 };

/// A layer of the stack.
struct place {
    unsigned number; ///< of the routing, from 0 on
    enum mw_pass pass;
    unsigned layer;  ///< of the workload, an index
    unsigned handle; ///< MW_HANDLE_
};

struct stack {
    struct job *job;
    bool again;             ///< forward layers run once more
    unsigned pairs, layers; ///< forward layers; all that run
    uint64_t routes;        ///< bytes of a routing table
    uint64_t rows;          ///< bytes of hidden values or output rows
    uint64_t gradients;     ///< bytes of a table of gradients of gate weights
    /// Addresses of routing tables, hidden values of the first layer, and gradients of the last
    /// one. Output rows of each layer, forward and backward. Gradients of gate weights. Streams of
    /// each pass.
    uint64_t rt, x, dy, y, dx, dw, streams, end;
    uint32_t number[MW_MAX_LAYERS];
};

/// The next multiple of the alignment of regions.
static uint64_t whole(uint64_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static uint64_t take(uint64_t *end, uint64_t bytes)
{
    const uint64_t at = *end;
    *end = whole(at + bytes);
    return at;
}

static uint64_t stride_of_streams(const struct mw_layout *l)
{
    return l->stream[1] - l->stream[0];
}

static uint64_t stream_of(const struct stack *s, enum mw_pass pass, unsigned i)
{
    return s->streams + (pass * MW_STREAMS + i) * stride_of_streams(&s->job->layout);
}

/// After what one layer needs.
static struct stack lay_out(struct job *j)
{
    const struct mw_layout *l = &j->layout;
    struct stack s = {.job = j,
                      .again = j->w->shape.passes == MW_RUN_RECOMPUTE,
                      .pairs = j->w->layers / MW_PASSES,
                      .end = l->end};
    s.layers = s.again ? 3 * s.pairs - 1 : 2 * s.pairs;
    if (j->params->stack_layers)
        s.layers = j->params->stack_layers;
    s.routes = whole(l->rt_bytes);
    s.rows = whole(l->row_bytes);
    s.gradients = whole(4 * (uint64_t)j->w->shape.tokens_per_gpu << l->k_shift);
    s.rt = take(&s.end, s.pairs * s.routes);
    s.x = take(&s.end, s.rows);
    s.dy = take(&s.end, s.rows);
    s.y = take(&s.end, s.pairs * s.rows);
    s.dx = take(&s.end, s.pairs * s.rows);
    s.dw = take(&s.end, s.pairs * s.gradients);
    s.streams = take(&s.end, MW_PASSES * MW_STREAMS * stride_of_streams(l));
    return s;
}

/// Layer `at` of the stack: forward ones, then for each the backward one, or both.
static struct place place_of(const struct stack *s, unsigned at)
{
    struct place p = {.number = at, .pass = MW_PASS_FORWARD};
    if (at >= s->pairs) {
        const unsigned behind = at - s->pairs, back = s->again ? (behind + 1) / 2 : behind;
        p.number = s->pairs - 1 - back;
        p.pass = s->again ? (behind % 2 ? MW_PASS_FORWARD : MW_PASS_BACKWARD)
                 : back   ? MW_PASS_COUNTED
                          : MW_PASS_BACKWARD;
    }
    p.layer = p.number * MW_PASSES + p.pass;
    if (p.pass == MW_PASS_BACKWARD)
        p.handle = MW_HANDLE_CACHED;
    else if (p.pass == MW_PASS_FORWARD && at + 1 >= s->pairs) // its backward layer is the next
        p.handle = MW_HANDLE_KEEP;
    return p;
}

static uint64_t out_of(const struct stack *s, const struct place *p)
{
    return (p->pass == MW_PASS_FORWARD ? s->y : s->dx) + p->number * s->rows;
}

/// What another layer has written, or the host: its hidden values.
static uint64_t in_of(const struct stack *s, const struct place *p)
{
    if (p->pass == MW_PASS_FORWARD)
        return p->number ? s->y + (p->number - 1) * s->rows : s->x;
    return p->number + 1 < s->pairs ? s->dx + (p->number + 1) * s->rows : s->dy;
}

static uint64_t gradients_of(const struct stack *s, const struct place *p)
{
    return s->dw + p->number * s->gradients;
}

static struct mw_layout layout_of(const struct stack *s, const struct place *p)
{
    struct mw_layout l = s->job->layout;
    l.rt_base = s->rt + p->number * s->routes;
    l.xs_base = in_of(s, p);
    l.out_base = out_of(s, p);
    l.dw_base = gradients_of(s, p);
    l.st_hi = s->end; // for these gradients
    for (unsigned i = 0; i < MW_STREAMS; i++)
        l.stream[i] = stream_of(s, p->pass, i);
    return l;
}

int mw_job_check_stack(struct job *j)
{
    struct mw_device_info info;
    const struct stack s = lay_out(j);
    int status = mw_job_info(j, &info);
    if (!status && s.end > info.mem_bytes)
        status = mw_fail(j->err, MW_EXIT_INPUT,
                         "--pass: %u layers take %llu bytes of each GPU's memory, with "
                         "routing tables and rows of all, and it has %llu: fewer --layers, "
                         "--tokens-per-gpu or --hidden",
                         s.pairs, (unsigned long long)s.end, (unsigned long long)info.mem_bytes);
    return status;
}

// ---- data ---------------------------------------------------------------------------------------

static size_t values_of(const struct job *j)
{
    return (size_t)j->w->tokens * j->w->shape.hidden;
}

/// Output rows with no bit that a layer should write, so that nothing passes that it does not.
static int spoil(const struct stack *s, uint16_t *rows)
{
    struct job *j = s->job;
    int status = MW_EXIT_OK;
    for (unsigned at = 0; at < s->layers && !status; at++) {
        const struct place p = place_of(s, at);
        const uint16_t *out = j->result->layer[p.layer].out;
        for (size_t i = 0; i < values_of(j); i++)
            rows[i] = (uint16_t)~out[i];
        status = mw_job_load_rows(j, out_of(s, &p), rows, "spoilt rows");
    }
    return status;
}

/// Does it with the layout of the layer as the job's.
static int at_place(const struct stack *s, const struct place *p, int (*act)(struct job *))
{
    struct job *j = s->job;
    const struct mw_layout layout = j->layout, at = layout_of(s, p);
    j->layout = at;
    const int status = act(j);
    j->layout = layout;
    return status;
}

/// The streams of each pass.
static int load_streams(const struct stack *s)
{
    static const unsigned handle[MW_PASSES] = {[MW_PASS_FORWARD] = MW_HANDLE_KEEP,
                                               [MW_PASS_BACKWARD] = MW_HANDLE_CACHED,
                                               [MW_PASS_COUNTED] = MW_HANDLE_NONE};
    struct job *j = s->job;
    int status = MW_EXIT_OK;
    for (enum mw_pass pass = MW_PASS_FORWARD; pass < MW_PASSES && !status; pass++) {
        const struct place p = {.pass = pass};
        j->layer = pass;
        j->config.handle = handle[pass];
        status = at_place(s, &p, mw_job_load_streams);
    }
    return status;
}

/// All that the layers read and none of them writes. `rows`: room for those of one layer.
static int load(const struct stack *s, uint16_t *rows)
{
    struct job *j = s->job;
    const struct place first = place_of(s, 0), last = place_of(s, s->pairs);
    int status = mw_job_load_experts(j, 0);
    for (unsigned l = 0; l < s->pairs && !status; l++)
        status = mw_job_load_routing(j, l * MW_PASSES, s->rt + l * s->routes);
    if (!status)
        status = mw_job_load_rows(j, s->x, j->w->layer[first.layer].x, "hidden values");
    if (!status)
        status = mw_job_load_rows(j, s->dy, j->w->layer[last.layer].x, "gradients");
    if (!status)
        status = spoil(s, rows);
    for (unsigned at = 0; at < s->layers && !status; at++) {
        const struct place p = place_of(s, at);
        if (j->result->layer[p.layer].dw)
            status = mw_job_clear_gradients(j, gradients_of(s, &p));
    }
    return status ? status : load_streams(s);
}

/// The registers of all layers, before the first one.
static int configure(const struct stack *s)
{
    struct job *j = s->job;
    const struct place first = place_of(s, 0);
    j->config.handle = MW_HANDLE_KEEP;
    j->config.expert_cycles = (unsigned)mw_pass_cycles(MW_PASS_BACKWARD, j->params->expert_cycles);
    const int status = at_place(s, &first, mw_job_configure);
    j->layer = j->w->layers - 1;
    return status;
}

// ---- running ------------------------------------------------------------------------------------

static int wait(struct stack *s, unsigned at, struct mw_fed *before)
{
    struct job *j = s->job;
    struct mw_stack *r = &j->result->stack;
    struct mw_fed fed;
    int status = mw_job_wait_fed(j, s->number[at], "layer of the stack", &fed);
    if (status)
        return status;
    r->cached += place_of(s, at).handle == MW_HANDLE_CACHED;
    r->layer_cycles += fed.cycles;
    r->other_cycles += fed.cycles != j->result->layer[place_of(s, at).layer].cycles;
    if (at)
        r->idle_cycles += fed.start - (before->start + before->cycles);
    *before = fed;
    return MW_EXIT_OK;
}

/// As many as the queue holds are under way, so that the device never waits for the host.
static int run(struct stack *s)
{
    struct job *j = s->job;
    struct mw_fed before = {0};
    int status = MW_EXIT_OK;
    for (unsigned at = 0; at < s->layers + MW_FEED_BUFFERS && !status; at++) {
        if (!mw_job_goes_on(j, 1))
            return mw_job_interrupted(j);
        if (at >= MW_FEED_BUFFERS && at - MW_FEED_BUFFERS < s->layers)
            status = wait(s, at - MW_FEED_BUFFERS, &before);
        if (at >= s->layers || status)
            continue;
        const struct place p = place_of(s, at);
        const struct mw_layout l = layout_of(s, &p);
        const unsigned cycles = (unsigned)mw_pass_cycles(p.pass, j->params->expert_cycles);
        int code = mw_feed_layer(j->device, &l, p.handle, cycles, &s->number[at]);
        status = code ? mw_job_failed(j, "layer of the stack", code) : MW_EXIT_OK;
    }
    return status;
}

/// The counters of the layer that has run last.
static int compare_counters(struct stack *s)
{
    struct job *j = s->job;
    struct mw_layer_result last = {0};
    const struct mw_layer_result *own = &j->result->layer[place_of(s, s->layers - 1).layer];
    struct mw_counters *c = malloc(sizeof *c);
    if (!c)
        return mw_fail_memory(j->err, "counters");
    int code = mw_counters_read(j->device, c);
    if (!code)
        mw_layer_counters(&last, c, j->w->shape.gpus);
    free(c);
    j->result->stack.other_flits =
        memcmp(last.traffic.flits, own->traffic.flits, sizeof last.traffic.flits) != 0 ||
        memcmp(last.traffic.payload, own->traffic.payload, sizeof last.traffic.payload) != 0;
    return code ? mw_job_failed(j, "counters", code) : MW_EXIT_OK;
}

static int compare_gradients(struct stack *s, const struct place *p)
{
    struct job *j = s->job;
    const uint32_t *own = j->result->layer[p->layer].dw;
    if (!own)
        return MW_EXIT_OK;
    const size_t places = mw_expected_places(j->w);
    uint32_t *dw = malloc(places * sizeof *dw);
    int status =
        dw ? mw_job_read_gradients(j, gradients_of(s, p), dw) : mw_fail_memory(j->err, "gradients");
    for (size_t i = 0; i < places && !status; i++)
        j->result->stack.wrong += dw[i] != own[i];
    free(dw);
    return status;
}

/// Every bit of every layer.
static int compare(struct stack *s, uint16_t *rows)
{
    struct job *j = s->job;
    int status = compare_counters(s);
    for (unsigned at = 0; at < s->layers && !status; at++) {
        const struct place p = place_of(s, at);
        const uint16_t *out = j->result->layer[p.layer].out;
        status = mw_job_read_rows(j, out_of(s, &p), rows, "output rows");
        for (size_t i = 0; i < values_of(j) && !status; i++)
            j->result->stack.wrong += rows[i] != out[i];
        if (!status)
            status = compare_gradients(s, &p);
    }
    return status;
}

int mw_job_stack(struct job *j)
{
    struct stack s = lay_out(j);
    uint16_t *rows = malloc(values_of(j) * sizeof *rows);
    int status = rows ? load(&s, rows) : mw_fail_memory(j->err, "output rows");
    j->result->stack = (struct mw_stack){.layers = s.layers};
    if (!status)
        status = configure(&s);
    if (!status)
        status = run(&s);
    if (!status)
        status = compare(&s, rows);
    free(rows);
    return status;
}
