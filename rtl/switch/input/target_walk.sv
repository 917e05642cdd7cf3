// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Walks the targets of one packet, one per cycle.
//
// Function: It tracks the lane, the number of remaining targets, the outputs so far, and the number
// of targets per output. It detects a second target with an expert that the list has named.
// Order: The target in the header first, then those of the target flits, lane by lane.
// Back-pressure: wait_o delays the header of a list while the table of seen experts is cleared
// after the previous list, in 8 cycles during its payload. Nothing else waits.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module target_walk #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type found_t = `MW_FOUND(Cfg),
    parameter type lane_t = `MW_LANE(Cfg)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic                valid_i,    // a flit is there
    input  wire bundle_pkg::parsed_t parsed_i,   // of a header or a list
    input  wire logic                dynamic_i,  // with a header: the targets are experts
    input  wire logic [4:0]          cnt_i,      // with a header: so many
    input  wire logic                next_i,     // on to the next target
    input  wire logic                done_i,     // the packet is accepted or rejected

    // the target, and what was looked up, see target_lookup
    input  wire logic [Cfg.ExpW-1:0] expert_i,
    input  wire found_t              found_i,
    input  wire found_t              listed_i,  // in a list

    output logic                listing_o,  // the target is an expert
    output logic                wait_o,
    output logic                clearing_o,
    output lane_t               lane_o,     // in a header: the last lane
    output logic                twice_o,    // its expert was named before
    output bundle_pkg::before_t before_o,
    output logic [3:0]          count_o,    // targets behind its output up to it, less 1
    output logic [Cfg.N-1:0]    mask_o,     // outputs up to this target
    output logic [Cfg.N-1:0]    all_o       // and up to the last one, behind it
);
    logic [3:0] left_q;  // targets left, this one included
    logic listed, look, seen, more;
    logic [Cfg.LaneW-1:0] lane_q;

    assign listing_o = parsed_i.list || dynamic_i;
    assign listed = parsed_i.list || (dynamic_i && cnt_i != 5'd1);
    assign more = parsed_i.list ? left_q != 4'd1 : listed;
    assign lane_o = '{
            lane: lane_q,
            last: lane_q == Cfg.LaneW'(Cfg.Lanes - 1) || !more,
            more: more
        };
    assign look = valid_i && (parsed_i.list || (parsed_i.head && dynamic_i));

    always_ff @(posedge clk_i) begin
        if (!rst_ni) lane_q <= '1;
        else if (valid_i && (parsed_i.head || parsed_i.list)) lane_q <= next_i ? lane_q + 1'b1 : '1;
        if (valid_i && parsed_i.head) begin
            left_q <= 4'(cnt_i - 5'd1);
            all_o <= mask_o;
        end else if (valid_i && parsed_i.list) begin
            left_q <= left_q - 4'd1;
            all_o <= mask_o;
        end
    end

    // ---- outputs ----
    assign mask_o = (parsed_i.list ? all_o : '0) | found_i.sel;
    assign before_o.again = parsed_i.list && (listed_i.sel & all_o) != '0;
    assign count_o = before_o.again ? before_o.earlier + 4'd1 : '0;

    lutram #(
        .Width(4),
        .Depth(Cfg.N)
    ) i_counts (
        .clk_i,
        .we_i(look),
        .waddr_i(found_i.out),
        .wdata_i(count_o),
        .raddr_i(listed_i.out),
        .rdata_o(before_o.earlier)
    );

    // ---- experts ----
    assign twice_o = listed && seen && listing_o;
    assign wait_o = parsed_i.head && clearing_o && listed;

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

    `MW_CONTRACT(parsed_i.list && valid_i, left_q != '0, "a target behind the last one")
    `MW_CONTRACT(valid_i && before_o.again, before_o.earlier != '1,
                 "more targets behind an output than a packet has")
    `MW_CONTRACT(next_i, valid_i && more, "a step behind the last target")
endmodule

`default_nettype wire
