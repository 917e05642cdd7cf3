// SPDX-License-Identifier: Apache-2.0
//
// The Verilated device for the C interface of mw_device.h: clock, reset, the queues of the two
// endpoints, and the console's line.
#include "mw_device.h"

#include "endpoints.h"
#include "start.h"

#include "Vdevice.h"
#include "verilated.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>

namespace {
constexpr unsigned RESET_CYCLES = 8;
constexpr unsigned WORD = 8;         // bytes per cycle at most
constexpr unsigned BIT_CYCLES = 520; // of the console at power-up
} // namespace

struct mw_device_model {
    random_context context;
    Vdevice top{&context};
    endpoints ends;
    std::string text;
    unsigned line_count = 0, line_bits = 0, line_char = 0;

    void edge()
    {
        top.clk_i = 1;
        top.eval();
        top.clk_i = 0;
        top.eval();
    }

    void reset()
    {
        top.rst_ni = 0;
        top.clk_i = 0;
        top.link_reset_i = top.out_valid_i = top.in_ready_i = 0;
        top.uart_rx_i = 1;
        for (unsigned i = 0; i < RESET_CYCLES; i++)
            edge();
        top.rst_ni = 1;
    }

    void console()
    {
        if (line_bits == 0) {
            if (!top.uart_tx_o) {
                line_bits = 9;
                line_count = BIT_CYCLES + BIT_CYCLES / 2;
                line_char = 0;
            }
        } else if (--line_count == 0) {
            line_count = BIT_CYCLES;
            if (--line_bits == 0)
                text += static_cast<char>(line_char);
            else
                line_char = line_char >> 1 | (top.uart_tx_o ? 0x80u : 0);
        }
    }

    void offer()
    {
        std::size_t left = ends.pending();
        top.out_valid_i = left > 0;
        if (left > 0) {
            std::size_t n = std::min<std::size_t>(left, WORD);
            uint64_t word = 0;
            memcpy(&word, ends.next(), n);
            top.out_data_i = word;
            top.out_bytes_i = static_cast<uint8_t>(n);
        }
        top.in_ready_i = ends.room();
    }

    // Returns whether a transfer is now complete.
    bool cycle()
    {
        offer();
        top.eval();
        if (top.out_valid_i && top.out_ready_o)
            ends.take(top.out_bytes_i);
        bool ended = false;
        if (top.in_valid_o && top.in_ready_i) {
            uint64_t word = top.in_data_o;
            ends.add(reinterpret_cast<const uint8_t *>(&word), WORD);
            if (top.in_last_o) {
                ends.end_transfer();
                ended = true;
            }
        }
        console();
        edge();
        return ended;
    }
};

namespace {
mw_device_model *create() noexcept
try {
    auto *d = new mw_device_model;
    d->reset();
    return d;
} catch (const std::exception &) {
    return nullptr;
}

void destroy(mw_device_model *d)
{
    if (d)
        d->top.final();
    delete d;
}

void link_reset(mw_device_model *d)
{
    d->ends.clear();
    d->top.link_reset_i = 1;
    d->cycle();
    d->top.link_reset_i = 0;
    d->ends.clear();
}

void out(mw_device_model *d, const uint8_t *data, std::size_t bytes)
{
    d->ends.put(data, bytes);
}

std::size_t pending(const mw_device_model *d)
{
    return d->ends.pending();
}

std::size_t in(mw_device_model *d, uint8_t *data, std::size_t room, bool *last)
{
    return d->ends.fetch(data, room, last);
}

uint64_t run(mw_device_model *d, uint64_t cycles)
{
    for (uint64_t i = 0; i < cycles; i++)
        if (d->cycle())
            return i + 1;
    return cycles;
}

std::size_t console(mw_device_model *d, char *text, std::size_t room)
{
    std::size_t n = std::min(room, d->text.size());
    memcpy(text, d->text.data(), n);
    d->text.erase(0, n);
    return n;
}

const mw_device_ops OPS = {MW_DEVICE_ABI, MW_SIM_N, MW_SIM_F, create,  destroy, link_reset, out,
                           pending,       in,       run,      console, nullptr, nullptr};
} // namespace

extern "C" __attribute__((visibility("default"))) const mw_device_ops *mw_device_get_ops(void)
{
    return &OPS;
}
