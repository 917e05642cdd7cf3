// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The device with its USB core on a board without a PHY: full speed at D+ and D-, in a clock of 48 MHz; all else has
// another. Each reset is synchronous to its clock, and both are low together once. What boards have besides (clocks,
// resets, pads) is their top's.
`default_nettype none

module device_pins #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned RamLog2 = 14,
    parameter int unsigned ClockKhz = 48000,
    parameter int unsigned CycleClocks = 1,
    parameter Firmware = "build/firmware/firmware.hex"
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic usb_clk_i,
    input  wire logic usb_rst_ni,

    // the bus, as usb_core_pins has it
    input  wire logic usb_dp_i,
    input  wire logic usb_dn_i,
    output logic      usb_dp_o,
    output logic      usb_dn_o,
    output logic      usb_oe_o,
    output logic      usb_pullup_o,
    input  wire logic connect_i, // shows the pull-up
    output logic      configured_o,
    output logic      suspended_o,
    output logic      active_o,  // as device has them
    output logic      error_o,

    output logic      uart_tx_o,
    input  wire logic uart_rx_i
);
    logic        configured, restart, usb_out_valid, usb_out_ready, usb_in_valid, usb_in_ready, usb_in_last;
    logic [7:0]  usb_out_data, usb_in_data;
    logic        link_reset, out_valid, out_ready, in_valid, in_ready, in_last;
    logic [63:0] out_data, in_data;
    logic [3:0]  out_bytes;

    usb_core_pins i_usb (
        .clk_i(usb_clk_i), .rst_ni(usb_rst_ni), .usb_dp_i, .usb_dn_i, .usb_dp_o, .usb_dn_o,
        .usb_oe_o, .usb_pullup_o, .connect_i,
        .high_speed_o(),
        .configured_o(configured), .suspended_o, .restart_o(restart), .out_valid_o(usb_out_valid),
        .out_ready_i(usb_out_ready), .out_data_o(usb_out_data), .in_valid_i(usb_in_valid), .in_ready_o(usb_in_ready),
        .in_data_i(usb_in_data), .in_last_i(usb_in_last)
    );

    // many bits of the core's, for another clock to see
    always_ff @(posedge usb_clk_i) configured_o <= usb_rst_ni && configured;

    usb_cross i_cross (
        .usb_clk_i, .usb_rst_ni, .restart_i(restart), .out_valid_i(usb_out_valid), .out_ready_o(usb_out_ready),
        .out_data_i(usb_out_data), .in_valid_o(usb_in_valid), .in_ready_i(usb_in_ready), .in_data_o(usb_in_data),
        .in_last_o(usb_in_last),
        .clk_i, .rst_ni, .link_reset_o(link_reset), .link_out_valid_o(out_valid), .link_out_ready_i(out_ready),
        .link_out_data_o(out_data), .link_out_bytes_o(out_bytes), .link_in_valid_i(in_valid),
        .link_in_ready_o(in_ready), .link_in_data_i(in_data), .link_in_last_i(in_last)
    );

    device #(
        .Cfg(Cfg), .RamLog2(RamLog2), .ClockKhz(ClockKhz), .CycleClocks(CycleClocks), .Firmware(Firmware)
    ) i_device (
        .clk_i, .rst_ni, .link_reset_i(link_reset), .out_valid_i(out_valid), .out_ready_o(out_ready),
        .out_data_i(out_data), .out_bytes_i(out_bytes), .in_valid_o(in_valid), .in_ready_i(in_ready),
        .in_data_o(in_data), .in_last_o(in_last), .active_o, .error_o, .uart_tx_o, .uart_rx_i
    );
endmodule

`default_nettype wire
