// SPDX-License-Identifier: Apache-2.0
//
// The fabric of a plain model: the whole rtl/fabric/fabric.sv, by Verilator's eval(). With
// MW_SIM_TRACE it can write waveforms.
#include "large.h"

#include "Vfabric.h"
#if MW_SIM_WATCH
#include "Vfabric___024root.h"
#endif
#if MW_SIM_TRACE
#include "verilated_fst_c.h"
#endif

#include "fabric_of.h"
#include "start.h"

namespace {
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
} // namespace

const fabric_kind FABRIC = fabric_of<device>::kind(MW_SIM_TRACE);
