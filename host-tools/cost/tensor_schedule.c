// SPDX-License-Identifier: Apache-2.0
//
// See tensor_schedule.h. A stream has one instruction at a time. The engine runs an instruction to
// its end, then that of the lowest stream that waits. A unit moves rows for one instruction at a
// time. All that moves shares both directions of the link. Rates are constant between two events,
// so time goes from event to event.
#include "cost/tensor_schedule.h"

#include "analysis/packet_size.h"
#include "analysis/traffic.h"
#include "far_links.h"
#include "isa.h"
#include "tp/streams.h"
#include "tp/tp_bounds.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    HOP_CYCLES = 15,     ///< of hub, port and switch, for each link that a packet crosses
    ISSUE_CYCLES = 12,   ///< from the end of an instruction to the start of the next one
    ENGINE_CYCLES = 40,  ///< of an instruction of the engine, besides its tiles
    REDUCE_CYCLES = 15,  ///< of a reduction, besides its flits and the links that it crosses
    FLAG_SELF = 1,       ///< flags of `flag`: this GPU alone counts
    SYNC_PUSHES = 1,     ///< flags of `sync`: a tile of pushes
    FLAG_HOMES = 4,      ///< of `expert.rows`: rows of all homes
    RED_HOMES = 1,       ///< of `multimem.red`: the same
    TERMS_CYCLES = 60,   ///< of own terms of sums, besides their flits and rows
    LOAD_CYCLES = 29,    ///< of loads, besides their flits and the links that they cross
    CREDIT_CYCLES = 35,  ///< of a partial sum's credit, besides the two links that it crosses
    PART_PACKETS = 4,    ///< of partial sums to one home that have credits (PartPkts)
    BUFFER_PACKETS = 32, ///< of stores that the switch holds for a GPU (StorePkts)
    NEAR_LATENCY = 64,   ///< longer links have as many credits as they need
};

/// Groups of the streams: this GPU, any other one, or all.
enum { OWN, OTHER, ALL };

/// Cycles of a flit if GPUs send each other single rows, measured with 4 and 8 GPUs. LOAD_RATE is
/// for answers of loads, SUM_RATE for sums at their homes in `gemm-rs` under `t3`. STORE_RATE is
/// for stores to the next GPU in `ag-gemm` under `ring`. Loads and sums take turns: `gemm-ar` under
/// `t3` takes the time of both.
#define LOAD_RATE 1.15
#define SUM_RATE 1.05
#define STORE_RATE 1.1
/// Cycles of a flit where a GPU adds rows to its own.
#define OWN_SUM_RATE 1.75
/// Speed at which a GPU copies its own terms while it sends those of others. Measured with 4 GPUs.
#define TERMS_BESIDE 0.5
/// Cycles that a reduction's first rows lose with each member, until members differ in the home
/// that they send rows to. They grow as the root of the rows. Measured with 3 to 8 GPUs.
#define SPREAD_CYCLES 7.0

enum unit { COMBINE, SEND, PUSH, SUMS, LOADS, TERMS, UNITS };
enum { MOST_POSTS = 256, MOST_FLAGS = 4 };

/// Rows that move.
struct transfer {
    bool busy, turns;
    double up, down, rate; ///< flits, and cycles of each
    double adder;          ///< cycles that the hub's adder takes
    double own;            ///< flits that this GPU sends
    double left;           ///< share that is still to move
    double tail;           ///< cycles from the last flit to the end
    double least;          ///< time before which it does not end
    unsigned stream;       ///< that waits for the end; MW_STREAMS: none
    unsigned event, count; ///< counted when the rows are there
    unsigned flags;        ///< that follow it to the others
    unsigned flag[MOST_FLAGS];
};

/// Rows that no instruction moves: sums that the switch opens, or loads of reported rows.
struct queue {
    unsigned first, end;
    struct range {
        double from, until;
        unsigned rows; ///< of each home
    } item[MW_STREAM_INSTRS];
};

