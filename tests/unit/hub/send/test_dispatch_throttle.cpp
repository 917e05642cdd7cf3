// SPDX-License-Identifier: Apache-2.0
//
// dispatch_throttle against the rule of its header, with plain numbers. Checked:
// - whether the packet in front is dispatch
// - for every lead, whether dispatch goes first and whether it waits
// - how long a wait lasts, and how many packets may go after it
//
// Stores of all kinds pass. Counts come before, during and after the first packets. Limits range
// from 0 to more than can be counted. Layers are aborted at any time, and the next one has other
// numbers.
#include "bench/dut.h"
#include "node_cfg.h"
#include "bench/packet.h"

#include <deque>

using namespace tb;

static const unsigned T = PARAM_TokensLog2, N = PARAM_N, PACKETS = 16;
static const unsigned COUNT = 2u << T; // first row limit that is too large to count
static const unsigned READY = 1200;    // cycles for constants, and for adding 300 packets

struct throttle : model<Vdispatch_throttle> {
    node_cfg cfg;
    std::deque<bool> queue; // whether each is dispatch
    unsigned tokens = 0, rows = 0, pkts = 1, sent = 1, ahead = 0, lead = 0, idle = 0;
    int64_t dispatch = 0, partials = 0;
    unsigned free = 0; // packets that may go whatever the lead
    bool notified = false;

    throttle()
    {
        dut.go_i = dut.share_valid_i = 0;
        quiet();
        reset();
    }

    void quiet()
    {
        dut.in_valid_i = dut.out_i = dut.start_store_i = dut.start_part_i = dut.used_i = 0;
        dut.in_last_i = percent(50);
        dut.in_opcode_i = static_cast<uint8_t>(below(64));
    }
    void tick()
    {
        settle();
        edge();
        quiet();
    }

    // Random bytes of a row of `packets` packets.
    unsigned bytes_of(unsigned packets)
    {
        return 128 * packets - (packets == 256 ? 16 : below(128) / 16 * 16);
    }

    // Begins a layer with random numbers. Packets in the queue stay there.
    void begin()
    {
        pkts = rng.pick({1u, 1u, 2u, 5u, 256u});
        tokens = rng.between(1, 1u << T);
        rows = rng.between(1, N << T);
        ahead = rng.pick({0u, 1u, 2u, 5u, COUNT - 1, COUNT, COUNT + 1, 0xffffu});
        lead = rng.pick({0u, 1u, 2u, 6u, COUNT - 1, COUNT, COUNT + 1, 0xffffu});
        idle = rng.pick({0u, 1u, 20u, 65535u});
        cfg.set("dispatch_throttle", 1);
        const bool apart = PARAM_RowTypes && percent(70); // rows of dispatch have their own size
        sent = apart ? rng.pick({1u, 3u, pkts, 256u}) : pkts;
        cfg.set("row_bytes", bytes_of(pkts));
        cfg.set("dispatch_bytes", apart ? bytes_of(sent) : 0);
        cfg.set("throttle_ahead", ahead);
        cfg.set("throttle_lead", lead);
        cfg.set("throttle_idle", idle);
        cfg.drive(dut.cfg_i);
        dut.share_valid_i = 0;
        dut.go_i = 1;
        tick();
        dut.go_i = 0;
        dispatch = partials = 0;
        free = 0;
        notified = false;
    }
    void share()
    {
        dut.share_tokens_i = static_cast<uint8_t>(tokens);
        dut.share_rows_i = static_cast<uint16_t>(rows);
        dut.share_valid_i = 1;
        for (unsigned i = 0; i < READY; i++) { // the link is not idle meanwhile
            dut.used_i = 1;
            tick();
        }
        notified = true;
    }

    void push(bool is_dispatch, bool used = true)
    {
        if (queue.size() == PACKETS)
            return;
        for (unsigned flits = rng.between(1, 3); flits; flits--) {
            dut.in_valid_i = 1;
            dut.in_last_i = flits == 1;
            dut.in_opcode_i = static_cast<uint8_t>(
                first_flit
                    ? is_dispatch
                          ? MW_OP_DYMULTIMEM_ST
                          : rng.pick({MW_OP_ST, MW_OP_FLAG, MW_OP_ST_ROWSP, MW_OP_MULTIMEM_ST})
                    : rng.pick({MW_OP_DYMULTIMEM_ST, MW_OP_ST}));
            first_flit = flits == 1;
            dut.used_i = used;
            tick();
        }
        queue.push_back(is_dispatch);
    }
    // The packet in front leaves, and another one may enter.
    void pop(bool used = true)
    {
        dut.start_store_i = 1;
        dut.used_i = used;
        tick();
        dut.out_i = 1;
        dut.used_i = used;
        const bool comes = queue.size() < PACKETS && percent(50), kind = percent(50);
        if (comes) {
            dut.in_valid_i = dut.in_last_i = 1;
            dut.in_opcode_i = kind ? MW_OP_DYMULTIMEM_ST : MW_OP_ST;
        }
        tick();
        dispatch += queue.front();
        free -= notified && free && queue.front();
        queue.pop_front();
        if (comes)
            queue.push_back(kind);
        rest(used);
    }
    void partial()
    {
        dut.start_part_i = dut.used_i = 1;
        tick();
        partials++;
        rest(true);
    }
    void rest(bool used)
    {
        for (unsigned i = 0; i < 3; i++) {
            dut.used_i = used;
            tick();
        }
    }

