// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The target list of each source's open row, for its packets without targets (cnt 0: followers).
//
// Function: A dymultimem.st with targets opens the row of its source and replaces an older one.
// With stage GATE it leaves none open. FLAT packets do not affect rows. A follower has the targets
// of the open row if its address names the same token. With stage GATE it closes the row. A
// dymultimem.st that is bad or names no token, a follower of another token, and a new epoch also
// close it. The own GPU is a source like others.
// Order: That of the packets, target by target. An answer refers to the packet at hd_i and follows
// in the same cycle. In a cycle with take_i its target idx_i is taken. With last_i the row changes.
// The epoch changes while no packet is present.
// Back-pressure: None.
// Latency: N rows of as many targets as a GPU has experts.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module row_lists #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type arrived_t = `MW_ARRIVED(Cfg),
    localparam int unsigned TgtW = Cfg.ExpW + 5
) (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    input  wire logic [1:0] epoch_i,

    input  wire arrived_t            hd_i,
    input  wire logic                cut_i,     // the packet ended in the wrong place
    input  wire logic [Cfg.TokW-1:0] token_i,   // that its address names
    input  wire logic                beyond_i,  // it names none
    input  wire logic [3:0]          idx_i,
    input  wire logic                take_i,
    input  wire logic                last_i,

    output logic [4:0]      cnt_o,     // targets of the packet, 1 for what has none
    output logic [TgtW-1:0] tgt_o,     // target idx_i
    output logic            no_row_o,  // a follower without a row
    output logic            opens_o    // it opens a row
);
    import packet_pkg::*;

    localparam int unsigned Most = (Cfg.MaxLocalExperts < TargetsMax) ? Cfg.MaxLocalExperts
                                   : TargetsMax;
    localparam int unsigned IdxW = cfg_pkg::index_w(Most);

    typedef struct packed {
        logic [Cfg.TokW-1:0] token;
        logic [4:0]          cnt;
    } row_t;

    logic is_row, whole, follows, flat, known, same, opens;
    logic [Cfg.GpuW-1:0] src;
    logic [Cfg.N-1:0] open_q;
    logic [1:0] epoch_q;
    row_t row;
    logic [TgtW-1:0] kept;

    assign src = hd_i.src[Cfg.GpuW-1:0];
    assign known = 32'(hd_i.src) < Cfg.N;
    assign is_row = hd_i.op == OP_DYMULTIMEM_ST;
    assign whole = !hd_i.bad && !cut_i;
    assign flat = whole && hd_i.stage == STAGE_FLAT;
    assign follows = is_row && whole && hd_i.cnt == '0;  // none of them is flat
    assign opens = is_row && whole && hd_i.cnt != '0 && !flat && known && !beyond_i;
    assign same = known && open_q[src] && !beyond_i && row.token == token_i;

    lutram #(
        .Width($bits(row_t)),
        .Depth(2 ** Cfg.GpuW)
    ) i_rows (
        .clk_i,
        .we_i(take_i && opens),
        .waddr_i(src),
        .wdata_i({token_i, hd_i.cnt}),
        .raddr_i(src),
        .rdata_o(row)
    );
    lutram #(
        .Width(TgtW),
        .Depth(2 ** (Cfg.GpuW + IdxW))
    ) i_targets (
        .clk_i,
        .we_i(take_i && opens),
        .waddr_i({src, idx_i[IdxW-1:0]}),
        .wdata_i(hd_i.tgt),
        .raddr_i({src, idx_i[IdxW-1:0]}),
        .rdata_o(kept)
    );

    always_ff @(posedge clk_i) begin
        epoch_q <= epoch_i;
        if (!rst_ni || epoch_q != epoch_i) open_q <= '0;
        if (rst_ni && take_i && last_i && is_row && known && !flat)
            open_q[src] <= (opens || (follows && same)) && hd_i.stage != STAGE_GATE;
    end

    assign no_row_o = follows && !same;
    assign opens_o = opens;
    assign cnt_o = !follows ? hd_i.cnt : same ? row.cnt : 5'd1;
    assign tgt_o = follows ? kept : hd_i.tgt;

    `MW_CONTRACT(take_i, epoch_q == epoch_i, "the epoch changes under a packet")
    `MW_CONTRACT(take_i && !cut_i, 5'(idx_i) < cnt_o, "a target behind the last one")
endmodule

`default_nettype wire
