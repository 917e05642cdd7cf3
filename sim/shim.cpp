// SPDX-License-Identifier: Apache-2.0
//
// The Verilated device behind the C interface of mw_sim.h: clock and reset, the configuration bus,
// one host stream port per GPU, waves. All C++ of the project outside of tests is here.
//
// A plain model (MW_SIM_WHOLE) holds the whole fabric, and may write waves; with MW_SIM_ONE_NODE it is the fabric with one
// node for all (threads.h). In lanes the simulation is cut into parts, and
// joined here as rtl/top/fabric.sv, fabric_core.sv and rtl/switch/switch_top.sv join them: the nodes, their links and the
// ports of the switch, each kind all at once, a lane of a vector each (sim/lanes.py makes it of Verilator's
// model of one; nodes.h has the nodes), and the registers and what the ports share. Each part is evaluated once per clock edge.
// Both give the same cycles (tests/system).
//
// Verilator's eval() is called to initialise the parts only. After that the shim runs what a clock edge
// runs (sim/schedule.py lists it) without looking for edges.
//
// A cycle is: inputs are set, the model settles with the clock low, outputs are looked at, the clock
// rises. Only ports and what they share have outputs that follow inputs of the same cycle: settle() goes
// through the parts in an order in which each has what it needs. Where a run has two cores, a thread of its own runs
// the nodes' clock edges beside everything else's (beside.h): the same cycles and bits. What nodes and the rest tell each
// other is posted, from two places in turn, so that either may begin a cycle while the other is at the one before.
#include "mw_sim.h"

#include "bundles.h"
#include "start.h"

#if MW_SIM_ONE_NODE
#include "threads.h"
#elif MW_SIM_WHOLE
#include "large.h"

#include "Vfabric.h"
#if MW_SIM_WATCH
#include "Vfabric___024root.h"
#endif
#if MW_SIM_TRACE
#include "verilated_fst_c.h"
#endif
#else
#include "begin.h"
#include "beside.h"
#include "nodes.h"

#include "Vfabric_csr.h"
#include "Vfabric_csr_schedule.h"
#include "Vnode_link.h"
#include "Vnode_link___024root.h"
#include "Vnode_link_lanes.h"
#include "Vswitch_common.h"
#include "Vswitch_common_schedule.h"
#include "Vswitch_port.h"
#include "Vswitch_port___024root.h"
#include "Vswitch_port_lanes.h"
#endif

#include "watcher.h"

#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace {
constexpr unsigned GPUS = MW_SIM_N;
constexpr unsigned FLIT_BYTES = MW_SIM_F;
constexpr unsigned RESET_CYCLES = 8;
constexpr unsigned BUS_LIMIT = 10000;
constexpr unsigned STREAM_LIMIT = 100000;
constexpr unsigned MANY_CYCLES = 64; // from which on a second thread is worth waking

// Words of 32 bits of a bundle, of which Verilator makes an integer, or a VlWide from 65 bits on.
template <typename T> uint32_t word(const T &bundle, unsigned w)
{
    if constexpr (std::is_integral_v<T>)
        return static_cast<uint32_t>(static_cast<uint64_t>(bundle) >> 32 * w);
    else
        return bundle[w];
}
template <typename T> void put_word(T &bundle, unsigned w, uint32_t value)
{
    if constexpr (std::is_integral_v<T>)
        bundle = static_cast<T>((bundle & ~(0xffffffffULL << 32 * w)) | static_cast<uint64_t>(value)
                                                                            << 32 * w);
    else
        bundle[w] = value;
}

// A field of at most 32 bits
template <typename T> uint32_t take(const T &bundle, bundle::field f)
{
    const unsigned w = f.at / 32, shift = f.at % 32;
    uint64_t bits = word(bundle, w) >> shift;
    if (shift + f.width > 32)
        bits |= static_cast<uint64_t>(word(bundle, w + 1)) << (32 - shift);
    return static_cast<uint32_t>(bits & ((1ULL << f.width) - 1));
}
template <typename T> void put(T &bundle, bundle::field f, uint32_t value)
{
    const unsigned w = f.at / 32, shift = f.at % 32;
    const uint64_t mask = ((1ULL << f.width) - 1) << shift;
    const uint64_t bits = static_cast<uint64_t>(value) << shift & mask;
    put_word(bundle, w,
             (word(bundle, w) & ~static_cast<uint32_t>(mask)) | static_cast<uint32_t>(bits));
    if (shift + f.width > 32)
        put_word(bundle, w + 1,
                 (word(bundle, w + 1) & ~static_cast<uint32_t>(mask >> 32)) |
                     static_cast<uint32_t>(bits >> 32));
}

