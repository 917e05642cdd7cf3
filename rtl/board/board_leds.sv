// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Four registered lights.
//
// Function: 0 alive (blinks about once a second, whatever the clock), 1 link (a host has configured
// the device), 2 busy (words cross the host link), 3 error (the host link met an error). Short
// events stay visible for a while.
`default_nettype none

module board_leds #(
    parameter int unsigned ClockKhz = 12000
) (
    input  wire logic  clk_i,
    input  wire logic  rst_ni,
    input  wire logic  configured_i,  // of another clock, registered
    input  wire logic  active_i,      // pulse
    input  wire logic  error_i,       // pulse
    output logic [3:0] led_o
);
    localparam int unsigned BlinkLog2 = $clog2(ClockKhz * 750);  // clocks of a blink: 0.75 to 1.5 s
    localparam int unsigned ShowLog2 = BlinkLog2 - 2;  // clocks that busy stays: a quarter of it;
                                                       // an error a whole one

    logic [BlinkLog2-1:0] blink_q, error_q;
    logic [ShowLog2-1:0] busy_q;
    logic configured;

    cdc_sync i_configured (
        .clk_i,
        .rst_ni,
        .data_i(configured_i),
        .data_o(configured)
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            blink_q <= '0;
            busy_q <= '0;
            error_q <= '0;
            led_o <= '0;
        end else begin
            blink_q <= blink_q + 1'b1;
            busy_q <= active_i ? '1 : busy_q - ShowLog2'(busy_q != '0);
            error_q <= error_i ? '1 : error_q - BlinkLog2'(error_q != '0);
            led_o <= {error_q != '0, busy_q != '0, configured, blink_q[BlinkLog2-1]};
        end
    end
endmodule

`default_nettype wire