struct machine {
    const struct mw_tp_problem *p;
    const struct mw_tp_system *system;
    double now, hop, row, header; ///< cycles; cycles of a link; flits of a row and of a header
    double buffered;              ///< flits of a multicast that the uplink sends in its gaps
    bool bypass;                  ///< of the adder, for rows of sums
    double landed_by;             ///< when the last store without a waiter is in memory

    struct mw_stream streams[MW_STREAMS];
    unsigned next[MW_STREAMS];
    double ready[MW_STREAMS]; ///< when its next instruction may start; INFINITY: one runs
    bool asks[MW_STREAMS];    ///< for the engine

    unsigned engine; ///< stream that has it, or MW_STREAMS
    double engine_end;
    unsigned landed; ///< rows that must have been loaded before the engine ends; 0: none

    struct transfer moving[UNITS];
    double unit_free[UNITS]; ///< when the unit's last instruction ended
    struct queue queues[UNITS];
    unsigned counted[MW_EVENTS];
    unsigned posts;
    struct post {
        double time;
        unsigned event, count;
    } post[MOST_POSTS];
};

/// Count an event later.
static void put_post(struct machine *m, double time, unsigned event, unsigned count)
{
    assert(m->posts < MOST_POSTS);
    m->post[m->posts++] = (struct post){time, event, count};
}

// ---- transfers ----------------------------------------------------------------------------------

static double alone(const struct transfer *t)
{
    return fmax(fmax(t->up, t->down) * t->rate, t->adder);
}

/// Share a direction by flits: a transfer that demands less than an equal share gets its demand,
/// and the others share the rest. `speed` falls to the share of its own speed that each transfer
/// keeps.
static void share(const double demand[UNITS], double speed[UNITS])
{
    double left = 1;
    unsigned sharers = 0;
    bool open[UNITS];
    for (unsigned u = 0; u < UNITS; u++)
        sharers += open[u] = demand[u] > 0;
    for (bool more = true; more && sharers;) {
        more = false;
        for (unsigned u = 0; u < UNITS; u++)
            if (open[u] && demand[u] <= left / sharers) {
                open[u] = false;
                more = true;
                left -= demand[u];
                sharers--;
                break;
            }
    }
    for (unsigned u = 0; u < UNITS; u++)
        if (open[u])
            speed[u] = fmin(speed[u], left / sharers / demand[u]);
}

static void speeds(const struct machine *m, double speed[UNITS])
{
    double up[UNITS] = {0}, down[UNITS] = {0};
    unsigned turns = 0;
    for (unsigned u = 0; u < UNITS; u++) {
        const struct transfer *t = &m->moving[u];
        speed[u] = 1;
        if (!t->busy)
            continue;
        up[u] = t->up / alone(t);
        down[u] = t->down / alone(t);
        turns += t->turns;
    }
    share(up, speed);
    share(down, speed);
    for (unsigned u = 0; u < UNITS; u++)
        if (m->moving[u].turns && turns > 1)
            speed[u] = fmin(speed[u], 1.0 / turns);
    if (m->moving[PUSH].busy)
        speed[TERMS] = TERMS_BESIDE;
}

static void end_transfer(struct machine *m, enum unit unit)
{
    struct transfer *t = &m->moving[unit];
    const double end = fmax(m->now, t->least) + t->tail;
    t->busy = false;
    if (unit == SEND || unit == PUSH)
        m->landed_by = fmax(m->landed_by, end + 2 * m->hop);
    for (unsigned i = 0; i < t->flags; i++)
        put_post(m, end + 2 * m->hop, t->flag[i], m->p->gpus - 1);
    if (t->count)
        put_post(m, end + (unit == PUSH ? 2 * m->hop : 0), t->event, t->count);
    if (t->stream < MW_STREAMS) {
        m->unit_free[unit] = end;
        m->ready[t->stream] = end + ISSUE_CYCLES;
    }
}

static double latency(const struct machine *m)
{
    return m->hop - HOP_CYCLES;
}

/// Flits for which partial sums to one home have credits.
static double credited(const struct machine *m)
{
    return PART_PACKETS * (double)mw_packet_flits(MW_PAYLOAD_BYTES, 1, m->p->flit_bytes);
}