// A flit, which lies at the low bits of its bundle
template <typename T> void put_flit(T &bundle, const uint8_t *data)
{
    for (unsigned w = 0; w < FLIT_BYTES / 4; w++) {
        uint32_t value;
        memcpy(&value, data + 4 * w, sizeof value);
        put_word(bundle, w, value);
    }
}
template <typename T> void get_flit(const T &bundle, uint8_t *data)
{
    for (unsigned w = 0; w < FLIT_BYTES / 4; w++) {
        const uint32_t value = word(bundle, w);
        memcpy(data + 4 * w, &value, sizeof value);
    }
}

#if MW_SIM_ONE_NODE
// ---- the fabric with one node: threads.h ----
#elif MW_SIM_WHOLE
// ---- the fabric in one model ----
#if MW_SIM_TRACE
struct waves {
    VerilatedFstC fst;
    bool tracing = false;

    bool open(VerilatedContext &context, Vfabric &top, const char *path)
    {
        if (!path)
            return true;
        context.traceEverOn(true);
        top.trace(&fst, 99);
        fst.open(path);
        return tracing = fst.isOpen();
    }
    void dump(uint64_t time)
    {
        if (tracing)
            fst.dump(time);
    }
    ~waves()
    {
        if (tracing)
            fst.close();
    }
};
#else
struct waves {
    bool open(VerilatedContext &, Vfabric &, const char *path) { return !path; }
    void dump(uint64_t) {}
};
#endif

struct device {
    random_context context;
    Vfabric bus{&context}; // has the configuration bus
    waves trace;

    bool host_ready(unsigned g) const { return bus.host_ready_o[g]; }
    auto &host_access(unsigned g) { return bus.host_i[g]; }
    const auto &host_answer(unsigned g) const { return bus.host_o[g]; }

    void reset(bool on) { bus.rst_ni = !on; }

    void clock(bool level)
    {
        bus.clk_i = level;
        bus.eval();
        trace.dump(context.time());
        context.timeInc(1);
    }
    void settle() { clock(false); }
    void rise() { clock(true); }
    void many() {}
    void meet() {}
    void cycle()
    {
        settle();
        rise();
    }

    bool open(const char *path) { return trace.open(context, bus, path); }

    ~device() { bus.final(); }
};
#else
// ---- nodes, links, ports of the switch, a lane each, and what there is once ----
// Words of a bundle in one lane of a node's block
struct in_lane {
    uint32_t *words;
    uint32_t &operator[](unsigned w) const { return words[w * node_block::LANES]; }
};

// A wire from all lanes to all
template <typename T> void wire(T &to, const T &from)
{
    to = from;
}
template <typename T, std::size_t Words> void wire(T (&to)[Words], const T (&from)[Words])
{
    for (unsigned w = 0; w < Words; w++)
        to[w] = from[w];
}

// ... from one place to all
template <typename Vectors, typename Word>
std::enable_if_t<std::is_integral_v<Word>> wire(Vectors &to, Word from)
{
    to = from;
}
template <std::size_t Words> void wire(lanes::U (&to)[Words], const VlWide<Words> &from)
{
    for (unsigned w = 0; w < Words; w++)
        to[w] = from[w];
}

// ... and between the lanes and an array with an element for each
template <typename Vector, typename Word> void wire(Vector &to, const VlUnpacked<Word, GPUS> &from)
{
    for (unsigned g = 0; g < GPUS; g++)
        to[g] = from[g];
}
template <typename Vector, typename Word> void wire(VlUnpacked<Word, GPUS> &to, const Vector &from)
{
    for (unsigned g = 0; g < GPUS; g++)
        to[g] = static_cast<Word>(from[g]);
}

