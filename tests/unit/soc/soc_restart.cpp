// SPDX-License-Identifier: Apache-2.0
//
// The CPU restarts or is held, by watchdog, trap, request, or host. The log and the memories keep
// their contents. Registers and RAM are closed to the other side.

#include "firmware_bench.h"

/// The watchdog expires when the CPU does not run its loop. The earlier log is kept, and the
/// pending command is answered.
TEST(watchdog)
{
    bench b;
    b.give(MW_FRAME_SELFTEST, 1, 0);
    b.cpu_write(SOC(watchdog), 50);
    auto r = b.answer();
    assert_int_equal(r.status, MW_STATUS_FAULT);
    b.cpu_write(SOC(watchdog), 50000);
    b.until_ready();
    uint32_t restart = b.read(SOC(restart));
    assert_int_equal(restart & MW_SOC__RESTART__CAUSE_bm, 1);
    assert_true(restart >> MW_SOC__RESTART__COUNT_bp >= 1);
    auto log = b.log();
    assert_true(log.size() >= 2);
    for (unsigned i = 0; i < log.size(); i++) {
        assert_int_equal(log[i].number, i);
        assert_int_equal(log[i].code, MW_LOG_BOOT);
        assert_int_equal(log[i].detail, i ? 1 : 0);
    }
    auto info = b.command(MW_FRAME_INFO).records<mw_frame_info>();
    assert_int_equal(info[0].resets, restart >> MW_SOC__RESTART__COUNT_bp);
    assert_int_equal(b.command(MW_FRAME_LOG_CLEAR).status, MW_STATUS_OK);
    r = b.command(MW_FRAME_LOG_READ);
    assert_int_equal(r.words.size(), 0);
    assert_int_equal(r.argument, log.size());
    // a loop that runs keeps the watchdog from expiring
    b.run(150000);
    assert_int_equal(b.read(SOC(restart)), restart);
}

/// The CPU traps and restarts. The log has an entry, the pending command is answered, and what the
/// CPU had written is kept.
TEST(trap)
{
    bench b;
    if (!b.dut.can_corrupt_o)
        SKIP("nothing is forced in a netlist");
    for (unsigned i = 1; i <= 5; i++) {
        b.give(MW_FRAME_SELFTEST, 1, 0);
        b.run(500 + b.below(3000));
        b.dut.corrupt_i = 1;
        assert_int_equal(b.answer(1000).status, MW_STATUS_FAULT);
        b.dut.corrupt_i = 0;
        b.until_ready();
        assert_int_equal(b.read(SOC(restart)), 2 | i << MW_SOC__RESTART__COUNT_bp);
        auto log = b.log();
        assert_int_equal(log.size(), i + 1);
        assert_int_equal(log[i].code, MW_LOG_TRAP);
        assert_int_equal(log[i].detail, i);
        assert_int_equal(log[i].number, i);
        assert_int_equal(b.command(MW_FRAME_INFO).status, MW_STATUS_OK);
    }
}

/// Restarts at any time, often enough that the ring of the log wraps. The newest entries are
/// present, in order, and memories keep their contents.
TEST(restarts)
{
    bench b;
    std::vector<uint64_t> data = b.noise(MEM_WORDS), back(MEM_WORDS);
    b.flits(true, 1, 0, &data);
    const unsigned count = tb::cases(14, 40);
    for (unsigned i = 0; i < count; i++) {
        b.run(b.below(3000));
        b.write(SOC(control), MW_SOC__CONTROL__RESTART_bm);
        if (b.percent(70))
            b.until_ready();
    }
    b.until_ready();
    b.turns();
    auto log = b.log();
    assert_true(log.size() > 0 && log.size() <= 32);
    for (unsigned i = 0; i < log.size(); i++) {
        assert_int_equal(log[i].number, log[0].number + i);
        assert_int_equal(log[i].code, MW_LOG_BOOT);
        assert_int_equal(log[i].detail, log[i].number ? 3 : 0);
    }
    // a start that was cut off before it wrote its entry has none
    print_message("%u entries of %u starts\n", log.back().number + 1, count + 1);
    assert_true(log.back().number >= count / 2);
    b.flits(false, 1, 0, &back);
    assert_memory_equal(data.data(), back.data(), MEM_WORDS * 8);
}

