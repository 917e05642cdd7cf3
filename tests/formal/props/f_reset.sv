// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Reset of a proof: low in the first cycle (or Cycles), high from then on. Registers that the reset
// does not set start with any value.
`default_nettype none

module f_reset #(
    parameter int unsigned Cycles = 1,
    localparam int unsigned W = $clog2(Cycles + 1)
) (
    input  wire logic clk_i,
    output logic      rst_no
);
    logic [W-1:0] past_q = '0;
    always_ff @(posedge clk_i) if (!rst_no) past_q <= past_q + 1'b1;
    assign rst_no = past_q == W'(Cycles);
endmodule

`default_nettype wire
