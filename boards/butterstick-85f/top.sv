// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// ButterStick r1.0 85F: the device on its USB3343, whose clock of 60 MHz is the FPGA's own.
// The PHY's I/O voltage comes from a regulator that the FPGA sets; nothing is on the bus before
// it is there. The board has no UART.
`default_nettype none

module butterstick_85f #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned StartLog2 = $clog2(clocks_pkg::FabricKhz * 13 / 2), // 6.5 ms and more
    parameter Firmware = "build/firmware/firmware.hex"
) (
    input  wire logic       clk30,
    inout  wire logic [7:0] ulpi_data,
    output logic            ulpi_clk,
    input  wire logic       ulpi_dir,
    input  wire logic       ulpi_nxt,
    output logic            ulpi_stp,
    output logic            ulpi_rst_n,
    output logic [2:0]      vccio_pdm,
    output logic            vccio_en,
    output logic [3:0]      led,
    output logic [2:0]      led_color // red, blue, green of the lights that are on
);
    logic fabric_clk, node_clk, usb_clk, locked, pdm, powered, phy_rst;

    board_clocks i_clocks (
        .clk_i(clk30), .usb_o(usb_clk), .fabric_o(fabric_clk), .node_o(node_clk), .locked_o(locked)
    );

    vccio_18 i_vccio (.clk_i(usb_clk), .locked_i(locked), .pdm_o(pdm), .en_o(vccio_en),
                      .powered_o(powered));
    // at the pads, as two of them are in the corner that is farthest from the clock's
    for (genvar i = 0; i < 3; i++) begin : gen_pdm
        OFS1P3DX i_pad (.D(pdm), .SP(1'b1), .SCLK(usb_clk), .CD(1'b0), .Q(vccio_pdm[i]));
    end

    // falls in the middle of the FPGA's cycle, rises with its beginning
    ODDRX1F i_clk (.D0(1'b1), .D1(1'b0), .SCLK(usb_clk), .RST(1'b0), .Q(ulpi_clk));

    board_ulpi #(
        .Cfg(Cfg), .ClockKhz(clocks_pkg::NodeKhz),
        .CycleClocks(clocks_pkg::CycleClocks), .StartLog2(StartLog2),
        .Uart(1'b0), .Firmware(Firmware)
    ) i_board (
        .clk_i(fabric_clk), .node_clk_i(node_clk), .locked_i(powered),
        .usb_clk_i(usb_clk), .phy_rst_o(phy_rst),
        .ulpi_data_io(ulpi_data), .ulpi_dir_i(ulpi_dir), .ulpi_nxt_i(ulpi_nxt),
        .ulpi_stp_o(ulpi_stp), .led_o(led),
        .uart_tx_o(), .uart_rx_i(1'b1)
    );

    assign ulpi_rst_n = !phy_rst;
    assign led_color  = 3'b100;
endmodule

`default_nettype wire
