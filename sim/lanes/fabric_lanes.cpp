// SPDX-License-Identifier: Apache-2.0
//
// The fabric of a model in lanes: parts, connected like in rtl/fabric/fabric.sv, fabric_core.sv and
// rtl/switch/switch_top.sv. Nodes, links and ports of the switch are lanes of vectors. lanes.py
// makes their code from Verilator's model of one. All links are one block. Nodes and ports have
// their own blocks (nodes.h, ports.h). The registers, and what the ports share, exist once. Each
// part is evaluated once per clock edge, with the cycles of a plain model (tests/system).
//
// Verilator's eval() only initialises the parts. Then a clock edge runs the list of schedule.py,
// without a search for edges. Only ports and their shared part have outputs that depend on inputs
// of the same cycle. settle() evaluates the parts in an order in which all inputs of each are
// ready.
//
// If a run has two cores, a second thread runs the nodes' clock edges while the first runs all
// others (beside.h), with the same cycles and bits. Data between nodes and the rest is posted, in
// two places in turn, so either side may begin a cycle while the other one is in the previous
// cycle.
#include "beside.h"
#include "begin.h"
#include "nodes.h"
#include "wires.h"

#include "Vfabric_csr.h"
#include "Vfabric_csr_schedule.h"
#include "Vnode_link.h"
#include "Vnode_link___024root.h"
#include "Vnode_link_lanes.h"
#include "Vswitch_common.h"
#include "Vswitch_common_schedule.h"

#include "fabric_of.h"
#include "start.h"

namespace {
constexpr unsigned GPUS = MW_SIM_N;

// Words of a bundle in one lane of a node's block
struct in_lane {
    uint32_t *words;
    uint32_t &operator[](unsigned w) const { return words[w * node_block::LANES]; }
};

struct device {
    random_context context;
    Vfabric_csr bus{&context, "csr"}; // has the configuration bus
    Vswitch_common common{&context, "common"};
    std::unique_ptr<node_block> nodes[node_block::COUNT];
    std::unique_ptr<Vnode_link_lanes> links{new Vnode_link_lanes};
    switch_ports ports{context};
    switch_ports::control told{}; // the ports
    bool resetting = false;
    bool answered = false;                                          // by a node, in the last cycle
    bool nodes_idle = false;                                        // all of them
    std::remove_reference_t<decltype(bus.node_o)> asked{};          // of the nodes' registers
    std::remove_reference_t<decltype(bus.partition_o)> partition{}; // that the ports have
    node_block::control applied{};                                  // what the nodes have
    // Outputs of a clock edge of the links for the nodes' next one, and the reverse. Cycle i writes
    // element i % 2, so that the other side can still read the data of cycle i - 1.
    node_block::from_links for_nodes[2][node_block::COUNT] = {};
    node_block::to_links of_nodes[2][node_block::COUNT] = {};
    alignas(64) unsigned nodes_at = 0;  // cycles of the nodes, used only by their clock edge
    alignas(64) unsigned fabric_at = 0; // ... and of the rest
    const bool threads = beside::wanted();
    beside node_thread{[this] { rise_nodes(); }};

    device()
    {
        for (unsigned b = 0; b < node_block::COUNT; b++) {
            nodes[b].reset(new node_block(context, b * node_block::MOST));
            nodes[b]->set(applied); // they begin at random, inputs too
        }
        begin<Vnode_link>(context, "link", *links, 0, [](Vnode_link &, unsigned) {});
        bus.eval();
        common.eval();
        for (unsigned b = 0; b < node_block::COUNT; b++)
            nodes[b]->post(of_nodes[1][b]);
    }

    // Between meet() and the next cycle() the nodes belong to the caller.
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
        links->rst_ni = lanes_of(on ? 0 : EVERY);
        ports.reset(on ? 0 : EVERY);
    }

    // Accesses to the nodes' registers, if they have changed
    void accesses()
    {
        if (!resetting && memcmp(&asked, &bus.node_o, sizeof asked) == 0)
            return;
        meet();
        asked = bus.node_o;
        for (unsigned g = 0; g < GPUS; g++)
            block_of(g).access(lane_of(g), asked[g]);
    }