/// An access of the host to the firmware's registers returns an error and has no effect. A read
/// does not remove anything.
TEST(forbidden)
{
    bench b;
    uint32_t dog = b.read(SOC(watchdog)), uart = b.read(SOC(uart)) & MW_SOC__UART__DIVISOR_bm;
    // a command that the firmware keeps for a while, whose reply the host might send
    b.give(MW_FRAME_SELFTEST, 1u << MW_TEST_LINK, 0);
    for (uint32_t at = 0; at < 0x800; at += 4) {
        uint32_t address = MW_MAP_SOC + at, value = at == 0x4c ? 0 : b.rng.word() | 1;
        if (address != SOC(control) && address != SOC(hold))
            assert_false(b.access(true, address, &value));
        assert_int_equal(b.dut.reset_hold_o, 0);
        b.settle();
        assert_int_equal(b.dut.reply_valid_o, 0);
    }
    assert_int_equal(b.read(SOC(watchdog)), dog);
    assert_int_equal(b.read(SOC(uart)) & MW_SOC__UART__DIVISOR_bm, uart);
    assert_int_equal(b.read(SOC(restart)), 0);
    auto r = b.answer();
    assert_int_equal(r.status, MW_STATUS_OK);
    assert_int_equal(r.records<mw_frame_selftest>().size(), GPUS);
    assert_int_equal(b.log().size(), 1);
    // control is for the host, too
    b.write(SOC(control), MW_SOC__CONTROL__FEED_bm | MW_SOC__CONTROL__RESTART_bm);
    b.until_ready();
    assert_int_equal(b.read(SOC(restart)), 3 | 1 << MW_SOC__RESTART__COUNT_bp);
    // a character that the host has read is still available to the firmware
    b.dut.corrupt_i = 0;
    b.console.clear();
    uint64_t start = b.now;
    b.key('v');
    while (b.console.find('\n') == std::string::npos) {
        b.read(SOC(uart_rx));
        assert_true(b.now - start < 100000);
    }
    assert_non_null(strstr(b.console.c_str(), "moeswitch firmware"));
}

/// A CPU that runs gives no access to its RAM, and does not hold itself.
TEST(ram_of_a_running_cpu)
{
    bench b;
    uint32_t value = 0;
    for (uint32_t at : {0u, 4u, 4 * RAM_WORDS - 4, 4 * RAM_WORDS, 0xffffcu}) {
        assert_false(b.access(false, MW_MAP_SOC_RAM + at, &value));
        value = ~0u;
        assert_false(b.access(true, MW_MAP_SOC_RAM + at, &value));
    }
    b.dut.as_cpu_i = 1;
    assert_false(b.held(true));
    b.dut.as_cpu_i = 0;
    assert_int_equal(b.read(SOC(hold)), 0);
    assert_int_equal(b.command(MW_FRAME_INFO).status, MW_STATUS_OK);
    // a start does not open it: neither during the reset nor later
    b.write(SOC(control), MW_SOC__CONTROL__RESTART_bm);
    for (unsigned i = 0; i < 8; i++)
        assert_false(b.access(false, MW_MAP_SOC_RAM, &value));
    b.until_ready();
    assert_int_equal(b.read(SOC(restart)), 3 | 1 << MW_SOC__RESTART__COUNT_bp);
    assert_int_equal(b.log().size(), 2);
}

