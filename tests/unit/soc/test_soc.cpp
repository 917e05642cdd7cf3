// SPDX-License-Identifier: Apache-2.0
//
// The firmware as a server: every command through the mailbox, refusals, the self-test, and the
// console. Host and CPU also use one bus at the same time.

#include "firmware_bench.h"

TEST(start)
{
    bench b;
    uint32_t restart = b.read(SOC(restart));
    assert_int_equal(restart, 0);
    assert_true(b.now < 100000);
    auto log = b.log();
    assert_int_equal(log.size(), 1);
    assert_int_equal(log[0].code, MW_LOG_BOOT);
    assert_int_equal(log[0].detail, 0);
    while (b.console.find('\n') == std::string::npos)
        b.step();
    assert_string_equal(b.console.c_str(), "moeswitch: start 0, GPUs 2\r\n");
    print_message("ready after %llu cycles\n", static_cast<unsigned long long>(b.now));
}

TEST(info)
{
    bench b;
    auto r = b.command(MW_FRAME_INFO);
    assert_int_equal(r.status, MW_STATUS_OK);
    auto info = r.records<mw_frame_info>();
    assert_int_equal(info.size(), 1);
    assert_int_equal(info[0].features, 15);
    assert_int_equal(info[0].gpus, GPUS);
    assert_int_equal(info[0].flit_bytes, 8);
    assert_int_equal(info[0].mem_bytes, 1 << 14);
    assert_true(info[0].window >= 1);
    assert_int_equal(info[0].max_payload, MW_HOST_MAX_PAYLOAD);
    assert_true(info[0].bulk_bytes >= info[0].max_payload);
    assert_int_equal(info[0].needs_minor, 0);
    assert_int_equal(info[0].resets, 0);
    assert_string_equal(info[0].name, "moeswitch");
}

/// Commands that must be refused. None of them affects the next one.
TEST(refused)
{
    bench b;
    for (unsigned kind : {MW_FRAME_INFO, MW_FRAME_SELFTEST, MW_FRAME_LOG_READ, MW_FRAME_LOG_CLEAR})
        assert_int_equal(b.command(kind, 0, 1 + b.below(64)).status, MW_STATUS_LENGTH);
    for (unsigned kind : {0, 1, 3, 7, 14, 0x80, 0xff}) {
        auto r = b.command(kind, b.rng());
        assert_int_equal(r.status, MW_STATUS_TYPE);
        assert_int_equal(r.words.size(), 0);
    }
    assert_int_equal(b.command(MW_FRAME_SELFTEST, 4).status, MW_STATUS_LENGTH);
    assert_int_equal(b.command(MW_FRAME_SELFTEST, UINT64_C(1) << 40).status, MW_STATUS_LENGTH);
    assert_int_equal(b.command(MW_FRAME_INFO).status, MW_STATUS_OK);
}

/// RESET by the host waits while the firmware holds it, at most until the CPU restarts. Every reset
/// counts, and empties the queue of layers.
TEST(hold)
{
    bench b;
    auto resets = [&b] {
        return b.read(SOC(fabric_reset)) >> MW_SOC__FABRIC_RESET__COUNT_bp & 0xff;
    };
    assert_int_equal(resets(), 0);
    b.cpu_write(SOC(fabric_reset), MW_SOC__FABRIC_RESET__HOLD_bm);
    assert_int_equal(b.dut.reset_hold_o, 1);
    b.write(SOC(control), MW_SOC__CONTROL__RESTART_bm);
    b.run(20);
    assert_int_equal(b.dut.reset_hold_o, 0);
    b.until_ready();
    // Empty layers: the queue takes four, and reports that the last is done.
    for (unsigned i = 0; i < 4; i++) {
        auto r = b.command(MW_FRAME_FEED);
        assert_int_equal(r.status, MW_STATUS_OK);
        assert_int_equal(r.argument, i);
    }
    b.dut.count_i = 100000;
    auto done = b.command(MW_FRAME_FED, 3);
    assert_int_equal(done.status, MW_STATUS_OK);
    auto records = done.records<mw_frame_fed>();
    assert_int_equal(records.size(), 1);
    assert_int_equal(records[0].number, 3);
    assert_int_equal(records[0].outcome, MW_FED_DONE);
    b.fabric_reset();
    // at once, before the firmware has processed it
    assert_int_equal(b.command(MW_FRAME_FED, 3).status, MW_STATUS_STATE);
    b.turns();
    assert_int_equal(resets(), 1);
    assert_int_equal(b.command(MW_FRAME_FEED).argument, 4);
    assert_int_equal(b.command(MW_FRAME_FED, 3).status, MW_STATUS_STATE);
    assert_int_equal(b.command(MW_FRAME_FED, 4).status, MW_STATUS_OK);
}