    bool limited() const { return ahead && ahead < COUNT; }
    int64_t row() const { return int64_t{sent + 1} * rows * pkts; }
    int64_t now_ahead() const
    {
        return dispatch * rows * pkts - partials * int64_t{tokens} * (sent + 1);
    }
    int64_t wanted() const
    {
        const unsigned most = COUNT - 1, rows_of_it = std::min(lead, most);
        return (limited() ? std::min(rows_of_it, ahead) : rows_of_it) * row();
    }
    bool waits() const { return limited() && now_ahead() > ahead * row() && !free; }

    void check()
    {
        settle();
        if (queue.empty()) {
            assert_false(dut.throttled_o || dut.hold_o);
            return;
        }
        assert_int_equal(dut.throttled_o, notified && queue.front());
        if (dut.throttled_o)
            assert_int_equal(dut.first_o, now_ahead() < wanted());
        // The link was used in the previous cycle, so a wait that could end continues.
        if (idle > 2)
            assert_int_equal(dut.hold_o, notified && queue.front() && waits());
    }

  private:
    bool first_flit = true;
};

TEST(by_the_lead)
{
    unsigned first[2] = {}, waits[2] = {};
    for (unsigned r = 0; r < 60; r++) {
        throttle b;
        for (unsigned layer = 0; layer < 4; layer++) {
            b.begin();
            const unsigned early = b.below(150), all = early + b.below(250);
            const bool alone = b.percent(50); // few partial sums
            // the queue is full, or empty, most of the time
            const unsigned comes = b.percent(50) ? 70 : 30;
            for (unsigned i = 0; i < all; i++) {
                if (i == early)
                    b.share();
                if (b.queue.size() < PACKETS && b.percent(comes))
                    b.push(b.percent(80));
                if (!b.queue.empty() && b.percent(60))
                    b.pop();
                if (b.percent(alone ? 2 : 60))
                    b.partial();
                b.check();
                if (b.notified) {
                    first[b.now_ahead() < b.wanted()]++;
                    waits[b.waits()]++;
                }
            }
            if (b.percent(50)) { // aborted before the counts, or before the constants
                b.begin();
                for (unsigned i = 0, n = b.below(40); i < n; i++) {
                    b.push(true);
                    b.pop();
                    if (b.percent(50))
                        b.partial();
                }
                b.dut.share_tokens_i = b.dut.share_rows_i = 1;
                b.dut.share_valid_i = 1;
                for (unsigned i = 0, n = b.below(200); i < n; i++)
                    b.tick();
            }
        }
    }
    assert_true(first[0] > 1000 && first[1] > 1000 && waits[0] > 1000 && waits[1] > 1000);
}

// Dispatch that is too far ahead waits until nothing has left for `idle` cycles. Then all packets
// of a token go.
TEST(a_wait_ends)
{
    for (unsigned idle : {0u, 1u, 5u, 300u, 65535u}) {
        for (bool long_ago : {false, true}) { // nothing has left for longer than can be counted
            throttle b;
            do
                b.begin();
            while (!b.limited() || b.ahead > 5 || b.sent > 5);
            b.cfg.set("throttle_idle", idle);
            b.cfg.drive(b.dut.cfg_i);
            b.share();
            for (unsigned i = 0; long_ago && i < 70000; i++)
                b.tick();
            while (b.now_ahead() <= b.ahead * b.row() || !b.queue.front()) {
                while (b.queue.size() < 2)
                    b.push(true, !long_ago);
                b.pop(!long_ago);
                while (b.queue.empty())
                    b.push(true, !long_ago);
            }
            for (unsigned again = 0; again < 3; again++) {
                if (again || !long_ago) {
                    b.dut.used_i = 1;
                    b.tick();
                }
                unsigned waited = 0;
                for (b.settle(); b.dut.hold_o; b.settle(), waited++) {
                    if (waited > idle + 1)
                        fail_msg("dispatch still waits after %u cycles: throttle_idle is %u",
                                 waited, idle);
                    b.tick();
                }
                assert_in_range(waited, again || !long_ago ? idle : 0,
                                again || !long_ago ? idle + 1
                                : idle > 1         ? 1
                                                   : idle + 1);
                b.free = b.sent + 1;
                for (unsigned i = 0; i < b.sent + 1; i++) {
                    b.settle();
                    assert_true(b.dut.throttled_o && !b.dut.hold_o);
                    while (b.queue.size() < 2)
                        b.push(true);
                    b.pop();
                    while (!b.queue.front()) {
                        if (b.queue.size() < 2)
                            b.push(true);
                        b.pop();
                    }
                }
            }
        }
    }
}
