// SPDX-License-Identifier: Apache-2.0
//
// Firmware that misbehaves: no answers, resets of the link in each phase, accesses to unused
// addresses, and any valid code. The host always gets its replies, and can replace the firmware.

#include "firmware_bench.h"

namespace {
/// Instructions of the tests' small firmware; registers are x1 .. x7.
uint32_t lui(unsigned to, uint32_t upper)
{
    return upper << 12 | to << 7 | 0x37;
}
uint32_t addi(unsigned to, unsigned from, unsigned value)
{
    return (value & 0xfff) << 20 | from << 15 | to << 7 | 0x13;
}
uint32_t store(unsigned what, unsigned base, unsigned at)
{
    return at >> 5 << 25 | what << 20 | base << 15 | 2 << 12 | (at & 31) << 7 | 0x23;
}
uint32_t load(unsigned to, unsigned base, unsigned at)
{
    return at << 20 | base << 15 | 2 << 12 | to << 7 | 0x03;
}
/// Jumps by `from` words, backward if it is negative.
uint32_t jump(int from)
{
    const auto d = static_cast<uint32_t>(4 * from);
    return (d >> 20 & 1) << 31 | (d >> 1 & 0x3ff) << 21 | (d >> 11 & 1) << 20 |
           (d >> 12 & 0xff) << 12 | 0x6f;
}
uint32_t branch(bool equal, unsigned a, unsigned b, int from)
{
    const auto d = static_cast<uint32_t>(4 * from);
    return (d >> 12 & 1) << 31 | (d >> 5 & 63) << 25 | b << 20 | a << 15 | (equal ? 0u : 1u) << 12 |
           (d >> 1 & 15) << 8 | (d >> 11 & 1) << 7 | 0x63;
}
constexpr uint32_t ILLEGAL = 0;
constexpr uint32_t SOC_BASE = (MW_MAP_CPU_BUS + MW_MAP_SOC) >> 12;
constexpr unsigned CONTROL = offsetof(mw_soc_t, control), WATCHDOG = offsetof(mw_soc_t, watchdog),
                   HOLD_RESET = offsetof(mw_soc_t, fabric_reset);
} // namespace

/// A firmware turns the watchdog off, or feeds it, and never answers. When the link is reset, it
/// gets its reply, and the host replaces the firmware.
TEST(firmware_without_answers)
{
    bench b;
    // lui x1, 0x80080; addi x2, x0, 2; sw x0, 0x18(x1); and either sw x2, 8(x1); j .-4, or j .
    const std::vector<uint32_t> deaf[] = {
        {0x800800b7, 0x00200113, 0x0000ac23, 0x0000006f},
        {0x800800b7, 0x00200113, 0x00000013, 0x0020a423, 0xffdff06f}};
    assert_true(b.held(true));
    const std::vector<uint32_t> good = b.ram();
    for (const auto &program : deaf) {
        b.start(program);
        uint32_t restart = b.read(SOC(restart));
        b.give(MW_FRAME_INFO, 0, 0);
        b.run(2000);
        b.settle();
        assert_false(b.dut.reply_valid_o);
        b.link_reset();
        uint64_t since = b.now;
        assert_int_equal(b.answer(PATIENCE + 100).status, MW_STATUS_FAULT);
        assert_true(b.now - since > PATIENCE - 100);
        assert_int_equal(b.read(SOC(restart)), 1 | ((restart >> MW_SOC__RESTART__COUNT_bp) + 1)
                                                       << MW_SOC__RESTART__COUNT_bp);
        assert_true(b.held(true));
    }
    b.start(good);
    b.until_ready();
    assert_int_equal(b.command(MW_FRAME_INFO).status, MW_STATUS_OK);
}

