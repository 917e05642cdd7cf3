// SPDX-License-Identifier: Apache-2.0
//
// The firmware on the Verilated CPU, with a fabric of two GPUs. The bench is the host's side of
// bus, mailbox, stream port and console.
#ifndef FIRMWARE_BENCH_H
#define FIRMWARE_BENCH_H

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

constexpr unsigned RAM_WORDS = 1 << 14 >> 2, PATIENCE = 1 << 12;
constexpr unsigned GPUS = 2, MEM_WORDS = 1 << 14 >> 3, DIVISOR = 7, READY = 3;

struct bench : tb::model<Vsoc_bench> {
    bool given = false; ///< a command, whose reply was not taken yet
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

    /// Starts to send a character on the console's line.
    void key(char c)
    {
        tx_char = 3u << 9 | static_cast<unsigned>(static_cast<unsigned char>(c)) << 1;
        tx_bits = 11;
        tx_wait = 0;
    }

    void type(char c)
    {
        key(c);
        run(12 * (DIVISOR + 1));
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

    /// Writes a register that belongs to the firmware.
    void cpu_write(uint32_t address, uint32_t value)
    {
        dut.as_cpu_i = 1;
        write(address, value);
        dut.as_cpu_i = 0;
    }

    bool held(bool hold)
    {
        uint32_t value = hold;
        console_on = console_on && !hold; // its rate is that of a board again
        return access(true, SOC(hold), &value);
    }

    /// The host link continues with a request that it has, and discards the answer.
    void link_reset()
    {
        step();
        dut.link_unheard_i = given || dut.reset_asked_i;
    }

    /// RESET by the host, up to its end.
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

    std::vector<uint64_t> noise(size_t words)
    {
        std::vector<uint64_t> any(words);
        for (auto &w : any)
            w = rng();
        return any;
    }

    /// Loads code into a CPU that is held, and starts it.
    void start(const std::vector<uint32_t> &code)
    {
        ram_write(code);
        assert_true(held(false));
    }

    unsigned stage() { return read(SOC(firmware)) & MW_SOC__FIRMWARE__STAGE_bm; }

    void until_ready()
    {
        uint64_t since = now;
        while (stage() != READY)
            assert_true(now - since < 200000);
    }

    /// Waits until the firmware has run its loop twice.
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
        give(kind, argument, noise(words));
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

    /// Moves flits through the stream port like the link's DMA: all of `data`, read or written,
    /// back to back. Returns how many were lost.
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
        for (unsigned i = 0; we && i < 20; i++) { // results of the writes
            settle();
            lost += dut.lost_o;
            step();
        }
        return lost;
    }
};

#endif