/// Cycles of a flit to one home after those. Long links have as many credits as they need.
static double credit_rate(const struct machine *m)
{
    return latency(m) > NEAR_LATENCY ? 0 : (CREDIT_CYCLES + 2 * latency(m)) / credited(m);
}

/// Cycles of a flit of loads from one home.
static double load_rate(const struct machine *m, double flits)
{
    const double waiting = fmax(0, 1 - credited(m) / flits);
    return LOAD_RATE + waiting * fmax(0, credit_rate(m) - LOAD_RATE);
}

/// A GPU sends rows of a reduction to all homes in turn.
static double reduce_rate(const struct machine *m)
{
    return fmax(1, credit_rate(m) / (m->p->gpus - 1));
}

/// Flits of so many rows, without headers.
static double payload(const struct machine *m, double rows)
{
    return rows * mw_tp_row_bytes(m->p) / m->p->flit_bytes;
}

static void put_range(struct machine *m, enum unit unit, struct range range)
{
    struct queue *q = &m->queues[unit];
    assert(q->end < MW_STREAM_INSTRS);
    q->item[q->end++] = range;
}

/// Sums go up as rows of all others, and come down as own rows. Loads do the reverse: after their
/// request and that of the switch. Without a bypass the adder passes all rows of a sum.
static struct transfer transfer_of(const struct machine *m, enum unit unit, struct range range)
{
    const bool sums = unit == SUMS;
    const double own = range.rows, others = own * (m->p->gpus - 1);
    const double many = others * m->row + own * m->header;
    const double few = own * m->row + others * m->header / MW_ROWS_GATHERED;
    const double added = sums && !m->bypass ? own * m->p->gpus : own;
    return (struct transfer){
        .busy = true,
        .adder = sums ? payload(m, added) : 0,
        .up = sums ? many : few,
        .down = sums ? few : many,
        .rate = sums ? reduce_rate(m) : 1,
        .left = 1,
        .tail = (sums ? 2 : 4) * m->hop,
        .least = range.until,
        .stream = MW_STREAMS,
        .event = sums ? MW_EV_TOKENS : MW_EV_ROWS,
        .count = range.rows * (sums ? 1 : m->p->gpus),
    };
}

static void start_ranges(struct machine *m)
{
    for (unsigned unit = SUMS; unit <= LOADS; unit++) {
        struct queue *q = &m->queues[unit];
        if (!m->moving[unit].busy && q->first < q->end && q->item[q->first].from <= m->now)
            m->moving[unit] = transfer_of(m, (enum unit)unit, q->item[q->first++]);
    }
}

// ---- instructions -------------------------------------------------------------------------------

static enum unit unit_of(const struct mw_instr *in)
{
    return in->op == MW_I_MULTIMEM_LD_REDUCE ? COMBINE
           : in->op == MW_I_MULTIMEM_RED     ? PUSH
           : in->op == MW_I_SUM              ? TERMS
                                             : SEND;
}

static bool is_copy(const struct mw_instr *in)
{
    return in->op == MW_I_MULTIMEM_LD_REDUCE || in->op == MW_I_MULTIMEM_RED ||
           in->op == MW_I_MULTIMEM_ST || in->op == MW_I_ST_LINEAR || in->op == MW_I_SUM;
}

/// The instruction sends rows of every other home, each to its home.
static bool to_homes(const struct mw_instr *in)
{
    return in->op == MW_I_MULTIMEM_RED && in->flags & RED_HOMES;
}