/// The same for a RESET that the firmware postpones for ever.
TEST(firmware_without_reset)
{
    bench b;
    const std::vector<uint32_t> spins = {0x800800b7, 0x0000ac23, 0x0000006f}; // the watchdog is off
    assert_true(b.held(true));
    b.start(spins);
    b.run(200);
    b.cpu_write(SOC(fabric_reset), MW_SOC__FABRIC_RESET__HOLD_bm);
    uint32_t restart = b.read(SOC(restart));
    b.link_reset(); // no command or RESET is pending
    b.run(PATIENCE + 100);
    assert_int_equal(b.read(SOC(restart)), restart);
    b.dut.reset_asked_i = 1;
    b.run(PATIENCE + 100);
    assert_int_equal(b.dut.reset_hold_o, 1);
    b.link_reset();
    b.run(PATIENCE - 100);
    assert_int_equal(b.dut.reset_hold_o, 1);
    b.run(200);
    assert_int_equal(b.dut.reset_hold_o, 0);
    assert_int_equal(b.read(SOC(restart)) & MW_SOC__RESTART__CAUSE_bm, 1);
}

/// A firmware that answers does not notice a reset of the link. Its watchdog does not change: here
/// it is off.
TEST(link_reset_in_a_command)
{
    bench b;
    // lui x1, 0x80080; sw x0, 0x18(x1); until mbox.valid; for 256 turns; sw x0, 0x4c(x1); j .
    const std::vector<uint32_t> slow = {0x800800b7, 0x0000ac23, 0x0300a103, 0x00117113, 0xfe010ce3,
                                        0x10000193, 0xfff18193, 0xfe019ee3, 0x0400a623, 0x0000006f};
    assert_true(b.held(true));
    b.start(slow);
    uint32_t restart = b.read(SOC(restart));
    b.give(MW_FRAME_INFO, 0, 0);
    b.run(1000);
    b.link_reset();
    assert_int_equal(b.answer(PATIENCE).status, MW_STATUS_OK);
    b.run(PATIENCE + 1000);
    assert_int_equal(b.read(SOC(restart)), restart);
}

/// A pending command is answered in time, whatever the firmware does in the cycle of the link's
/// reset. The firmware loops through each phase of feeding the watchdog, setting it, turning it
/// off, and postponing RESET.
TEST(link_reset_at_every_phase)
{
    const std::vector<uint32_t> loops[] = {
        {lui(1, SOC_BASE), addi(2, 0, MW_SOC__CONTROL__FEED_bm), store(0, 1, WATCHDOG),
         store(2, 1, CONTROL), jump(-1)},
        {lui(1, SOC_BASE), lui(2, 0x4000), store(2, 1, WATCHDOG), store(2, 1, WATCHDOG), jump(-2)},
        {lui(1, SOC_BASE), addi(2, 0, 1), store(0, 1, WATCHDOG), store(2, 1, HOLD_RESET),
         jump(-2)}};
    constexpr unsigned PHASES = 26; // more than the cycles of a loop
    const unsigned step = tb::cases(2, 1);
    bench b;
    for (const auto &loop : loops) {
        assert_true(b.held(true));
        b.start(loop);
        for (unsigned at = 0; at < PHASES; at += step) {
            b.run(300 + at);
            b.give(MW_FRAME_INFO, 0, 0);
            b.run(b.below(50));
            b.link_reset();
            assert_int_equal(b.answer(PATIENCE + 100).status, MW_STATUS_FAULT);
        }
    }
    // a RESET that the last of them postpones
    for (unsigned at = 0; at < PHASES; at += step) {
        b.run(300 + at);
        b.settle();
        assert_int_equal(b.dut.reset_hold_o, 1);
        b.dut.reset_asked_i = 1;
        b.link_reset();
        for (unsigned waited = 0; b.dut.reset_asked_i; waited++, b.step())
            assert_true(waited < PATIENCE + 100);
    }
}

/// A command comes while the CPU starts, and the link is reset then. The command is answered, too.
TEST(link_reset_in_a_start)
{
    bench b;
    assert_true(b.held(true));
    b.start({jump(0)});
    for (unsigned at = 0; at < 24; at++) {
        b.run(100);
        b.write(SOC(control), MW_SOC__CONTROL__RESTART_bm);
        b.run(at / 2);
        b.give(MW_FRAME_INFO, 0, 0);
        b.run(at % 2 ? 0 : b.below(12));
        b.link_reset();
        assert_int_equal(b.answer(PATIENCE + 100).status, MW_STATUS_FAULT);
    }
}

