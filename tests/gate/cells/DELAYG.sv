// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The delay at a pad, without its delay.
`default_nettype none

module DELAYG #(
    parameter DEL_MODE = "USER_DEFINED", DEL_VALUE = 0
) (
    input  wire A,
    output wire Z
);
    assign Z = A;
    wire unused = &{1'b0, DEL_MODE, DEL_VALUE};
endmodule

`default_nettype wire