/// What a copy to others moves on this GPU's link, by itself and for the others.
static struct transfer copy_of(const struct machine *m, const struct mw_instr *in)
{
    const double rows = (double)in->b / mw_tp_row_bytes(m->p), flits = rows * m->row;
    const double others = m->p->gpus - 1, headers = rows * m->header;
    const bool all = in->imm == ALL;
    struct transfer t = {
        .busy = true, .up = flits, .down = flits, .rate = STORE_RATE, .left = 1, .own = flits};
    if (in->op == MW_I_MULTIMEM_LD_REDUCE) {
        t.up = all ? flits * others + headers : flits + headers;
        t.down = all ? flits + headers * others : flits + headers;
        const double spread = SPREAD_CYCLES * others * sqrt(fmax(0, rows - 1));
        t.rate = all ? reduce_rate(m) + spread / t.up : load_rate(m, flits);
        t.turns = !all;
        t.tail = all ? 4 * m->hop + REDUCE_CYCLES : LOAD_CYCLES + 4 * latency(m);
    } else if (all) {
        t.up = fmax(0, flits - m->buffered);
        t.down = flits * others;
        t.rate = 1;
    } else if (in->op == MW_I_MULTIMEM_RED) {
        t.rate = SUM_RATE;
        t.turns = true;
    }
    if (to_homes(in)) { // the home's port gets all of them, a flit per cycle, and then adds them up
        t.up = t.down = flits * others;
        t.rate = 1;
        t.event = MW_EV_TOKENS;
        t.count = (unsigned)rows;
    }
    return t;
}

/// Own terms of sums: a flit of their payload per cycle, and a cycle for each row.
static struct transfer terms_of(const struct machine *m, unsigned rows)
{
    return (struct transfer){
        .busy = true, .left = 1, .adder = payload(m, rows) + rows, .tail = TERMS_CYCLES};
}

/// False: the unit moves other rows. Copies inside this GPU take no link.
static bool start_copy(struct machine *m, unsigned stream, const struct mw_instr *in)
{
    const enum unit unit = unit_of(in);
    struct transfer *t = &m->moving[unit];
    if (t->busy || m->unit_free[unit] > m->now)
        return false;
    if (unit != TERMS && in->imm == OWN) {
        const double rate = unit == PUSH ? OWN_SUM_RATE : 1;
        m->ready[stream] = m->now + rate * in->b / m->p->flit_bytes + ISSUE_CYCLES;
        return true;
    }
    *t = unit == TERMS ? terms_of(m, in->b) : copy_of(m, in);
    // a multicast that the switch holds is done for its GPU when it has left
    if (in->op == MW_I_MULTIMEM_ST && in->imm == ALL && t->own <= m->buffered) {
        t->stream = MW_STREAMS;
        m->ready[stream] = m->now + t->own + ISSUE_CYCLES;
    } else {
        t->stream = stream;
        m->ready[stream] = INFINITY;
    }
    return true;
}

/// Part of an instruction of the engine. Gathered rows of part i are rows from i * rows on. By
/// homes LN may also be in the stream of GEMM-1, whose rows are those of all homes.
static enum mw_tp_part part_of(const struct machine *m, unsigned stream, const struct mw_instr *in)
{
    if (stream == MW_TP_FIRST)
        return mw_tp_by_homes(m->system) && !(in->flags & FLAG_HOMES) ? MW_TP_LN : MW_TP_GEMM_1;
    if (stream == MW_TP_SECOND)
        return MW_TP_GEMM_2;
    return mw_tp_by_homes(m->system) ? MW_TP_LN : (enum mw_tp_part)(in->a / m->p->o.rows);
}

/// Rows that come by merged loads are started as they come.
static bool comes_landed(const struct machine *m, unsigned stream)
{
    return m->system->gather == MW_TP_MERGED && stream == MW_TP_SECOND;
}

static void start_engine(struct machine *m, unsigned stream)
{
    const struct mw_instr *in = &m->streams[stream].instr[m->next[stream]];
    const enum mw_tp_part part = part_of(m, stream, in);
    const bool homes = mw_tp_by_homes(m->system) && part != MW_TP_LN && !comes_landed(m, stream);
    const unsigned rows = homes ? in->b * m->p->gpus : in->b;
    const double row_cycles = fmax(m->p->cycles[part], mw_tp_least_cycles(m->p));
    const double tile = row_cycles * m->p->tile;
    m->asks[stream] = false;
    m->engine = stream;
    m->engine_end = m->now + ENGINE_CYCLES + (double)mw_div_up(rows, m->p->tile) * tile;
    if (comes_landed(m, stream))
        m->landed += rows;
    if (homes && part == MW_TP_GEMM_1 && !mw_tp_adds_up(m->system))
        put_range(m, SUMS,
                  (struct range){.from = m->now + ENGINE_CYCLES + tile + 2 * m->hop,
                                 .until = m->engine_end + 2 * m->hop + m->row,
                                 .rows = in->b});
}