/// The registers of a layer reach the firmware word by word, and then the bus.
TEST(fed_registers)
{
    bench b;
    b.dut.count_i = 100000;
    for (unsigned number = 0; number < 6; number++) {
        const uint32_t link = 1 + b.below(8), epoch = b.below(4), limit = 13 + b.below(10);
        std::vector<uint64_t> words;
        auto add = [&](uint32_t at, uint32_t value) {
            words.push_back(uint64_t{value} << 32 | at);
        };
        for (unsigned n = b.below(4); n; n--) // later writes count
            add(FABRIC(epoch), b.below(4));
        add(FABRIC(link), link);
        add(FABRIC(epoch), epoch);
        add(FABRIC(limit), limit);
        b.rng.shuffle(words);
        add(FABRIC(epoch), epoch);
        b.give(MW_FRAME_FEED, 0, words);
        auto r = b.answer();
        assert_int_equal(r.status, MW_STATUS_OK);
        assert_int_equal(r.argument, number);
        auto done = b.command(MW_FRAME_FED, number).records<mw_frame_fed>();
        assert_int_equal(done.size(), 1);
        assert_int_equal(done[0].outcome, MW_FED_DONE);
        assert_int_equal(b.read(FABRIC(link)), link);
        assert_int_equal(b.read(FABRIC(epoch)), epoch);
        assert_int_equal(b.read(FABRIC(limit)), limit);
    }
    // a register that does not exist makes the layer fail
    b.give(MW_FRAME_FEED, 0, std::vector<uint64_t>{0x60000});
    assert_int_equal(b.answer().status, MW_STATUS_OK);
    auto done = b.command(MW_FRAME_FED, 6).records<mw_frame_fed>();
    assert_int_equal(done.size(), 1);
    assert_int_equal(done[0].outcome, MW_FED_REFUSED);
}

/// Data that the CPU writes into a GPU's memory are visible to the host, and nothing else changes.
TEST(memory)
{
    bench b;
    std::vector<uint64_t> before[GPUS], behind(MEM_WORDS);
    for (unsigned g = 0; g < GPUS; g++) {
        before[g] = b.noise(MEM_WORDS);
        assert_int_equal(b.flits(true, g, 0, &before[g]), 0);
    }
    auto t = b.command(MW_FRAME_SELFTEST, 1u << MW_TEST_MEMORY).records<mw_frame_selftest>();
    assert_int_equal(t.size(), GPUS);
    const unsigned all = 2 * MEM_WORDS;
    for (unsigned g = 0; g < GPUS; g++) {
        assert_int_equal(t[g].failed, 0);
        assert_int_equal(b.flits(false, g, 0, &behind), 0);
        unsigned written = 0;
        for (uint32_t at = 0; at < all; at++) {
            const auto was = static_cast<uint32_t>(before[g][at / 2] >> 32 * (at % 2));
            const auto is = static_cast<uint32_t>(behind[at / 2] >> 32 * (at % 2));
            if (is != was)
                assert_int_equal(is, ~at); // the test leaves this in each word that it checks
            written += is != was;
        }
        assert_in_range(written, 200, all / 2 - 1);
    }
}

