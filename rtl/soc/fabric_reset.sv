// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Puts the fabric into its state after power-up on a request of host link (held until done_o) or firmware (pulse):
// waits until nothing is under way at the host stream ports, then holds the fabric's reset for 8 cycles. While it is
// at it, ports_hold_o keeps the ports and busy_o the fabric's registers from everybody; both wait. done_o pulses at
// the end, as the answer. The device's own reset is the fabric's, too, from its first cycle on.
`default_nettype none

module fabric_reset (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic link_i,
    input  wire logic soc_i,
    input  wire logic ports_idle_i,
    output logic      ports_hold_o,
    output logic      busy_o,
    output logic      fabric_rst_no,
    output logic      done_o
);
    typedef enum logic [1:0] {Run, Drain, Reset, Done} state_e;
    state_e     state_q;
    logic [2:0] count_q;
    logic       soc_q, reset_q;

    assign busy_o        = state_q != Run;
    assign ports_hold_o  = state_q != Run;
    assign done_o        = state_q == Done;
    assign fabric_rst_no = rst_ni && !reset_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= Run;
            soc_q   <= 1'b0;
            reset_q <= 1'b1;
        end else begin
            unique case (state_q)
                Run: if (link_i || soc_q) state_q <= Drain;
                Drain: if (ports_idle_i) state_q <= Reset;
                Reset: if (count_q == '1) state_q <= Done;
                default: state_q <= Run;
            endcase
            soc_q   <= soc_i || (soc_q && state_q != Done);
            reset_q <= state_q == Reset;
        end
        count_q <= state_q == Reset ? count_q + 3'd1 : '0;
    end
endmodule

`default_nettype wire
