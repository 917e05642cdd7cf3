// SPDX-License-Identifier: Apache-2.0
#include "nodes.h"

#include "Vnode___024root.h"
#include "Vnode_lanes.h"
#include "begin.h"
#include "block.h"
#include "bundle_access.h"
#include "watched_nodes.h"

#include <cstring>

static_assert(node_block::LANES == lanes::L, "as sim/lanes/lanes.mk compiles this");

namespace {
// A port of all lanes to an array and back
template <typename Lanes, typename Rows> void take(Rows &to, const Lanes &from)
{
    static_assert(sizeof to.row == sizeof from, "the same words");
    memcpy(to.row, &from, sizeof from);
}
template <typename Lanes, typename Rows> void put(Lanes &to, const Rows &from)
{
    static_assert(sizeof to == sizeof from.row, "the same words");
    memcpy(&to, from.row, sizeof to);
}
} // namespace

node_block::node_block(random_context &context, unsigned start)
    : first(start), nodes(new Vnode_lanes)
{
    begin<Vnode>(context, "node", *nodes, first,
                 [](Vnode &node, unsigned number) { node.port_i = number; });
}
node_block::~node_block() = default;

void node_block::set(const control &c)
{
    Vnode_lanes &n = *nodes;
    n.rst_ni = lanes_of(static_cast<uint32_t>(c.running >> first));
    uint8_t layer = 0;
    bundle::put(layer, bundle::layer::go, c.go);
    bundle::put(layer, bundle::layer::run, c.run);
    bundle::put(layer, bundle::layer::sweep, c.sweep);
    bundle::put(layer, bundle::layer::epoch, c.epoch);
    all(n.layer_i, layer);
    all(n.emap_i, c.emap);
    all(n.groups_i, c.groups);
}
void node_block::access(unsigned lane, uint64_t csr) const
{
    nodes->csr_i[lane] = csr;
}

void node_block::edge(const std::unique_ptr<node_block> (&blocks)[COUNT],
                      const from_links (&in)[COUNT], to_links (&out)[COUNT])
{
    Vnode_lanes *all[COUNT];
    for (unsigned b = 0; b < COUNT; b++) {
        Vnode_lanes &n = *(all[b] = blocks[b]->nodes.get());
        put(n.dn_i, in[b].dn);
        put(n.up_crd_i, in[b].up_crd);
    }
    Vnode_lanes::inputs(all, COUNT);
    Vnode_lanes::edge(all, COUNT);
    for (unsigned b = 0; b < COUNT; b++)
        blocks[b]->post(out[b]);
}

void node_block::post(to_links &out) const
{
    const Vnode_lanes &n = *nodes;
    take(out.up, n.up_o);
    take(out.dn_crd, n.dn_crd_o);
    take(out.csr, n.csr_o);
    out.answers = lanes::any(lanes::nz(n.csr_o));
    out.idle = set_of(n.idle_o);
    out.error = set_of(n.error_o);
    out.sweep_busy = set_of(n.sweep_busy_o);
}

bool node_block::host_ready(unsigned lane) const
{
    return nodes->host_ready_o[lane];
}
uint32_t *node_block::host_access(unsigned lane)
{
    return reinterpret_cast<uint32_t *>(&nodes->host_i) + lane;
}
uint32_t *node_block::host_answer(unsigned lane)
{
    return reinterpret_cast<uint32_t *>(&nodes->host_o) + lane;
}
