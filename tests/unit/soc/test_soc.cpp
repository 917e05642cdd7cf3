// SPDX-License-Identifier: Apache-2.0
//
// The firmware on the Verilated CPU, beside a fabric of two GPUs: its start, every command through
// the mailbox, the log across restarts by watchdog, trap and request, the console, and the bus that
// host and CPU share. MW_SEED repeats a run.
#include "Vsoc_bench.h"
#include "bench/dut.h"

#include <cstring>
#include <string>
#include <vector>

#include "fabric_regs.h"
#include "host.h"
#include "map.h"
#include "soc_regs.h"

#define FABRIC(reg) static_cast<uint32_t>(offsetof(mw_fabric_t, reg))
#define SOC(reg) (MW_MAP_SOC + static_cast<uint32_t>(offsetof(mw_soc_t, reg)))

namespace {
constexpr unsigned RAM_WORDS = 1 << 14 >> 2, PATIENCE = 1 << 12;
constexpr unsigned GPUS = 2, MEM_WORDS = 1 << 14 >> 3, DIVISOR = 7, READY = 3;

struct bench : tb::model<Vsoc_bench> {
    bool given = false; ///< a command, and its reply was not taken yet
    bool console_on = true;
    std::string console;
    // UART, the test's side
    int rx_wait = 0, rx_bits = 0, tx_bits = 0, tx_wait = 0;
    unsigned rx_char = 0, tx_char = 0;

    bench()
    {
        dut.m_req_i = dut.claim_i = dut.valid_i = dut.cmd_we_i = dut.give_i = dut.rep_re_i = 0;
        dut.taken_i = dut.link_unheard_i = dut.reset_asked_i = dut.link_error_i =
            dut.link_waiting_i = dut.count_i = 0;
        dut.as_cpu_i = dut.corrupt_i = 0;
        dut.uart_rx_i = 1;
        reset();
        cpu_write(SOC(uart), DIVISOR << MW_SOC__UART__DIVISOR_bp);
        until_ready();
    }

    void uart()
    {
        if (rx_bits == 0) {
            if (!dut.uart_tx_o) {
                rx_bits = 9;
                rx_wait = DIVISOR + 1 + DIVISOR / 2;
                rx_char = 0;
            }
        } else if (rx_wait-- == 0) {
            rx_wait = DIVISOR;
            rx_char |= static_cast<unsigned>(dut.uart_tx_o) << 9 >> rx_bits;
            if (--rx_bits == 0) {
                assert_int_equal(dut.uart_tx_o, 1);
                console += static_cast<char>(rx_char & 0xff);
            }
        }
        if (tx_bits > 0 && tx_wait-- == 0) {
            dut.uart_rx_i = tx_char & 1;
            tx_char >>= 1;
            tx_bits--;
            tx_wait = DIVISOR;
        }
    }

    void type(char c)
    {
        tx_char = 3u << 9 | static_cast<unsigned>(static_cast<unsigned char>(c)) << 1;
        tx_bits = 11;
        tx_wait = 0;
        for (int i = 0; i < 12 * (static_cast<int>(DIVISOR) + 1); i++)
            step();
    }

    void step()
    {
        settle();
        const bool reset_done = dut.reset_done_o;
        if (console_on)
            uart();
        edge();
        if (reset_done && dut.reset_asked_i)
            dut.reset_asked_i = dut.link_unheard_i = 0;
    }

    bool access(bool write, uint32_t address, uint32_t *value)
    {
        dut.m_req_i = 1;
        dut.m_we_i = write;
        dut.m_addr_i = address;
        dut.m_wdata_i = *value;
        for (unsigned i = 0;; i++) {
            assert_true(i < 200);
            step();
            settle();
            if (dut.m_ack_o)
                break;
        }
        bool good = !dut.m_err_o;
        *value = dut.m_rdata_o;
        dut.m_req_i = 0;
        step();
        return good;
    }

    uint32_t read(uint32_t address)
    {
        uint32_t value = 0;
        assert_true(access(false, address, &value));
        return value;
    }

    void write(uint32_t address, uint32_t value) { assert_true(access(true, address, &value)); }