// ... and between the lanes and those of a block of nodes
template <typename Vectors, typename Rows>
void to_block(Rows &to, const Vectors &from, unsigned block)
{
    constexpr std::size_t LANES = sizeof to.row[0], ALL = lanes::L * (LANES / node_block::LANES);
    static_assert(sizeof from / ALL == sizeof to.row / LANES, "the same words");
    for (unsigned w = 0; w < sizeof to.row / LANES; w++)
        memcpy(to.row[w], reinterpret_cast<const char *>(&from) + w * ALL + block * LANES, LANES);
}
template <typename Vectors, typename Rows>
void of_block(Vectors &to, const Rows &from, unsigned block)
{
    constexpr std::size_t LANES = sizeof from.row[0], ALL = lanes::L * (LANES / node_block::LANES);
    static_assert(sizeof to / ALL == sizeof from.row / LANES, "the same words");
    for (unsigned w = 0; w < sizeof from.row / LANES; w++)
        memcpy(reinterpret_cast<char *>(&to) + w * ALL + block * LANES, from.row[w], LANES);
}

constexpr uint32_t EVERY = GPUS == 32 ? ~0U : (1U << GPUS % 32) - 1;

// The GPUs whose lane holds 1
uint32_t set_of(lanes::U bits)
{
    return lanes::set_of(lanes::nz(bits)) & EVERY;
}

// Lanes from a set of GPUs
lanes::U lanes_of(uint32_t set)
{
    return ((lanes::U)set >> lanes::NUMBER) & 1U;
}

// Row `row` of a packed matrix with GPUS columns
template <typename Matrix> uint32_t row_of(const Matrix &matrix, unsigned row)
{
    uint32_t words[(GPUS * GPUS + 31) / 32 + 1] = {};
    memcpy(words, &matrix, sizeof matrix);
    uint64_t two;
    memcpy(&two, words + row * GPUS / 32, sizeof two);
    return static_cast<uint32_t>(two >> row * GPUS % 32) & EVERY;
}

struct device {
    random_context context;
    Vfabric_csr bus{&context, "csr"}; // has the configuration bus
    Vswitch_common common{&context, "common"};
    std::unique_ptr<node_block> nodes[node_block::COUNT];
    std::unique_ptr<Vnode_link_lanes> links{new Vnode_link_lanes};
    std::unique_ptr<Vswitch_port_lanes> ports{new Vswitch_port_lanes};
    bool resetting = false;
    bool answered = false;                                          // by a node, in the last cycle
    std::remove_reference_t<decltype(bus.node_o)> asked{};          // of the nodes' registers
    std::remove_reference_t<decltype(bus.partition_o)> partition{}; // that the ports have
    node_block::control told{};                                     // what the nodes have
    // What a clock edge of the links and one of the nodes leave for the other's next one: that of a cycle at its number's
    // last bit, so that it stands until that edge of the cycle behind has read it.
    node_block::from_links for_nodes[2][node_block::COUNT] = {};
    node_block::to_links of_nodes[2][node_block::COUNT] = {};
    alignas(64) unsigned nodes_at = 0; // cycles of the nodes, of which their clock edge alone knows
    alignas(64) unsigned fabric_at = 0; // ... and of the rest
    const bool threads = beside::wanted();
    beside node_thread{[this] { rise_nodes(); }};

    device()
    {
        for (unsigned b = 0; b < node_block::COUNT; b++) {
            nodes[b].reset(new node_block(context, b * node_block::MOST));
            nodes[b]->set(told); // they begin at random, inputs too
        }
        begin<Vnode_link>(context, "link", *links, 0, [](Vnode_link &, unsigned) {});
        begin<Vswitch_port>(context, "port", *ports, 0,
                            [](Vswitch_port &p, unsigned g) { p.port_i = g; });
        bus.eval();
        common.eval();
        for (unsigned b = 0; b < node_block::COUNT; b++)
            nodes[b]->post(of_nodes[1][b]);
    }

    // Between meet() and the next cycle() the nodes are the caller's.
    void meet() { node_thread.end(0); }

