// SPDX-License-Identifier: Apache-2.0
//
// The Verilated device behind the C interface of mw_sim.h: clock and reset, the configuration bus,
// one host stream port per GPU, waves. All C++ of the project outside of tests is here.
//
// With waves, one model holds the whole fabric. Without, the simulation is cut where
// rtl/top/fabric_core.sv meets the nodes: one model of a node, run N times, and one of what lies
// between, joined here as rtl/top/fabric.sv joins them. A node is a sixth of the C++ that way, and
// each part is evaluated once per clock edge. Both give the same cycles (tests/system).
//
// The parts' eval() is called once, to initialise them. After that the shim runs what a clock edge
// runs (sim/schedule.py lists it) without looking for edges, and runs each function for all
// nodes before the next: the code of one fits the instruction cache, that of a node does not.
//
// A cycle is: inputs are set, the model settles with the clock low, outputs are looked at, the clock
// rises. No output depends on an input of the same cycle, so a part settles by itself.
#include "mw_sim.h"

#include "verilated.h"
#if MW_SIM_TRACE
#include "Vfabric.h"
#include "verilated_fst_c.h"
#else
#include "Vfabric_core.h"
#include "Vfabric_core_schedule.h"
#include "Vnode.h"
#include "Vnode_schedule.h"
#endif

#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace {
constexpr unsigned GPUS = MW_SIM_N;
constexpr unsigned FLIT_BYTES = MW_SIM_F;
constexpr unsigned RESET_CYCLES = 8;
constexpr unsigned BUS_LIMIT = 10000;
constexpr unsigned STREAM_LIMIT = 100000;

#if MW_SIM_TRACE
// ---- the fabric in one model, with waves ----
struct device {
    VerilatedContext context;
    Vfabric bus{&context}; // has the configuration bus
    VerilatedFstC fst;
    bool tracing = false;

    auto &host_valid(unsigned g) { return bus.host_valid_i[g]; }
    auto &host_ready(unsigned g) { return bus.host_ready_o[g]; }
    auto &host_we(unsigned g) { return bus.host_we_i[g]; }
    auto &host_addr(unsigned g) { return bus.host_addr_i[g]; }
    auto &host_wdata(unsigned g) { return bus.host_wdata_i[g]; }
    auto &host_rvalid(unsigned g) { return bus.host_rvalid_o[g]; }
    auto &host_rdata(unsigned g) { return bus.host_rdata_o[g]; }

    void reset(bool on) { bus.rst_ni = !on; }

    void clock(bool level)
    {
        bus.clk_i = level;
        bus.eval();
        if (tracing)
            fst.dump(context.time());
        context.timeInc(1);
    }
    void settle() { clock(false); }
    void rise() { clock(true); }

    bool open(const char *path)
    {
        if (!path)
            return true;
        context.traceEverOn(true);
        bus.trace(&fst, 99);
        fst.open(path);
        return tracing = fst.isOpen();
    }

    ~device()
    {
        bus.final();
        if (tracing)
            fst.close();
    }
};
#else
// ---- N nodes and what lies between ----
struct device {
    VerilatedContext context;
    Vfabric_core bus{&context, "core"};
    std::vector<std::unique_ptr<Vnode>> nodes;

    device()
    {
        for (unsigned g = 0; g < GPUS; g++) {
            nodes.push_back(
                std::make_unique<Vnode>(&context, ("node" + std::to_string(g)).c_str()));
            nodes[g]->port_i = g;
            nodes[g]->eval();
        }
        bus.eval();
    }

    auto &host_valid(unsigned g) { return nodes[g]->host_valid_i; }
    auto &host_ready(unsigned g) { return nodes[g]->host_ready_o; }
    auto &host_we(unsigned g) { return nodes[g]->host_we_i; }
    auto &host_addr(unsigned g) { return nodes[g]->host_addr_i; }
    auto &host_wdata(unsigned g) { return nodes[g]->host_wdata_i; }
    auto &host_rvalid(unsigned g) { return nodes[g]->host_rvalid_o; }
    auto &host_rdata(unsigned g) { return nodes[g]->host_rdata_o; }

    void reset(bool on)
    {
        bus.rst_ni = !on;
        for (auto &node : nodes)
            node->rst_ni = !on;
    }

    // What only means something beside a request or a write.
    void configure(Vnode &n)
    {
        n.csr_we_i = bus.csr_we_o;
        n.csr_addr_i = bus.csr_addr_o;
        n.csr_wdata_i = bus.csr_wdata_o;
        n.emap_addr_i = bus.emap_addr_o;
        n.emap_data_i = bus.emap_data_o;
        n.group_addr_i = bus.group_addr_o;
        n.group_data_i = bus.group_data_o;
    }

