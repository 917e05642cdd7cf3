// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Walks the targets of one packet, one per cycle.
//
// Function: It tracks the lane, the number of remaining targets, the outputs so far, and the number
// of targets per output. It detects a second target with an expert that the list has named.
// Order: The target in the header first (head_i), then those of the target flits, lane by lane
// (list_i).
// Back-pressure: wait_o delays the header of a list while the table of seen experts is cleared
// after the previous list, in 8 cycles during its payload. Nothing else waits.
`default_nettype none
`include "assert.svh"

module target_walk #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic       valid_i,    // a flit is there
    input  wire logic       head_i,     // header, complete
    input  wire logic       list_i,     // targets
    input  wire logic       dynamic_i,  // with head_i: the targets are experts
    input  wire logic [4:0] cnt_i,      // with head_i: so many
    input  wire logic       next_i,     // on to the next target
    input  wire logic       done_i,     // the packet is accepted or rejected

    // the target, and what was looked up
    input  wire logic [Cfg.ExpW-1:0] expert_i,
    input  wire logic [Cfg.GpuW-1:0] out_i,       // see target_lookup
    input  wire logic [Cfg.N-1:0]    sel_i,
    input  wire logic [Cfg.GpuW-1:0] list_out_i,  // with list_i
    input  wire logic [Cfg.N-1:0]    list_sel_i,

    output logic                 listing_o,  // the target is an expert
    output logic                 wait_o,
    output logic                 clearing_o,
    output logic                 more_o,  // targets follow this one
    output logic [Cfg.LaneW-1:0] lane_o,  // of the target in its flit; the last lane in a header
    output logic                 lane_end_o,  // it is the last one in its flit
    output logic                 twice_o,  // its expert was named before
    output logic                 again_o,  // its output was found before
    // so many targets before it lie behind the same output, less 1; with again_o
    output logic [3:0]           earlier_o,
    output logic [3:0]           count_o,  // and up to it, less 1
    output logic [Cfg.N-1:0]     mask_o,  // outputs up to this target
    output logic [Cfg.N-1:0]     all_o  // and up to the last one, behind it
);
    logic [3:0] left_q;  // targets left, this one included
    logic listed, look, seen;

    assign listing_o = list_i || dynamic_i;
    assign listed = list_i || (dynamic_i && cnt_i != 5'd1);
    assign more_o = list_i ? left_q != 4'd1 : listed;
    assign lane_end_o = lane_o == Cfg.LaneW'(Cfg.Lanes - 1) || !more_o;
    assign look = valid_i && (list_i || (head_i && dynamic_i));

    always_ff @(posedge clk_i) begin
        if (!rst_ni) lane_o <= '1;
        else if (valid_i && (head_i || list_i)) lane_o <= next_i ? lane_o + 1'b1 : '1;
        if (valid_i && head_i) begin
            left_q <= 4'(cnt_i - 5'd1);
            all_o <= mask_o;
        end else if (valid_i && list_i) begin
            left_q <= left_q - 4'd1;
            all_o <= mask_o;
        end
    end

    // ---- outputs ----
    assign mask_o = (list_i ? all_o : '0) | sel_i;
    assign again_o = list_i && (list_sel_i & all_o) != '0;
    assign count_o = again_o ? earlier_o + 4'd1 : '0;

    lutram #(
        .Width(4),
        .Depth(Cfg.N)
    ) i_counts (
        .clk_i,
        .we_i(look),
        .waddr_i(out_i),
        .wdata_i(count_o),
        .raddr_i(list_out_i),
        .rdata_o(earlier_o)
    );

    // ---- experts ----
    assign twice_o = listed && seen && listing_o;
    assign wait_o = head_i && clearing_o && listed;

    seen_table #(
        .Cfg(Cfg)
    ) i_seen (
        .clk_i,
        .rst_ni,
        .clear_i(done_i && listed),
        .clearing_o,
        .expert_i,
        .mark_i(look && listed),
        .seen_o(seen)
    );

    `MW_CONTRACT(list_i && valid_i, left_q != '0, "a target behind the last one")
    `MW_CONTRACT(valid_i && again_o, earlier_o != '1,
                 "more targets behind an output than a packet has")
    `MW_CONTRACT(next_i, valid_i && more_o, "a step behind the last target")
endmodule

`default_nettype wire