    /// A register that is the firmware's.
    void cpu_write(uint32_t address, uint32_t value)
    {
        dut.as_cpu_i = 1;
        write(address, value);
        dut.as_cpu_i = 0;
    }

    bool held(bool hold)
    {
        uint32_t value = hold;
        console_on = console_on && !hold; // its rate returns to that of a board
        return access(true, SOC(hold), &value);
    }

    /// The host link goes on with a request that it has, and nobody hears the answer.
    void link_reset()
    {
        step();
        dut.link_unheard_i = given || dut.reset_asked_i;
    }

    /// RESET by the host, to its end.
    void fabric_reset()
    {
        uint64_t since = now;
        for (dut.reset_asked_i = 1; dut.reset_asked_i; step())
            assert_true(now - since < 1000);
    }

    void run(uint64_t cycles)
    {
        for (; cycles; cycles--)
            step();
    }

    /// The whole RAM of the CPU, which must be held.
    std::vector<uint32_t> ram()
    {
        std::vector<uint32_t> words(RAM_WORDS);
        for (uint32_t i = 0; i < RAM_WORDS; i++)
            words[i] = read(MW_MAP_SOC_RAM + 4 * i);
        return words;
    }

    void ram_write(const std::vector<uint32_t> &words)
    {
        for (uint32_t i = 0; i < words.size(); i++)
            write(MW_MAP_SOC_RAM + 4 * i, words[i]);
    }

    unsigned stage() { return read(SOC(firmware)) & MW_SOC__FIRMWARE__STAGE_bm; }

    void until_ready()
    {
        uint64_t since = now;
        while (stage() != READY)
            assert_true(now - since < 200000);
    }

    /// Until the firmware has gone round its loop twice.
    void turns()
    {
        uint32_t from = read(SOC(firmware)) >> MW_SOC__FIRMWARE__BEAT_bp;
        while ((((read(SOC(firmware)) >> MW_SOC__FIRMWARE__BEAT_bp) - from) & 0xffff) < 2)
            ;
    }

    struct reply {
        unsigned status;
        uint64_t argument;
        std::vector<uint64_t> words;
        template <class T> std::vector<T> records() const
        {
            std::vector<T> r(words.size() * 8 / sizeof(T));
            if (!r.empty())
                memcpy(r.data(), words.data(), r.size() * sizeof(T));
            return r;
        }
    };

    void give(unsigned kind, uint64_t argument, unsigned words)
    {
        std::vector<uint64_t> any(words);
        for (auto &w : any)
            w = rng();
        give(kind, argument, any);
    }

    void give(unsigned kind, uint64_t argument, const std::vector<uint64_t> &words)
    {
        for (unsigned i = 0; i < words.size(); i++) {
            dut.cmd_we_i = 1;
            dut.cmd_waddr_i = i;
            dut.cmd_wdata_i = words[i];
            step();
        }
        dut.cmd_we_i = 0;
        dut.kind_i = kind;
        dut.argument_i = argument;
        dut.words_i = static_cast<unsigned>(words.size());
        dut.give_i = 1;
        given = true;
        step();
        dut.give_i = 0;
    }

    reply answer(uint64_t limit = 5000000)
    {
        uint64_t since = now;
        for (settle(); !dut.reply_valid_o; settle()) {
            assert_true(now - since < limit);
            step();
        }
        reply r{dut.status_o, dut.reply_argument_o, {}};
        for (unsigned i = 0, n = dut.reply_words_o; i < n; i++) {
            dut.rep_re_i = 1;
            dut.rep_raddr_i = i;
            step();
            settle();
            r.words.push_back(dut.rep_rdata_o);
        }
        dut.rep_re_i = 0;
        dut.taken_i = 1;
        step();
        dut.taken_i = dut.link_unheard_i = 0;
        given = false;
        settle();
        assert_false(dut.reply_valid_o);
        return r;
    }

    reply command(unsigned kind, uint64_t argument = 0, unsigned words = 0)
    {
        give(kind, argument, words);
        return answer();
    }

