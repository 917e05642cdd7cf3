// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Turns at the RAMs that hold two queues each, of one input: its packets for an output of the switch and its partial
// sums for the join there (voq with a part_queue as its guest). One per output; it sees to it that egress and join
// never read of the same input in one cycle. A packet and a pass of the join are read in one piece, so a turn lasts
// until the end of either.
//
// The join asks for the member of its next pass (want_i) and has the claim a cycle later; it begins when egress is not
// reading there. While the claim stands egress starts no packet of that input.
// A claim ends with its pass, so one cycle at least lies between two. Both go on: egress waits for one pass, as an
// input that it could have taken but for the claim is owed a packet, and the next claim waits until that has started,
// or nothing can start there any more: the join never waits for a credit of egress.
`default_nettype none

module read_turns #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    // join
    // it may begin a pass on this member, but for the turn, now or soon; at most one, none within a pass
    input  wire logic [Cfg.Others-1:0] want_i,
    input  wire logic [Cfg.Others-1:0] read_i, // it reads there; at the beginning of a pass only with may_o
    input  wire logic [Cfg.Others-1:0] done_i, // with read_i: the last flit of the pass
    output logic [Cfg.Others-1:0]      may_o,

    // egress
    input  wire logic                  open_i,  // it chooses a packet
    input  wire logic [Cfg.Others-1:0] able_i,  // inputs with a packet that may go
    input  wire logic [Cfg.Others-1:0] pop_i,   // the choice; only with open_i and able_i, and of what is not claimed
    input  wire logic [Cfg.Others-1:0] reads_i, // it reads there: from the cycle behind pop_i on
    output logic [Cfg.Others-1:0]      claimed_o
);
    logic [Cfg.Others-1:0] owed_q;

    assign may_o = claimed_o & ~reads_i;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            claimed_o <= '0;
            owed_q    <= '0;
        end else begin
            claimed_o <= ~done_i & (read_i | (want_i & ~owed_q));
            owed_q    <= able_i & ~pop_i & (owed_q | ({Cfg.Others{open_i}} & claimed_o));
        end
    end
endmodule

`default_nettype wire
