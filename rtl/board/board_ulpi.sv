// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The device between the pads of a ULPI PHY, with a UART and four lights.
//
// Function: A board's top provides the clocks and names the pins. The bus has no register here.
// ULPI answers nxt and dir in the next cycle, so a register at an input would break it. Outputs
// come from registers of the USB core. docs/user/boards.md lists the delays that remain for the
// FPGA, and flow/ecp5/bitstream.py checks them.
`default_nettype none

module board_ulpi #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned ClockKhz = 0,  // of node_clk_i
    parameter int unsigned CycleClocks = 1,  // its clocks in one of clk_i: 1 or N
    parameter int unsigned StartLog2 = 18,  // as board_start has it
    parameter bit Uart = 1'b1,  // 0: the board has none, and uart_rx_i is 1
    parameter Firmware = "build/firmware/firmware.hex"
) (
    input  wire logic clk_i,
    input  wire logic node_clk_i,  // in phase with clk_i
    input  wire logic locked_i,    // clk_i is there; asynchronous
    input  wire logic usb_clk_i,   // 60 MHz of the bus
    output logic      phy_rst_o,

    inout  wire logic [7:0] ulpi_data_io,
    input  wire logic       ulpi_dir_i,
    input  wire logic       ulpi_nxt_i,
    output logic            ulpi_stp_o,

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
        .phy_rst_o,
        .rst_no(rst_n),
        .usb_rst_no(usb_rst_n)
    );

    // ---- pads of the bus ----
    logic [7:0] data_out, data_in;
    logic drives;

    for (genvar i = 0; i < 8; i++) begin : gen_data
        BB i_pad (
            .I(data_out[i]),
            .T(!drives),
            .O(data_in[i]),
            .B(ulpi_data_io[i])
        );
    end

    // ---- UART, registered at its pads ----
    logic tx, rx;
    if (Uart) begin : gen_uart
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
    end else begin : gen_no_uart  // no pads for registers to be at
        assign uart_tx_o = tx;
        assign rx = uart_rx_i;
    end

    // ---- the device, and what it shows ----
    logic configured, active, error;

    device_usb #(
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
        .ulpi_dir_i,
        .ulpi_nxt_i,
        .ulpi_data_i(data_in),
        .ulpi_data_o(data_out),
        .ulpi_data_oe_o(drives),
        .ulpi_stp_o,
        .ulpi_rst_o(),
        .connect_i(1'b1),
        .high_speed_o(),
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