    std::vector<mw_frame_log> log(uint32_t from = 0)
    {
        reply r = command(MW_FRAME_LOG_READ, from);
        assert_int_equal(r.status, MW_STATUS_OK);
        return r.records<mw_frame_log>();
    }

    /// Flits through the stream port, as the link's DMA: all of `data`, read or written, back to
    /// back. Returns how many were lost.
    unsigned flits(bool we, unsigned gpu, uint32_t first, std::vector<uint64_t> *data)
    {
        size_t asked = 0, answered = 0;
        unsigned lost = 0;
        uint64_t since = now;
        dut.claim_i = 1;
        dut.gpu_i = gpu;
        dut.we_i = we;
        while (asked < data->size() || (!we && answered < data->size())) {
            assert_true(now - since < 20 * data->size() + 1000);
            dut.valid_i = asked < data->size() && percent(90);
            dut.addr_i = first + static_cast<uint32_t>(asked);
            dut.wdata_i = asked < data->size() ? (*data)[asked] : 0;
            settle();
            lost += dut.lost_o;
            assert_true(answered < data->size() || !dut.rvalid_o);
            if (!we && dut.rvalid_o)
                (*data)[answered++] = dut.rdata_o;
            if (dut.valid_i && dut.ready_o)
                asked++;
            step();
        }
        dut.valid_i = 0;
        dut.claim_i = 0;
        for (unsigned i = 0; we && i < 20; i++) { // what the writes became
            settle();
            lost += dut.lost_o;
            step();
        }
        return lost;
    }
};

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

/// Commands that must be refused, each of which leaves the next one unharmed.
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

/// RESET by the host waits while the firmware says so, up to a start of the CPU; every reset is
/// counted, and empties the queue of layers.
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
    for (unsigned i = 0; i < 20; i++)
        b.step();
    assert_int_equal(b.dut.reset_hold_o, 0);
    b.until_ready();
    // layers that do nothing: the queue takes four, and says that the last is done
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
    // at once, though the firmware has not been at it
    assert_int_equal(b.command(MW_FRAME_FED, 3).status, MW_STATUS_STATE);
    b.turns();
    assert_int_equal(resets(), 1);
    assert_int_equal(b.command(MW_FRAME_FEED).argument, 4);
    assert_int_equal(b.command(MW_FRAME_FED, 3).status, MW_STATUS_STATE);
    assert_int_equal(b.command(MW_FRAME_FED, 4).status, MW_STATUS_OK);
}

/// The registers of a layer reach the firmware word by word, and the bus from there.
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
        for (unsigned n = b.below(4); n; n--) // what is written behind them counts
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
    // one that is not there is the layer's failure
    b.give(MW_FRAME_FEED, 0, std::vector<uint64_t>{0x60000});
    assert_int_equal(b.answer().status, MW_STATUS_OK);
    auto done = b.command(MW_FRAME_FED, 6).records<mw_frame_fed>();
    assert_int_equal(done.size(), 1);
    assert_int_equal(done[0].outcome, MW_FED_REFUSED);
}

