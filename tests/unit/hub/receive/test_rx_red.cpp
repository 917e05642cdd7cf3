// SPDX-License-Identifier: Apache-2.0
//
// rx_red against a model that applies every red when it is taken. Reds have all types and
// operators, byte enables, and few addresses, so that consecutive flits have the same one. Other
// flits pass between them. Memory refuses at random and answers late. A flit offered to memory
// stays until it is taken. The rate is a flit per cycle at different addresses. The contributions
// of a packet are reported when its last flit, which carries them, is written.

#include "Vrx_red.h"
#include "bench/memory.h"
#include "bench/values.h"

using namespace tb;

static const unsigned F = PARAM_FlitBytes, WORDS = 256;
static const unsigned REDS = 128; // reds are below this address, other flits from there on

struct flit {
    bool red;
    reduction_kind kind;
    unsigned addr;
    bytes data;
    uint8_t be;
    unsigned adds = 0, row = 0; // contributions
};

struct bench : model<Vrx_red> {
    memory mem{WORDS * F, F}, expected{WORDS * F, F};
    read_port reads{mem, "reads"};
    write_port writes{mem, "writes"};
    source<flit> in;
    std::deque<flit> inside; // reds
    unsigned added_rate = 100;

    bench()
    {
        rng.fill(mem.data.data(), mem.data.size());
        expected = mem;
        reset();
    }

    void drive() override
    {
        reads.drive(rng, dut.rd_ready_i, dut.rd_rvalid_i, dut.rd_rdata_i);
        writes.drive(rng, dut.wr_ready_i);
        dut.in_valid_i = in.offer(rng);
        const flit f = dut.in_valid_i ? in.front() : random_flit(REDS);
        dut.in_red_i = f.red;
        dut.in_kind_i = f.kind.bits();
        dut.in_addr_i = static_cast<uint8_t>(f.addr);
        put(dut.in_data_i, f.data.data());
        dut.in_be_i = f.be;
        dut.in_adds_i = static_cast<uint8_t>(f.adds);
        dut.in_row_i = static_cast<uint8_t>(f.row);
        // it falls only after a report
        dut.added_ready_i = dut.added_ready_i ? !reported : percent(added_rate);
        reported = false;
    }

    void sample() override
    {
        reads.sample(rng, dut.rd_valid_o, dut.rd_ready_i, dut.rd_addr_o);
        writes.sample(dut.wr_valid_o, dut.wr_ready_i, dut.wr_addr_o, dut.wr_data_o, dut.wr_be_o);
        const bool written = dut.wr_valid_o && dut.wr_ready_i && dut.wr_addr_o < REDS;
        reported = dut.added_valid_o;
        if (written) {
            assert_false(inside.empty());
            const flit done = inside.front();
            inside.pop_front();
            assert_int_equal(dut.added_valid_o, done.adds != 0);
            if (done.adds) {
                assert_true(dut.added_ready_i);
                assert_int_equal(dut.added_adds_o, done.adds);
                assert_int_equal(dut.added_row_o, done.row);
            }
        } else {
            assert_false(dut.added_valid_o);
        }
        const flit f = in.empty() ? flit() : in.front();
        if (!in.taken(dut.in_ready_o))
            return;
        if (f.red)
            inside.push_back(f);
        bytes word = expected.read(f.addr * F, F);
        const bytes result = f.red ? reduce_rows({word, f.data}, F, f.kind) : f.data;
        for (unsigned i = 0; i < F; i++)
            word[i] = f.be >> i & 1 ? result[i] : word[i];
        expected.write(f.addr * F, word);
    }

    flit random_flit(unsigned addresses)
    {
        flit f;
        f.red = percent(75);
        f.kind = random_kind(rng);
        f.addr = below(addresses) + (f.red ? 0 : REDS);
        f.data = rng.some(F);
        f.be = 0;
        const unsigned element = mw_reduce_bytes(f.kind.dtype);
        for (unsigned i = 0; i < F; i += element)
            if (percent(75))
                f.be |= static_cast<uint8_t>(((1u << element) - 1) << i);
        f.adds = f.red && percent(40) ? 1 + below(4) : 0;
        f.row = below(32);
        return f;
    }
    /// A red for this address.
    flit red_at(unsigned addr)
    {
        flit f = random_flit(1);
        f.red = true;
        f.addr = addr;
        f.adds = 0;
        return f;
    }

    /// Runs until nothing is inside, and compares memories. Returns the cycles.
    uint64_t run()
    {
        const uint64_t took = until("the last flit", 200 * in.queue.size() + 1000,
                                    [&] { return in.empty() && !dut.busy_o && !dut.wr_valid_o; });
        assert_true(reads.idle());
        for (unsigned i = 0; i < WORDS * F; i++)
            if (mem.data[i] != expected.data[i])
                fail_msg("byte 0x%x is %02x, not %02x", i, mem.data[i], expected.data[i]);
        return took;
    }

  private:
    bool reported = false;
};

TEST(random_flits)
{
    for (unsigned round = 0; round < 40; round++) {
        bench b;
        b.reads.rate = b.writes.rate = round % 4 == 0 ? 100 : b.rng.between(20, 99);
        b.reads.late = b.below(20);
        b.added_rate = b.rng.pick({30u, 100u});
        b.in.rate = round % 3 == 0 ? 100 : b.rng.between(21, 100);
        const unsigned addresses = round % 5 == 0 ? 1 : 1 + b.below(REDS);
        for (unsigned i = 0; i < 2000; i++)
            b.in.queue.push_back(b.random_flit(addresses));
        b.run();
    }
}

TEST(a_flit_per_cycle)
{
    bench b;
    for (unsigned i = 0; i < 1000; i++)
        b.in.queue.push_back(b.red_at(i % REDS));
    assert_in_range(b.run(), 1000, 1020);
}

// Flits of one address wait for each other, no longer than the header states.
TEST(one_address)
{
    bench b;
    for (unsigned i = 0; i < 100; i++)
        b.in.queue.push_back(b.red_at(0));
    const uint64_t took = b.run();
    printf("one address: %.1f cycles per flit\n", static_cast<double>(took) / 100);
    assert_in_range(took, 100, 100 * (3 + 8));
}
