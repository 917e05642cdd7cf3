// SPDX-License-Identifier: Apache-2.0
//
// The nodes of a model in lanes, at most eight in a block. Two runs of code for eight lanes take as
// long as one of code for sixteen. The code is half as long, and the data of eight nodes stays in a
// core's caches. Code of ports and links is compiled for other numbers of lanes, so the wires
// between them and the nodes are arrays.
#pragma once

#include "gpu_set.h"
#include "start.h"

#include "Vnode.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

struct Vnode_lanes;

class node_block {
  public:
    static constexpr unsigned MOST = MW_SIM_N < 8 ? MW_SIM_N : 8; // nodes
    static constexpr unsigned LANES = MOST <= 2 ? 2 : MOST <= 4 ? 4 : 8;
    static constexpr unsigned COUNT = (MW_SIM_N + MOST - 1) / MOST; // of blocks

    // A port: a row for each of its words, in it an element for each lane
    template <typename Port> struct rows {
        std::conditional_t<sizeof(Port) == 8, uint64_t, uint32_t> row[1][LANES];
    };
    template <std::size_t Words> struct rows<VlWide<Words>> {
        uint32_t row[Words][LANES];
    };
    template <typename Port> using rows_of = rows<std::remove_reference_t<Port>>;

    // Outputs of a clock edge of the links for the next one of the nodes
    struct alignas(64) from_links {
        rows_of<decltype(Vnode::dn_i)> dn;
        rows_of<decltype(Vnode::up_crd_i)> up_crd;
    };
    // ... and one of the nodes for the next one of the links
    struct alignas(64) to_links {
        rows_of<decltype(Vnode::up_o)> up;
        rows_of<decltype(Vnode::dn_crd_o)> dn_crd;
        rows_of<decltype(Vnode::csr_o)> csr;
        bool answers;                     // one of csr is not 0
        uint32_t idle, error, sweep_busy; // sets of nodes, the block's first one at bit 0
    };
    // Inputs that seldom change. All are the same for all GPUs, except `running`: the GPUs that are
    // out of reset
    struct control {
        gpu_set running;
        bool go, run, sweep;
        uint8_t epoch;
        uint64_t emap;
        std::remove_reference_t<decltype(Vnode::groups_i)> groups;

        bool operator==(const control &o) const
        {
            return running == o.running && go == o.go && run == o.run && sweep == o.sweep &&
                   epoch == o.epoch && emap == o.emap &&
                   memcmp(&groups, &o.groups, sizeof groups) == 0;
        }
    };

    // The nodes from `first` on
    node_block(random_context &context, unsigned first);
    node_block(const node_block &) = delete;
    ~node_block();

    void set(const control &c);
    void access(unsigned lane, uint64_t csr) const; // of the node's registers
    // A clock edge of all blocks. Each piece of code runs for one block after another, because
    // fetching it takes as long as running it.
    static void edge(const std::unique_ptr<node_block> (&blocks)[COUNT],
                     const from_links (&in)[COUNT], to_links (&out)[COUNT]);
    void post(to_links &out) const;

    bool host_ready(unsigned lane) const;
    uint32_t *host_access(unsigned lane); // words, LANES apart
    uint32_t *host_answer(unsigned lane);

    // What mw_sim_watch shows of a node (sim/watch.py)
    const Vnode_lanes &watched() const { return *nodes; }

  private:
    const unsigned first;
    const std::unique_ptr<Vnode_lanes> nodes;
};
