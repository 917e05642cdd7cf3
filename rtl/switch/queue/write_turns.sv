// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Shares the write ports of the RAMs that hold two queues: packets of the parser, and partial sums.
// One per input.
//
// Order: Outputs read a packet while it arrives, so a payload is written without interruption, and
// so is a partial. Partials wait in a FIFO while the parser is in a payload (pay_i). Elsewhere the
// parser pauses until that FIFO is empty.
// Latency: A payload takes 128 / FlitBytes cycles. A partial takes as many for its flits, and one
// or two for its header. The FIFO therefore holds at most the flits of a packet and one more. If
// Late, words leave one cycle after their addresses, because the wires to all queues are long. A
// packet with a header of two flits is read late enough.
`default_nettype none
`include "assert.svh"

module write_turns #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    // partials, see part_entry
    input  wire logic [Cfg.N-1:0]     we_i,
    input  wire logic [Cfg.PayW-1:0]  idx_i,
    input  wire logic [Cfg.FlitW+1:0] data_i,

    // parser, see copy_write
    input  wire logic                 pay_i,         // in the next cycle it is in a payload
    input  wire logic [Cfg.N-1:0]     copy_valid_i,  // not while it pauses
    input  wire logic [Cfg.Lanes-1:0] copy_lane_i,
    input  wire logic [Cfg.FlitW:0]   copy_data_i,
    output logic                      pause_o,       // it takes and writes nothing

    // to the queues
    output logic [Cfg.N-1:0]     part_we_o,   // a partial is written: its address
    output logic [Cfg.PayW-1:0]  part_idx_o,
    output logic [Cfg.N-1:0]     wr_valid_o,  // of both: the word
    output logic [Cfg.Lanes-1:0] wr_lane_o,
    output logic [Cfg.FlitW+1:0] wr_data_o,

    output logic idle_o
);
    // with one flit of a header one more comes while the first one leaves
    localparam int unsigned Depth = (Cfg.HeadFlits >= 2) ? Cfg.PayFlits : Cfg.PayFlits + 1;

    logic waits, pay_q;
    logic [Cfg.N-1:0] to, valid;
    logic [Cfg.Lanes-1:0] lane;
    logic [Cfg.FlitW+1:0] data, word;

    // never full, see above
    fifo #(
        .Width(Cfg.N + Cfg.PayW + Cfg.FlitW + 2),
        .Depth(Depth)
    ) i_wait (
        .clk_i,
        .rst_ni,
        .valid_i(we_i != '0),
        .ready_o(),
        .data_i({we_i, idx_i, data_i}),
        .valid_o(waits),
        .ready_i(!pay_q),
        .data_o({to, part_idx_o, data}),
        .level_o()
    );

    always_ff @(posedge clk_i) pay_q <= rst_ni && pay_i;

    assign pause_o = waits && !pay_q;
    assign part_we_o = pause_o ? to : '0;
    assign idle_o = !waits && we_i == '0;
    assign valid = part_we_o | copy_valid_i;
    assign lane = pause_o ? '1 : copy_lane_i;
    assign word = pause_o ? data : {1'b0, copy_data_i};

    if (Cfg.Late) begin : gen_late
        always_ff @(posedge clk_i) begin
            wr_valid_o <= rst_ni ? valid : '0;
            wr_lane_o <= lane;
            wr_data_o <= word;
        end
    end else begin : gen_now
        assign {wr_valid_o, wr_lane_o, wr_data_o} = {valid, lane, word};
    end

    `MW_CONTRACT(1'b1, (we_i & (we_i - 1'b1)) == '0, "a partial of two requesters")
    `MW_CONTRACT(pause_o, copy_valid_i == '0, "the parser writes while it pauses")
    `MW_CONTRACT(part_we_o != '0, !pay_q, "a partial interrupts a payload")
endmodule

`default_nettype wire
