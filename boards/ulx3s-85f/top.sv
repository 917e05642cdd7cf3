// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// ULX3S 85F: the device at the pins of its second USB connector (US2), full speed;
// both clocks from the board's 25 MHz.
`default_nettype none

module ulx3s_85f #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned StartLog2 = $clog2(clocks_pkg::FabricKhz * 13 / 2), // 6.5 ms and more
    parameter Firmware = "build/firmware/firmware.hex"
) (
    input  wire logic  clk_25mhz,
    inout  wire logic  usb_fpga_bd_dp,
    inout  wire logic  usb_fpga_bd_dn,
    output logic       usb_fpga_pu_dp,
    output logic [3:0] led,
    output logic       ftdi_rxd,  // to the FT231X
    input  wire logic  ftdi_txd,  // from it
    output logic       wifi_gpio0 // high: the ESP32 leaves the board alone
);
    logic fabric_clk, node_clk, usb_clk, locked;

    board_clocks i_clocks (
        .clk_i(clk_25mhz), .usb_o(usb_clk), .fabric_o(fabric_clk),
        .node_o(node_clk), .locked_o(locked)
    );

    board_pins #(
        .Cfg(Cfg), .ClockKhz(clocks_pkg::NodeKhz),
        .CycleClocks(clocks_pkg::CycleClocks), .StartLog2(StartLog2),
        .Firmware(Firmware)
    ) i_board (
        .clk_i(fabric_clk), .node_clk_i(node_clk), .locked_i(locked),
        .usb_clk_i(usb_clk), .usb_dp_io(usb_fpga_bd_dp),
        .usb_dn_io(usb_fpga_bd_dn), .usb_pullup_o(usb_fpga_pu_dp),
        .led_o(led), .uart_tx_o(ftdi_rxd),
        .uart_rx_i(ftdi_txd)
    );

    assign wifi_gpio0 = 1'b1;
endmodule

`default_nettype wire