    node_block &block_of(unsigned g) const { return *nodes[g / node_block::MOST]; }
    static constexpr unsigned lane_of(unsigned g) { return g % node_block::MOST; }
    bool host_ready(unsigned g) const { return block_of(g).host_ready(lane_of(g)); }
    in_lane host_access(unsigned g) { return {block_of(g).host_access(lane_of(g))}; }
    in_lane host_answer(unsigned g) { return {block_of(g).host_answer(lane_of(g))}; }

    void reset(bool on)
    {
        resetting = on;
        bus.rst_ni = !on;
        common.rst_ni = !on;
        links->rst_ni = ports->rst_ni = lanes_of(on ? 0 : EVERY);
    }

    // Accesses to the nodes' registers, when they have changed
    void accesses()
    {
        if (!resetting && memcmp(&asked, &bus.node_o, sizeof asked) == 0)
            return;
        meet();
        asked = bus.node_o;
        for (unsigned g = 0; g < GPUS; g++)
            block_of(g).access(lane_of(g), asked[g]);
    }

    // What seldom changes, when it has. What nobody writes stays in both threads' caches.
    void controls()
    {
        const node_block::control now = {resetting ? 0 : EVERY & ~set_of(links->node_reset_o),
                                         bus.go_o != 0,
                                         bus.run_o != 0,
                                         bus.sweep_o != 0,
                                         bus.epoch_o,
                                         bus.emap_o,
                                         bus.groups_o};
        if (now == told)
            return;
        meet();
        told = now;
        for (auto &block : nodes)
            block->set(told);
    }

    // From the other parts' registers to the nodes, for this cycle
    void tell_nodes()
    {
        controls();
        accesses();
        for (unsigned b = 0; b < node_block::COUNT; b++) {
            node_block::from_links &post = for_nodes[fabric_at % 2][b];
            to_block(post.dn, links->dn_o, b);
            to_block(post.up_crd, links->up_crd_o, b);
        }
    }

    // From the nodes' registers, as their last clock edge left them, to the other parts
    void hear_nodes()
    {
        uint32_t idle = 0, error = 0, sweep_busy = 0;
        bool answers = false;
        const auto &posts = of_nodes[(fabric_at + 1) % 2];
        for (unsigned b = 0; b < node_block::COUNT; b++) {
            const node_block::to_links &post = posts[b];
            of_block(links->up_i, post.up, b);
            of_block(links->dn_crd_i, post.dn_crd, b);
            answers = answers || post.answers;
            idle |= post.idle << b * node_block::MOST;
            error |= post.error << b * node_block::MOST;
            sweep_busy |= post.sweep_busy << b * node_block::MOST;
        }
        if (answers || answered || resetting) // they are 0 in other cycles
            for (unsigned g = 0; g < GPUS; g++)
                bus.node_i[g] = posts[g / node_block::MOST].csr.row[0][lane_of(g)];
        answered = answers;
        bus.node_idle_i = idle & EVERY;
        bus.node_error_i = error & EVERY;
        bus.sweep_busy_i = (sweep_busy & EVERY) != 0;
    }

    // From registers to links and ports
    void connect()
    {
        Vnode_link_lanes &l = *links;
        Vswitch_port_lanes &p = *ports;
        p.go_i = bus.go_o;
        p.sweep_i = bus.sweep_o;
        p.epoch_i = bus.epoch_o;
        p.emap_i = bus.emap_o;
        p.groups_i = bus.groups_o;
        l.latency_i = bus.latency_o;
        wire(p.up_i, l.up_rx_o);
        wire(p.dn_crd_i, l.dn_tx_crd_o);
        wire(p.quiet_i, l.quiet_o);
        p.enable_i = lanes_of(bus.enable_o);
        p.disable_i = lanes_of(bus.disable_o);
    }

    // Masks of the ports, when they have changed
    void partitions()
    {
        if (!resetting && memcmp(&partition, &bus.partition_o, sizeof partition) == 0)
            return;
        partition = bus.partition_o;
        for (unsigned g = 0; g < GPUS; g++)
            ports->partition_i[g] = row_of(partition, g);
    }

