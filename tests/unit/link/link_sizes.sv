// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Bench for link: the same traffic through links of several maximum latencies, each with its own
// latency.
`default_nettype none
`include "bundles.svh"

module link_sizes #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    localparam int unsigned Count = 5,
    localparam int unsigned Longest [Count] = '{1, 2, 5, 64, 2047},
    localparam int unsigned Parts [Count] = '{1, 2, 5, 32, 8}
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic [10:0]         latency_i [Count],
    input  wire `MW_LINK(Cfg)        tx_i,
    input  wire bundle_pkg::credit_t crd_i [Count],
    output logic [31:0]              longest_o [Count],
    output logic [31:0]              parts_o [Count],
    output `MW_LINK(Cfg)             rx_o [Count],
    output bundle_pkg::credit_t      crd_o [Count],
    output logic                     busy_o [Count]
);
    function automatic cfg_pkg::cfg_t cfg(input int unsigned latency);
        cfg_pkg::cfg_t c;
        c            = Cfg;
        c.MaxLatency = latency;
        return cfg_pkg::derived(c);
    endfunction

    for (genvar i = 0; i < Count; i++) begin : gen_link
        assign longest_o[i] = Longest[i];
        assign parts_o[i]   = Parts[i];
        link #(.Cfg(cfg(Longest[i])), .NumPart(Parts[i])) i_dut (
            .clk_i, .rst_ni, .latency_i(latency_i[i]),
            .tx_i, .rx_o(rx_o[i]), .crd_i(crd_i[i]), .crd_o(crd_o[i]), .busy_o(busy_o[i])
        );
    end
endmodule

`default_nettype wire
