// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Time limits: late_o[i] rises when wait_i[i] has been high without a break over three ticks of
// tick_i[i].
//
// Latency: 2 to 3 periods of the tick. A cycle with wait_i[i] low restarts the time. Two LUTs each.
`default_nettype none
`include "assert.svh"

module stall_timer #(
    parameter int unsigned Count = 1
) (
    input  wire logic             clk_i,
    input  wire logic             rst_ni,
    input  wire logic [Count-1:0] tick_i,
    input  wire logic [Count-1:0] wait_i,
    output logic [Count-1:0]      late_o
);
    logic [Count-1:0] low_q, high_q;  // ticks seen, 3 at most

    assign late_o = low_q & high_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            low_q <= '0;
            high_q <= '0;
        end else begin
            low_q <= wait_i & (tick_i & (~low_q | high_q) | ~tick_i & low_q);
            high_q <= wait_i & (tick_i & low_q | high_q);
        end
    end

    `MW_NEXT(1'b1, (late_o & ~$past(wait_i)) == '0, "late, and nothing has waited")
endmodule

`default_nettype wire
