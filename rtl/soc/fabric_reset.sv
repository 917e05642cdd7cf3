// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Resets the fabric at the request of host link or firmware.
//
// Function: It waits until no access is under way at the host stream ports. Then it holds the
// reset of the fabric for 8 cycles. The reset of the device resets the fabric, too.
// Ports: The host link holds its request until done_o, and the firmware gives a pulse. done_o is
// a pulse at the end for both.
// Back-pressure: Meanwhile ports_hold_o holds the ports, and busy_o the registers of the fabric.
// Their users wait.
// Latency: What is under way at the ports, and 8 cycles.
`default_nettype none
`include "assert.svh"

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
    typedef enum logic [1:0] {
        Run,
        Drain,
        Reset,
        Done
    } state_e;
    state_e state_q;
    logic [2:0] count_q;
    logic soc_q, reset_q;

    assign busy_o = state_q != Run;
    assign ports_hold_o = state_q != Run;
    assign done_o = state_q == Done;
    assign fabric_rst_no = rst_ni && !reset_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= Run;
            soc_q <= 1'b0;
            reset_q <= 1'b1;
        end else begin
            unique case (state_q)
                Run: if (link_i || soc_q) state_q <= Drain;
                Drain: if (ports_idle_i) state_q <= Reset;
                Reset: if (count_q == '1) state_q <= Done;
                default: state_q <= Run;
            endcase
            soc_q <= soc_i || (soc_q && state_q != Done);
            reset_q <= state_q == Reset;
        end
        count_q <= state_q == Reset ? count_q + 3'd1 : '0;
    end

    `MW_NEXT(link_i && !done_o, link_i, "the host link takes its request back")
    `MW_NEXT(1'b1, fabric_rst_no || (ports_hold_o && busy_o),
             "the fabric is reset, and its ports or registers are free")
endmodule

`default_nettype wire
