// SPDX-License-Identifier: Apache-2.0
//
// count_once with packets of counts of all sources in any order: rows whole or in halves, and
// copies, some of them twice. The first count of each kind passes. The word that completes the
// counts of its source is marked as last. Every other packet gets COUNT, and changes nothing.
#include "bench/dut.h"

#include "errors.h"

#include "hub/node_cfg.h"

using namespace tb;

namespace {
constexpr unsigned N = PARAM_N;

struct bench : model<Vcount_once> {
    node_cfg cfg;
    unsigned halves[N] = {}; // of each source's rows
    bool copies[N] = {};
    struct {
        unsigned words, kind, halves, src; // words that are left
    } packet = {};
    unsigned passed = 0, refused = 0, layers = 0;

    bench()
    {
        cfg.set("source_lists", 0);
        cfg.set("cached", 0);
        cfg.any_rest(rng);
        cfg.drive(dut.cfg_i);
        dut.go_i = dut.cnt_valid_i = dut.cnt_list_i = 0;
        reset();
    }

    bool twice() const
    {
        return packet.kind ? copies[packet.src] : (halves[packet.src] & packet.halves) != 0;
    }

    void drive() override
    {
        dut.go_i = !packet.words && rng.one_in(40);
        if (!dut.go_i && !packet.words && percent(60))
            packet = {1 + below(5), below(2), rng.pick({1U, 2U, 3U}), below(N)};
        dut.cnt_valid_i = packet.words && percent(70);
        dut.cnt_kind_i = packet.kind;
        dut.cnt_halves_i = static_cast<uint8_t>(packet.halves);
        dut.cnt_part_i = 0;
        dut.cnt_src_i = static_cast<uint8_t>(packet.src);
        dut.cnt_idx_i = static_cast<uint8_t>(rng.bits(7));
        dut.cnt_val_i = static_cast<uint32_t>(rng.bits(32));
        dut.cnt_last_i = packet.words == 1;
    }

    void sample() override
    {
        bool rows_here = true, copies_here = true;
        for (unsigned s = 0; s < N; s++) {
            rows_here = rows_here && halves[s] == 3;
            copies_here = copies_here && copies[s];
        }
        SAME(dut.counted_all_o, rows_here);
        SAME(dut.copies_here_o, copies_here);
        SAME(dut.cnt_valid_o, dut.cnt_valid_i && !twice());
        if (dut.cnt_valid_o) {
            SAME(dut.cnt_kind_o, packet.kind);
            SAME(dut.cnt_src_o, packet.src);
            SAME(dut.cnt_idx_o, dut.cnt_idx_i);
            SAME(dut.cnt_val_o, dut.cnt_val_i);
            SAME(dut.cnt_last_o,
                 packet.words == 1 && (packet.kind || (halves[packet.src] | packet.halves) == 3));
        }
        const bool ends = dut.cnt_valid_i && packet.words == 1;
        SAME(dut.err_valid_o, ends && twice());
        if (dut.err_valid_o)
            SAME(dut.err_code_o, unsigned{MW_HWERR_COUNT});
        if (ends) {
            refused += twice();
            passed += !twice();
            if (!twice() && packet.kind)
                copies[packet.src] = true;
            else if (!twice())
                halves[packet.src] |= packet.halves;
        }
        packet.words -= dut.cnt_valid_i;
        if (dut.go_i) {
            std::fill(halves, halves + N, 0);
            std::fill(copies, copies + N, false);
            layers++;
        }
    }
};
} // namespace

TEST(each_source_counts_once)
{
    bench b;
    b.cycles(30000);
    assert_true(b.passed > 500 && b.refused > 500 && b.layers > 50);
}
