// SPDX-License-Identifier: Apache-2.0
//
// Waveforms of a model, if `make unit-NAME WAVES=1` built it: a file MW_WAVES/TEST-K.fst for each
// model, K from 1 on. Two steps of time are a clock cycle.
#ifndef BENCH_WAVES_H
#define BENCH_WAVES_H

#include "verilated.h"

#if VM_TRACE
#include "bench/random.h"

#include "verilated_fst_c.h"

#include <map>
#include <string>

namespace tb {
class waves {
    VerilatedFstC file;
    uint64_t time = 0;

  public:
    /// Before the model is made.
    static void begin(VerilatedContext &context) { context.traceEverOn(true); }

    template <class Dut> explicit waves(Dut &dut)
    {
        static std::map<std::string, unsigned> made; // of each test
        const char *folder = getenv("MW_WAVES");
        if (!folder)
            return;
        const std::string test = streams::name();
        dut.trace(&file, 99);
        file.open((std::string(folder) + "/" + test + "-" + std::to_string(++made[test]) + ".fst")
                      .c_str());
    }
    ~waves() { file.close(); }

    /// After each evaluation.
    void step()
    {
        if (file.isOpen())
            file.dump(time++);
    }
};
} // namespace tb
#else
namespace tb {
struct waves {
    static void begin(VerilatedContext &) {}
    template <class Dut> explicit waves(Dut &) {}
    void step() {}
};
} // namespace tb
#endif

#endif
