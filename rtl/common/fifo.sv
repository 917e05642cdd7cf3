// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// First-word-fall-through queue in LUT RAM.
//
// Order: First in, first out.
// Back-pressure: ready_o falls when Depth words are stored. It depends on registers only, so a full
// queue takes no word in the cycle in which one leaves.
// Latency: A word is visible at the output one cycle after it was accepted. One word per cycle is
// sustained from Depth 2 on (Depth 1 alternates). Depth need not be a power of two. Storage is
// rounded up to 16.
`default_nettype none
`include "assert.svh"

module fifo #(
    parameter int unsigned Width = 8,
    parameter int unsigned Depth = 16
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic             valid_i,
    output logic                  ready_o,
    input  wire logic [Width-1:0] data_i,

    output logic             valid_o,
    input  wire logic        ready_i,
    output logic [Width-1:0] data_o,

    output logic [$clog2(Depth+1)-1:0] level_o  // words stored, 0 .. Depth
);
    localparam int unsigned LevelW = $clog2(Depth + 1);

    if (Width < 1 || Depth < 1) begin : gen_check
        $error("fifo: Width and Depth must be at least 1");
    end

    logic [LevelW-1:0] level_q;
    logic full_q, push, pop, fills, empties;  // a push fills it, a pop empties it

    assign ready_o = !full_q;
    assign level_o = level_q;
    assign push = valid_i && !full_q;
    assign pop = valid_o && ready_i;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            full_q <= 1'b0;
            valid_o <= 1'b0;
        end else if (push != pop) begin
            full_q <= push && fills;
            valid_o <= push || !empties;
        end
    end

    // Nothing else depends on the level, so it costs nothing where it is not used.
    always_ff @(posedge clk_i) begin
        if (!rst_ni) level_q <= '0;
        // one adder for up and down
        else if (push != pop) level_q <= level_q + (pop ? '1 : LevelW'(1));
    end

    if (Depth == 1) begin : gen_single
        assign fills = 1'b1;
        assign empties = 1'b1;
        always_ff @(posedge clk_i) begin
            if (push) data_o <= data_i;
        end
    end else begin : gen_ram
        localparam int unsigned PtrW = $clog2(Depth);
        localparam logic [PtrW-1:0] Last = PtrW'(Depth - 1);

        logic [Width-1:0] mem[Depth];
        logic [PtrW-1:0] wptr_q, rptr_q, wnext, rnext;

        assign data_o = mem[rptr_q];
        assign fills = wnext == rptr_q;
        assign empties = rnext == wptr_q;

        if (Depth == 16 || Depth == 32) begin : gen_shift
            // two LUTs, and a memory does not mind
            assign wnext = PtrW'(ring_pkg::next(ring_pkg::ptr_t'(wptr_q), PtrW));
            assign rnext = PtrW'(ring_pkg::next(ring_pkg::ptr_t'(rptr_q), PtrW));
        end else begin : gen_count
            assign wnext = (wptr_q == Last) ? '0 : wptr_q + 1'b1;
            assign rnext = (rptr_q == Last) ? '0 : rptr_q + 1'b1;
        end

        always_ff @(posedge clk_i) begin
            if (push) mem[wptr_q] <= data_i;
        end

        always_ff @(posedge clk_i) begin
            if (!rst_ni) begin
                wptr_q <= '0;
                rptr_q <= '0;
            end else begin
                if (push) wptr_q <= wnext;
                if (pop) rptr_q <= rnext;
            end
        end
    end

    `MW_CONTRACT(1'b1, ready_o == (level_o != LevelW'(Depth)), "ready_o contradicts the level")
    `MW_CONTRACT(1'b1, valid_o == (level_o != '0), "valid_o contradicts the level")
    `MW_STABLE(valid_o, ready_i, data_o, "the oldest word goes before it is taken")
endmodule

`default_nettype wire
