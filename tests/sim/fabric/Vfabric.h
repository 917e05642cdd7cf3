// SPDX-License-Identifier: Apache-2.0
//
// Replaces Verilator's model: memories with host stream ports. A test can delay their answers or
// lose them.
#pragma once

#include "verilated.h"

#include <array>
#include <deque>

#include "bundles.h"

struct Vfabric {
    using words = std::array<uint32_t, 8>;
    bool clk_i = false, rst_ni = false, done_o = false;
    words cfg_i{}, cfg_o{};
    bool host_ready_o[MW_SIM_N] = {};
    words host_i[MW_SIM_N] = {}, host_o[MW_SIM_N] = {};

    bool hold = false; ///< no answers
    std::deque<uint32_t> asked[MW_SIM_N];

    explicit Vfabric(VerilatedContext *) {}
    void final() {}

    static bool bit(const words &w, bundle::field f) { return w[f.at / 32] >> f.at % 32 & 1; }
    static uint32_t address(const words &w)
    {
        const bundle::field f = bundle::access::addr;
        const uint64_t two = w[f.at / 32] | static_cast<uint64_t>(w[f.at / 32 + 1]) << 32;
        return static_cast<uint32_t>(two >> f.at % 32);
    }

    // The contents of a word are its address.
    void eval()
    {
        for (unsigned g = 0; g < MW_SIM_N; g++) {
            const bool answers = !hold && !asked[g].empty();
            if (clk_i) {
                if (answers)
                    asked[g].pop_front();
                if (rst_ni && bit(host_i[g], bundle::access::valid) &&
                    !bit(host_i[g], bundle::access::we))
                    asked[g].push_back(address(host_i[g]));
                continue;
            }
            const bundle::field f = bundle::answer::rvalid;
            host_ready_o[g] = true;
            host_o[g] = {};
            host_o[g][f.at / 32] |= static_cast<uint32_t>(answers) << f.at % 32;
            if (answers) {
                host_o[g][0] = asked[g].front();
                host_o[g][1] = g;
            }
        }
    }
};