    // What the ports share, and the ports
    void switches()
    {
        Vswitch_port_lanes &p = *ports;
        common.go_i = bus.go_o;
        common.run_i = bus.run_o;
        common.ctl_i = bus.ctl_o;
        wire(common.err_i, p.err_o);
        Vswitch_common_schedule::inputs(common.rootp);

        wire(p.common_i, common.common_o);
        p.hold_i = lanes_of(common.hold_o);
        p.cnt_read_i = lanes_of(common.cnt_read_o);
        p.err_take_i = lanes_of(common.err_take_o);
        p.mon_read_i = lanes_of(common.mon_read_o);
        partitions();
        p.inputs();

        wire(common.cnt_i, p.cnt_o);
        if (take(bus.ctl_o, bundle::switch_ctl::mon_read))
            wire(common.mon_data_i, p.mon_data_o);
    }

    // What follows the ports: credits, and the registers of the fabric
    void conclude()
    {
        Vnode_link_lanes &l = *links;
        const Vswitch_port_lanes &p = *ports;
        wire(l.up_rx_crd_i, p.up_crd_o);
        wire(l.dn_tx_i, p.dn_o);
        wire(l.flush_i, p.flush_o);

        bus.node_reset_i = set_of(l.node_reset_o);
        bus.switch_idle_i = set_of(p.idle_o) == EVERY;
        bus.links_idle_i = set_of(l.quiet_o) == EVERY;
        bus.all_idle_i = bus.node_idle_i == EVERY && bus.switch_idle_i && bus.links_idle_i;
        bus.down_i = set_of(p.down_o);
        bus.sweep_busy_i = bus.sweep_busy_i || set_of(p.sweep_busy_o) != 0;
        bus.sw_err_i = common.err_o;
        bus.sw_err_port_i = common.err_port_o;
        bus.cnt_data_i = common.cnt_data_o;
        bus.mon_samples_i = common.mon_samples_o;
        bus.mon_data_i = common.mon_data_o;
    }

    void settle_fabric()
    {
        hear_nodes();
        connect();
        switches();
        conclude();
    }
    void settle()
    {
        meet();
        tell_nodes();
        settle_fabric();
    }

    void rise_fabric()
    {
        Vfabric_csr_schedule::inputs(bus.rootp);
        for (auto run : Vfabric_csr_schedule::edge)
            run(bus.rootp);
        Vswitch_common_schedule::inputs(common.rootp);
        for (auto run : Vswitch_common_schedule::edge)
            run(common.rootp);
        ports->edge();
        links->inputs();
        links->edge();
    }
    // What comes next is mostly there already, from the other core.
    template <typename Post> static void fetch(const Post &post)
    {
        for (unsigned at = 0; at < sizeof post; at += 64)
            __builtin_prefetch(reinterpret_cast<const char *>(&post) + at);
    }
    void rise_nodes()
    {
        fetch(for_nodes[(nodes_at + 1) % 2]);
        node_block::edge(nodes, for_nodes[nodes_at % 2], of_nodes[nodes_at % 2]);
        nodes_at++;
    }
    void rise()
    {
        rise_fabric();
        rise_nodes();
        fabric_at++;
    }

    // Many cycles follow, one after the other.
    void many()
    {
        if (threads)
            node_thread.rouse();
    }
    // Both in one. The nodes' thread may still be at the cycle before when this one is posted, and at this one behind it.
    void cycle()
    {
        tell_nodes();
        if (threads && node_thread.begin()) {
            node_thread.end(1);
        } else {
            meet();
            rise_nodes();
        }
        settle_fabric();
        rise_fabric();
        fabric_at++;
    }

    bool open(const char *path) { return !path; }

    ~device()
    {
        bus.final();
        common.final();
    }
};
#endif
} // namespace

struct mw_sim : device {
    uint64_t cycles = 0;
    uint64_t late[GPUS] = {}; // answers that a transfer which was given up has not waited for
    bool any_late = false;

    bool host_valid(unsigned g)
    {
        auto &&access = host_access(g);
        return take(access, bundle::access::valid);
    }
    void host_valid(unsigned g, bool v)
    {
        auto &&access = host_access(g);
        put(access, bundle::access::valid, v);
    }
    void host_request(unsigned g, bool we, uint32_t addr)
    {
        auto &&access = host_access(g);
        put(access, bundle::access::we, we);
        put(access, bundle::access::addr, addr);
    }
    void host_write(unsigned g, const uint8_t *data)
    {
        auto &&access = host_access(g);
        put_flit(access, data);
    }
    bool host_rvalid(unsigned g) { return take(host_answer(g), bundle::answer::rvalid); }
    void host_read(unsigned g, uint8_t *data) { get_flit(host_answer(g), data); }

