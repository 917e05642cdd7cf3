// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Completes the blocks of rows that have scales, one block ahead of the one that waits for the
// engine.
//
// Function: Takes a block's addresses, with the coefficient and gate weight of its row and the flit
// that has its scales. Gives the product of weight and scale in place of the weight. The scale is
// the block's or, if elements are e2m1, the row's. Blocks of those have eight scales besides.
// Ports: A block is taken (take_o) when ready_i says that all of it is here. Its inputs may change
// in the next cycle. row_scale_i is unused where a flit holds the row's scale and the first block's
// scales. row_o is stable for 4 cycles after row_take_i. c_o and weight_o are those of row_o, new
// with start_o.
// Order: Blocks in the order of arrival.
// Back-pressure: take_o waits until the engine no longer uses the block before.
// Latency: row_o.valid rises 3 cycles after take_o, and take_o 4 cycles after row_take_i or later:
// at most one block in 7 cycles.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module expert_blocks #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type work_t = `MW_WORK(Cfg),
    localparam int unsigned SlotW = Cfg.FlitLog2 - 2
) (
    input wire logic clk_i,
    input wire logic rst_ni,

    input  wire logic                 fp4_i,
    input  wire logic                 ready_i,
    input  wire logic                 first_i,      // block of its row
    /* verilator lint_off UNUSEDSIGNAL */  // factors are made behind this module
    input  wire work_t                given_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input  wire logic [15:0]          c_i,
    input  wire logic [31:0]          w_i,
    input  wire logic [31:0]          row_scale_i,
    input  wire logic [Cfg.FlitW-1:0] flit_i,
    input  wire logic [SlotW-1:0]     slot_i,       // word of the block's scales in the flit
    output logic                      take_o,

    output work_t       row_o,
    input  wire logic   row_take_i,
    output logic        start_o,
    output logic [15:0] c_o,
    output logic [31:0] weight_o,
    output logic        busy_o
);
    localparam int unsigned Stable = 3;  // cycles after the one behind row_take_i

    logic waits_q;  // a block is in row_o, or will be
    logic [1:0] made_q;
    logic [Stable-1:0] taken_q;
    logic [31:0] w_q, scale_q, word;
    logic [63:0] half;

    assign take_o = ready_i && !waits_q && taken_q == '0;
    assign busy_o = waits_q;
    assign word = flit_i[32*slot_i+:32];
    assign half = (Cfg.FlitBytes == 16 && slot_i[SlotW-1]) ? flit_i[Cfg.FlitW-1-:64] : flit_i[63:0];

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            waits_q <= 1'b0;
            made_q <= '0;
            taken_q <= '0;
            start_o <= 1'b0;
            row_o.valid <= 1'b0;
        end else begin
            if (take_o) waits_q <= 1'b1;
            else if (row_take_i) waits_q <= 1'b0;
            made_q <= {made_q[0], take_o};
            taken_q <= {taken_q[Stable-2:0], row_take_i};
            start_o <= made_q[1];
            if (made_q[1]) row_o.valid <= 1'b1;
            else if (row_take_i) row_o.valid <= 1'b0;
        end
        if (take_o) begin
            {row_o.x, row_o.y, row_o.f} <= {given_i.x, given_i.y, given_i.f};
            {row_o.last, row_o.le, row_o.idx} <= {given_i.last, given_i.le, given_i.idx};
            {row_o.token, row_o.pos} <= {given_i.token, given_i.pos};
            row_o.scales <= half;
            if (first_i) {c_o, w_q} <= {c_i, w_i};
            if (!fp4_i) scale_q <= word;
            else if (first_i) scale_q <= (Cfg.FlitBytes == 16) ? flit_i[31:0] : row_scale_i;
        end
    end
    assign {row_o.factor, row_o.factor_f} = '0;

    scale_multiply i_multiply (
        .clk_i,
        .w_i(w_q),
        .s_i(scale_q),
        .p_o(weight_o)
    );

    `MW_CONTRACT(take_o, !row_o.valid, "a block is made while another one waits")
    `MW_CONTRACT(row_take_i, row_o.valid, "a block is taken that is not there")
endmodule

`default_nettype wire
