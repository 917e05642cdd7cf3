// SPDX-License-Identifier: Apache-2.0
#include "fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "isa.h"

struct fake fake;

#define SOC_WORD(reg) fake.regs.soc[offsetof(mw_soc_t, reg) / 4]
#define FABRIC_WORD(reg) fake.regs.fabric[offsetof(mw_fabric_t, reg) / 4]

void fake_reset(void)
{
    memset(&fake, 0, sizeof fake);
    fake.lost_from = -1;
    fake.room = FAKE_UART - 1;
    mwd_registers_reset(&fake.regs, FAKE_GPUS, 8, FAKE_MEM_LOG2);
    SOC_WORD(id) = PUT(MW_SOC__ID__RAM_LOG2, 14) | PUT(MW_SOC__ID__MHZ, 60);
    SOC_WORD(clock) = PUT(MW_SOC__CLOCK__KHZ, 60000) | PUT(MW_SOC__CLOCK__PER_CYCLE, 4);
}

/// The fuzzer calls this hundreds of times in an execution, so cmocka is called only to fail.
static void check(bool good, const char *what)
{
    if (!good)
        fail_msg("%s", what);
}

static uint32_t place(uint32_t address)
{
    check(address % 4 == 0 && address < 1u << FAKE_MEM_LOG2, "an address in memory");
    uint32_t word = address / 4;
    return fake.dead_line ? word & ~(1u << (fake.dead_line - 1)) : word;
}

uint32_t hw_mem_read(unsigned gpu, uint32_t address)
{
    check(gpu < FAKE_GPUS, "a GPU's number");
    fake.time += 7;
    return fake.mem[gpu][place(address)] & ~fake.stuck;
}

void hw_mem_write(unsigned gpu, uint32_t address, uint32_t value)
{
    check(gpu < FAKE_GPUS, "a GPU's number");
    fake.time += 7;
    fake.mem[gpu][place(address)] = value;
}

/// Runs the programs of streams 0 of all GPUs. Only st.linear is implemented.
static void layer(void)
{
    fake.layers++;
    if (fake.no_streams)
        return;
    for (unsigned g = 0; g < FAKE_GPUS; g++) {
        uint32_t at = MW_BASE_UNIT * fake.regs.node[g][offsetof(mw_node_t, stream_base0) / 4];
        uint32_t lo = MW_BASE_UNIT * fake.regs.node[g][offsetof(mw_node_t, st_lo) / 4];
        uint32_t hi = MW_BASE_UNIT * fake.regs.node[g][offsetof(mw_node_t, st_hi) / 4];
        assert_int_equal(fake.regs.node[g][offsetof(mw_node_t, streams) / 4], 1);
        for (unsigned i = 0;; i++, at += MW_INSTR_BYTES) {
            assert_true(i < MW_STREAM_INSTRS);
            const uint32_t *w = &fake.mem[g][at / 4];
            if ((w[0] & 0xff) == MW_I_END)
                break;
            if ((w[0] & 0xff) == MW_I_FENCE)
                continue;
            assert_int_equal(w[0] & 0xff, MW_I_ST_LINEAR);
            unsigned to = w[0] >> 16;
            assert_true(to < FAKE_GPUS && to != g && w[3] >= lo && w[3] + w[2] <= hi);
            if (fake.lost_from != (int)g)
                memcpy(&fake.mem[to][w[3] / 4], &fake.mem[g][w[1] / 4], w[2]);
        }
    }
}

/// Registers that are locked while a layer runs.
static bool locked(uint32_t address)
{
    return FABRIC_WORD(state) & MW_FABRIC__STATE__BUSY_bm &&
           (address == FABRIC(control) || address == FABRIC(epoch) || address == FABRIC(link));
}

/// An access. One that the register description does not permit is kept in `fault`, or fails the
/// test.
static bool access(bool write, uint32_t address, uint32_t *value)
{
    if (!mwd_access(&fake.regs, write, address, value))
        return true;
    if (!fake.holes && !locked(address))
        fail_msg("0x%x cannot be %s", address, write ? "written" : "read");
    SOC_WORD(fault) = MW_SOC__FAULT__VALID_bm | address;
    return false;
}

void fake_host_reset(void)
{
    assert_false(SOC_WORD(fabric_reset) & MW_SOC__FABRIC_RESET__HOLD_bm);
    uint32_t count = GET(MW_SOC__FABRIC_RESET__COUNT, SOC_WORD(fabric_reset));
    SOC_WORD(fabric_reset) = PUT(MW_SOC__FABRIC_RESET__COUNT, count + 1);
    FABRIC_WORD(state) = 0;
}

/// Time of an access.
static void tick(void)
{
    fake.time += 7;
    if (fake.reset_in > 1)
        fake.reset_in--;
    if (fake.reset_in == 1 && !(SOC_WORD(fabric_reset) & MW_SOC__FABRIC_RESET__HOLD_bm)) {
        fake.reset_in = 0;
        fake.reset_layers = fake.layers;
        fake_host_reset();
    }
}

uint32_t hw_read(uint32_t address)
{
    tick();
    SOC_WORD(time_lo) = (uint32_t)fake.time;
    SOC_WORD(time_hi) = (uint32_t)(fake.time >> 32);
    SOC_WORD(uart) &= MW_SOC__UART__DIVISOR_bm;
    SOC_WORD(uart) |= fake.room < 255 ? fake.room : 255;
    uint32_t value = 0;
    access(false, address, &value);
    if (address == SOC(uart_rx))
        SOC_WORD(uart_rx) = 0;
    return value;
}

void hw_write(uint32_t address, uint32_t value)
{
    tick();
    if (!access(true, address, &value))
        return;
    if (address == SOC(uart_tx)) {
        assert_true(fake.room > 0);
        fake.console[fake.printed++] = (char)value;
        fake.room--;
    } else if (address == SOC(control)) {
        fake.feeds += value & MW_SOC__CONTROL__FEED_bm ? 1 : 0;
        if (value & MW_SOC__CONTROL__RESET_FABRIC_bm) {
            fake.resets++;
            fake_host_reset();
        }
    } else if (address == SOC(mbox_send)) {
        assert_true(SOC_WORD(mbox) & MW_SOC__MBOX__VALID_bm);
        SOC_WORD(mbox) = 0;
        fake.replied = true;
    } else if (address == FABRIC(control) && value & MW_FABRIC__CONTROL__GO_bm) {
        layer();
        FABRIC_WORD(state) =
            fake.never_done ? MW_FABRIC__STATE__BUSY_bm : MW_FABRIC__STATE__DONE_bm;
    } else if (address == FABRIC(control) && value & MW_FABRIC__CONTROL__SWEEP_bm) {
        fake.sweeps++;
        FABRIC_WORD(state) = fake.sweep_state;
    }
}

void fake_command(unsigned kind, uint64_t argument, unsigned words)
{
    SOC_WORD(mbox) =
        MW_SOC__MBOX__VALID_bm | PUT(MW_SOC__MBOX__KIND, kind) | PUT(MW_SOC__MBOX__WORDS, words);
    SOC_WORD(mbox_argument_lo) = (uint32_t)argument;
    SOC_WORD(mbox_argument_hi) = (uint32_t)(argument >> 32);
    fake.replied = false;
}

unsigned fake_reply(unsigned *words)
{
    assert_true(fake.replied);
    *words = GET(MW_SOC__MBOX_SEND__WORDS, SOC_WORD(mbox_send));
    return GET(MW_SOC__MBOX_SEND__STATUS, SOC_WORD(mbox_send));
}
