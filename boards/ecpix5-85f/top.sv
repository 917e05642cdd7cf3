// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// ECPIX-5 85F: the device on its USB3300, which gives the bus its clock, and the fabric's
// clock from the board's 100 MHz.
`default_nettype none

module ecpix5_85f #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned StartLog2 = $clog2(clocks_pkg::FabricKhz * 13 / 2), // 6.5 ms and more
    parameter Firmware = "build/firmware/firmware.hex"
) (
    input  wire logic       clk100,
    inout  wire logic [7:0] ulpi_data,
    input  wire logic       ulpi_clk,
    input  wire logic       ulpi_dir,
    input  wire logic       ulpi_nxt,
    output logic            ulpi_stp,
    output logic            ulpi_rst,
    output logic [3:0]      led_red_n,
    output logic [3:0]      led_green_n,
    output logic [3:0]      led_blue_n,
    output logic            uart_tx,
    input  wire logic       uart_rx
);
    logic       fabric_clk, node_clk, locked;
    logic [3:0] led;

    board_clocks i_clocks (.clk_i(clk100), .fabric_o(fabric_clk), .node_o(node_clk),
                           .locked_o(locked));

    // USB3300: RESET is active high.
    board_ulpi #(
        .Cfg(Cfg), .ClockKhz(clocks_pkg::NodeKhz),
        .CycleClocks(clocks_pkg::CycleClocks), .StartLog2(StartLog2),
        .Firmware(Firmware)
    ) i_board (
        .clk_i(fabric_clk), .node_clk_i(node_clk), .locked_i(locked),
        .usb_clk_i(ulpi_clk), .phy_rst_o(ulpi_rst),
        .ulpi_data_io(ulpi_data), .ulpi_dir_i(ulpi_dir), .ulpi_nxt_i(ulpi_nxt),
        .ulpi_stp_o(ulpi_stp), .led_o(led),
        .uart_tx_o(uart_tx), .uart_rx_i(uart_rx)
    );

    // an error is red
    assign led_red_n   = {!led[3], 3'b111};
    assign led_green_n = {1'b1, ~led[2:0]};
    assign led_blue_n  = '1;
endmodule

`default_nettype wire
