// SPDX-License-Identifier: Apache-2.0
//
// The receive side of a hub (rx_hub) with the environment of every test: memory at its ports, the
// two local streams, expert table and configuration.
#ifndef RX_MODEL_H
#define RX_MODEL_H

#include "Vrx_hub.h"
#include "bench/memory.h"
#include "node_cfg.h"

#include <map>
#include <optional>

namespace tb {
#ifndef PARAM_SwitchReductions
#define PARAM_SwitchReductions 0
#endif
// Parameters of rx_hub, and where a test has its tables.
static const unsigned N = 4, LOG_N = 2, F = PARAM_FlitBytes, HF = 16 / F;
static const unsigned LE = PARAM_MaxLocalExperts, EXPERTS = PARAM_MaxExperts;
static const unsigned SLOTS = 32, CTRL_SLOTS = 16, RESULTS = 4;
static const unsigned MEM = 1 << PARAM_MemBytesLog2;
static const unsigned AL = 0x0400, GT = 0x4000, XD = MEM / 4, YD = MEM / 2;

struct rx_bench : model<Vrx_hub> {
    struct ports {
        write_port store[2], table_wr;
        read_port table_rd, red_rd;
        write_port lists;

        ports(memory &m, memory &l)
            : store{{m, "ST0"}, {m, "ST1"}}, table_wr(m, "table"), table_rd(m, "table"),
              red_rd(m, "reds"), lists(l, "lists")
        {
        }
    };

    node_cfg cfg;
    memory mem{MEM, F};
    memory lists{MEM, F}; // of rows, with switch-initiated reductions: in a memory of their own
    std::optional<ports> io{std::in_place, mem, lists}; // as after a reset
    packet_source local, control;
    unsigned epoch = 0;

    explicit rx_bench(const std::map<std::string, unsigned> &fields)
    {
        rng.fill(mem.data.data(), MEM);
        rng.fill(lists.data.data(), MEM);
        dut.arm_remote_i = dut.tok_ready_i = dut.lane_ready_i = 0;
        dut.go_i = dut.sweep_i = dut.emap_we_i = dut.rx_valid_i = 0;
        dut.req1_valid_i = dut.push_valid_i = dut.push_last_i = dut.push_more_i = dut.list_valid_i =
            0;
        dut.arm_valid_i = dut.own_valid_i = 0;
        cfg.set("n_shift", LOG_N);
        cfg.set("local_experts", LE);
        cfg.set("al_base", AL);
        cfg.set("gt_base", GT);
        cfg.set("xd_base", XD);
        cfg.set("yd_base", YD);
        set(fields);
    }

    void set(const std::map<std::string, unsigned> &fields)
    {
        for (auto &f : fields)
            cfg.set(f.first, f.second);
        cfg.drive(dut.cfg_i);
    }
    void set(const char *field, uint64_t value)
    {
        cfg.set(field, value);
        cfg.drive(dut.cfg_i);
    }
    /// The engine lists a row of its own.
    void push(unsigned le, unsigned row)
    {
        dut.push_valid_i = 1;
        dut.push_le_i = static_cast<uint8_t>(le);
        dut.push_row_i = row;
        settle();
        assert_true(dut.push_ready_o);
        cycle();
        dut.push_valid_i = 0;
    }
    void map_expert(unsigned expert, bool valid, unsigned gpu, unsigned le)
    {
        dut.emap_we_i = 1;
        dut.emap_addr_i = static_cast<uint16_t>(expert);
        dut.emap_data_i = tb::place(valid, gpu, le);
        cycle();
        dut.emap_we_i = 0;
    }
    /// Clears the tables. Returns the cycles.
    uint64_t sweep()
    {
        dut.sweep_i = 1;
        cycle();
        dut.sweep_i = 0;
        cycle();
        return until("the sweep", 20000, [&] { return !dut.sweep_busy_o; });
    }
    void go(unsigned new_epoch)
    {
        set("epoch", epoch = new_epoch);
        dut.go_i = 1;
        cycle();
        dut.go_i = 0;
    }

    void drive() override
    {
        for (unsigned w = 0; w < 2; w++)
            io->store[w].drive(rng, dut.wr_ready_i[w]);
        io->table_wr.drive(rng, dut.alm_wr_ready_i);
        io->lists.drive(rng, dut.keep_wr_ready_i);
        io->table_rd.drive(rng, dut.alm_rd_ready_i, dut.alm_rd_rvalid_i, dut.alm_rd_rdata_i);
        io->red_rd.drive(rng, dut.rd_ready_i, dut.rd_rvalid_i, dut.rd_rdata_i);
        local.drive(rng, dut.loc_valid_i, dut.loc_data_i, dut.loc_last_i);
        control.drive(rng, dut.clo_valid_i, dut.clo_data_i, dut.clo_last_i);
        dut.rdy_ready_i = percent(50);
    }

    void sample() override
    {
        io->table_rd.sample(rng, dut.alm_rd_valid_o, dut.alm_rd_ready_i, dut.alm_rd_addr_o);
        io->red_rd.sample(rng, dut.rd_valid_o, dut.rd_ready_i, dut.rd_addr_o);
        for (unsigned w = 0; w < 2; w++)
            io->store[w].sample(dut.wr_valid_o[w], dut.wr_ready_i[w], dut.wr_addr_o[w],
                                dut.wr_data_o[w], dut.wr_be_o[w]);
        io->table_wr.sample(dut.alm_wr_valid_o, dut.alm_wr_ready_i, dut.alm_wr_addr_o,
                            dut.alm_wr_data_o, dut.alm_wr_be_o);
        io->lists.sample(dut.keep_wr_valid_o, dut.keep_wr_ready_i, dut.keep_wr_addr_o,
                         dut.keep_wr_data_o, dut.keep_wr_be_o);
        local.taken(dut.loc_ready_o);
        control.taken(dut.clo_ready_o);
    }
};
} // namespace tb

#endif
