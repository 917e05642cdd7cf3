// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Flushes the FIFOs between domains A and B when A restarts, so that neither side sees stale words.
//
// Function: The steps are:
//
//   A: a_stop_o rises: A neither pushes nor takes. A sends a request to B.
//   B: b_clear_o clears B's pointers, and b_restart_o reports the restart. B answers.
//   A: a_clear_o, one cycle, clears A's pointers. A withdraws its request.
//   B: waits until it must have seen A's pointers, releases b_clear_o, withdraws its answer.
//   A: has seen B's pointers, which have not moved since, and releases a_stop_o.
//
// Order: A pointer jumps only while the other side reads none. If another restart comes in between,
// all steps repeat at the end.
`default_nettype none

module cdc_restart (
    input  wire logic a_clk_i,
    input  wire logic a_rst_ni,
    input  wire logic a_restart_i,
    output logic      a_stop_o,
    output logic      a_clear_o,

    input  wire logic b_clk_i,
    input  wire logic b_rst_ni,
    output logic      b_clear_o,
    output logic      b_restart_o  // pulse, with the first cycle of b_clear_o
);
    // ---- A ----
    typedef enum logic [1:0] {
        Flow,
        Ask,
        Settle
    } a_state_e;
    a_state_e a_state_q;
    logic again_q, ask_q, done, done_q, asked;

    assign a_stop_o = a_state_q != Flow || again_q;
    assign a_clear_o = a_state_q == Ask && done;

    always_ff @(posedge a_clk_i) begin
        if (!a_rst_ni) begin
            a_state_q <= Flow;
            again_q <= 1'b0;
            ask_q <= 1'b0;
        end else begin
            again_q <= a_restart_i || (again_q && a_state_q != Flow);
            unique case (a_state_q)
                Flow:
                if (a_restart_i || again_q) begin
                    a_state_q <= Ask;
                    ask_q <= 1'b1;
                    again_q <= 1'b0;
                end
                Ask:
                if (done) begin
                    a_state_q <= Settle;
                    ask_q <= 1'b0;
                end
                default: if (!done) a_state_q <= Flow;
            endcase
        end
    end

    cdc_sync i_done (
        .clk_i(a_clk_i),
        .rst_ni(a_rst_ni),
        .data_i(done_q),
        .data_o(done)
    );

    // ---- B ----
    localparam int unsigned SettleCycles = 3;  // a pointer's bits are seen a cycle later than
                                               // the request at most
    logic [SettleCycles-1:0] settle_q;

    cdc_sync i_ask (
        .clk_i(b_clk_i),
        .rst_ni(b_rst_ni),
        .data_i(ask_q),
        .data_o(asked)
    );

    always_ff @(posedge b_clk_i) begin
        if (!b_rst_ni) begin
            b_clear_o <= 1'b0;
            b_restart_o <= 1'b0;
            done_q <= 1'b0;
            settle_q <= '0;
        end else begin
            b_clear_o <= asked || settle_q != '0;
            b_restart_o <= asked && !b_clear_o;
            settle_q <= {settle_q[SettleCycles-2:0], asked};
            done_q <= b_clear_o;
        end
    end
endmodule

`default_nettype wire
