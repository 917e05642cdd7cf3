// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Lets a link be slower than what is around it: behind each flit pass wait_i cycles without one, so that a GPU and its
// hub move wait_i + 1 times as much as their link. The flits of a packet stay in consecutive cycles, and its pauses
// follow it.
//
// The sender's flits are seen as they leave (valid_i). Back-pressure: hold_o, no packet may start; of those that a
// sender starts before it sees it none is lost, their pauses add up. It falls Ahead cycles before they are over, which
// a sender needs from a start to the flit. wait_i changes only while busy_o is low. busy_o: pauses are not over.
`default_nettype none
`include "assert.svh"

module link_rate #(
    parameter int unsigned Ahead = 1,
    parameter int unsigned MaxPkt = 32 // flits of the longest packet
) (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    input  wire logic [1:0] wait_i,
    input  wire logic       valid_i,
    output logic            hold_o,
    output logic            busy_o
);
    localparam int unsigned PauseW = $clog2(3 * (MaxPkt + 2 * Ahead + 2) + 1);

    logic [PauseW-1:0] pause_q; // cycles that are to pass

    assign busy_o = pause_q != '0;
    assign hold_o = pause_q > PauseW'(Ahead);

    always_ff @(posedge clk_i) begin
        if (!rst_ni) pause_q <= '0;
        else if (valid_i) pause_q <= pause_q + PauseW'(wait_i);
        else if (busy_o) pause_q <= pause_q - 1'b1;
    end

    `MW_ASSERT(!valid_i || pause_q <= '1 - PauseW'(wait_i), "more packets started than pauses have room for")
endmodule

`default_nettype wire
