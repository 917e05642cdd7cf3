// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Limits the open loads of one reader, at its port of the switch, to OpenLoads.
//
// Function: A load opens with its accepted LD. It closes when the home's port reports that its
// answer has entered the switch (answered_i), or that the load was rejected (bad_i). So FETCHs of
// this reader need at most OpenLoads places at all homes together. go_i closes all loads.
// Ports: Masks of ports are indexed by distance. room_o: number of loads that may be opened.
// Latency: room_o depends on registers only.
`default_nettype none
`include "assert.svh"

module load_window #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic                     clk_i,
    input  wire logic                     rst_ni,
    input  wire logic                     go_i,
    input  wire logic [1:0]               open_i,     // loads of an accepted LD
    input  wire logic [Cfg.Others-1:0]    answered_i,
    input  wire logic [Cfg.Others-1:0]    bad_i,
    output logic [Cfg.OpenLoadW-1:0]      room_o
);
    localparam int unsigned W = Cfg.OpenLoadW + 1;

    logic [W-1:0] ended;

    // A home may answer one load and reject another in the same cycle.
    always_comb begin
        ended = '0;
        for (int unsigned d = 0; d < Cfg.Others; d++) ended += W'(answered_i[d]) + W'(bad_i[d]);
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) room_o <= Cfg.OpenLoadW'(Cfg.OpenLoads);
        else room_o <= Cfg.OpenLoadW'(W'(room_o) + ended - W'(open_i));
    end

    `MW_CONTRACT(open_i != '0, Cfg.OpenLoadW'(open_i) <= room_o, "more loads than the window")
    `MW_CONTRACT(!go_i, 32'(room_o) + 32'(ended) <= 32'(open_i) + Cfg.OpenLoads,
                 "a load ends that is not open")
endmodule

`default_nettype wire
