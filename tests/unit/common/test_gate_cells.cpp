// SPDX-License-Identifier: Apache-2.0
//
// The models of tests/gate/cells against RTL memories and multipliers. The RTL of
// tests/gate/gate_parts.sv and its netlist of those cells get the same inputs and must have the
// same outputs. Memories are written everywhere first. No address is read in the cycle in which it
// is written, because no user does that. Reset comes at random.
#include "Vgate_cells.h"
#include "bench/dut.h"

using namespace tb;

namespace {
struct cells : model<Vgate_cells> {
    unsigned write = 50, read = 70, in_reset = 2;
    bool cpu_read = true;

    cells()
    {
        dut.rst_ni = 1;
        fill();
    }
    void inputs_any()
    {
        dut.we_i = percent(write);
        dut.waddr_i = rng.bits(11);
        do
            dut.raddr_i = rng.bits(11);
        while ((dut.raddr_i & 15) == (dut.waddr_i & 15));
        dut.wdata_i = rng.bits(36);
        dut.wbe_i = rng.bits(4);
        dut.re_i = percent(read);
        dut.a_i = rng.percent(20) ? 0x3ffff : rng.bits(18);
        dut.b_i = rng.percent(20) ? 0x20000 : rng.bits(18);
    }
    void cpu_any()
    {
        dut.cpu_req_i = percent(80);
        dut.cpu_we_i = percent(50) ? 0 : rng.bits(4);
        dut.cpu_addr_i = rng.bits(12);
    }
    /// Writes every word of every memory except the CPU's, which has the words of its file. Then it
    /// loads every output register.
    void fill()
    {
        dut.cpu_req_i = 0;
        for (unsigned a = 0; a < 4096; a++) {
            inputs_any();
            dut.we_i = 1;
            dut.wbe_i = 15;
            dut.waddr_i = a & 2047;
            dut.wdata_i = (dut.wdata_i & 0x7ffffffff) | static_cast<uint64_t>(a >> 11) << 35;
            settle();
            edge();
        }
        dut.we_i = 0;
        dut.re_i = dut.cpu_req_i = 1;
        dut.cpu_we_i = 0;
        settle();
        edge();
    }
    void drive() override
    {
        inputs_any();
        cpu_any();
        dut.rst_ni = !percent(in_reset);
    }
    void sample() override
    {
        SAME(dut.differ_o & (cpu_read ? ~0u : ~(1u << 6)),
             0); // after a write of the CPU's RAM its output is undefined
        if (dut.cpu_req_i)
            cpu_read = dut.cpu_we_i == 0;
    }
};
} // namespace

TEST(contents_at_power_up)
{
    cells b;
    for (unsigned a = 0; a < 4096; a++) {
        b.dut.cpu_req_i = 1;
        b.dut.cpu_we_i = 0;
        b.dut.cpu_addr_i = a;
        b.settle();
        b.edge();
        b.settle();
        assert_int_equal(b.dut.differ_o, 0);
    }
}

TEST(anything)
{
    cells b;
    b.cycles(200000);
}

/// A read of a word in the cycle of its write. Wide, cleared and written lanes must differ between
/// RTL and netlist, so that a netlist that depends on them fails. Bytes and nibbles must match.
TEST(a_word_that_is_written)
{
    cells b;
    for (unsigned i = 0; i < 2000; i++) {
        b.inputs_any();
        b.dut.raddr_i = b.dut.waddr_i;
        b.dut.we_i = b.dut.re_i = 1;
        b.settle();
        b.edge();
        b.settle();
        assert_int_equal(b.dut.differ_o & 0x1d,
                         0x5); // wide and cleared; bytes and nibbles are read first
        assert_int_equal(b.dut.differ_o >> 1 & 1, b.dut.wbe_i != 0);
    }
}
