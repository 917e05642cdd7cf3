// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Makes a link slower than its sender: wait_i cycles without a flit follow each flit.
//
// Function: A GPU and its hub then move wait_i + 1 times as much as their link. The flits of a
// packet stay in consecutive cycles, and its pauses follow the packet.
// Ports: valid_i shows the sender's flits as they leave. wait_i changes only while busy_o is low.
// busy_o is high while pauses remain.
// Back-pressure: While hold_o is high, no packet may start. Packets that a sender starts before it
// sees hold_o are not lost, and their pauses add up. hold_o falls Ahead cycles before the pauses
// end, the time that a sender needs from a start to the flit.
`default_nettype none
`include "assert.svh"

module link_rate #(
    parameter int unsigned Ahead = 1,
    parameter int unsigned MaxPkt = 32  // flits of the longest packet
) (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    input  wire logic [1:0] wait_i,
    input  wire logic       valid_i,
    output logic            hold_o,
    output logic            busy_o
);
    localparam int unsigned PauseW = $clog2(3 * (MaxPkt + 2 * Ahead + 2) + 1);

    logic [PauseW-1:0] pause_q;  // cycles that are to pass

    assign busy_o = pause_q != '0;
    assign hold_o = pause_q > PauseW'(Ahead);

    always_ff @(posedge clk_i) begin
        if (!rst_ni) pause_q <= '0;
        else if (valid_i) pause_q <= pause_q + PauseW'(wait_i);
        else if (busy_o) pause_q <= pause_q - 1'b1;
    end

    `MW_ASSERT(!valid_i || pause_q <= '1 - PauseW'(wait_i),
               "more packets started than pauses have room for")
    `MW_NEXT(busy_o, $stable(wait_i), "the rate changes while pauses remain")
    `MW_NEXT(!valid_i && busy_o, pause_q < $past(pause_q), "a pause that does not end")
endmodule

`default_nettype wire
