// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// First-word-fall-through queue in LUT RAM.
//
// Ordering: first in, first out. Back-pressure: ready_o falls when Depth words
// are stored and depends on registers only, so a full queue takes no word in
// the cycle in which one leaves. A word is visible at the output one cycle after it
// was accepted; one word per cycle is sustained from Depth 2 on (Depth 1
// alternates). Depth need not be a power of two; storage is rounded up to 16.
`default_nettype none

module fifo #(
    parameter int unsigned Width = 8,
    parameter int unsigned Depth = 16
) (
    input  wire logic                       clk_i,
    input  wire logic                       rst_ni,

    input  wire logic                       valid_i,
    output logic                            ready_o,
    input  wire logic [Width-1:0]           data_i,

    output logic                            valid_o,
    input  wire logic                       ready_i,
    output logic [Width-1:0]                data_o,

    output logic [$clog2(Depth+1)-1:0]      level_o  // words stored, 0 .. Depth
);
    localparam int unsigned LevelW = $clog2(Depth + 1);

    if (Width < 1 || Depth < 1) begin : gen_check
        $error("fifo: Width and Depth must be at least 1");
    end

    logic [LevelW-1:0] level_q;
    logic full_q, push, pop;

    assign ready_o = !full_q;
    assign level_o = level_q;
    assign push    = valid_i && !full_q;
    assign pop     = valid_o && ready_i;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            level_q <= '0;
            full_q  <= 1'b0;
            valid_o <= 1'b0;
        end else if (push != pop) begin
            level_q <= level_q + (pop ? '1 : LevelW'(1));  // one adder for up and down
            full_q  <= push && level_q == LevelW'(Depth - 1);
            valid_o <= push || level_q != LevelW'(1);
        end
    end

    if (Depth == 1) begin : gen_single
        always_ff @(posedge clk_i) begin
            if (push) data_o <= data_i;
        end
    end else begin : gen_ram
        localparam int unsigned PtrW = $clog2(Depth);
        localparam logic [PtrW-1:0] Last = PtrW'(Depth - 1);

        logic [Width-1:0] mem [Depth];
        logic [PtrW-1:0] wptr_q, rptr_q;

        assign data_o = mem[rptr_q];

        always_ff @(posedge clk_i) begin
            if (push) mem[wptr_q] <= data_i;
        end

        always_ff @(posedge clk_i) begin
            if (!rst_ni) begin
                wptr_q <= '0;
                rptr_q <= '0;
            end else begin
                if (push) wptr_q <= (wptr_q == Last) ? '0 : wptr_q + 1'b1;
                if (pop)  rptr_q <= (rptr_q == Last) ? '0 : rptr_q + 1'b1;
            end
        end
    end
endmodule

`default_nettype wire
