// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Bench for cmd_range and scatter_order, which have no clock.
`default_nettype none

module ranges_and_places #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic                    clk_i,
    input  wire logic                    rst_ni,
    input  wire logic [33:0]             first_i,
    input  wire logic [31:0]             count_i,
    input  wire logic [4:0]              shift_i,
    output logic [Cfg.TokensLog2:0]      end_o,
    output logic                         no_tokens_o,
    output logic                         no_bytes_o,
    input  wire logic [2:0]              scatter_i,
    input  wire logic [7:0]              index_i,
    input  wire logic [7:0]              last_i,
    output logic [7:0]                   place_o
);
    cmd_range #(
        .Cfg(Cfg)
    ) i_range (
        .first_i,
        .count_i,
        .shift_i,
        .end_o,
        .no_tokens_o,
        .no_bytes_o
    );
    scatter_order #(
        .Width(8)
    ) i_order (
        .scatter_i,
        .index_i,
        .last_i,
        .place_o
    );
endmodule

`default_nettype wire