TEST(selftest)
{
    bench b;
    const unsigned first = tb::cases(MW_TEST_LINK, MW_TEST_MEMORY); // `memory` has the other one
    b.write(FABRIC(link), 3);
    auto r = b.command(MW_FRAME_SELFTEST, 3u & ~0u << first);
    assert_int_equal(r.status, MW_STATUS_OK);
    auto t = r.records<mw_frame_selftest>();
    assert_int_equal(t.size(), (2 - first) * GPUS);
    for (unsigned i = 0; i < t.size(); i++) {
        assert_int_equal(t[i].test, first + i / GPUS);
        assert_int_equal(t[i].unit, i % GPUS);
        assert_true(t[i].checked > 0);
        assert_int_equal(t[i].failed, 0);
    }
    // the fabric is as after power-up, and the test leaves no trace in the log
    assert_int_equal(b.read(FABRIC(link)), 1);
    assert_int_equal(b.read(FABRIC(state)) & 3, 0);
    assert_int_equal(b.log().size(), 1);
    print_message("self-test in %llu cycles\n", static_cast<unsigned long long>(b.now));
}

/// With the partition closed between the GPUs, every store is refused. The self-test must detect
/// this.
TEST(selftest_fails)
{
    bench b;
    b.give(MW_FRAME_SELFTEST, 1u << MW_TEST_LINK, 0);
    // the test resets the fabric first, so the partition is closed after that
    for (bool resets : {true, false}) {
        const uint64_t since = b.now;
        for (b.settle(); b.dut.resetting_o != resets; b.settle()) {
            if (b.now - since == 100000)
                fail_msg("the fabric's reset does not %s", resets ? "begin" : "end");
            b.step();
        }
    }
    b.write(FABRIC(partitions) + 16, 2);
    auto t = b.answer().records<mw_frame_selftest>();
    assert_int_equal(t.size(), GPUS);
    assert_true(t[0].failed > 0);
    auto log = b.log();
    assert_true(log.size() > 1);
    assert_int_equal(log.back().code, MW_LOG_SELFTEST);
}

/// Accesses to a GPU whose port is enabled again, which resets its node. Each is answered, a lost
/// one is reported, and the other GPU is not affected. Then the same while the CPU accesses that
/// memory: the firmware continues, and its log has an entry.
TEST(flush)
{
    bench b;
    auto enable = [&b](unsigned port, unsigned wait) {
        b.write(FABRIC(ports), port | MW_FABRIC__PORTS__DOWN_bm);
        b.run(wait);
        b.write(FABRIC(ports), port | MW_FABRIC__PORTS__UP_bm);
    };
    unsigned reads = 0, writes = 0, clean = 0;
    std::vector<uint64_t> data(300), back(300);
    const unsigned rounds = tb::cases(60, 120);
    for (unsigned round = 0; round < rounds; round++) {
        data = b.noise(data.size());
        assert_int_equal(b.flits(true, 1, 0, &data), 0);
        assert_int_equal(b.flits(true, 0, 0, &data), 0);
        enable(1, 20 + b.below(100));
        b.run(b.below(80));
        bool write = round % 2;
        std::vector<uint64_t> some = b.noise(10 + b.below(150)), sent = some;
        unsigned lost = b.flits(write, 1, 0, &some);
        (write ? writes : reads) += lost;
        clean += !lost;
        // the other GPU works at once
        assert_int_equal(b.flits(false, 0, 0, &back), 0);
        assert_memory_equal(back.data(), data.data(), data.size() * 8);
        for (uint64_t start = b.now; b.read(FABRIC(down));)
            assert_true(b.now - start < 5000);
        // accesses that were not lost took effect
        unsigned wrong = 0;
        assert_int_equal(b.flits(false, 1, 0, &back), 0);
        for (unsigned i = 0; i < some.size(); i++)
            wrong += write ? back[i] != sent[i] : some[i] != data[i];
        assert_true(wrong <= lost);
    }
    print_message("%u reads and %u writes lost, %u of %u transfers without\n", reads, writes, clean,
                  rounds);
    assert_true(reads > 50 && writes > 50 && clean > 2);
    assert_int_equal(b.log().size(), 1);
    b.give(MW_FRAME_SELFTEST, 1u << MW_TEST_MEMORY, 0);
    b.run(10000);
    for (unsigned n = 0; n < 20; n++) {
        enable(0, 60);
        for (uint64_t start = b.now; b.read(FABRIC(down));)
            assert_true(b.now - start < 5000);
    }
    auto t = b.answer().records<mw_frame_selftest>();
    assert_true(t[0].failed > 0);
    assert_int_equal(t[1].failed, 0);
    b.turns();
    auto log = b.log();
    assert_int_equal(log.back().code, MW_LOG_BUS);
    assert_true(log.back().detail >= MW_MAP_CPU_GPU &&
                log.back().detail < MW_MAP_CPU_GPU + (1 << 14));
}

