// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The device between D+ and D- of a board without a PHY, with a UART and four lights.
//
// Function: A board's top provides the clocks and names the pins.
// Latency: Every pad has a register. A change on the bus reaches the USB core 21 ns later, and its
// output leaves 21 ns later. A device has 540 ns for its answer.
`default_nettype none

module board_pins #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned ClockKhz = 0,  // of node_clk_i
    parameter int unsigned CycleClocks = 1,  // its clocks in one of clk_i: 1 or N
    parameter int unsigned StartLog2 = 18,  // as board_start has it
    parameter Firmware = "build/firmware/firmware.hex"
) (
    input  wire logic clk_i,
    input  wire logic node_clk_i,  // in phase with clk_i
    input  wire logic locked_i,    // both clocks are there; asynchronous
    input  wire logic usb_clk_i,   // 48 MHz

    inout  wire logic usb_dp_io,
    inout  wire logic usb_dn_io,
    output logic      usb_pullup_o,

    output logic [3:0] led_o,  // as board_leds has them
    output logic       uart_tx_o,
    input  wire logic  uart_rx_i
);
    logic rst_n, usb_rst_n;

    board_start #(
        .WaitLog2(StartLog2)
    ) i_start (
        .clk_i,
        .locked_i,
        .usb_clk_i,
        .phy_rst_o(),
        .rst_no(rst_n),
        .usb_rst_no(usb_rst_n)
    );

    // ---- pads of the bus: 0 D+, 1 D- ----
    logic [1:0] line_out, line_out_q, line_pad, release_q;
    logic drives;
    (* keep, mw_cdc = "sync" *) logic [1:0] line_q;

    for (genvar i = 0; i < 2; i++) begin : gen_line
        OFS1P3DX i_out (
            .D(line_out[i]),
            .SP(1'b1),
            .SCLK(usb_clk_i),
            .CD(1'b0),
            .Q(line_out_q[i])
        );
        (* keep *) OFS1P3BX i_oe (
            .D(!drives),
            .SP(1'b1),
            .SCLK(usb_clk_i),
            .PD(1'b0),
            .Q(release_q[i])
        );
        IFS1P3DX i_in (
            .D(line_pad[i]),
            .SP(1'b1),
            .SCLK(usb_clk_i),
            .CD(1'b0),
            .Q(line_q[i])
        );
    end

    BB i_dp (
        .I(line_out_q[0]),
        .T(release_q[0]),
        .O(line_pad[0]),
        .B(usb_dp_io)
    );
    BB i_dn (
        .I(line_out_q[1]),
        .T(release_q[1]),
        .O(line_pad[1]),
        .B(usb_dn_io)
    );

    // ---- UART, registered at its pads ----
    logic tx, rx;
    (* keep, mw_cdc = "sync" *) logic rx_pad_q;

    OFS1P3BX i_tx (
        .D(tx),
        .SP(1'b1),
        .SCLK(clk_i),
        .PD(1'b0),
        .Q(uart_tx_o)
    );
    IFS1P3DX i_rx (
        .D(uart_rx_i),
        .SP(1'b1),
        .SCLK(clk_i),
        .CD(1'b0),
        .Q(rx_pad_q)
    );

    always_ff @(posedge clk_i) rx <= rx_pad_q;

    // ---- the device, and what it shows ----
    logic configured, active, error;

    device_pins #(
        .Cfg(Cfg),
        .ClockKhz(ClockKhz),
        .CycleClocks(CycleClocks),
        .Firmware(Firmware)
    ) i_device (
        .clk_i,
        .node_clk_i,
        .rst_ni(rst_n),
        .usb_clk_i,
        .usb_rst_ni(usb_rst_n),
        .usb_dp_i(line_q[0]),
        .usb_dn_i(line_q[1]),
        .usb_dp_o(line_out[0]),
        .usb_dn_o(line_out[1]),
        .usb_oe_o(drives),
        .usb_pullup_o,
        .connect_i(1'b1),
        .configured_o(configured),
        .suspended_o(),
        .active_o(active),
        .error_o(error),
        .uart_tx_o(tx),
        .uart_rx_i(rx)
    );

    board_leds #(
        .ClockKhz(ClockKhz / CycleClocks)
    ) i_leds (
        .clk_i,
        .rst_ni(rst_n),
        .configured_i(configured),
        .active_i(active),
        .error_i(error),
        .led_o
    );
endmodule

`default_nettype wire