/// What the CPU writes into a GPU's memory is there for the host, and all beside it is as it was.
TEST(memory)
{
    bench b;
    std::vector<uint64_t> before[GPUS], behind(MEM_WORDS);
    for (unsigned g = 0; g < GPUS; g++) {
        before[g].resize(MEM_WORDS);
        for (auto &d : before[g])
            d = b.rng();
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
                assert_int_equal(is, ~at); // it leaves this in each word that it looks at
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

/// With the partition closed between the GPUs, every store is refused: the test must see it.
TEST(selftest_fails)
{
    bench b;
    b.give(MW_FRAME_SELFTEST, 1u << MW_TEST_LINK, 0);
    // the test resets the fabric first: close the partition behind that
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

/// The watchdog bites when the CPU is kept from its loop; the log of before is there, and the
/// command that was there is answered.
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
    // a loop that runs keeps the watchdog quiet
    b.run(150000);
    assert_int_equal(b.read(SOC(restart)), restart);
}

/// What is the firmware's alone answers the host with an error, and nothing happens; what a
/// read takes away stays.
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
    // a character that the host has seen is still the firmware's
    b.dut.corrupt_i = 0;
    b.console.clear();
    uint64_t start = b.now;
    b.tx_char = 3u << 9 | static_cast<unsigned>('v') << 1;
    b.tx_bits = 11;
    b.tx_wait = 0;
    while (b.console.find('\n') == std::string::npos) {
        b.read(SOC(uart_rx));
        assert_true(b.now - start < 100000);
    }
    assert_non_null(strstr(b.console.c_str(), "moeswitch firmware"));
}

/// A CPU that runs keeps its RAM to itself, and does not hold itself.
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
    // nor does a start open it: neither while the reset lasts nor later
    b.write(SOC(control), MW_SOC__CONTROL__RESTART_bm);
    for (unsigned i = 0; i < 8; i++)
        assert_false(b.access(false, MW_MAP_SOC_RAM, &value));
    b.until_ready();
    assert_int_equal(b.read(SOC(restart)), 3 | 1 << MW_SOC__RESTART__COUNT_bp);
    assert_int_equal(b.log().size(), 2);
}

/// A CPU that is held does nothing, whatever would start it; commands are answered at once, and
/// the host has the RAM.
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
    // not the CPU's, not beside the RAM, and no less than a word
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
    // what it had is there, and its log goes on
    b.ram_write(before);
    assert_true(b.held(false));
    b.until_ready();
    assert_int_equal(b.read(SOC(restart)), restart);
    auto log = b.log();
    assert_int_equal(log.size(), 2);
    assert_int_equal(log[1].code, MW_LOG_BOOT);
    assert_int_equal(log[1].detail, 3);
    assert_int_equal(b.command(MW_FRAME_SELFTEST, 2).status, MW_STATUS_OK);
}

/// Held at any time, whatever the CPU is at: its RAM is as a start of the CPU leaves it, and
/// it goes on from there.
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

/// A firmware that turns the watchdog off, or feeds it, and answers nothing: the link gets its
/// reply when it is reset, and the host mends the firmware.
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
        b.ram_write(program);
        assert_true(b.held(false));
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
    b.ram_write(good);
    assert_true(b.held(false));
    b.until_ready();
    assert_int_equal(b.command(MW_FRAME_INFO).status, MW_STATUS_OK);
}

/// The same of a RESET that the firmware puts off for ever.
TEST(firmware_without_reset)
{
    bench b;
    const std::vector<uint32_t> spins = {0x800800b7, 0x0000ac23, 0x0000006f}; // the watchdog is off
    assert_true(b.held(true));
    b.ram_write(spins);
    assert_true(b.held(false));
    b.run(200);
    b.cpu_write(SOC(fabric_reset), MW_SOC__FABRIC_RESET__HOLD_bm);
    uint32_t restart = b.read(SOC(restart));
    b.link_reset(); // nothing is there that it could keep
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
/// `from` words on, or back where it is negative.
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

/// A command that is kept is given back in time, whatever the firmware does in the cycle
/// of the reset of the link: each phase of loops that feed the watchdog, set it, turn it
/// off, and put RESET off.
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
        b.ram_write(loop);
        assert_true(b.held(false));
        for (unsigned at = 0; at < PHASES; at += step) {
            b.run(300 + at);
            b.give(MW_FRAME_INFO, 0, 0);
            b.run(b.below(50));
            b.link_reset();
            assert_int_equal(b.answer(PATIENCE + 100).status, MW_STATUS_FAULT);
        }
    }
    // a RESET that is put off, by the last of them
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

/// A command that comes while the CPU starts, and whose link is reset then, is given back as well.
TEST(link_reset_in_a_start)
{
    bench b;
    assert_true(b.held(true));
    b.ram_write({jump(0)});
    assert_true(b.held(false));
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

/// What firmware has written is gone behind a hold, and the watchdog's period at every start.
TEST(registers_behind_a_hold)
{
    bench b;
    assert_true(b.held(true));
    b.ram_write({jump(0)}); // writes nothing itself
    assert_true(b.held(false));
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
        // of the reply's registers only the last is written: a reply of nothing
        b.give(MW_FRAME_INFO, 0, 0);
        b.cpu_write(SOC(mbox_send), 0);
        auto r = b.answer(100);
        assert_int_equal(r.status, MW_STATUS_OK);
        assert_int_equal(r.argument, 0);
        assert_int_equal(b.dut.reply_count_o, 0);
    }
}

