// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Own tokens by class: one list per class, first in, first out.
//
// Ports: One operation at a time. add_i appends token_i to the list of class_i. some_o and front_o
// show the front of list class_i in the same cycle. drop_i removes it. clear_i empties all lists,
// one per cycle (busy_o). A token is in one list at most. Contents are undefined until the first
// clear_i.
// Back-pressure: ready_o. After drop_i it is low for one cycle, in which no operation is allowed.
// The same holds during busy_o.
`default_nettype none
`include "assert.svh"

module order_lists #(
    parameter int unsigned TokensLog2 = 12,  // tokens
    parameter int unsigned ClassW = 5  // log2 of the classes
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic              clear_i,
    output logic                   busy_o,
    input  wire logic [ClassW-1:0] class_i,
    output logic                   some_o,
    output logic [TokensLog2-1:0]  front_o,

    input  wire logic                  add_i,
    input  wire logic [TokensLog2-1:0] token_i,
    input  wire logic                  drop_i,  // only with some_o
    output logic                       ready_o
);
    logic some, head_we, drop_q, only_q;
    logic [ClassW-1:0] at, class_q;
    logic [ClassW:0] clear_q;
    logic [TokensLog2-1:0] head, tail, next;

    assign busy_o = !clear_q[ClassW];
    assign ready_o = !busy_o && !drop_q;
    assign at = busy_o ? clear_q[ClassW-1:0] : drop_q ? class_q : class_i;
    assign head_we = busy_o || drop_q || (add_i && !some);
    assign some_o = some;
    assign front_o = head;

    lutram #(
        .Width(1 + TokensLog2),
        .Depth(2 ** ClassW)
    ) i_head (
        .clk_i,
        .we_i(head_we),
        .waddr_i(at),
        .wdata_i({!busy_o && !(drop_q && only_q), drop_q ? next : token_i}),
        .raddr_i(at),
        .rdata_o({some, head})
    );
    lutram #(
        .Width(TokensLog2),
        .Depth(2 ** ClassW)
    ) i_tail (
        .clk_i,
        .we_i(add_i),
        .waddr_i(class_i),
        .wdata_i(token_i),
        .raddr_i(class_i),
        .rdata_o(tail)
    );
    table_ram #(
        .Width(TokensLog2),
        .Depth(2 ** TokensLog2)
    ) i_next (
        .clk_i,
        .we_i(add_i && some),
        .waddr_i(tail),
        .wdata_i(token_i),
        .re_i(drop_i),
        .raddr_i(head),
        .rdata_o(next)
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            drop_q <= 1'b0;
            clear_q <= {1'b1, ClassW'(0)};
        end else begin
            drop_q <= drop_i;
            if (clear_i) clear_q <= '0;
            else if (busy_o) clear_q <= clear_q + 1'b1;
        end
        if (drop_i) begin
            class_q <= class_i;
            only_q <= head == tail;
        end
    end

    `MW_CONTRACT(drop_i, some_o && ready_o, "a token leaves an empty list, or a busy one")
    `MW_CONTRACT(add_i, ready_o && !drop_i, "two operations in one cycle")
endmodule

`default_nettype wire