    // The wires of fabric.sv. Outputs come from registers, so all are read before any part moves on.
    void connect()
    {
        bool configures = bus.emap_we_o || bus.group_we_o;
        for (unsigned g = 0; g < GPUS; g++)
            configures = configures || bus.csr_req_o[g];
        for (unsigned g = 0; g < GPUS; g++) {
            Vnode &n = *nodes[g];
            n.go_i = bus.go_o;
            n.sweep_i = bus.sweep_o;
            n.epoch_i = bus.epoch_o;
            n.csr_req_i = bus.csr_req_o[g];
            n.emap_we_i = bus.emap_we_o;
            n.group_we_i = bus.group_we_o;
            if (configures)
                configure(n);
            n.up_crd_i = bus.up_crd_o[g];
            n.up_crd_part_i = bus.up_crd_part_o[g];
            n.dn_valid_i = bus.dn_valid_o[g];
            n.dn_last_i = bus.dn_last_o[g];
            n.dn_err_i = bus.dn_err_o[g];
            n.dn_cls_i = bus.dn_cls_o[g];
            n.dn_data_i = bus.dn_data_o[g];
            bus.csr_ack_i[g] = n.csr_ack_o;
            bus.csr_err_i[g] = n.csr_err_o;
            bus.csr_rdata_i[g] = n.csr_rdata_o;
            bus.up_valid_i[g] = n.up_valid_o;
            bus.up_last_i[g] = n.up_last_o;
            bus.up_err_i[g] = n.up_err_o;
            bus.up_cls_i[g] = n.up_cls_o;
            bus.up_data_i[g] = n.up_data_o;
            bus.dn_crd_i[g] = n.dn_crd_o;
            bus.idle_i[g] = n.idle_o;
            bus.error_i[g] = n.error_o;
            bus.sweep_busy_i[g] = n.sweep_busy_o;
        }
    }

    void settle() { connect(); }

    void rise()
    {
        Vfabric_core_schedule::inputs(bus.rootp);
        for (auto run : Vfabric_core_schedule::edge)
            run(bus.rootp);
        for (auto &node : nodes)
            Vnode_schedule::inputs(node->rootp);
        for (auto run : Vnode_schedule::edge)
            for (auto &node : nodes)
                run(node->rootp);
    }

    bool open(const char *path) { return !path; }

    ~device()
    {
        bus.final();
        for (auto &node : nodes)
            node->final();
    }
};
#endif
} // namespace

struct mw_sim : device {
    uint64_t cycles = 0;

    void next()
    {
        rise();
        cycles++;
    }

    void reset()
    {
        device::reset(true);
        bus.cfg_req_i = 0;
        for (unsigned g = 0; g < GPUS; g++)
            host_valid(g) = 0;
        for (unsigned i = 0; i < RESET_CYCLES; i++) {
            settle();
            next();
        }
        device::reset(false);
    }
};

namespace {
mw_sim *create(const char *path)
{
    std::unique_ptr<mw_sim> s(new (std::nothrow) mw_sim);
    if (!s || !s->open(path))
        return nullptr;
    s->reset();
    return s.release();
}

void destroy(mw_sim *s)
{
    delete s;
}

int cfg(mw_sim *s, bool write, uint32_t address, uint32_t *value)
{
    s->bus.cfg_req_i = 1;
    s->bus.cfg_we_i = write;
    s->bus.cfg_addr_i = address;
    s->bus.cfg_wdata_i = write ? *value : 0;
    int status = -2;
    for (unsigned i = 0; i < BUS_LIMIT && status == -2; i++) {
        s->settle();
        if (s->bus.cfg_ack_o) {
            status = s->bus.cfg_err_o ? -1 : 0;
            if (!write)
                *value = s->bus.cfg_rdata_o;
        }
        s->next();
    }
    s->bus.cfg_req_i = 0;
    return status;
}

bool run(mw_sim *s, uint64_t max_cycles)
{
    s->bus.cfg_req_i = 0;
    for (uint64_t i = 0; i < max_cycles && !s->bus.done_o; i++) {
        s->settle();
        s->next();
    }
    return s->bus.done_o;
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
    if (s->host_rvalid(g)) {
        l.skip_writes();
        get(s->host_rdata(g), l.place());
        moved = true;
    }
    if (s->host_valid(g) && s->host_ready(g)) {
        l.sent();
        moved = true;
    }
    l.skip_writes();
    return moved;
}

void offer(mw_sim *s, unsigned g, const lane &l)
{
    s->host_valid(g) = !l.sent_all();
    if (l.sent_all())
        return;
    const mw_sim_transfer *p = l.pieces[l.asking];
    s->host_we(g) = p->write;
    s->host_addr(g) = static_cast<uint32_t>(p->flit + l.asked);
    if (p->write)
        put(s->host_wdata(g), p->data + l.asked * FLIT_BYTES);
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
        s->next();
    }
    for (unsigned g = 0; g < GPUS; g++)
        s->host_valid(g) = 0;
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
