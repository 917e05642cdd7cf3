// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// First-word-fall-through queue, in LUT RAM up to LutDepth words and in block RAM above.
//
// Function: A fifo or a fifo_ram, as its depth says. Queues that hold a word for each token or open
// row are a few dozen words deep on small boards, and thousands in simulation.
// Latency: A word is visible one cycle after it was accepted in LUT RAM, and two cycles in block
// RAM. level_o counts it from the next cycle in both.
`default_nettype none

module fifo_sized #(
    parameter int unsigned Width = 8,
    parameter int unsigned Depth = 16,
    parameter int unsigned LutDepth = 64  // the deepest queue in LUT RAM
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
    if (Depth <= LutDepth) begin : gen_lut
        fifo #(
            .Width(Width),
            .Depth(Depth)
        ) i_fifo (
            .clk_i,
            .rst_ni,
            .valid_i,
            .ready_o,
            .data_i,
            .valid_o,
            .ready_i,
            .data_o,
            .level_o
        );
    end else begin : gen_block
        fifo_ram #(
            .Width(Width),
            .Depth(Depth)
        ) i_fifo (
            .clk_i,
            .rst_ni,
            .valid_i,
            .ready_o,
            .data_i,
            .valid_o,
            .ready_i,
            .data_o,
            .level_o
        );
    end
endmodule

`default_nettype wire
