// SPDX-License-Identifier: Apache-2.0
//
// The Verilated fabric behind the C interface of mw_sim.h: clock and reset, the configuration bus,
// one host stream port per GPU, waves. All C++ of the project outside of tests is here.
//
// A cycle is: inputs are set, the model settles with the clock low, outputs are looked at, the clock
// rises. While the device just runs, inputs do not change and the low phase only moves the clock.
#include "mw_sim.h"

#include "Vfabric.h"
#include "verilated.h"
#if MW_SIM_TRACE
#include "verilated_fst_c.h"
#endif

#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace {
constexpr unsigned GPUS = MW_SIM_N;
constexpr unsigned FLIT_BYTES = MW_SIM_F;
constexpr unsigned RESET_CYCLES = 8;
constexpr unsigned BUS_LIMIT = 10000;
constexpr unsigned STREAM_LIMIT = 100000;
} // namespace

struct mw_sim {
    VerilatedContext context;
    Vfabric top{&context};
#if MW_SIM_TRACE
    VerilatedFstC fst;
    bool tracing = false;
#endif
    uint64_t cycles = 0;

    void dump()
    {
#if MW_SIM_TRACE
        if (tracing)
            fst.dump(context.time());
#endif
        context.timeInc(1);
    }

    void settle()
    {
        top.clk_i = 0;
        top.eval();
        dump();
    }

    void rise()
    {
        top.clk_i = 1;
        top.eval();
        dump();
        cycles++;
    }

    void reset()
    {
        top.rst_ni = 0;
        top.cfg_req_i = 0;
        for (unsigned g = 0; g < GPUS; g++)
            top.host_valid_i[g] = 0;
        for (unsigned i = 0; i < RESET_CYCLES; i++) {
            settle();
            rise();
        }
        top.rst_ni = 1;
    }

    ~mw_sim()
    {
        top.final();
#if MW_SIM_TRACE
        if (tracing)
            fst.close();
#endif
    }
};

namespace {
mw_sim *create(const char *path)
{
    std::unique_ptr<mw_sim> s(new (std::nothrow) mw_sim);
    if (!s || (path && !MW_SIM_TRACE))
        return nullptr;
#if MW_SIM_TRACE
    if (path) {
        s->context.traceEverOn(true);
        s->top.trace(&s->fst, 99);
        s->fst.open(path);
        if (!s->fst.isOpen())
            return nullptr;
        s->tracing = true;
    }
#endif
    s->reset();
    return s.release();
}

void destroy(mw_sim *s)
{
    delete s;
}

int cfg(mw_sim *s, bool write, uint32_t address, uint32_t *value)
{
    s->top.cfg_req_i = 1;
    s->top.cfg_we_i = write;
    s->top.cfg_addr_i = address;
    s->top.cfg_wdata_i = write ? *value : 0;
    int status = -2;
    for (unsigned i = 0; i < BUS_LIMIT && status == -2; i++) {
        s->settle();
        if (s->top.cfg_ack_o) {
            status = s->top.cfg_err_o ? -1 : 0;
            if (!write)
                *value = s->top.cfg_rdata_o;
        }
        s->rise();
    }
    s->top.cfg_req_i = 0;
    return status;
}

bool run(mw_sim *s, uint64_t max_cycles)
{
    s->top.cfg_req_i = 0;
    for (uint64_t i = 0; i < max_cycles && !s->top.done_o; i++) {
        s->settle();
        s->rise();
    }
    return s->top.done_o;
}

// A flit between a port of the model and bytes: 64-bit ports are one word, 128-bit ones four.
[[maybe_unused]] void put(QData &port, const uint8_t *data)
{
    memcpy(&port, data, sizeof port);
}
[[maybe_unused]] void get(const QData &port, uint8_t *data)
{
    memcpy(data, &port, sizeof port);
}
template <std::size_t Words> void put(VlWide<Words> &port, const uint8_t *data)
{
    memcpy(port.data(), data, FLIT_BYTES);
}
template <std::size_t Words> void get(const VlWide<Words> &port, uint8_t *data)
{
    memcpy(data, port.data(), FLIT_BYTES);
}

// One GPU's port: where it stands in its pieces, for requests and for answers.
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

    // answers come for reads only
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
    if (s->top.host_rvalid_o[g]) {
        l.skip_writes();
        get(s->top.host_rdata_o[g], l.place());
        moved = true;
    }
    if (s->top.host_valid_i[g] && s->top.host_ready_o[g]) {
        l.sent();
        moved = true;
    }
    l.skip_writes();
    return moved;
}

void offer(mw_sim *s, unsigned g, const lane &l)
{
    s->top.host_valid_i[g] = !l.sent_all();
    if (l.sent_all())
        return;
    const mw_sim_transfer *p = l.pieces[l.asking];
    s->top.host_we_i[g] = p->write;
    s->top.host_addr_i[g] = static_cast<uint32_t>(p->flit + l.asked);
    if (p->write)
        put(s->top.host_wdata_i[g], p->data + l.asked * FLIT_BYTES);
}

int transfer(mw_sim *s, const mw_sim_transfer *list, std::size_t count)
{
    std::vector<lane> lanes(GPUS);
    for (std::size_t i = 0; i < count; i++)
        if (list[i].flits)
            lanes[list[i].gpu].pieces.push_back(&list[i]);
    for (unsigned quiet = 0; quiet < STREAM_LIMIT; quiet++) {
        bool finished = true;
        for (unsigned g = 0; g < GPUS; g++) {
            offer(s, g, lanes[g]);
            finished = finished && lanes[g].finished();
        }
        if (finished)
            return 0;
        s->settle();
        // looked at before the edge, acted on behind it: the ports keep what they offer until then
        bool moved = false;
        for (unsigned g = 0; g < GPUS; g++)
            moved = step_lane(s, g, lanes[g]) || moved;
        if (moved)
            quiet = 0;
        s->rise();
    }
    for (unsigned g = 0; g < GPUS; g++)
        s->top.host_valid_i[g] = 0;
    return -2;
}

uint64_t cycles(const mw_sim *s)
{
    return s->cycles;
}

const mw_sim_ops OPS = {MW_SIM_ABI, GPUS, FLIT_BYTES, MW_SIM_TRACE != 0, create,
                        destroy,    cfg,  run,        transfer,          cycles};
} // namespace

extern "C" __attribute__((visibility("default"))) const mw_sim_ops *mw_sim_get_ops(void)
{
    return &OPS;
}
