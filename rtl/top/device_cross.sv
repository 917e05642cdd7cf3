// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The device at the endpoints of a USB core with its own clock: usb_cross and the device.
//
// Ports: Each reset is synchronous to its clock, and both are low together once. A top adds the USB
// core.
`default_nettype none

module device_cross #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned RamLog2 = 14,
    parameter int unsigned ClockKhz = 0,
    parameter int unsigned CycleClocks = 1,
    parameter Firmware = "build/firmware/firmware.hex"
) (
    // the USB core's end, as that has it
    input  wire logic       usb_clk_i,
    input  wire logic       usb_rst_ni,
    input  wire logic       configured_i,
    output logic            configured_o,  // registered, for another clock to see
    input  wire logic       restart_i,
    input  wire logic       out_valid_i,
    output logic            out_ready_o,
    input  wire logic [7:0] out_data_i,
    output logic            in_valid_o,
    input  wire logic       in_ready_i,
    output logic [7:0]      in_data_o,
    output logic            in_last_o,

    // the other, as device has it
    input  wire logic clk_i,
    input  wire logic node_clk_i,
    input  wire logic rst_ni,
    output logic      active_o,
    output logic      error_o,
    output logic      uart_tx_o,
    input  wire logic uart_rx_i
);
    logic link_reset, link_out_ready, link_in_ready;
    bundle_pkg::out_bytes_t link_out;
    bundle_pkg::in_word_t link_in;

    // many bits of the core's
    always_ff @(posedge usb_clk_i) configured_o <= usb_rst_ni && configured_i;

    usb_cross i_cross (
        .usb_clk_i,
        .usb_rst_ni,
        .restart_i,
        .out_valid_i,
        .out_ready_o,
        .out_data_i,
        .in_valid_o,
        .in_ready_i,
        .in_data_o,
        .in_last_o,
        .clk_i,
        .rst_ni,
        .link_reset_o(link_reset),
        .link_out_o(link_out),
        .link_out_ready_i(link_out_ready),
        .link_in_i(link_in),
        .link_in_ready_o(link_in_ready)
    );

    device #(
        .Cfg(Cfg),
        .RamLog2(RamLog2),
        .ClockKhz(ClockKhz),
        .CycleClocks(CycleClocks),
        .Firmware(Firmware)
    ) i_device (
        .clk_i,
        .node_clk_i,
        .rst_ni,
        .link_reset_i(link_reset),
        .out_valid_i(link_out.valid),
        .out_ready_o(link_out_ready),
        .out_data_i(link_out.data),
        .out_bytes_i(link_out.bytes),
        .in_valid_o(link_in.valid),
        .in_ready_i(link_in_ready),
        .in_data_o(link_in.data),
        .in_last_o(link_in.last),
        .active_o,
        .error_o,
        .uart_tx_o,
        .uart_rx_i
    );
endmodule

`default_nettype wire
