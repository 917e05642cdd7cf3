// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Shares the read ports of the RAMs that hold two queues of one input: packets for an output and
// partials for the join there. One per output.
//
// Function: egress and join never read the RAM of the same input in one cycle. A packet, and a pass
// of the join, are read without interruption, so a slot lasts until the end of either.
// Order: The join requests the member of its next pass (want_i), and holds the claim one cycle
// later. It starts when egress does not read there. While the claim stands, egress starts no packet
// of that input.
// Back-pressure: A claim ends with its pass, so two claims are at least one cycle apart. If a claim
// has delayed an input, the next claim on it waits until its packet has started, or until nothing
// can start there any more. egress therefore waits for one pass, and the join never waits for a
// credit of egress.
`default_nettype none
`include "assert.svh"

module read_turns #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    // join it may begin a pass on this member, but for the turn, now or soon;
    // at most one, none within a pass
    input  wire logic [Cfg.Others-1:0] want_i,
    input  wire logic [Cfg.Others-1:0] read_i,  // it reads there; at the beginning of a
                                                // pass only with may_o
    input  wire logic [Cfg.Others-1:0] done_i,  // with read_i: the last flit of the pass
    output logic [Cfg.Others-1:0]      may_o,

    // egress
    input  wire logic                  open_i,   // it chooses a packet
    input  wire logic [Cfg.Others-1:0] able_i,   // inputs with a packet that may go
    input  wire logic [Cfg.Others-1:0] pop_i,    // the choice; only with open_i and able_i, and of
                                                 // what is not claimed
    input  wire logic [Cfg.Others-1:0] reads_i,  // it reads there: from the cycle behind pop_i on
    output logic [Cfg.Others-1:0]      claimed_o
);
    logic [Cfg.Others-1:0] owed_q;

    assign may_o = claimed_o & ~reads_i;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            claimed_o <= '0;
            owed_q <= '0;
        end else begin
            claimed_o <= ~done_i & (read_i | (want_i & ~owed_q));
            owed_q <= able_i & ~pop_i & (owed_q | ({Cfg.Others{open_i}} & claimed_o));
        end
    end

    `MW_CONTRACT(1'b1, (want_i & (want_i - 1'b1)) == '0, "two members at once for the next pass")
    `MW_CONTRACT(1'b1, (read_i & reads_i) == '0, "join and egress read the RAM of an input")
    `MW_CONTRACT(1'b1, (done_i & ~read_i) == '0, "a pass ends where none is read")
    `MW_CONTRACT(pop_i != '0, open_i && (pop_i & ~able_i) == '0 && (pop_i & claimed_o) == '0,
                 "egress chooses an input that it may not read")
    `MW_CONTRACT(1'b1, (claimed_o & (claimed_o - 1'b1)) == '0, "two claims at once")
endmodule

`default_nettype wire