/// A hold clears the registers that the firmware has written. Every start resets the watchdog's
/// period.
TEST(registers_behind_a_hold)
{
    bench b;
    assert_true(b.held(true));
    b.start({jump(0)}); // writes nothing itself
    b.run(100);
    for (unsigned round = 0; round < 10; round++) {
        for (uint32_t at :
             {SOC(firmware), SOC(watchdog), SOC(fault), SOC(uart_tx), SOC(uart), SOC(mbox_reply_lo),
              SOC(mbox_reply_hi), SOC(mbox_reply_count), SOC(mbox_send), SOC(fabric_reset)})
            b.cpu_write(at, b.rng.word() | 0x10001);
        assert_true(b.read(SOC(watchdog)) != MW_SOC__WATCHDOG__PERIOD_reset);
        assert_true(b.read(SOC(fault)) & MW_SOC__FAULT__VALID_bm);
        if (round % 2) { // a start is enough for the watchdog
            b.write(SOC(control), MW_SOC__CONTROL__RESTART_bm);
            b.run(40);
            assert_int_equal(b.read(SOC(watchdog)), MW_SOC__WATCHDOG__PERIOD_reset);
            assert_int_equal(b.read(SOC(firmware)), 0);
            assert_int_equal(b.dut.reset_hold_o, 0);
        }
        assert_true(b.held(true));
        assert_true(b.held(false));
        b.run(40);
        assert_int_equal(b.read(SOC(firmware)), 0);
        assert_int_equal(b.read(SOC(watchdog)), MW_SOC__WATCHDOG__PERIOD_reset);
        assert_int_equal(b.read(SOC(fault)), 0);
        assert_int_equal(b.read(SOC(uart)) >> MW_SOC__UART__DIVISOR_bp,
                         MW_SOC__UART__DIVISOR_reset);
        assert_int_equal(b.dut.reset_hold_o, 0);
        // only the last of the reply's registers is written: an empty reply
        b.give(MW_FRAME_INFO, 0, 0);
        b.cpu_write(SOC(mbox_send), 0);
        auto r = b.answer(100);
        assert_int_equal(r.status, MW_STATUS_OK);
        assert_int_equal(r.argument, 0);
        assert_int_equal(b.dut.reply_count_o, 0);
    }
}

/// A restart waits for the CPU's write in flight. Memory has the write before the first instruction
/// of the next firmware, and never after it.
TEST(restart_behind_a_write)
{
    bench b;
    const uint32_t started = 0x23, gpu = MW_MAP_CPU_GPU >> 12;
    enum { WRITE_AT = 0x40 };
    assert_true(b.held(true));
    b.ram_write({lui(1, SOC_BASE), lui(2, gpu), addi(3, 0, started), addi(4, 0, 0x5a),
                 store(4, 2, WRITE_AT), store(3, 1, offsetof(mw_soc_t, firmware)), jump(0)});
    for (unsigned round = 0; round < 4; round++) {
        std::vector<uint64_t> flit{0};
        assert_int_equal(b.flits(true, 0, WRITE_AT / 8, &flit), 0);
        b.dut.claim_i = 1; // the CPU's write waits for the ports
        assert_true(b.held(false));
        b.run(200);
        assert_int_equal(b.read(SOC(firmware)), 0);
        if (round % 2) {
            b.write(SOC(control), MW_SOC__CONTROL__RESTART_bm);
        } else { // another firmware, which writes no memory
            assert_true(b.held(true));
            b.write(MW_MAP_SOC_RAM + 4 * 4, addi(0, 0, 0));
            assert_true(b.held(false));
        }
        b.run(300);
        assert_int_equal(b.read(SOC(firmware)), 0);
        b.dut.claim_i = 0;
        for (uint64_t since = b.now; b.read(SOC(firmware)) != started;)
            assert_true(b.now - since < 300);
        b.flits(false, 0, WRITE_AT / 8, &flit);
        assert_int_equal(flit[0], 0x5a);
        assert_true(b.held(true));
        b.write(MW_MAP_SOC_RAM + 4 * 4, store(4, 2, WRITE_AT));
    }
}

