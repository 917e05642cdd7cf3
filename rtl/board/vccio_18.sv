// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The three I/O voltages of the ButterStick, set to 1.8 V by one signal.
//
// Function: Each regulator adds a current from a pin, filtered to its mean, to its feedback. The
// feedback has 0.6 V, 13 kOhm to ground, 53.6 kOhm to the output, and 68 kOhm to the pin's mean V:
//
//   V = 0.6 (1 + 68/53.6) + 0.6 * 68/13 - 68/53.6 * 1.8 = 2.216 V of 3.3 V.
//
// Latency: The filter (68 kOhm, 100 nF: 6.8 ms) settles for 5 time constants before the regulators
// start. They have 9 ms more.
`default_nettype none

module vccio_18 #(
    parameter int unsigned SettleLog2 = 21  // clocks of 60 MHz: 35 ms
) (
    input  wire logic clk_i,
    input  wire logic locked_i,
    output logic      pdm_o,
    output logic      en_o,
    output logic      powered_o
);
    localparam logic [15:0] Level = 16'd44010;  // 2.216 / 3.3

    logic running, good_q;
    logic [15:0] sum_q;
    logic [SettleLog2:0] wait_q;
    logic carry;
    logic [15:0] sum;

    cdc_reset i_locked (
        .clk_i,
        .rst_ni(locked_i),
        .rst_no(running)
    );

    assign {carry, sum} = {1'b0, sum_q} + {1'b0, Level};

    always_ff @(posedge clk_i) begin
        if (!running) begin
            sum_q <= '0;
            wait_q <= '0;
            en_o <= 1'b0;
            good_q <= 1'b0;
            powered_o <= 1'b0;
        end else begin
            sum_q <= sum;
            wait_q <= wait_q + (SettleLog2 + 1)'(!good_q);
            en_o <= en_o || wait_q[SettleLog2];
            good_q <= good_q || (wait_q[SettleLog2] && &wait_q[SettleLog2-2:0]);
            powered_o <= good_q;
        end
        pdm_o <= carry;
    end
endmodule

`default_nettype wire