static bool engine_ends(const struct machine *m)
{
    return m->engine < MW_STREAMS && m->engine_end <= m->now &&
           (!comes_landed(m, m->engine) || m->counted[MW_EV_ROWS] >= m->landed);
}

static void end_engine(struct machine *m)
{
    m->next[m->engine]++;
    m->ready[m->engine] = m->now + ISSUE_CYCLES;
    m->engine = MW_STREAMS;
}

/// A multicast that the switch holds, or NULL: flags and fences come after it.
static struct transfer *held(struct machine *m)
{
    struct transfer *t = &m->moving[SEND];
    return t->busy && t->stream == MW_STREAMS ? t : NULL;
}

static void put_flag(struct machine *m, unsigned event)
{
    struct transfer *t = held(m);
    if (!t) {
        put_post(m, m->now + 2 * m->hop, event, m->p->gpus - 1);
        return;
    }
    assert(t->flags < MOST_FLAGS);
    t->flag[t->flags++] = event;
}

/// What takes no unit. False: the event is still to come.
static bool control(struct machine *m, unsigned stream, const struct mw_instr *in)
{
    const double arrival = m->now + 2 * m->hop;
    if ((in->op == MW_I_WAIT && m->counted[in->imm] < in->a) || (in->op == MW_I_FENCE && held(m)))
        return false;
    m->ready[stream] = m->now + ISSUE_CYCLES;
    if (in->op == MW_I_FLAG && in->flags & FLAG_SELF)
        put_post(m, m->now, in->imm, 1);
    else if (in->op == MW_I_FLAG)
        put_flag(m, in->imm);
    else if (in->op == MW_I_SIGNAL)
        put_post(m, arrival, in->imm, m->p->gpus - 1);
    else if (in->op == MW_I_FENCE)
        m->ready[stream] = arrival + 2 * m->hop;
    else if (in->op == MW_I_SYNC && in->flags & SYNC_PUSHES)
        put_post(m, arrival, MW_EV_SYNCS, 1);
    else if (in->op == MW_I_SYNC && !m->system->unsynced)
        put_range(m, LOADS, (struct range){.from = arrival, .rows = in->b});
    else if (in->op == MW_I_LD_CAIS && m->system->unsynced)
        put_range(m, LOADS, (struct range){.from = m->now, .rows = in->b});
    return true;
}

/// False: the stream waits.
static bool step(struct machine *m, unsigned stream)
{
    const struct mw_stream *s = &m->streams[stream];
    if (m->next[stream] == s->count || m->ready[stream] > m->now)
        return false;
    const struct mw_instr *in = &s->instr[m->next[stream]];
    if (in->op == MW_I_EXPERT_ROWS) {
        m->asks[stream] = true;
        m->ready[stream] = INFINITY;
        return true;
    }
    const bool started = is_copy(in) ? start_copy(m, stream, in) : control(m, stream, in);
    m->next[stream] += started;
    return started;
}

// ---- time ---------------------------------------------------------------------------------------

static void count_posts(struct machine *m)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < m->posts; i++)
        if (m->post[i].time <= m->now)
            m->counted[m->post[i].event] += m->post[i].count;
        else
            m->post[kept++] = m->post[i];
    m->posts = kept;
}

/// All that happens now.
static void settle(struct machine *m)
{
    bool more = true;
    while (more) {
        more = false;
        count_posts(m);
        if (engine_ends(m))
            end_engine(m);
        for (unsigned i = 0; i < MW_STREAMS; i++)
            more |= step(m, i);
        for (unsigned i = 0; i < MW_STREAMS && m->engine == MW_STREAMS; i++)
            if (m->asks[i])
                start_engine(m, i);
        start_ranges(m);
    }
}

static double later(const struct machine *m, double next, double time)
{
    return time > m->now ? fmin(next, time) : next;
}