    watcher watch;

    // Answers that nobody waits for any more come in any cycle.
    void drop_late()
    {
        any_late = false;
        for (unsigned g = 0; g < GPUS; g++) {
            if (late[g] && host_rvalid(g))
                late[g]--;
            any_late = any_late || late[g];
        }
    }

    void next()
    {
        if (any_late)
            drop_late();
        rise();
        cycles++;
        if (watch.wanted())
            watch.look(*this);
    }

    // Both in one, where nobody looks in between
    void whole()
    {
        if (any_late || watch.wanted()) {
            settle();
            next();
            return;
        }
        cycle();
        cycles++;
    }

    void forget_late()
    {
        std::memset(late, 0, sizeof late);
        any_late = false;
    }

    void reset()
    {
        device::reset(true);
        put(bus.cfg_i, bundle::bus_req::req, 0);
        for (unsigned g = 0; g < GPUS; g++)
            host_valid(g, false);
        for (unsigned i = 0; i < RESET_CYCLES; i++) {
            settle();
            next();
        }
        device::reset(false);
        forget_late();
    }
};

namespace {
// Exceptions stop here: callers are C.
mw_sim *create(const char *path) noexcept
try {
    std::unique_ptr<mw_sim> s(new mw_sim);
    if (!s->open(path))
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
    using namespace bundle;
    put(s->bus.cfg_i, bus_req::req, 1);
    put(s->bus.cfg_i, bus_req::we, write);
    put(s->bus.cfg_i, bus_req::addr, address);
    put(s->bus.cfg_i, bus_req::wdata, write ? *value : 0);
    int status = -2;
    for (unsigned i = 0; i < BUS_LIMIT && status == -2; i++) {
        s->settle();
        if (take(s->bus.cfg_o, bus_rsp::ack)) {
            status = take(s->bus.cfg_o, bus_rsp::err) ? -1 : 0;
            if (!write)
                *value = take(s->bus.cfg_o, bus_rsp::rdata);
        }
        s->next();
    }
    put(s->bus.cfg_i, bus_req::req, 0);
    return status;
}

bool run(mw_sim *s, uint64_t max_cycles)
{
    put(s->bus.cfg_i, bundle::bus_req::req, 0);
    if (max_cycles >= MANY_CYCLES)
        s->many();
    for (uint64_t i = 0; i < max_cycles && !s->bus.done_o; i++)
        s->whole();
    s->meet();
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

    // Reads that were asked and not answered
    uint64_t open() const
    {
        uint64_t flits = 0;
        for (std::size_t i = answering; i <= asking && i < pieces.size(); i++)
            if (!pieces[i]->write)
                flits += (i < asking ? pieces[i]->flits : asked) - (i == answering ? answered : 0);
        return flits;
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

// What comes now belongs to no transfer; what has not come by the limit was lost, with the reset of its node.
void drain(mw_sim *s)
{
    for (unsigned i = 0; i < STREAM_LIMIT && s->any_late; i++) {
        s->settle();
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
        s->settle();
        // looked at before the edge, acted on behind it: the ports keep what they offer until then
        bool moved = false;
        for (unsigned g = 0; g < GPUS; g++)
            moved = step_lane(s, g, lanes[g]) || moved;
        if (moved)
            quiet = 0;
        s->next();
    }
    for (unsigned g = 0; g < GPUS; g++) {
        s->host_valid(g, false);
        s->late[g] = lanes[g].open();
        s->any_late = s->any_late || s->late[g];
    }
    return -2;
}

// Whatever needs memory comes before the first cycle.
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
    s->watch.tell(event, context);
}

const mw_sim_ops OPS = {MW_SIM_ABI, GPUS,    FLIT_BYTES, MW_SIM_TRACE != 0,
                        create,     destroy, cfg,        run,
                        transfer,   cycles,  reset,      watcher::can ? watch : nullptr};
} // namespace

extern "C" __attribute__((visibility("default"))) const mw_sim_ops *mw_sim_get_ops(void)
{
    return &OPS;
}