/// A restart waits for the write that the CPU has in flight: the memory has it before the next
/// firmware's first instruction, and never behind it.
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

/// What the host writes to the RAM of a CPU that is held reaches no register: the CPU stays held,
/// and the fabric is not reset.
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

/// What the CPU reads where nothing is, is 0, and `fault` has the address: outside its RAM and the
/// memories, of GPUs that do not exist, and where the bus has no register.
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
        b.ram_write({lui(1, address >> 12), lui(2, SOC_BASE), load(3, 1, address & 0x7ff),
                     store(3, 2, WATCHDOG), jump(0)});
        assert_true(b.held(false));
        b.run(150);
        assert_int_equal(b.read(SOC(watchdog)), 0);
        assert_int_equal(b.read(SOC(fault)), address | MW_SOC__FAULT__VALID_bm);
        assert_true(b.held(true));
    }
}

/// A firmware's period is its own: the one that is loaded next runs, and has a watchdog.
TEST(watchdog_of_the_firmware_before)
{
    bench b;
    assert_true(b.held(true));
    const std::vector<uint32_t> good = b.ram();
    for (uint32_t period : {0u, 1u, 2u, 20u, 100u, 1000u, 2000u}) {
        b.ram_write({lui(1, SOC_BASE), addi(2, 0, period), store(2, 1, WATCHDOG), jump(0)});
        assert_true(b.held(false));
        b.run(200 + b.below(100));
        assert_true(b.held(true));
        b.ram_write(good);
        assert_true(b.held(false));
        const uint32_t restart = b.read(SOC(restart));
        b.until_ready();
        b.run(5000);
        assert_int_equal(b.stage(), READY);
        assert_int_equal(b.read(SOC(restart)), restart);
        assert_int_equal(b.read(SOC(watchdog)), MW_SOC__WATCHDOG__PERIOD_reset);
        assert_true(b.held(true));
    }
}

struct any_firmware : bench {
    /// A value that a register may mind.
    void value(std::vector<uint32_t> *code)
    {
        if (percent(60))
            code->push_back(addi(2, 0, below(percent(50) ? 4 : 4096)));
        else
            code->push_back(lui(2, rng.word() >> 12));
    }

    /// Where it reads or writes next: most often the SoC's own registers.
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

    /// The host beside it: commands, RESET, resets of the link at any time.
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

    /// As a host that opens the device: where the link is kept, it resets that, and the
    /// link is free in time.
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

/// Firmware of any valid code, which writes any register, is replaced by one that works.
/// MW_FIRMWARES: how often.
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
    print_message("%u replaced; %u had started anew, %u kept a command\n", count, restarts, kept);
    assert_true(kept > count / 20);
}

/// A firmware that does answer knows nothing of a reset of the link, and has the watchdog
/// that it had: here none.
TEST(link_reset_in_a_command)
{
    bench b;
    // lui x1, 0x80080; sw x0, 0x18(x1); until mbox.valid; for 256 turns; sw x0, 0x4c(x1); j .
    const std::vector<uint32_t> slow = {0x800800b7, 0x0000ac23, 0x0300a103, 0x00117113, 0xfe010ce3,
                                        0x10000193, 0xfff18193, 0xfe019ee3, 0x0400a623, 0x0000006f};
    assert_true(b.held(true));
    b.ram_write(slow);
    assert_true(b.held(false));
    uint32_t restart = b.read(SOC(restart));
    b.give(MW_FRAME_INFO, 0, 0);
    b.run(1000);
    b.link_reset();
    assert_int_equal(b.answer(PATIENCE).status, MW_STATUS_OK);
    b.run(PATIENCE + 1000);
    assert_int_equal(b.read(SOC(restart)), restart);
}

