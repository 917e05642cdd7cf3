// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// First-word-fall-through FIFO in a block RAM shared with its owner (rx_worker 0).
//
// Function: Writes of both come from one place and share the port (a pushed word goes to waddr_o).
// Reads belong to the queue while free_i is high: the owner does not use the RAM's output and
// starts no read. A word that was read (re_o, raddr_o) waits at the RAM's output to move into the
// queue's register. While it waits, the owner may take the port back (taken_i), and the word is
// read again. A word with nothing before it moves from a register behind the RAM's write port, and
// needs no read.
// Order: First in, first out.
// Back-pressure: None. A word that does not fit is dropped. level_o shows the level. While
// wait_o is high the owner starts nothing new. It is high from the cycle in which the register
// is empty and words are stored, until a word is not taken at once or a packet ends (last_i).
// It is then low for one cycle.
// Latency: A word is shown two cycles after its push, or, if it waited for others, after it was
// read. One word per cycle while the RAM is free. The owner waits for one packet at most, and a
// word for what the owner has started.
`default_nettype none
`include "assert.svh"

module shared_ram_fifo #(
    parameter int unsigned Width = 65,
    parameter int unsigned Depth = 72,
    localparam int unsigned AddrW = $clog2(Depth + 1),  // never all of the ring
    localparam int unsigned LevelW = $clog2(Depth + 1)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic             push_i,
    input  wire logic [Width-1:0] data_i,
    output logic                  we_o,
    output logic [AddrW-1:0]      waddr_o,

    input  wire logic             free_i,
    input  wire logic             taken_i,  // never with free_i
    output logic                  re_o,
    output logic [AddrW-1:0]      raddr_o,
    input  wire logic [Width-1:0] rdata_i,
    output logic                  wait_o,

    output logic             valid_o,
    input  wire logic        ready_i,
    output logic [Width-1:0] data_o,
    input  wire logic        last_i,  // data_o is the last of a packet

    output logic [LevelW-1:0] level_o
);
    // the next word to be read, and to be moved; the one behind the first of these
    logic [AddrW-1:0] fetch_q, read_q, next;
    logic here_q, full_q, flow_q, turn_q;
    logic pop, move, pass, stored;
    logic fresh_q;  // the last word was pushed in the cycle before
    logic [Width-1:0] last_q;  // that word

    assign we_o = push_i && !full_q;
    assign next = fetch_q + 1'b1;
    assign pop = valid_o && ready_i;
    assign stored = fetch_q != waddr_o;  // in the RAM since an earlier cycle, and
                                         // not at its output
    assign move = here_q && (!valid_o || ready_i);
    assign pass = fresh_q && next == waddr_o && !here_q && (!valid_o || ready_i);
    assign re_o = free_i && stored && !pass && (!here_q || move);
    assign raddr_o = fetch_q;
    assign wait_o = !turn_q && (flow_q || (!valid_o && !pass && (stored || here_q)));

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            waddr_o <= '0;
            fetch_q <= '0;
            read_q <= '0;
            fresh_q <= 1'b0;
            here_q <= 1'b0;
            valid_o <= 1'b0;
            full_q <= 1'b0;
            flow_q <= 1'b0;
            turn_q <= 1'b0;
            level_o <= '0;
        end else begin
            if (we_o) waddr_o <= waddr_o + 1'b1;
            if (re_o || pass) fetch_q <= next;
            else if (here_q && !move && taken_i) fetch_q <= read_q;
            if (move || pass) read_q <= move ? fetch_q : next;
            fresh_q <= we_o;
            here_q <= re_o || (here_q && !move && !taken_i);
            valid_o <= move || pass || (valid_o && !ready_i);
            flow_q <= wait_o && !(valid_o && (!ready_i || last_i));
            turn_q <= pop && last_i;  // the owner's
            if (we_o != pop) begin
                level_o <= level_o + (pop ? '1 : LevelW'(1));  // one adder for up and down
                full_q <= we_o && level_o == LevelW'(Depth - 1);
            end
        end
        if (push_i) last_q <= data_i;
        if (move || pass) data_o <= move ? rdata_i : last_q;
    end

    `MW_CONTRACT(taken_i, !free_i, "owner and queue read in one cycle")
    `MW_STABLE(valid_o, ready_i, data_o, "the oldest word goes before it is taken")
    `MW_CONTRACT(1'b1, level_o <= LevelW'(Depth), "more words than places")
endmodule

`default_nettype wire
