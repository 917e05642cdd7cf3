// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Counts the credits of one class in use at the receiver of a link, against a limit.
//
// Ports: ready_o is high while a credit is left. It is a register, because everything that needs a
// credit waits for it. The comparison is made one cycle earlier for both values of take_i, which
// arrives late.
// Back-pressure: None. It provides the back-pressure of its users.
// Latency: A new limit (1 to Max) is in effect two cycles later. It may change only while fewer
// credits than both limits are in use.
`default_nettype none
`include "assert.svh"

module credit_use #(
    parameter int unsigned Max = 16,
    localparam int unsigned W = $clog2(Max + 1)
) (
    input  wire logic         clk_i,
    input  wire logic         rst_ni,
    input  wire logic         clear_i,  // the receiver holds all credits; wins over the two below
    input  wire logic [W-1:0] limit_i,  // of credits in use
    input  wire logic         take_i,   // only with ready_o
    input  wire logic         back_i,   // only while one is in use
    output logic              ready_o,
    output logic [W-1:0]      used_o    // credits in use
);
    always_ff @(posedge clk_i) begin
        if (!rst_ni || clear_i) used_o <= '0;
        else if (take_i != back_i) used_o <= used_o + (take_i ? W'(1) : '1);

        if (!rst_ni || clear_i || (back_i && !take_i)) ready_o <= 1'b1;
        else if (take_i && !back_i) ready_o <= used_o + 1'b1 != limit_i;
        else ready_o <= used_o != limit_i;
    end

    `MW_ASSERT(clear_i || !take_i || ready_o, "a credit that is not there")
    `MW_ASSERT(clear_i || !back_i || used_o != '0, "a credit comes back that nobody has")
    `MW_CONTRACT(1'b1, used_o <= W'(Max), "more credits in use than there are")
endmodule

`default_nettype wire
