// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The device with its USB core on a board without a PHY: full speed at D+ and D-.
//
// Ports: The USB core's clock is 48 MHz, and all else has another. Each reset is synchronous to its
// clock, and both are low together once. A board's top adds clocks, resets and pads.
`default_nettype none

module device_pins #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned RamLog2 = 14,
    parameter int unsigned ClockKhz = 48000,
    parameter int unsigned CycleClocks = 1,
    parameter Firmware = "build/firmware/firmware.hex"
) (
    input  wire logic clk_i,
    input  wire logic node_clk_i,  // as device has it
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
    input  wire logic connect_i,  // shows the pull-up
    output logic      configured_o,
    output logic      suspended_o,
    output logic      active_o,   // as device has them
    output logic      error_o,

    output logic      uart_tx_o,
    input  wire logic uart_rx_i
);
    logic configured, restart, out_valid, out_ready, in_valid, in_ready, in_last;
    logic [7:0] out_data, in_data;

    usb_core_pins i_usb (
        .clk_i(usb_clk_i),
        .rst_ni(usb_rst_ni),
        .usb_dp_i,
        .usb_dn_i,
        .usb_dp_o,
        .usb_dn_o,
        .usb_oe_o,
        .usb_pullup_o,
        .connect_i,
        .high_speed_o(),
        .configured_o(configured),
        .suspended_o,
        .restart_o(restart),
        .out_valid_o(out_valid),
        .out_ready_i(out_ready),
        .out_data_o(out_data),
        .in_valid_i(in_valid),
        .in_ready_o(in_ready),
        .in_data_i(in_data),
        .in_last_i(in_last)
    );

    device_cross #(
        .Cfg(Cfg),
        .RamLog2(RamLog2),
        .ClockKhz(ClockKhz),
        .CycleClocks(CycleClocks),
        .Firmware(Firmware)
    ) i_cross (
        .usb_clk_i,
        .usb_rst_ni,
        .configured_i(configured),
        .configured_o,
        .restart_i(restart),
        .out_valid_i(out_valid),
        .out_ready_o(out_ready),
        .out_data_i(out_data),
        .in_valid_o(in_valid),
        .in_ready_i(in_ready),
        .in_data_o(in_data),
        .in_last_o(in_last),
        .clk_i,
        .node_clk_i,
        .rst_ni,
        .active_o,
        .error_o,
        .uart_tx_o,
        .uart_rx_i
    );
endmodule

`default_nettype wire
