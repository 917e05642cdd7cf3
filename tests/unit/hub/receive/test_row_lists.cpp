// SPDX-License-Identifier: Apache-2.0
//
// row_lists against the rules of its header. Rows of 1 to 16 targets open, are replaced, get
// followers and are closed, for every source at the same time. Packets are bad, truncated, for
// tokens that do not exist, or of another kind. Epochs and resets come between packets. MW_SEED
// repeats a run.
#include "bench/dut.h"
#include "bench/packet.h"

using namespace tb;

static const unsigned N = PARAM_N, TOKEN_BITS = PARAM_TokensLog2 + log2_up(N), TARGET_BITS = 11,
                      MOST = 16;

struct rows : model<Vrow_lists> {
    struct row {
        bool open = false;
        unsigned token = 0;
        std::vector<unsigned> targets;
    };
    std::vector<row> kept{N};
    std::vector<unsigned> targets; // of the packet
    unsigned followed = 0, longest = 0, lost = 0;

    unsigned below(unsigned n) { return static_cast<unsigned>(rng.below(n)); }
    bool percent(unsigned p) { return below(100) < p; }

    void make_packet()
    {
        // few tokens, with numbers that differ in any bit
        const unsigned token = percent(80) ? 1u << below(TOKEN_BITS) : below(1u << TOKEN_BITS);
        scramble(dut.hd_len_i, 8, rng);
        dut.hd_op_i = percent(90)
                          ? MW_OP_DYMULTIMEM_ST
                          : rng.pick({MW_OP_ST, MW_OP_ST_ROWSP, MW_OP_DYMULTIMEM_LD_REDUCE});
        dut.hd_src_i = static_cast<uint8_t>(percent(95) ? below(N) : N + below(32 - N));
        dut.hd_stage_i = static_cast<uint8_t>(below(4));
        dut.hd_cnt_i = static_cast<uint8_t>(1 + (percent(50) ? below(MOST) : below(5)));
        dut.hd_bad_i = percent(3);
        dut.cut_i = percent(3);
        dut.beyond_i = percent(3);
        dut.token_i = static_cast<uint16_t>(token);
        if (is_row() && whole() && percent(60)) { // a follower, mostly of the open row
            dut.hd_cnt_i = 0;
            dut.hd_stage_i = rng.pick({MW_STAGE_DISPATCH, MW_STAGE_COMBINE, MW_STAGE_GATE});
            if (known() && percent(80))
                dut.token_i = static_cast<uint16_t>(kept[dut.hd_src_i].token);
        }
        targets.clear();
        for (unsigned i = 0; i < dut.hd_cnt_i; i++)
            targets.push_back(static_cast<unsigned>(rng.bits(TARGET_BITS)));
    }
    bool is_row() const { return dut.hd_op_i == MW_OP_DYMULTIMEM_ST; }
    bool whole() const { return !dut.hd_bad_i && !dut.cut_i; }
    bool known() const { return dut.hd_src_i < N; }
    bool flat() const { return whole() && dut.hd_stage_i == MW_STAGE_FLAT; }
    bool follows() const { return is_row() && whole() && dut.hd_cnt_i == 0; }
    bool opens() const
    {
        return is_row() && whole() && dut.hd_cnt_i != 0 && !flat() && known() && !dut.beyond_i;
    }

    /// All targets of a packet, some cycles apart.
    void packet()
    {
        make_packet();
        row *r = known() ? &kept[dut.hd_src_i] : nullptr;
        const bool same = r && r->open && !dut.beyond_i && r->token == dut.token_i;
        const std::vector<unsigned> expected = !follows() ? targets
                                               : same     ? r->targets
                                                          : std::vector<unsigned>{0};
        followed += follows() && same;
        lost += follows() && !same;
        longest += follows() && same && expected.size() == MOST;
        for (unsigned i = 0; i < expected.size();) {
            dut.idx_i = static_cast<uint8_t>(i);
            dut.hd_tgt_i =
                static_cast<uint16_t>(i < targets.size() ? targets[i] : rng.bits(TARGET_BITS));
            dut.take_i = percent(70);
            dut.last_i = i + 1 == expected.size();
            settle();
            assert_int_equal(dut.cnt_o, expected.size());
            assert_int_equal(dut.no_row_o, follows() && !same);
            assert_int_equal(dut.opens_o, opens());
            if (!follows() || same)
                assert_int_equal(dut.tgt_o, expected[i]);
            i += dut.take_i;
            edge();
        }
        dut.take_i = 0;
        if (!is_row() || !r || flat())
            return;
        r->open = (opens() || (follows() && same)) && dut.hd_stage_i != MW_STAGE_GATE;
        if (opens()) {
            r->token = dut.token_i;
            r->targets = targets;
        }
    }
    /// Clears the model in the cycle of a reset or of a new epoch.
    void forget()
    {
        edge();
        for (row &r : kept)
            r.open = false;
    }
    void run(unsigned packets)
    {
        dut.take_i = 0;
        reset();
        forget();
        for (unsigned i = 0; i < packets; i++) {
            packet();
            if (rng.one_in(40)) {
                dut.epoch_i = static_cast<uint8_t>((dut.epoch_i + 1 + below(3)) & 3);
                forget();
            } else if (rng.one_in(400)) {
                reset();
                forget();
            }
        }
    }
};

TEST(followers_have_the_targets_of_their_row)
{
    rows b;
    b.run(60000);
    assert_true(b.followed > 3000 && b.longest > 50 && b.lost > 3000);
}