/// A CPU that is held does nothing, whatever would start it. Commands are answered at once, and the
/// host has the RAM.
TEST(ram_of_a_held_cpu)
{
    bench b;
    b.cpu_write(SOC(fabric_reset), MW_SOC__FABRIC_RESET__HOLD_bm);
    assert_true(b.held(true));
    assert_int_equal(b.read(SOC(hold)), 1);
    assert_int_equal(b.stage(), 0);
    assert_int_equal(b.dut.reset_hold_o, 0);
    const uint32_t restart = 3 | 1 << MW_SOC__RESTART__COUNT_bp;
    assert_int_equal(b.read(SOC(restart)), restart);
    std::vector<uint32_t> before = b.ram(), noise(RAM_WORDS);
    for (auto &w : noise)
        w = b.rng.word();
    b.ram_write(noise);
    assert_true(b.ram() == noise);
    // what would start it
    b.cpu_write(SOC(watchdog), 20);
    b.write(SOC(control), MW_SOC__CONTROL__RESTART_bm);
    b.run(1000);
    b.link_reset();
    b.run(1000);
    assert_int_equal(b.stage(), 0);
    assert_int_equal(b.read(SOC(restart)), restart);
    b.cpu_write(SOC(watchdog), 0x04000000);
    // no access by the CPU, none outside the RAM, and none of less than a word
    uint32_t value = 0;
    b.dut.as_cpu_i = 1;
    assert_false(b.access(false, MW_MAP_SOC_RAM, &value));
    assert_false(b.access(true, MW_MAP_SOC_RAM, &value));
    assert_false(b.held(false));
    b.dut.as_cpu_i = 0;
    for (uint32_t at : {4 * RAM_WORDS, 8 * RAM_WORDS, 0xffffcu}) {
        assert_false(b.access(false, MW_MAP_SOC_RAM + at, &value));
        assert_false(b.access(true, MW_MAP_SOC_RAM + at, &value));
    }
    for (unsigned kind : {MW_FRAME_INFO, MW_FRAME_SELFTEST, MW_FRAME_LOG_READ, MW_FRAME_LOG_CLEAR,
                          MW_FRAME_FEED, MW_FRAME_FED}) {
        b.give(kind, 0, 0);
        auto r = b.answer(10);
        assert_int_equal(r.status, MW_STATUS_STATE);
        assert_int_equal(r.words.size(), 0);
    }
    assert_true(b.ram() == noise);
    // the earlier firmware is kept, and its log continues
    b.start(before);
    b.until_ready();
    assert_int_equal(b.read(SOC(restart)), restart);
    auto log = b.log();
    assert_int_equal(log.size(), 2);
    assert_int_equal(log[1].code, MW_LOG_BOOT);
    assert_int_equal(log[1].detail, 3);
    assert_int_equal(b.command(MW_FRAME_SELFTEST, 2).status, MW_STATUS_OK);
}

/// The CPU is held in any state. Meanwhile its RAM keeps what the host writes. After release the
/// firmware starts and answers.
TEST(held_at_any_time)
{
    bench b;
    for (unsigned i = 0, n = tb::cases(20, 60); i < n; i++) {
        if (b.percent(50))
            b.give(MW_FRAME_SELFTEST, 1, 0);
        b.run(b.below(3000));
        uint32_t beside = b.rng.word();
        assert_true(b.held(true));
        b.settle();
        if (b.dut.reply_valid_o)
            b.answer();
        b.write(MW_MAP_SOC_RAM + 4 * (RAM_WORDS - 1), beside); // the stack's first word
        b.run(b.below(100));
        assert_int_equal(b.read(MW_MAP_SOC_RAM + 4 * (RAM_WORDS - 1)), beside);
        assert_true(b.held(false));
        if (b.percent(50))
            b.until_ready();
    }
    b.until_ready();
    b.settle();
    assert_false(b.dut.reply_valid_o);
    assert_int_equal(b.command(MW_FRAME_INFO).status, MW_STATUS_OK);
}

/// Writes of the host to the RAM of a held CPU reach no register. The CPU stays held, and the
/// fabric is not reset.
TEST(words_of_the_ram_are_no_registers)
{
    bench b;
    assert_true(b.held(true));
    for (unsigned i = 0; i < 64; i++) {
        const uint32_t word = (b.rng.word() & ~1u) | 4;
        b.write(MW_MAP_SOC_RAM + 4 * i, word);
        assert_int_equal(b.read(MW_MAP_SOC_RAM + 4 * i), word);
        assert_false(b.dut.resetting_o);
    }
    assert_int_equal(b.read(SOC(hold)), 1);
}
