// SPDX-License-Identifier: Apache-2.0
//
// link_fault, flit by flit. From its set time after go on, and not earlier, the module does what a
// misbehaving endpoint does. All other flits and credits pass in the same cycle. Without a fault
// everything passes.

#include "bench/dut.h"
#include "packet.h"

using namespace tb;

static const unsigned F = PARAM_FlitBytes;
enum {
    ACCEPT = 1,
    SEND = 2,
    ANSWER = 4,
    OPCODE = 8,
    EPOCH = 16
}; // bits 4:0 of fault_t; bits 20:5: after

struct ends : model<Vlink_fault> {
    unsigned faults = 0, after = 0, idle = 30; // idle: percent of cycles between packets
    uint64_t since = 0;                        // cycles after go
    unsigned lost = 0, changed = 0, credits_lost = 0;

    ends()
    {
        dut.go_i = dut.up_valid_i = 0;
        ask(0, 0);
        reset();
        go();
    }
    void ask(unsigned what, unsigned when)
    {
        faults = what;
        after = when;
        dut.fault_i = when << 5 | what;
    }
    void go()
    {
        quiet = true; // the links are, at the start of a layer
        until("the end of a packet", 20, [&] { return left == 0; });
        dut.go_i = 1;
        cycle();
        quiet = false;
        dut.go_i = 0;
        since = 0;
        stopped = false;
    }

    void drive() override
    {
        first = left == 0;
        if (first && !quiet && !percent(idle)) {
            cls = below(4);
            left = rng.pick({1u, 1u, 2u, 9u, rng.between(1, 12)});
            dut.up_valid_i = 1;
        } else {
            dut.up_valid_i = left > 0;
        }
        dut.up_last_i = dut.up_valid_i ? left == 1 : percent(50);
        dut.up_cls_i = dut.up_valid_i ? cls : below(4);
        scramble(dut.up_data_i, 8 * F, rng);
        dut.crd_i = below(16);
    }

    void sample() override
    {
        const bool active = since > 64 * after;
        bytes want = get(dut.up_data_i);
        bool valid = dut.up_valid_i && !stopped;
        if (dut.up_valid_i && first)
            muted = active && (faults & ANSWER) && cls == MW_CLS_PART;
        valid = valid && !muted;
        if (dut.up_valid_i && first && active && cls == MW_CLS_STORE) {
            if (faults & OPCODE)
                want[0] |= 0x3f; // no opcode of any class
            if (faults & EPOCH)
                want[5] = static_cast<uint8_t>(want[5] - 0x40); // bits 47:46
            changed += valid && (faults & (OPCODE | EPOCH));
        }
        assert_int_equal(dut.up_valid_o, valid);
        if (valid)
            assert_true(get(dut.up_data_o) == want);
        const bool keeps = active && (faults & ACCEPT);
        assert_int_equal(dut.crd_o, keeps ? 0 : dut.crd_i);
        credits_lost += keeps && dut.crd_i;
        lost += dut.up_valid_i && !valid;
        if (dut.up_valid_i && first && left > 1 && active && (faults & SEND))
            stopped = true; // after its first flit
        if (dut.up_valid_i && --left == 0)
            muted = false;
        since += faults != 0;
    }

  private:
    unsigned cls = 0, left = 0;
    bool first = true, muted = false, stopped = false, quiet = false;
};

TEST(each_fault_at_its_time)
{
    for (unsigned faults = 0; faults < 32; faults++) {
        for (unsigned after : {0u, 1u, 5u, 40u}) {
            ends b;
            b.idle = b.rng.pick({0u, 30u, 90u});
            b.ask(faults, after);
            b.go();
            b.cycles(64 * after + 1); // no fault yet
            assert_int_equal(b.lost + b.changed + b.credits_lost, 0);
            b.cycles(2000);
            assert_true((b.credits_lost > 0) == ((faults & ACCEPT) != 0));
            assert_true((b.lost > 0) == ((faults & (SEND | ANSWER)) != 0));
            if (faults & (OPCODE | EPOCH) && !(faults & SEND))
                assert_true(b.changed > 0);
            // The next layer begins like this one.
            b.go();
            const unsigned before = b.lost;
            b.cycles(64 * after + 1);
            assert_int_equal(b.lost, before);
            b.ask(0, 0); // no fault from here on
            b.go();
            b.cycles(500);
            assert_int_equal(b.lost, before);
        }
    }
}

// The largest time that can be set.
TEST(latest)
{
    ends b;
    b.idle = 90;
    b.ask(ACCEPT | EPOCH, 0xffff);
    b.go();
    b.cycles(64 * 0xffff + 1);
    assert_int_equal(b.changed + b.credits_lost, 0);
    b.cycles(500);
    assert_true(b.changed > 0 && b.credits_lost > 0);
}
