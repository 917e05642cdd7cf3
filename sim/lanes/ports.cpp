// SPDX-License-Identifier: Apache-2.0
#include "ports.h"

#include "Vswitch_port___024root.h"
#include "Vswitch_port_lanes.h"
#include "begin.h"
#include "block.h"
#include "watched_ports.h"

static_assert(switch_ports::LANES == lanes::L, "as sim/lanes/lanes.mk compiles this");

namespace {
template <typename Words, typename Lanes> void place(Words &words, Lanes &port)
{
    static_assert(sizeof port == Words::WORDS * lanes::L * sizeof *words.at, "the same words");
    words.at = reinterpret_cast<decltype(words.at)>(&port);
}

// The part of a set for a block
uint32_t of_block(gpu_set set, unsigned block)
{
    return static_cast<uint32_t>(set >> block * switch_ports::MOST);
}
} // namespace

switch_ports::switch_ports(random_context &context)
{
    for (unsigned b = 0; b < COUNT; b++) {
        ports[b].reset(all[b] = new Vswitch_port_lanes);
        Vswitch_port_lanes &p = *all[b];
        begin<Vswitch_port>(context, "port", p, b * MOST,
                            [](Vswitch_port &port, unsigned number) { port.port_i = number; });
        place(end[b].up_i, p.up_i);
        place(end[b].dn_crd_i, p.dn_crd_i);
        place(end[b].quiet_i, p.quiet_i);
        place(end[b].partition_i, p.partition_i);
        place(end[b].up_crd_o, p.up_crd_o);
        place(end[b].dn_o, p.dn_o);
        place(end[b].flush_o, p.flush_o);
        place(end[b].err_o, p.err_o);
        place(end[b].cnt_o, p.cnt_o);
        place(end[b].mon_data_o, p.mon_data_o);
    }
}
switch_ports::~switch_ports() = default;

void switch_ports::reset(gpu_set running)
{
    for (unsigned b = 0; b < COUNT; b++)
        all[b]->rst_ni = lanes_of(of_block(running, b));
}

void switch_ports::inputs(const control &c)
{
    for (unsigned b = 0; b < COUNT; b++) {
        Vswitch_port_lanes &p = *all[b];
        ::all(p.go_i, c.go);
        ::all(p.sweep_i, c.sweep);
        ::all(p.epoch_i, c.epoch);
        ::all(p.emap_i, c.emap);
        ::all(p.groups_i, c.groups);
        ::all(p.common_i, c.common);
        p.enable_i = lanes_of(of_block(c.enable, b));
        p.disable_i = lanes_of(of_block(c.disable, b));
        p.hold_i = lanes_of(of_block(c.hold, b));
        p.cnt_read_i = lanes_of(of_block(c.cnt_read, b));
        p.err_take_i = lanes_of(of_block(c.err_take, b));
        p.mon_read_i = lanes_of(of_block(c.mon_read, b));
    }
    Vswitch_port_lanes::inputs(all, COUNT);
}

void switch_ports::edge()
{
    Vswitch_port_lanes::edge(all, COUNT);
}

switch_ports::state switch_ports::now() const
{
    state s = {};
    for (unsigned b = 0; b < COUNT; b++) {
        s.idle |= gpu_set(set_of(all[b]->idle_o)) << b * MOST;
        s.down |= gpu_set(set_of(all[b]->down_o)) << b * MOST;
        s.sweep_busy |= gpu_set(set_of(all[b]->sweep_busy_o)) << b * MOST;
    }
    return s;
}
