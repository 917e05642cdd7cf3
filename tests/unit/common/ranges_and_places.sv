// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Bench for cmd_range, scatter_order and rx_extent, which have no clock.
`default_nettype none

module ranges_and_places #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    localparam int unsigned ByteW = (Cfg.MemBytesLog2 > 15) ? Cfg.MemBytesLog2 : 15
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
    output logic [7:0]                   place_o,
    input  wire logic [3:0]              row_shift_i,
    input  wire logic [5:0]              op_i,
    input  wire logic                    said_i,
    input  wire logic [7:0]              len_i,
    input  wire logic [Cfg.MaddrW-1:0]   addr_i,
    output logic [ByteW-1:0]             first_o,
    output logic [ByteW:0]               behind_o,
    output logic [Cfg.TokW-1:0]          token_o,
    output logic                         beyond_o
);
    packet_pkg::attributes_t op;

    assign op = packet_pkg::attributes_of(packet_pkg::opcode_e'(op_i), 1'b1);

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
    rx_extent #(
        .Cfg(Cfg)
    ) i_extent (
        .row_shift_i,
        .extent_i(op.extent),
        .said_i,
        .len_i,
        .addr_i,
        .first_o,
        .end_o(behind_o),
        .token_o,
        .beyond_o
    );
endmodule

`default_nettype wire
