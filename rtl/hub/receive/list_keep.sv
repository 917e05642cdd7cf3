// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Writes the target lists of other GPUs' rows to memory for grant_lists, in layers with
// switch-initiated reductions.
//
// Function: Each token has 32 bytes at rl_base: a target in 16 bits {expert, number of targets less
// 1}, in the order of the packet. Unused space is not written. rx_resolve delivers the targets of a
// packet that opens a row one by one. They are collected in a queue of Cfg.Lanes lists, and
// complete lists are written flit by flit. A source writes only the lists of its own tokens,
// whatever token its packet names.
// Ports: level_o lists are complete and not yet written. done_o is the grant of the oldest one's
// last write. To read a list, wait for as many done_o as there were lists when it was delivered.
// Order: Lists in the order of arrival.
// Back-pressure: A packet that opens a row starts only while room_o is high, and is stable until
// its last target is taken. Waits for memory.
// Latency: A list takes one cycle and a write for each flit.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module list_keep #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type write_t = `MW_WRITE(Cfg),
    localparam int unsigned Lists = Cfg.Lanes,  // 16 flits of 32-byte lists
    localparam int unsigned LevelW = $clog2(Lists + 1),
    localparam int unsigned TgtW = Cfg.ExpW + 5
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire node_pkg::node_cfg_t cfg_i,

    output logic                     room_o,
    input  wire logic                take_i,  // a target
    input  wire logic                last_i,  // the list's last
    input  wire logic [3:0]          idx_i,
    input  wire logic [4:0]          cnt_i,   // targets of the list
    input  wire logic [TgtW-1:0]     tgt_i,   // {no such expert, expert, position}
    input  wire logic [Cfg.GpuW-1:0] src_i,
    input  wire logic [Cfg.TokW-1:0] token_i,

    output logic [LevelW-1:0] level_o,
    output logic              done_o,

    output write_t    wr_o,
    input  wire logic wr_ready_i,
    output logic      idle_o
);
    localparam int unsigned ListW = $clog2(Lists);
    localparam int unsigned FlitW = 5 - Cfg.FlitLog2;  // index of a flit of a list
    localparam int unsigned ExpW = Cfg.ExpW + 1;  // {no such expert, expert}

    typedef struct packed {
        logic [3:0]                last;   // target
        logic [Cfg.GpuW-1:0]       src;
        logic [Cfg.TokensLog2-1:0] index;
    } list_t;

    logic [ListW-1:0] wlist_q, rlist_q;
    logic [LevelW-1:0] level_q;
    logic [FlitW-1:0] flit_q;
    logic active_q, come, step;
    logic [Cfg.AddrW-1:0] addr_q;
    logic [Cfg.Lanes-1:0][ExpW-1:0] exps;
    logic [Cfg.Lanes-1:0][15:0] targets;
    list_t list;
    logic [Cfg.TokensLog2-1:0] mask;
    logic [Cfg.TokW-1:0] token;

    assign mask = ~(~Cfg.TokensLog2'(0) << cfg_i.token_shift);
    assign come = take_i && last_i;

    for (genvar l = 0; l < Cfg.Lanes; l++) begin : gen_lane
        lutram #(
            .Width(ExpW),
            .Depth(Lists << FlitW)
        ) i_targets (
            .clk_i,
            .we_i(take_i && idx_i[Cfg.LaneW-1:0] == Cfg.LaneW'(l)),
            .waddr_i({wlist_q, idx_i[3:Cfg.LaneW]}),
            .wdata_i(tgt_i[TgtW-1:4]),
            .raddr_i({rlist_q, flit_q}),
            .rdata_o(exps[l])
        );
        // an expert that does not exist stays one
        assign targets[l] = {12'({{12{exps[l][ExpW-1]}}, exps[l][ExpW-2:0]}), list.last};
    end
    lutram #(
        .Width($bits(list_t)),
        .Depth(Lists)
    ) i_lists (
        .clk_i,
        .we_i(come),
        .waddr_i(wlist_q),
        .wdata_i({4'(cnt_i - 5'd1), src_i, token_i[Cfg.TokensLog2-1:0] & mask}),
        .raddr_i(rlist_q),
        .rdata_o(list)
    );

    assign token = (Cfg.TokW'(list.src) << cfg_i.token_shift) | Cfg.TokW'(list.index);
    assign step = wr_o.valid && wr_ready_i;
    assign done_o = step && flit_q == list.last[3:Cfg.LaneW];

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            wlist_q <= '0;
            rlist_q <= '0;
            level_q <= '0;
            flit_q <= '0;
            active_q <= 1'b0;
        end else begin
            if (come) wlist_q <= wlist_q + 1'b1;
            if (done_o) rlist_q <= rlist_q + 1'b1;
            if (come != done_o) level_q <= level_q + (come ? LevelW'(1) : '1);
            if (step) flit_q <= done_o ? '0 : flit_q + 1'b1;
            active_q <= !active_q ? level_q != '0 : !done_o;
        end
        if (!active_q)
            addr_q <= cfg_i.rl_base[Cfg.MemBytesLog2-1:Cfg.FlitLog2]
                                 + Cfg.AddrW'({token, FlitW'(0)});
        else if (step) addr_q <= addr_q + 1'b1;
    end

    assign room_o = level_q != LevelW'(Lists);
    assign level_o = level_q;
    assign wr_o.valid = active_q;
    assign wr_o.addr = addr_q;
    assign wr_o.be = '1;
    assign wr_o.data = targets;
    assign idle_o = level_q == '0;

    `MW_CONTRACT(take_i && idx_i == '0, room_o, "a list without a place")
    `MW_CONTRACT(take_i, last_i == (5'(idx_i) + 5'd1 == cnt_i), "a list of another length")
    `MW_STABLE(wr_o.valid, wr_ready_i, {wr_o.addr, wr_o.data},
               "a write changes before memory takes it")
    `MW_CONTRACT(1'b1, level_q <= LevelW'(Lists), "more lists than places")
endmodule

`default_nettype wire
