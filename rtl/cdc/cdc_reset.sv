// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Reset for one clock. rst_no falls with rst_ni, whether the clock runs or not, and rises with the
// fourth clock edge after it.
//
// Function: Logic after rst_no is reset synchronously.
`default_nettype none

module cdc_reset (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    output logic      rst_no
);
    localparam int unsigned Stages = 4;

    (* keep, mw_cdc = "reset" *) logic [Stages-1:0] stage_q;

    assign rst_no = stage_q[Stages-1];

    always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) stage_q <= '0;
        else stage_q <= {stage_q[Stages-2:0], 1'b1};
    end
endmodule

`default_nettype wire
