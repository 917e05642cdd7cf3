// SPDX-License-Identifier: Apache-2.0
//
// The Verilated device behind the C interface of mw_sim.h: clock and reset, the configuration bus,
// one host stream port per GPU, waves. All C++ of the project outside of tests is here.
//
// With waves, one model holds the whole fabric. Without, the simulation is cut where
// rtl/top/fabric_core.sv meets the nodes, and joined here as rtl/top/fabric.sv joins them: one model of
// all nodes at once, a lane of a vector each (sim/lanes.py makes it of Verilator's model of one), and one
// of what lies between. Each part is evaluated once per clock edge. Both give the same cycles
// (tests/system).
//
// Verilator's eval() is called to initialise the parts only. After that the shim runs what a clock edge
// runs (sim/schedule.py lists it) without looking for edges.
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
#include "Vnode___024root.h"
#include "Vnode_lanes.h"
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

    bool host_rvalid(unsigned g) const { return bus.host_rvalid_o[g]; }
    bool host_ready(unsigned g) const { return bus.host_ready_o[g]; }
    bool host_valid(unsigned g) const { return bus.host_valid_i[g]; }
    void host_valid(unsigned g, bool v) { bus.host_valid_i[g] = v; }
    void host_request(unsigned g, bool we, uint32_t addr)
    {
        bus.host_we_i[g] = we;
        bus.host_addr_i[g] = addr;
    }
    void host_write(unsigned g, const uint8_t *data)
    {
        memcpy(&bus.host_wdata_i[g], data, FLIT_BYTES);
    }
    void host_read(unsigned g, uint8_t *data) const
    {
        memcpy(data, &bus.host_rdata_o[g], FLIT_BYTES);
    }

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
// ---- N nodes, a lane each, and what lies between ----
// A flit in one lane and in a port of the other part, or bytes: 64-bit ports are one variable, 128-bit ones four.
[[maybe_unused]] void put(lanes::Q &to, unsigned lane, const QData &from)
{
    to[lane] = from;
}
[[maybe_unused]] QData get(const lanes::Q &from, unsigned lane)
{
    return from[lane];
}
template <std::size_t Words>
void put(lanes::U (&to)[Words], unsigned lane, const VlWide<Words> &from)
{
    for (unsigned w = 0; w < Words; w++)
        to[w][lane] = from[w];
}
template <std::size_t Words> VlWide<Words> get(const lanes::U (&from)[Words], unsigned lane)
{
    VlWide<Words> to;
    for (unsigned w = 0; w < Words; w++)
        to[w] = from[w][lane];
    return to;
}

struct device {
    VerilatedContext context;
    Vfabric_core bus{&context, "core"};
    std::unique_ptr<Vnode_lanes> nodes{new Vnode_lanes};
    bool resetting = false;

    device()
    {
        // Verilator's node settles as each of the lanes, and gives it what it holds
        Vnode node(&context, "node");
        for (unsigned g = 0; g < lanes::L; g++) {
            node.port_i = g;
            node.eval();
            nodes->load(g, *node.rootp);
        }
        node.final();
        bus.eval();
    }

    bool host_rvalid(unsigned g) const { return nodes->host_rvalid_o[g]; }
    bool host_ready(unsigned g) const { return nodes->host_ready_o[g]; }
    bool host_valid(unsigned g) const { return nodes->host_valid_i[g]; }
    void host_valid(unsigned g, bool v) { nodes->host_valid_i[g] = v; }
    void host_request(unsigned g, bool we, uint32_t addr)
    {
        nodes->host_we_i[g] = we;
        nodes->host_addr_i[g] = addr;
    }
    void host_write(unsigned g, const uint8_t *data)
    {
        auto flit = get(nodes->host_wdata_i, g);
        memcpy(&flit, data, FLIT_BYTES);
        put(nodes->host_wdata_i, g, flit);
    }
    void host_read(unsigned g, uint8_t *data) const
    {
        auto flit = get(nodes->host_rdata_o, g);
        memcpy(data, &flit, FLIT_BYTES);
    }

    void reset(bool on)
    {
        bus.rst_ni = !on;
        resetting = on;
    }

    // What only means something beside a request or a write.
    void configure()
    {
        nodes->csr_we_i = bus.csr_we_o;
        nodes->csr_addr_i = bus.csr_addr_o;
        nodes->csr_wdata_i = bus.csr_wdata_o;
        nodes->emap_addr_i = bus.emap_addr_o;
        nodes->emap_data_i = bus.emap_data_o;
        nodes->group_addr_i = bus.group_addr_o;
        nodes->group_data_i = bus.group_data_o;
    }

    // The wires of fabric.sv. Outputs come from registers, so all are read before any part moves on.
    void connect()
    {
        Vnode_lanes &n = *nodes;
        bool configures = bus.emap_we_o || bus.group_we_o;
        for (unsigned g = 0; g < GPUS; g++)
            configures = configures || bus.csr_req_o[g];
        if (configures)
            configure();
        n.go_i = bus.go_o;
        n.sweep_i = bus.sweep_o;
        n.epoch_i = bus.epoch_o;
        n.emap_we_i = bus.emap_we_o;
        n.group_we_i = bus.group_we_o;
        for (unsigned g = 0; g < GPUS; g++) {
            n.rst_ni[g] = !(resetting || bus.node_reset_o[g]);
            n.csr_req_i[g] = bus.csr_req_o[g];
            n.up_crd_i[g] = bus.up_crd_o[g];
            n.up_crd_part_i[g] = bus.up_crd_part_o[g];
            n.dn_valid_i[g] = bus.dn_valid_o[g];
            n.dn_last_i[g] = bus.dn_last_o[g];
            n.dn_err_i[g] = bus.dn_err_o[g];
            n.dn_cls_i[g] = bus.dn_cls_o[g];
            put(n.dn_data_i, g, bus.dn_data_o[g]);
            bus.csr_ack_i[g] = n.csr_ack_o[g];
            bus.csr_err_i[g] = n.csr_err_o[g];
            bus.csr_rdata_i[g] = n.csr_rdata_o[g];
            bus.up_valid_i[g] = n.up_valid_o[g];
            bus.up_last_i[g] = n.up_last_o[g];
            bus.up_err_i[g] = n.up_err_o[g];
            bus.up_cls_i[g] = n.up_cls_o[g];
            bus.up_data_i[g] = get(n.up_data_o, g);
            bus.dn_crd_i[g] = n.dn_crd_o[g];
            bus.idle_i[g] = n.idle_o[g];
            bus.error_i[g] = n.error_o[g];
            bus.sweep_busy_i[g] = n.sweep_busy_o[g];
        }
    }

    void settle() { connect(); }

    void rise()
    {
        Vfabric_core_schedule::inputs(bus.rootp);
        for (auto run : Vfabric_core_schedule::edge)
            run(bus.rootp);
        nodes->inputs();
        nodes->edge();
    }

    bool open(const char *path) { return !path; }

    ~device() { bus.final(); }
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
            host_valid(g, false);
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
        s->host_read(g, l.place());
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
    s->host_valid(g, !l.sent_all());
    if (l.sent_all())
        return;
    const mw_sim_transfer *p = l.pieces[l.asking];
    s->host_request(g, p->write, static_cast<uint32_t>(p->flit + l.asked));
    if (p->write)
        s->host_write(g, p->data + l.asked * FLIT_BYTES);
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
        s->host_valid(g, false);
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