/// The CPU traps: it starts anew, the log says so, the command that it had is answered, and what
/// it had written is there.
TEST(trap)
{
    bench b;
    if (!b.dut.can_corrupt_o)
        SKIP("nothing is forced in a netlist");
    for (unsigned i = 1; i <= 5; i++) {
        b.give(MW_FRAME_SELFTEST, 1, 0);
        for (unsigned n = 500 + b.below(3000); n; n--)
            b.step();
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

/// Accesses to a GPU whose port is enabled again, and whose node is reset for that: each is
/// answered, what is lost is reported, and the other GPU knows nothing of it. Then the same while
/// the CPU is at that memory: the firmware goes on, and its log has it.
TEST(flush)
{
    bench b;
    auto enable = [&b](unsigned port, unsigned wait) {
        b.write(FABRIC(ports), port | MW_FABRIC__PORTS__DOWN_bm);
        for (unsigned n = wait; n; n--)
            b.step();
        b.write(FABRIC(ports), port | MW_FABRIC__PORTS__UP_bm);
    };
    unsigned reads = 0, writes = 0, clean = 0;
    std::vector<uint64_t> data(300), back(300);
    const unsigned rounds = tb::cases(60, 120);
    for (unsigned round = 0; round < rounds; round++) {
        for (auto &d : data)
            d = b.rng();
        assert_int_equal(b.flits(true, 1, 0, &data), 0);
        assert_int_equal(b.flits(true, 0, 0, &data), 0);
        enable(1, 20 + b.below(100));
        for (unsigned n = b.below(80); n; n--)
            b.step();
        bool write = round % 2;
        std::vector<uint64_t> some(10 + b.below(150));
        for (auto &d : some)
            d = b.rng();
        std::vector<uint64_t> sent = some;
        unsigned lost = b.flits(write, 1, 0, &some);
        (write ? writes : reads) += lost;
        clean += !lost;
        // others are well at once
        assert_int_equal(b.flits(false, 0, 0, &back), 0);
        assert_memory_equal(back.data(), data.data(), data.size() * 8);
        for (uint64_t start = b.now; b.read(FABRIC(down));)
            assert_true(b.now - start < 5000);
        // and what was not lost was done
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
    for (unsigned n = 0; n < 10000; n++)
        b.step();
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

/// A line that is held low is no character, and does not keep the next ones out.
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
        for (unsigned n = 0; n < 30000; n++) // its end may look like one
            b.step();
        b.console.clear();
        b.type('l');
        for (unsigned n = 0; n < 20000; n++)
            b.step();
        assert_string_equal(b.console.c_str(), "0: code 0 detail 00000000 at 0 s\r\n");
    }
}

/// Restarts at any time, often enough that the ring of the log goes round: the newest entries are
/// there, in order, and memories keep their contents.
TEST(restarts)
{
    bench b;
    std::vector<uint64_t> data(MEM_WORDS), back(MEM_WORDS);
    for (auto &d : data)
        d = b.rng();
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

/// What is refused on the bus is the host's error alone; what the hardware reports is in the log.
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

/// Host and CPU at the memories and at the bus at once: both are served, and nothing is lost.
TEST(together)
{
    bench b;
    std::vector<uint64_t> data(200), back(200);
    uint64_t start = b.now;
    b.give(MW_FRAME_SELFTEST, 1, 0);
    for (unsigned round = 0; round < 20; round++) {
        for (auto &d : data)
            d = b.rng();
        // the test is at GPU 0 first, for longer than this takes
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
        for (int i = 0; i < 20000; i++)
            b.step();
        return b.console;
    };
    assert_non_null(strstr(ask('v').c_str(), "GPUs 2, flit bytes 8, memory 2^14\r\n"));
    assert_string_equal(ask('l').c_str(), "0: code 0 detail 00000000 at 0 s\r\n");
    assert_non_null(strstr(ask('s').c_str(), "state 0000000c idle 00000003"));
    assert_string_equal(ask('?').c_str(), "v version, l log, s state\r\n");
    assert_string_equal(ask('\r').c_str(), "");
}
} // namespace
