// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Packet accumulator: reduces flits in the order in which they come. The switch's join and the
// hub's row sums use it.
//
// Function: Word idx_i of the accumulator holds the running result of flit idx_i of a packet. A
// term is b_i. With first_i it starts a new result instead of joining the old one. With pair_i too,
// it starts with a_i and b_i. With last_i the result leaves, in the type of its elements, and its
// word is free. red_i is type and operator, the same for all terms of a packet (see reduce_flit). A
// single term passes with only its NaN made canonical.
// Order: Outputs keep the order of the last terms.
// Back-pressure: ready_o is low while an earlier term of the same word is in the pipeline. With
// Spaced the caller keeps terms of a word that far apart, and ready_o is high. The output has none,
// so the caller reserves room before it starts.
// Latency: A result leaves 6 cycles after its last term. One word takes a term every 6 cycles.
// Terms of different words, and first terms, enter in every cycle.
`default_nettype none
`include "assert.svh"

module packet_acc #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned MetaWidth = 1,
    parameter bit Spaced = 1'b0
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic                 valid_i,
    output logic                      ready_o,  // depends on idx_i and first_i
    input  wire logic [Cfg.PayW-1:0]  idx_i,
    input  wire logic                 first_i,
    input  wire logic                 pair_i,   // only with first_i
    input  wire logic [Cfg.FlitW-1:0] a_i,      // only with pair_i
    input  wire logic [Cfg.FlitW-1:0] b_i,      // lane 0 is bits 15:0
    input  wire logic                 last_i,
    input  wire red_pkg::red_t        red_i,
    input  wire logic [MetaWidth-1:0] meta_i,   // only with last_i

    output logic                 valid_o,
    output logic [Cfg.FlitW-1:0] data_o,
    output logic [MetaWidth-1:0] meta_o,

    output logic busy_o  // a term or a result is inside
);
    // Stage 0 holds the operands, stages 1 .. Stages-1 follow the lanes; the
    // sum is written back or rounded from the last one.
    localparam int unsigned Stages = fp_pkg::FpAddLatency + 1;

    if (Cfg.FlitBytes < 4 || Cfg.FlitBytes > 64 || 128 % Cfg.FlitBytes != 0) begin : gen_check
        $error("packet_acc: FlitBytes must be a power of two, 4 to 64");
    end

    logic [Stages-1:0] valid_q, last_q;
    logic [Stages-1:0][Cfg.PayW-1:0] idx_q;
    logic [Stages-1:0][MetaWidth-1:0] meta_q;
    logic take, store, emit;
    red_pkg::red_t red_q, red_end;  // of stage 0 and of the last one
    logic half;  // the last stage but one holds a
                 // last term, of bf16
    localparam int unsigned Parts = red_pkg::parts(Cfg.RedTypes);
    logic [Cfg.Words-1:0][Parts-1:0][31:0] acc, sum;

    // an earlier term of the same word is inside; with Spaced this never delays a term
    logic conflict;

    always_comb begin
        conflict = 1'b0;
        for (int unsigned s = 0; s < Stages; s++) begin
            conflict |= valid_q[s] && !last_q[s] && idx_q[s] == idx_i;
        end
    end

    assign ready_o = Spaced || first_i || !conflict;
    assign take = valid_i && ready_o;
    assign store = valid_q[Stages-1] && !last_q[Stages-1];
    assign emit = valid_q[Stages-1] && last_q[Stages-1];
    assign busy_o = valid_q != '0 || valid_o;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            valid_q <= '0;
            valid_o <= 1'b0;
        end else begin
            valid_q <= {valid_q[Stages-2:0], take};
            valid_o <= emit;
        end
        last_q <= {last_q[Stages-2:0], last_i};
        idx_q <= {idx_q[Stages-2:0], idx_i};
        meta_q <= {meta_q[Stages-2:0], meta_i};
        if (emit) meta_o <= meta_q[Stages-1];
    end

    lutram #(
        .Width(Cfg.Words * Parts * 32),
        .Depth(Cfg.PayFlits)
    ) i_acc (
        .clk_i(clk_i),
        .we_i(store),
        .waddr_i(idx_q[Stages-1]),
        .wdata_i(sum),
        .raddr_i(idx_i),
        .rdata_o(acc)
    );

    if (red_pkg::plain(Cfg.RedTypes, Cfg.RedOps)) begin : gen_plain
        assign red_q = '0;
        assign red_end = '0;
        assign half = last_q[Stages-2];
    end else begin : gen_red
        red_pkg::red_t [Stages-1:0] stage_q;

        always_ff @(posedge clk_i) stage_q <= {stage_q[Stages-2:0], red_i};
        assign red_q = stage_q[0];
        assign red_end = stage_q[Stages-1];
        assign half = last_q[Stages-2] && stage_q[Stages-2].dtype == packet_pkg::DTYPE_BF16;
    end

    reduce_flit #(
        .Words(Cfg.Words),
        .RedTypes(Cfg.RedTypes),
        .RedOps(Cfg.RedOps)
    ) i_lanes (
        .clk_i,
        .take_i(take),
        .first_i,
        .pair_i,
        .red_i,
        .acc_i(acc),
        .a_i,
        .b_i,
        .valid_i(valid_q[0]),
        .red_q_i(red_q),
        .half_i(half),
        .sum_o(sum),
        .emit_i(emit),
        .red_end_i(red_end),
        .data_o
    );

    `MW_CONTRACT(valid_i && !first_i && ready_o, !conflict,
                 "a term meets an earlier one of its word")
endmodule

`default_nettype wire
