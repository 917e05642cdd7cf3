// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// SYNC of pushes: reports tiles that this GPU is about to push to, and counts the tiles that the
// switch has granted.
//
// Function: start_i begins a report, which waits at valid_o for its lane. A GRANT of a tile
// (granted_i) means that all GPUs have reported it. It becomes an event (sync_o).
// Order: Reports in the order of their starts. Grants of different homes may come in any order. All
// GPUs report in the same order, so n grants mean that all have made the first n reports.
// Back-pressure: At most Cfg.OpenSyncs tiles are reported and not granted (full_o), so each GRANT
// has a place. A report must not start while full_o, or while the previous one waits.
// Latency: A report is valid in the cycle after its start, an event in the cycle of its GRANT.
// Errors: A GRANT while no tile is reported (bad_o) is not counted.
`default_nettype none
`include "assert.svh"

module push_sync #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic go_i,

    input  wire logic                      start_i,
    input  wire logic [Cfg.GpuW-1:0]       home_i,
    input  wire logic [Cfg.TokensLog2-1:0] index_i,
    output logic                           full_o,

    output logic                      valid_o,
    input  wire logic                 ready_i,
    output logic [Cfg.GpuW-1:0]       home_o,
    output logic [Cfg.TokensLog2-1:0] index_o,

    input  wire logic granted_i,
    output logic      sync_o,
    output logic      bad_o
);
    logic [$clog2(Cfg.OpenSyncs+1)-1:0] open_q;  // tiles that are reported and not granted

    assign full_o = 32'(open_q) == Cfg.OpenSyncs;
    assign sync_o = granted_i && open_q != '0;
    assign bad_o = granted_i && open_q == '0;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            open_q <= '0;
            valid_o <= 1'b0;
        end else begin
            if (start_i != sync_o) open_q <= start_i ? open_q + 1'b1 : open_q - 1'b1;
            if (start_i) valid_o <= 1'b1;
            else if (ready_i) valid_o <= 1'b0;
        end
        if (start_i) {home_o, index_o} <= {home_i, index_i};
    end


    `MW_STABLE(valid_o, ready_i || go_i, {home_o, index_o}, "a report changes before it is taken")
    `MW_CONTRACT(start_i, !full_o && !valid_o, "a report without a place")
endmodule

`default_nettype wire