/// A line that is held low is no character. Later characters are received.
TEST(break)
{
    bench b;
    for (unsigned i = 0, breaks = tb::cases(4, 10); i < breaks; i++) {
        b.dut.uart_rx_i = 0;
        for (unsigned n = (11 + b.below(60)) * (DIVISOR + 1); n; n--) {
            b.step();
            assert_int_equal(b.read(SOC(uart_rx)) & MW_SOC__UART_RX__VALID_bm, 0);
        }
        b.dut.uart_rx_i = 1;
        b.run(30000); // its end may look like one
        b.console.clear();
        b.type('l');
        b.run(20000);
        assert_string_equal(b.console.c_str(), "0: code 0 detail 00000000 at 0 s\r\n");
    }
}

/// An access that the bus refuses is only the host's error. Errors of the hardware are in the log.
TEST(reports)
{
    bench b;
    uint32_t value = 0;
    assert_false(b.access(false, 0x60000, &value));
    assert_false(b.access(true, FABRIC(id), &value));
    assert_false(b.access(false, MW_MAP_SOC + 0x3fc, &value));
    assert_false(b.access(false, MW_MAP_SOC + 0x8000, &value));
    assert_int_equal(b.log().size(), 1);
    b.dut.link_status_i = MW_STATUS_SEQUENCE;
    b.dut.link_error_i = 1;
    b.step();
    b.dut.link_error_i = 0;
    b.turns();
    auto log = b.log();
    assert_int_equal(log.size(), 2);
    assert_int_equal(log[1].code, MW_LOG_LINK);
    assert_int_equal(log[1].detail, MW_STATUS_SEQUENCE);
}

/// Host and CPU access the memories and the bus at the same time. Both are served, and nothing is
/// lost.
TEST(together)
{
    bench b;
    std::vector<uint64_t> data(200), back(200);
    uint64_t start = b.now;
    b.give(MW_FRAME_SELFTEST, 1, 0);
    for (unsigned round = 0; round < 20; round++) {
        data = b.noise(data.size());
        // the self-test uses GPU 0 first, for longer than this takes
        b.flits(true, 1, 300, &data);
        b.read(FABRIC(size));
        b.flits(false, 1, 300, &back);
        assert_memory_equal(data.data(), back.data(), data.size() * 8);
    }
    b.settle();
    assert_false(b.dut.reply_valid_o);
    print_message("%llu cycles of both\n", static_cast<unsigned long long>(b.now - start));
    auto t = b.answer().records<mw_frame_selftest>();
    assert_int_equal(t.size(), GPUS);
    assert_int_equal(t[0].failed + t[1].failed, 0);
}

TEST(console)
{
    bench b;
    auto ask = [&](char c) {
        b.console.clear();
        b.type(c);
        b.run(20000);
        return b.console;
    };
    assert_non_null(strstr(ask('v').c_str(), "GPUs 2, flit bytes 8, memory 2^14\r\n"));
    assert_string_equal(ask('l').c_str(), "0: code 0 detail 00000000 at 0 s\r\n");
    assert_non_null(strstr(ask('s').c_str(), "state 0000000c idle 00000003"));
    assert_string_equal(ask('?').c_str(), "v version, l log, s state\r\n");
    assert_string_equal(ask('\r').c_str(), "");
}