/// Time of the next event; INFINITY: there is none.
static double next_event(const struct machine *m, const double speed[UNITS])
{
    double next = INFINITY;
    for (unsigned i = 0; i < MW_STREAMS; i++)
        next = later(m, next, m->ready[i]);
    for (unsigned i = 0; i < m->posts; i++)
        next = later(m, next, m->post[i].time);
    for (unsigned u = 0; u < UNITS; u++) {
        const struct queue *q = &m->queues[u];
        if (m->moving[u].busy)
            next = fmin(next, m->now + m->moving[u].left * alone(&m->moving[u]) / speed[u]);
        else if (q->first < q->end)
            next = later(m, next, q->item[q->first].from);
    }
    return m->engine < MW_STREAMS ? later(m, next, m->engine_end) : next;
}

/// Move until `time`. What has less than a flit left is done: rounding leaves some.
static void move(struct machine *m, double time, const double speed[UNITS])
{
    const double cycles = time - m->now;
    m->now = time;
    for (unsigned u = 0; u < UNITS; u++) {
        struct transfer *t = &m->moving[u];
        if (!t->busy)
            continue;
        t->left -= cycles * speed[u] / alone(t);
        if (t->left * alone(t) < 1e-6)
            end_transfer(m, (enum unit)u);
    }
}

static void make_streams(struct machine *m)
{
    // cycles of a part are taken from m->p: those of an instruction have a limit
    struct mw_tp_problem p = *m->p;
    const struct mw_layout layout = {.token_shift = 0};
    unsigned one[MW_MAX_PORTS] = {OWN};
    for (unsigned i = 0; i < MW_TP_PARTS; i++)
        if (p.cycles[i] > MW_MAX_EXPERT_CYCLES)
            p.cycles[i] = MW_MAX_EXPERT_CYCLES;
    for (unsigned i = 1; i < MW_MAX_PORTS; i++)
        one[i] = OTHER;
    const struct mw_tp_at at = {
        .p = &p, .layout = &layout, .ranges = m->system->ranges(&p), .all = ALL, .one = one};
    for (unsigned i = 0; i < MW_STREAMS; i++)
        mw_stream_init(&m->streams[i]);
    m->system->make(&at, m->streams);
}

static double run(const struct mw_tp_problem *p, const struct mw_tp_system *system,
                  unsigned link_latency, double buffered)
{
    struct machine m = {
        .p = p,
        .system = system,
        .hop = HOP_CYCLES + link_latency,
        .row = (double)mw_packet_flits(mw_tp_row_bytes(p), 1, p->flit_bytes),
        .header = (double)mw_bare_flits(1, p->flit_bytes),
        .buffered = buffered,
        .bypass = mw_tp_adder_bypass(p, system),
        .engine = MW_STREAMS,
    };
    make_streams(&m);
    for (;;) {
        double speed[UNITS];
        settle(&m);
        speeds(&m, speed);
        const double next = next_event(&m, speed);
        if (isinf(next))
            break;
        move(&m, next, speed);
    }
    for (unsigned i = 0; i < MW_STREAMS; i++)
        assert(m.next[i] == m.streams[i].count && !m.streams[i].error);
    // a layer has ended when the last credit is back
    return fmax(m.now, m.landed_by) + link_latency;
}

/// The first packets of a multicast cross the uplink while it has nothing else to send: the switch
/// holds them. Where LN waits for the engine, GPUs differ in which request comes first. There it is
/// the mean of this and of multicasts that cross beside other rows. With long links the switch
/// holds every multicast of a range.
double mw_tensor_schedule(const struct mw_tp_problem *p, const struct mw_tp_system *system,
                          unsigned link_latency)
{
    const bool far = link_latency > NEAR_LATENCY;
    const unsigned packets = far ? MW_FAR_STORE_PKTS : BUFFER_PACKETS;
    const double buffer =
        (double)mw_packet_flits((uint64_t)MW_PAYLOAD_BYTES * packets, 1, p->flit_bytes);
    const double cycles = run(p, system, link_latency, buffer);
    if (far || !mw_tp_has(p, MW_TP_LN))
        return cycles;
    return (cycles + run(p, system, link_latency, 0)) / 2;
}
