// SPDX-License-Identifier: Apache-2.0
//
// The hardware as the firmware sees it (firmware/hw.h), in memory: registers of SoC and fabric, and
// GPU memories. A test fills and reads the mailbox, and injects faults.
#ifndef FAKE_H
#define FAKE_H

#include "hw.h"
#include "usb/registers.h"

enum { FAKE_GPUS = 3, FAKE_MEM_LOG2 = 16, FAKE_UART = 4096 };

struct fake {
    struct mwd_registers regs;
    uint32_t mem[FAKE_GPUS][1 << (FAKE_MEM_LOG2 - 2)];
    char console[FAKE_UART];
    unsigned printed, room; ///< characters printed, and places left
    uint64_t time;          ///< cycles; grows by 7 with each access
    unsigned feeds, resets, layers, sweeps;
    uint32_t sweep_state; ///< value of state after a sweep
    /// the host resets after this many accesses, or when hold ends. 0: never
    unsigned reset_in;
    unsigned reset_layers; ///< layers started before that
    bool replied;
    // faults
    uint32_t stuck; ///< this bit of every word of memory reads 0
    /// this address line of the memories is always 0 (word address bit, from 1). 0: none
    unsigned dead_line;
    int lost_from; ///< stores of this GPU are lost; -1: none
    bool never_done;
    /// true: the register `fault` keeps invalid accesses. false: they fail the test
    bool holes;
    bool no_streams; ///< go runs no stream, and only ends
};

extern struct fake fake;

/// A device after power-up.
void fake_reset(void);
/// Puts a command into the mailbox. Returns after command_poll has sent a reply status.
void fake_command(unsigned kind, uint64_t argument, unsigned words);
/// The host resets the fabric.
void fake_host_reset(void);
/// The reply that command_poll sent: its status and words. The test fails if there is none.
unsigned fake_reply(unsigned *words);

#endif
