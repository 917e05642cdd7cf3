// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The netlist of the ECPIX-5's top (netlist.py) with the ports of rtl/top/device_usb.sv,
// so that what drives that drives this. The PLL's lock is its reset; a pad that is
// driven shows what it drives.
`default_nettype none

module device_usb (
    input  wire       clk_i,
    input  wire       node_clk_i,
    input  wire       rst_ni,
    input  wire       usb_clk_i,
    input  wire       usb_rst_ni,
    input  wire       ulpi_dir_i,
    input  wire       ulpi_nxt_i,
    input  wire [7:0] ulpi_data_i,
    output wire [7:0] ulpi_data_o,
    output wire       ulpi_data_oe_o,
    output wire       ulpi_stp_o,
    output wire       ulpi_rst_o,
    input  wire       connect_i,
    output wire       high_speed_o,
    output wire       configured_o,
    output wire       suspended_o,
    output wire       uart_tx_o,
    input  wire       uart_rx_i
);
    wire [7:0] released;
    wire [3:0] red, green, blue;

    netlist i_netlist (
        .clk100(1'b0), .pll_CLKOS(node_clk_i), .pll_CLKOS2(clk_i), .pll_LOCK(rst_ni),
        .ulpi_clk(usb_clk_i),
        .ulpi_dir(ulpi_dir_i), .ulpi_nxt(ulpi_nxt_i), .ulpi_stp(ulpi_stp_o), .ulpi_rst(ulpi_rst_o),
        .ulpi_data_o(ulpi_data_o),
        .ulpi_data_t(released), .ulpi_data_i(ulpi_data_oe_o ? ulpi_data_o : ulpi_data_i),
        .led_red_n(red),
        .led_green_n(green), .led_blue_n(blue), .uart_tx(uart_tx_o), .uart_rx(uart_rx_i)
    );

    assign ulpi_data_oe_o = released == 8'h00;
    assign high_speed_o   = 1'b1;
    assign configured_o   = !green[1];
    assign suspended_o    = 1'b0;

    wire unused = &{1'b0, usb_rst_ni, connect_i, red, blue, green};
endmodule

`default_nettype wire
