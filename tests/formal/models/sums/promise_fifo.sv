// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces rtl/common/promise_fifo.sv, with what its proof guarantees: words come in order, each
// one cycle later. It has no pointers, whose order hides their meaning from the solver. It has
// Places places instead of Depth - 1, so that its users may not rely on more.
`default_nettype none

module promise_fifo #(
    parameter int unsigned Width = 8,
    parameter int unsigned Depth = 16,
    localparam int unsigned Places = 3,
    localparam int unsigned W = $clog2(Places + 1)
) (
    input  wire logic             clk_i,
    input  wire logic             rst_ni,
    input  wire logic             promise_i,
    output logic                  room_o,
    input  wire logic             push_i,
    input  wire logic [Width-1:0] data_i,
    output logic                  valid_o,
    input  wire logic             ready_i,
    output logic [Width-1:0]      data_o
);
    logic [Places-1:0][Width-1:0] word_q;
    logic [W-1:0]                count_q, promised_q;   // words; places promised and not filled
    logic                        pop;

    assign pop     = valid_o && ready_i;
    assign valid_o = count_q != '0;
    assign room_o  = (W+1)'(count_q) + (W+1)'(promised_q) != (W+1)'(Places);
    assign data_o  = word_q[0];

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            count_q    <= '0;
            promised_q <= '0;
        end else begin
            count_q    <= count_q + W'(push_i) - W'(pop);
            promised_q <= promised_q + W'(promise_i) - W'(push_i);
            a_promise: assert (!promise_i || room_o);
            a_push:    assert (!push_i || promise_i || promised_q != '0);
        end
        for (int unsigned i = 0; i < Places; i++) begin
            if (push_i && count_q - W'(pop) == W'(i)) word_q[i] <= data_i;
            else if (pop && i + 1 < Places)           word_q[i] <= word_q[(i + 1) % Places];
        end
    end

    wire unused = 1'(Depth);
endmodule

`default_nettype wire
