// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// cdc_fifo from wclk_i to clk_i, cdc_sync of a bit into clk_i, and cdc_reset
// in clk_i, for test_cdc_parts.
`default_nettype none

module cdc_parts (
    input  wire logic        clk_i,
    input  wire logic        rst_ni,
    input  wire logic        wclk_i,
    input  wire logic        wrst_ni,

    input  wire logic        valid_i,
    output logic             ready_o,
    input  wire logic [11:0] data_i,
    output logic             valid_o,
    input  wire logic        ready_i,
    output logic [11:0]      data_o,

    input  wire logic        bit_i,
    output logic             bit_o,
    input  wire logic        async_ni,
    output logic             reset_no
);
    cdc_fifo #(.Width(12)) i_fifo (
        .wclk_i, .wrst_ni, .wclear_i(1'b0), .valid_i, .ready_o, .data_i,
        .rclk_i(clk_i), .rrst_ni(rst_ni), .rclear_i(1'b0), .valid_o, .ready_i, .data_o
    );
    cdc_sync i_sync (.clk_i, .rst_ni, .data_i(bit_i), .data_o(bit_o));
    cdc_reset i_reset (.clk_i, .rst_ni(async_ni), .rst_no(reset_no));
endmodule

`default_nettype wire
