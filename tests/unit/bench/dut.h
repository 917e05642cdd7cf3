// SPDX-License-Identifier: Apache-2.0
//
// A Verilated module under test: random start, clock, reset, cycle counter, and
// waiting with a limit.
//
// A bench is a class derived from tb::model<Vname>. In each cycle drive() sets the inputs, the
// outputs settle, and sample() checks them and updates the bench's model. The clock edge follows. A
// bench with another sequence calls settle() and edge() itself.
#ifndef BENCH_DUT_H
#define BENCH_DUT_H

#include "bench/test.h"
#include "bench/waves.h"
#include "unit_inputs.h" // made with the Verilated model: its inputs and their widths

#include "verilated.h"

namespace tb {
template <class Port> void put(Port &port, const void *data)
{
    memcpy(&port, data, sizeof port);
}
template <class Port> bytes get(const Port &port)
{
    const auto *p = reinterpret_cast<const uint8_t *>(&port);
    return bytes(p, p + sizeof port);
}

/// The first bytes of a port, which may be wider or have padding.
template <class Port> bytes get(const Port &port, size_t size)
{
    bytes b = get(port);
    b.resize(size);
    return b;
}
/// Bit i of a port of any width.
template <class Port> bool bit(const Port &port, unsigned i)
{
    return get(port)[i / 8] >> (i % 8) & 1;
}

/// Bits that number n places: the exponent of the least power of two that is not below n.
constexpr unsigned log2_up(uint64_t n)
{
    return n < 2 ? 0 : 1 + log2_up((n + 1) / 2);
}

/// Any value of so many bits into a port, or into each place of an array of ports.
template <class Port> void scramble(Port &port, unsigned width, dice &rng)
{
    port = static_cast<Port>(rng.bits(width));
}
template <size_t N> void scramble(VlWide<N> &port, unsigned width, dice &rng)
{
    for (unsigned i = 0; i < N; i++)
        port[i] = static_cast<uint32_t>(rng.bits(width - 32 * i < 32 ? width - 32 * i : 32));
}
template <class T, size_t N> void scramble(VlUnpacked<T, N> &ports, unsigned width, dice &rng)
{
    for (T &port : ports.m_storage)
        scramble(port, width, rng);
}

template <class Dut> class model {
    struct random_start { // before the model is made, which gets its first contents from it
        random_start(VerilatedContext &context, dice &rng)
        {
            context.randReset(2);
            context.randSeed(static_cast<int>(rng.below(0x7ffffffe)) + 1);
            waves::begin(context);
        }
    };

  public:
    dice rng;

  private:
    VerilatedContext context;
    random_start at_random{context, rng};

  public:
    Dut dut{&context, "dut"};
    uint64_t now = 0; ///< clock edges since the last reset

  private:
    waves wave_file{dut};

  public:
    model() { dut.clk_i = 0; }
    model(const model &) = delete;
    virtual ~model() { Verilated::threadContextp(Verilated::defaultContextp()); }

    /// Makes inputs take effect.
    void settle()
    {
        dut.clk_i = 0;
        dut.eval();
        wave_file.step();
        low = true;
    }

    /// The rising edge. Outputs are those after it.
    void edge()
    {
        if (!low)
            settle();
        dut.clk_i = 1;
        dut.eval();
        wave_file.step();
        low = false;
        last_cycle = ++now;
    }

    /// Inputs have random values during reset, and their previous values after it.
    void reset(unsigned cycles = 3)
    {
        bytes kept;
        inputs<Dut>::each(dut, [&](auto &port, unsigned) {
            const bytes b = get(port);
            kept.insert(kept.end(), b.begin(), b.end());
        });
        dut.rst_ni = 0;
        for (unsigned i = 0; i < cycles; i++) {
            inputs<Dut>::each(dut, [&](auto &port, unsigned width) { scramble(port, width, rng); });
            settle();
            edge();
        }
        const uint8_t *p = kept.data();
        inputs<Dut>::each(dut, [&](auto &port, unsigned) {
            put(port, p);
            p += sizeof port;
        });
        dut.rst_ni = 1;
        settle();
        now = 0;
    }

    virtual void drive() {}
    virtual void sample() {}
    virtual void cycle()
    {
        drive();
        settle();
        sample();
        edge();
    }
    void cycles(uint64_t n)
    {
        while (n--)
            cycle();
    }

    /// Waits until done() is true, and returns the number of cycles. Fails after `limit` cycles,
    /// and prints `what`.
    template <class Done> uint64_t until(const char *what, uint64_t limit, Done done)
    {
        uint64_t n = 0;
        for (; !done(); n++) {
            if (n == limit)
                fail_msg("waited %llu cycles for %s", static_cast<unsigned long long>(n), what);
            cycle();
        }
        return n;
    }

    /// The same, but the limit is for consecutive cycles in which progress() does not change.
    template <class Done, class Progress>
    uint64_t until(const char *what, uint64_t limit, Done done, Progress progress)
    {
        uint64_t n = 0, quiet = 0;
        for (auto before = progress(); !done(); n++) {
            if (quiet == limit)
                fail_msg("waited for %s: no progress in %llu cycles", what,
                         static_cast<unsigned long long>(quiet));
            cycle();
            auto after = progress();
            quiet = before == after ? quiet + 1 : 0;
            before = after;
        }
        return n;
    }

    bool percent(unsigned p) { return rng.percent(p); }
    uint32_t below(uint64_t n) { return rng.below(n); }

  private:
    bool low = false;
};
} // namespace tb

#endif
