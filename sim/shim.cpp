// SPDX-License-Identifier: Apache-2.0
//
// The C interface of mw_sim.h for a Verilated fabric (fabric.h): clock and reset, the configuration
// bus, one host stream port per GPU, waveforms.
#include "fabric.h"

#include <cstring>
#include <exception>
#include <memory>
#include <vector>

namespace {
constexpr unsigned GPUS = MW_SIM_N;
constexpr unsigned FLIT_BYTES = MW_SIM_F;
constexpr unsigned RESET_CYCLES = 8;
constexpr unsigned BUS_LIMIT = 10000;
constexpr unsigned STREAM_LIMIT = 100000;
constexpr unsigned MANY_CYCLES = 64; // from which number on a second thread is worth waking
} // namespace

struct mw_sim {
    const std::unique_ptr<fabric> device = FABRIC.make();
    uint64_t cycles = 0;
    uint64_t late[GPUS] = {}; // late answers of a transfer that was given up
    bool any_late = false;
    bool watched = false;

    // Late answers of a transfer that was given up may come in any cycle.
    void drop_late()
    {
        any_late = false;
        for (unsigned g = 0; g < GPUS; g++) {
            if (late[g] && device->host_rvalid(g))
                late[g]--;
            any_late = any_late || late[g];
        }
    }

    void next()
    {
        if (any_late)
            drop_late();
        device->rise();
        cycles++;
        if (watched)
            device->look();
    }

    // Both in one, if no output is read in between
    void whole()
    {
        if (any_late || watched) {
            device->settle();
            next();
            return;
        }
        device->cycle();
        cycles++;
    }

    void forget_late()
    {
        std::memset(late, 0, sizeof late);
        any_late = false;
    }

    void reset()
    {
        device->reset(true);
        device->release();
        for (unsigned g = 0; g < GPUS; g++)
            device->host_valid(g, false);
        for (unsigned i = 0; i < RESET_CYCLES; i++) {
            device->settle();
            next();
        }
        device->reset(false);
        forget_late();
    }
};

namespace {
// Exceptions stop here: callers are C.
mw_sim *create(const char *path) noexcept
try {
    std::unique_ptr<mw_sim> s(new mw_sim);
    if (!s->device->open(path))
        return nullptr;
    s->reset();
    return s.release();
} catch (const std::exception &) {
    return nullptr;
}

void destroy(mw_sim *s)
{
    delete s;
}

int cfg(mw_sim *s, bool write, uint32_t address, uint32_t *value)
{
    s->device->request(write, address, write ? *value : 0);
    int status = -2;
    for (unsigned i = 0; i < BUS_LIMIT && status == -2; i++) {
        s->device->settle();
        const fabric::bus_answer answer = s->device->answer();
        if (answer.ack) {
            status = answer.err ? -1 : 0;
            if (!write)
                *value = answer.data;
        }
        s->next();
    }
    s->device->release();
    return status;
}

bool run(mw_sim *s, uint64_t max_cycles)
{
    s->device->release();
    if (max_cycles >= MANY_CYCLES)
        s->device->many();
    for (uint64_t i = 0; i < max_cycles && !s->device->done(); i++)
        s->whole();
    s->device->meet();
    return s->device->done();
}

// One GPU's port, and its position in its pieces for requests and for answers.
struct lane {
    std::vector<const mw_sim_transfer *> pieces;
    std::size_t asking = 0, answering = 0; // pieces
    uint64_t asked = 0, answered = 0;      // flits of these
    bool sent_all() const { return asking == pieces.size(); }
    bool finished() const { return sent_all() && answering == pieces.size(); }

    void sent()
    {
        if (++asked < pieces[asking]->flits)
            return;
        asked = 0;
        asking++;
    }

    // Reads that were requested and not answered
    uint64_t open() const
    {
        uint64_t flits = 0;
        for (std::size_t i = answering; i <= asking && i < pieces.size(); i++)
            if (!pieces[i]->write)
                flits += (i < asking ? pieces[i]->flits : asked) - (i == answering ? answered : 0);
        return flits;
    }

    // only reads get answers
    void skip_writes()
    {
        while (answering < pieces.size() && pieces[answering]->write && answering < asking)
            answering++;
    }

    uint8_t *place()
    {
        const mw_sim_transfer *p = pieces[answering];
        uint8_t *at = p->data + answered * FLIT_BYTES;
        if (++answered == p->flits) {
            answered = 0;
            answering++;
        }
        return at;
    }
};

// Returns whether the port moved.
bool step_lane(mw_sim *s, unsigned g, lane &l)
{
    bool moved = false;
    if (s->device->host_rvalid(g)) {
        l.skip_writes();
        s->device->host_read(g, l.place());
        moved = true;
    }
    if (s->device->host_valid(g) && s->device->host_ready(g)) {
        l.sent();
        moved = true;
    }
    l.skip_writes();
    return moved;
}

void offer(mw_sim *s, unsigned g, const lane &l)
{
    s->device->host_valid(g, !l.sent_all());
    if (l.sent_all())
        return;
    const mw_sim_transfer *p = l.pieces[l.asking];
    s->device->host_request(g, p->write, static_cast<uint32_t>(p->flit + l.asked));
    if (p->write)
        s->device->host_write(g, p->data + l.asked * FLIT_BYTES);
}

// Discards answers that belong to no transfer. Those that have not come by the limit were lost with
// the reset of their node.
void drain(mw_sim *s)
{
    for (unsigned i = 0; i < STREAM_LIMIT && s->any_late; i++) {
        s->device->settle();
        s->next();
    }
    s->forget_late();
}

int move(mw_sim *s, std::vector<lane> &lanes)
{
    drain(s);
    for (unsigned quiet = 0; quiet < STREAM_LIMIT; quiet++) {
        bool finished = true;
        for (unsigned g = 0; g < GPUS; g++) {
            offer(s, g, lanes[g]);
            finished = finished && lanes[g].finished();
        }
        if (finished)
            return 0;
        s->device->settle();
        // read before the edge, applied after it: the ports keep their outputs until then
        bool moved = false;
        for (unsigned g = 0; g < GPUS; g++)
            moved = step_lane(s, g, lanes[g]) || moved;
        if (moved)
            quiet = 0;
        s->next();
    }
    for (unsigned g = 0; g < GPUS; g++) {
        s->device->host_valid(g, false);
        s->late[g] = lanes[g].open();
        s->any_late = s->any_late || s->late[g];
    }
    return -2;
}

// All memory is allocated before the first cycle.
int transfer(mw_sim *s, const mw_sim_transfer *list, std::size_t count) noexcept
{
    std::vector<lane> lanes;
    try {
        lanes.resize(GPUS);
        for (std::size_t i = 0; i < count; i++)
            if (list[i].flits)
                lanes[list[i].gpu].pieces.push_back(&list[i]);
    } catch (const std::exception &) {
        return -3;
    }
    return move(s, lanes);
}

void reset(mw_sim *s)
{
    s->reset();
}

uint64_t cycles(const mw_sim *s)
{
    return s->cycles;
}

void watch(mw_sim *s, mw_sim_event_fn event, void *context)
{
    s->device->watch(event, context);
    s->watched = event != nullptr;
}
} // namespace

extern "C" __attribute__((visibility("default"))) const mw_sim_ops *mw_sim_get_ops(void)
{
    static const mw_sim_ops OPS = {
        MW_SIM_ABI, GPUS, FLIT_BYTES, FABRIC.traces, create, destroy,
        cfg,        run,  transfer,   cycles,        reset,  FABRIC.watches ? watch : nullptr};
    return &OPS;
}
