// SPDX-License-Identifier: Apache-2.0
//
// What the rewrite has no rule for, a module each: it must be reported in one
// line, and nothing written.
`default_nettype none

module refused #(
    parameter int unsigned What = 0
) (
    input  wire logic       clk_i,
    input  wire logic       other_i, // a clock, or a reset
    input  wire logic       d_i,
    input  wire logic [1:0] addr_i,
    output logic            y_o
);
    if (What == 0) begin : gen_async_reset
        always_ff @(posedge clk_i or negedge other_i) if (!other_i) y_o <= 1'b0; else y_o <= d_i;
    end else if (What == 1) begin : gen_latch
        always_latch if (other_i) y_o = d_i;
    end else if (What == 2) begin : gen_two_clocks
        logic q;
        always_ff @(posedge clk_i) q <= d_i;
        always_ff @(posedge other_i) y_o <= q;
    end else if (What == 3) begin : gen_two_edges
        logic q;
        always_ff @(posedge clk_i) q <= d_i;
        always_ff @(negedge clk_i) y_o <= q;
    end else if (What == 4) begin : gen_memory_of_another_clock
        logic mem [4];
        logic q;
        always_ff @(posedge clk_i) q <= mem[addr_i] ^ q;
        always_ff @(posedge other_i) mem[addr_i] <= d_i;
        assign y_o = q;
    end else begin : gen_right
        always_ff @(posedge clk_i) y_o <= d_i;
    end
endmodule

`default_nettype wire