/// A read of the CPU from an unused address returns 0, and `fault` has the address. Unused are
/// addresses outside RAM and memories, of GPUs that do not exist, and of the bus without a
/// register.
TEST(reads_where_nothing_is)
{
    bench b;
    assert_true(b.held(true));
    for (unsigned i = 0; i < 48; i++) {
        const uint32_t any = b.rng.word() & ~0x803u, gpu = b.below(GPUS) << 25;
        const uint32_t address =
            i % 4 == 0   ? (any & 0x3fffffff) | 1u << (14 + b.below(16))
            : i % 4 == 1 ? MW_MAP_CPU_GPU | (GPUS + b.below(32 - GPUS)) << 25 | (any & 0x1ffffff)
            : i % 4 == 2 ? MW_MAP_CPU_GPU | gpu | (any & 0x1ffffff) | 1u << (14 + b.below(11))
                         : MW_MAP_CPU_BUS | 0x60000 | (any & 0xffff);
        b.start({lui(1, address >> 12), lui(2, SOC_BASE), load(3, 1, address & 0x7ff),
                 store(3, 2, WATCHDOG), jump(0)});
        b.run(150);
        assert_int_equal(b.read(SOC(watchdog)), 0);
        assert_int_equal(b.read(SOC(fault)), address | MW_SOC__FAULT__VALID_bm);
        assert_true(b.held(true));
    }
}

/// The period of the watchdog ends with its firmware. The next firmware runs, and has a watchdog.
TEST(watchdog_of_the_firmware_before)
{
    bench b;
    assert_true(b.held(true));
    const std::vector<uint32_t> good = b.ram();
    for (uint32_t period : {0u, 1u, 2u, 20u, 100u, 1000u, 2000u}) {
        b.start({lui(1, SOC_BASE), addi(2, 0, period), store(2, 1, WATCHDOG), jump(0)});
        b.run(200 + b.below(100));
        assert_true(b.held(true));
        b.start(good);
        const uint32_t restart = b.read(SOC(restart));
        b.until_ready();
        b.run(5000);
        assert_int_equal(b.stage(), READY);
        assert_int_equal(b.read(SOC(restart)), restart);
        assert_int_equal(b.read(SOC(watchdog)), MW_SOC__WATCHDOG__PERIOD_reset);
        assert_true(b.held(true));
    }
}

namespace {
struct any_firmware : bench {
    /// A value that may have an effect in a register.
    void value(std::vector<uint32_t> *code)
    {
        if (percent(60))
            code->push_back(addi(2, 0, below(percent(50) ? 4 : 4096)));
        else
            code->push_back(lui(2, rng.word() >> 12));
    }

    /// The base of the next access: most often the SoC's own registers.
    void base(std::vector<uint32_t> *code)
    {
        static const uint32_t bases[] = {SOC_BASE,
                                         SOC_BASE,
                                         SOC_BASE,
                                         MW_MAP_CPU_BUS >> 12,
                                         (MW_MAP_CPU_BUS + MW_MAP_NODES) >> 12,
                                         (MW_MAP_CPU_BUS + MW_MAP_NODES + MW_MAP_NODE_STRIDE) >> 12,
                                         MW_MAP_CPU_GPU >> 12,
                                         (MW_MAP_CPU_GPU + MW_MAP_CPU_GPU_STRIDE) >> 12,
                                         MW_MAP_CPU_RAM >> 12,
                                         (MW_MAP_CPU_RAM >> 12) + 3};
        code->push_back(lui(1, percent(98) ? bases[below(10)] : rng.word() >> 12));
    }

