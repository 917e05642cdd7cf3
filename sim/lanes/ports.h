// SPDX-License-Identifier: Apache-2.0
//
// The ports of a model's switch in lanes, at most sixteen in a block. A port has wires from every
// other one, so wider code for more ports would grow with the square of their number. Links have
// another number of lanes, for which their code is compiled.
#pragma once

#include "gpu_set.h"
#include "start.h"

#include "Vswitch_port.h"

#include <cstdint>
#include <memory>
#include <type_traits>

struct Vswitch_port_lanes;

class switch_ports {
  public:
    static constexpr unsigned MOST = MW_SIM_N <= 16 ? MW_SIM_N : 16; // ports of a block
    static constexpr unsigned LANES = MOST <= 2 ? 2 : MOST <= 4 ? 4 : MOST <= 8 ? 8 : 16;
    static constexpr unsigned COUNT = (MW_SIM_N + MOST - 1) / MOST; // of blocks

    // Place of a port of the RTL in a block: its words, in each an element for each lane
    template <typename Port> struct words {
        using word = std::conditional_t<sizeof(Port) == 8, uint64_t, uint32_t>;
        static constexpr std::size_t WORDS = 1;
        word *at;
    };
    template <std::size_t Words> struct words<VlWide<Words>> {
        using word = uint32_t;
        static constexpr std::size_t WORDS = Words;
        word *at;
    };
    template <typename Port> using words_of = words<std::remove_reference_t<Port>>;
    struct ends {
        words_of<decltype(Vswitch_port::up_i)> up_i;
        words_of<decltype(Vswitch_port::dn_crd_i)> dn_crd_i;
        words_of<decltype(Vswitch_port::quiet_i)> quiet_i;
        words_of<decltype(Vswitch_port::partition_i)> partition_i;
        words_of<decltype(Vswitch_port::up_crd_o)> up_crd_o;
        words_of<decltype(Vswitch_port::dn_o)> dn_o;
        words_of<decltype(Vswitch_port::flush_o)> flush_o;
        words_of<decltype(Vswitch_port::err_o)> err_o;
        words_of<decltype(Vswitch_port::cnt_o)> cnt_o;
        words_of<decltype(Vswitch_port::mon_data_o)> mon_data_o;
    };

    // Inputs of the ports: common values, and sets of ports
    struct control {
        bool go, sweep;
        uint8_t epoch;
        uint64_t emap;
        std::remove_reference_t<decltype(Vswitch_port::groups_i)> groups;
        std::remove_reference_t<decltype(Vswitch_port::common_i)> common;
        gpu_set enable, disable, hold, cnt_read, err_take, mon_read;
    };
    struct state {
        gpu_set idle, down, sweep_busy;
    };

    explicit switch_ports(random_context &context);
    switch_ports(const switch_ports &) = delete;
    ~switch_ports();

    void reset(gpu_set running);
    void inputs(const control &c); // and what follows from them
    void edge();                   // a clock edge
    state now() const;             // after inputs()

    // Port g's words are LANES apart, from its lane on
    ends end[COUNT];
    static constexpr unsigned lane_of(unsigned g) { return g % MOST; }
    ends &end_of(unsigned g) { return end[g / MOST]; }

    // The block of a port, of which mw_sim_watch shows lane_of() (sim/watch.py)
    const Vswitch_port_lanes &watched(unsigned g) const { return *ports[g / MOST]; }

  private:
    std::unique_ptr<Vswitch_port_lanes> ports[COUNT];
    Vswitch_port_lanes *all[COUNT];
};
