// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Reset of a proof: low in the first cycle, high from then on. Registers that the reset does not set start with any value.
`default_nettype none

module f_reset (
    input  wire logic clk_i,
    output logic      rst_no
);
    logic past_q = 1'b0;
    always_ff @(posedge clk_i) past_q <= 1'b1;
    assign rst_no = past_q;
endmodule

`default_nettype wire
