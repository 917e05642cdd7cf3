// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Start of a board at power-up, in the board's own clock.
//
// Function: When the PLL has locked, the PHY stays in reset for a while. Then its clock has time to
// start. Then both halves of the device leave reset together. phy_rst_o needs no clock of the PHY,
// which stands still during its reset. If the PLL loses its lock, all steps repeat.
`default_nettype none

module board_start #(
    parameter int unsigned WaitLog2 = 18  // clocks until the PHY's clock is there, for
                                          // which 6.5 ms are enough
) (
    input  wire logic clk_i,
    input  wire logic locked_i,
    input  wire logic usb_clk_i,
    output logic      phy_rst_o,
    output logic      rst_no,
    output logic      usb_rst_no
);
    localparam int unsigned ResetLog2 = 10;  // clocks of the PHY's reset: 20 us and more, of
                                             // which it needs one
    logic running, go_q;
    logic [WaitLog2-1:0] wait_q;

    cdc_reset i_locked (
        .clk_i,
        .rst_ni(locked_i),
        .rst_no(running)
    );

    always_ff @(posedge clk_i) begin
        phy_rst_o <= !running || wait_q[WaitLog2-1:ResetLog2] == '0;
        if (!running) begin
            wait_q <= '0;
            go_q <= 1'b0;
        end else if (!(&wait_q)) begin
            wait_q <= wait_q + 1'b1;
        end else begin
            go_q <= 1'b1;
        end
    end

    cdc_reset i_own (
        .clk_i,
        .rst_ni(go_q),
        .rst_no
    );
    cdc_reset i_usb (
        .clk_i(usb_clk_i),
        .rst_ni(go_q),
        .rst_no(usb_rst_no)
    );
endmodule

`default_nettype wire
