// SPDX-License-Identifier: Apache-2.0
//
// The fabric with one node for all, fabric_threads.sv, in one model. The node's clock has N edges
// in a cycle: all but the last are in settle(), behind which outputs are those of the cycle, as
// every node has been there; the last is the cycle's own.
#include "large.h"

#include "Vfabric_threads.h"

#include "fabric_of.h"
#include "start.h"

namespace {
struct device {
    random_context context;
    Vfabric_threads bus{&context}; // has the configuration bus
    bool settled = false;

    bool host_ready(unsigned g) const { return bus.host_ready_o[g]; }
    auto &host_access(unsigned g) { return bus.host_i[g]; }
    const auto &host_answer(unsigned g) const { return bus.host_o[g]; }

    void reset(bool on) { bus.rst_ni = !on; }

    void clocks(bool cycle, bool node)
    {
        bus.clk_i = cycle;
        bus.node_clk_i = node;
        bus.eval();
        context.timeInc(1);
    }
    void settle()
    {
        if (settled)
            return;
        clocks(false, false);
        for (unsigned thread = 0; thread + 1 < MW_SIM_N; thread++) {
            clocks(false, true);
            clocks(false, false);
        }
        settled = true;
    }
    void rise()
    {
        clocks(true, true);
        settled = false;
    }
    void many() {}
    void meet() {}
    void cycle()
    {
        settle();
        rise();
    }

    bool open(const char *path) { return !path; }

    ~device() { bus.final(); }
};
} // namespace

const fabric_kind FABRIC = fabric_of<device>::kind(false);