    std::vector<uint32_t> code()
    {
        std::vector<uint32_t> c;
        base(&c);
        value(&c);
        for (unsigned n = 2 + below(30); n; n--) {
            const int back = 1 + static_cast<int>(below(static_cast<uint32_t>(c.size())));
            const unsigned at = 4 * below(percent(80) ? 0x60 / 4 : 0x800 / 4);
            switch (below(12)) {
            case 0:
                base(&c);
                break;
            case 1:
            case 2:
                value(&c);
                break;
            case 3:
                c.push_back(load(3 + below(3), 1, at));
                break;
            case 4:
                c.push_back(branch(percent(50), below(6), below(6), -back));
                break;
            case 5:
                c.push_back(percent(10) ? ILLEGAL : percent(20) ? jump(-back) : addi(4, 4, 1));
                break;
            default:
                c.push_back(store(below(6), 1, at));
            }
        }
        c.push_back(percent(80) ? jump(-static_cast<int>(below(static_cast<uint32_t>(c.size()))))
                                : ILLEGAL);
        return c;
    }

    /// The host at the same time: commands, RESET, and resets of the link at any time.
    void traffic()
    {
        for (unsigned n = below(4); n; n--) {
            run(below(600));
            settle();
            if (given && dut.reply_valid_o)
                answer(1);
            if (!given && !dut.reset_asked_i) {
                if (percent(60))
                    give(MW_FRAME_INFO, 0, 0);
                else
                    dut.reset_asked_i = 1;
            }
            run(below(percent(50) ? 4 : 600));
            if (percent(50))
                link_reset();
        }
        run(below(2000));
    }

    /// Like a host that opens the device: if the link is busy, the host resets it, and it is free
    /// in time.
    void free_link()
    {
        if (given || dut.reset_asked_i)
            link_reset();
        if (given)
            answer(PATIENCE + 200);
        for (uint64_t since = now; dut.reset_asked_i; step())
            assert_true(now - since < PATIENCE + 200);
    }

    /// The steps of mwu_image_load (driver/src/transport_usb/usb_firmware_load.c).
    void replace(const std::vector<uint32_t> &image, bool read_all)
    {
        free_link();
        assert_true(held(true));
        if (read_all)
            ram();
        fabric_reset();
        ram_write(image);
        for (uint32_t i = 0; i < image.size(); i++)
            assert_int_equal(read(MW_MAP_SOC_RAM + 4 * i), image[i]);
        assert_true(held(false));
        const uint32_t restart = read(SOC(restart));
        until_ready();
        assert_int_equal(command(MW_FRAME_INFO).status, MW_STATUS_OK);
        turns();
        assert_int_equal(read(SOC(restart)), restart);
        assert_int_equal(read(SOC(watchdog)), MW_SOC__WATCHDOG__PERIOD_reset);
    }
};
} // namespace

/// Firmware of random valid code, which writes any register, is replaced by one that works.
/// MW_FIRMWARES is the number of rounds.
TEST(any_firmware_is_replaced)
{
    const char *text = getenv("MW_FIRMWARES");
    const unsigned count =
        text ? static_cast<unsigned>(strtoul(text, nullptr, 0)) : tb::cases(10, 50);
    any_firmware b;
    assert_true(b.held(true));
    std::vector<uint32_t> good = b.ram();
    mw_frame_image header;
    memcpy(&header, &good[MW_HOST_IMAGE_AT / 4], sizeof header);
    good.resize(header.bytes / 4);
    unsigned restarts = 0, kept = 0;
    for (unsigned i = 0; i < count; i++) {
        b.fabric_reset();
        b.ram_write(b.code());
        const uint32_t restart = b.read(SOC(restart)) >> MW_SOC__RESTART__COUNT_bp;
        assert_true(b.held(false));
        b.traffic();
        restarts += b.read(SOC(restart)) >> MW_SOC__RESTART__COUNT_bp != restart;
        b.settle();
        kept += b.given && !b.dut.reply_valid_o;
        b.replace(good, i % 8 == 0);
        assert_true(b.held(true));
    }
    print_message("%u replaced; %u had restarted, %u kept a command\n", count, restarts, kept);
    assert_true(kept > count / 20);
}
