// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// First-word-fall-through queue in block RAM.
//
// Order: First in, first out.
// Back-pressure: ready_o falls when Depth words are stored, and depends on registers only.
// Latency: A word is visible at the output two cycles after it was accepted. The RAM's read
// register holds the prefetched output word, and is refilled in the cycle in which the word leaves.
// One word per cycle is therefore sustained from Depth 3 on, without data registers. Below Depth 3
// the two cycles through an empty queue show. data_o comes directly from the RAM, so its user must
// allow for the RAM's clock-to-out time.
`default_nettype none
`include "assert.svh"

module fifo_ram #(
    parameter int unsigned Width = 32,
    parameter int unsigned Depth = 512
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic             valid_i,
    output logic                  ready_o,
    input  wire logic [Width-1:0] data_i,

    output logic             valid_o,
    input  wire logic        ready_i,
    output logic [Width-1:0] data_o,

    output logic [$clog2(Depth+1)-1:0] level_o  // words stored, prefetched one included
);
    localparam int unsigned LevelW = $clog2(Depth + 1);
    localparam int unsigned PtrW = (Depth > 1) ? $clog2(Depth) : 1;
    localparam logic [PtrW-1:0] Last = PtrW'(Depth - 1);

    if (Width < 1 || Depth < 1) begin : gen_check
        $error("fifo_ram: Width and Depth must be at least 1");
    end

    logic [LevelW-1:0] level_q;
    logic [PtrW-1:0] wptr_q, rptr_q;
    logic full_q, push, pop, in_ram, fetch;

    assign ready_o = !full_q;
    assign level_o = level_q;
    assign push = valid_i && !full_q;
    assign pop = valid_o && ready_i;

    // A word is read only once it was written by an earlier edge, and a full
    // queue takes none: the RAM never reads the address that it writes.
    assign in_ram = level_q != LevelW'(valid_o);
    assign fetch = in_ram && (!valid_o || ready_i);

    ram_sdp #(
        .Width(Width),
        .Depth(Depth)
    ) i_ram (
        .clk_i(clk_i),
        .we_i(push),
        .waddr_i(wptr_q),
        .wdata_i(data_i),
        .wbe_i('1),
        .re_i(fetch),
        .raddr_i(rptr_q),
        .rdata_o(data_o)
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            level_q <= '0;
            full_q <= 1'b0;
            valid_o <= 1'b0;
            wptr_q <= '0;
            rptr_q <= '0;
        end else begin
            if (push != pop) begin
                level_q <= level_q + (pop ? '1 : LevelW'(1));  // one adder for up and down
                full_q <= push && level_q == LevelW'(Depth - 1);
            end
            if (fetch) begin
                valid_o <= 1'b1;
            end else if (pop) begin
                valid_o <= 1'b0;
            end
            if (push) wptr_q <= (wptr_q == Last) ? '0 : wptr_q + 1'b1;
            if (fetch) rptr_q <= (rptr_q == Last) ? '0 : rptr_q + 1'b1;
        end
    end

    `MW_CONTRACT(1'b1, ready_o == (level_o != LevelW'(Depth)), "ready_o contradicts the level")
    `MW_CONTRACT(push && fetch, wptr_q != rptr_q, "the RAM reads the address that it writes")
    `MW_STABLE(valid_o, ready_i, data_o, "the oldest word goes before it is taken")
    `MW_NEXT(level_o != '0 && !pop, valid_o, "a word is not visible after two cycles")
endmodule

`default_nettype wire