    // Inputs that seldom change, if they have. Data that is not written stays in both threads'
    // caches.
    void controls()
    {
        const node_block::control now = {resetting ? 0 : EVERY & ~set_of(links->node_reset_o),
                                         bus.go_o != 0,
                                         bus.run_o != 0,
                                         bus.sweep_o != 0,
                                         bus.epoch_o,
                                         bus.emap_o,
                                         bus.groups_o};
        if (now == applied)
            return;
        meet();
        applied = now;
        for (auto &block : nodes)
            block->set(applied);
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

    // From the nodes' registers after their last clock edge to the other parts
    void hear_nodes()
    {
        gpu_set idle = 0, error = 0, sweep_busy = 0;
        bool answers = false;
        const auto &posts = of_nodes[(fabric_at + 1) % 2];
        for (unsigned b = 0; b < node_block::COUNT; b++) {
            const node_block::to_links &post = posts[b];
            of_block(links->up_i, post.up, b);
            of_block(links->dn_crd_i, post.dn_crd, b);
            answers = answers || post.answers;
            idle |= gpu_set(post.idle) << b * node_block::MOST;
            error |= gpu_set(post.error) << b * node_block::MOST;
            sweep_busy |= gpu_set(post.sweep_busy) << b * node_block::MOST;
        }
        if (answers || answered || resetting) // they are 0 in other cycles
            for (unsigned g = 0; g < GPUS; g++)
                bus.node_i[g] = posts[g / node_block::MOST].csr.row[0][lane_of(g)];
        answered = answers;
        nodes_idle = (idle & EVERY) == EVERY;
        put_gpus(bus.node_idle_i, idle & EVERY);
        put_gpus(bus.node_error_i, error & EVERY);
        bus.sweep_busy_i = (sweep_busy & EVERY) != 0;
    }

    // From registers to links and ports
    void connect()
    {
        Vnode_link_lanes &l = *links;
        told.go = bus.go_o;
        told.sweep = bus.sweep_o;
        told.epoch = bus.epoch_o;
        told.emap = bus.emap_o;
        told.groups = bus.groups_o;
        l.latency_i = bus.latency_o;
        to_ports(ports, &switch_ports::ends::up_i, l.up_rx_o);
        to_ports(ports, &switch_ports::ends::dn_crd_i, l.dn_tx_crd_o);
        to_ports(ports, &switch_ports::ends::quiet_i, l.quiet_o);
        told.enable = gpus_of(bus.enable_o);
        told.disable = gpus_of(bus.disable_o);
    }

    // Masks of the ports, if they have changed
    void partitions()
    {
        if (!resetting && memcmp(&partition, &bus.partition_o, sizeof partition) == 0)
            return;
        partition = bus.partition_o;
        for (unsigned g = 0; g < GPUS; g++)
            put_gpus(ports.end_of(g).partition_i, switch_ports::lane_of(g), row_of(partition, g));
    }

    // The shared part of the ports, and the ports
    void switches()
    {
        common.go_i = bus.go_o;
        common.run_i = bus.run_o;
        common.ctl_i = bus.ctl_o;
        wire(common.err_i, &switch_ports::ends::err_o, ports);
        Vswitch_common_schedule::inputs(common.rootp);

        told.common = common.common_o;
        told.hold = gpus_of(common.hold_o);
        told.cnt_read = gpus_of(common.cnt_read_o);
        told.err_take = gpus_of(common.err_take_o);
        told.mon_read = gpus_of(common.mon_read_o);
        partitions();
        ports.inputs(told);

        wire(common.cnt_i, &switch_ports::ends::cnt_o, ports);
        if (bundle::take(bus.ctl_o, bundle::switch_ctl::mon_read))
            wire(common.mon_data_i, &switch_ports::ends::mon_data_o, ports);
    }

    // Results of the ports: credits, and the registers of the fabric
    void conclude()
    {
        Vnode_link_lanes &l = *links;
        const switch_ports::state at = ports.now();
        of_ports(l.up_rx_crd_i, ports, &switch_ports::ends::up_crd_o);
        of_ports(l.dn_tx_i, ports, &switch_ports::ends::dn_o);
        of_ports(l.flush_i, ports, &switch_ports::ends::flush_o);

        put_gpus(bus.node_reset_i, set_of(l.node_reset_o));
        bus.switch_idle_i = (at.idle & EVERY) == EVERY;
        bus.links_idle_i = set_of(l.quiet_o) == EVERY;
        bus.all_idle_i = nodes_idle && bus.switch_idle_i && bus.links_idle_i;
        put_gpus(bus.down_i, at.down & EVERY);
        bus.sweep_busy_i = bus.sweep_busy_i || (at.sweep_busy & EVERY) != 0;
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
        ports.edge();
        links->inputs();
        links->edge();
    }
    // The other core has mostly written the next data already.
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

    // Many cycles follow, one after another.
    void many()
    {
        if (threads)
            node_thread.rouse();
    }
    // A settle() and a rise(). The nodes' thread may still be in the previous cycle when
    // tell_nodes() posts this one, and may be in this one when cycle() ends.
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

    bool open(const char *path) { return !path; } // lanes have no waveforms

    ~device()
    {
        bus.final();
        common.final();
    }
};
} // namespace

const fabric_kind FABRIC = fabric_of<device>::kind(false);
