// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Yosys' model of a LUT, as one look into its table: its own multiplexers make ten times the code.
`default_nettype none

module LUT4 #(
    parameter [15:0] INIT = 16'h0000
) (
    input  wire A, B, C, D,
    output wire Z
);
    assign Z = INIT[{D, C, B, A}];
endmodule

`default_nettype wire
