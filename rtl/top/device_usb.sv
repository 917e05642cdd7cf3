// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The device with its USB core, at the pins of a ULPI PHY, whose clock of 60 MHz is everybody's. What boards have
// besides (clock, reset, pads) is their top's.
`default_nettype none

module device_usb #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned RamLog2 = 14,
    parameter int unsigned ClockMhz = 60,
    parameter Firmware = "build/firmware/firmware.hex"
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    // ULPI, as usb_core has it
    input  wire logic       ulpi_dir_i,
    input  wire logic       ulpi_nxt_i,
    input  wire logic [7:0] ulpi_data_i,
    output logic [7:0]      ulpi_data_o,
    output logic            ulpi_data_oe_o,
    output logic            ulpi_stp_o,
    output logic            ulpi_rst_o,
    input  wire logic       connect_i, // shows the pull-up
    output logic            high_speed_o,
    output logic            configured_o,
    output logic            suspended_o,

    output logic      uart_tx_o,
    input  wire logic uart_rx_i
);
    logic        restart, out_valid, out_ready, in_valid, in_ready, in_last, word_valid, word_ready, word_last;
    logic [7:0]  out_data, in_data;
    logic [63:0] word;

    usb_core i_usb (
        .clk_i, .rst_ni, .ulpi_dir_i, .ulpi_nxt_i, .ulpi_data_i, .ulpi_data_o, .ulpi_data_oe_o, .ulpi_stp_o,
        .ulpi_rst_o, .connect_i, .high_speed_o,
        .configured_o, .suspended_o, .restart_o(restart), .out_valid_o(out_valid), .out_ready_i(out_ready),
        .out_data_o(out_data), .in_valid_i(in_valid), .in_ready_o(in_ready), .in_data_i(in_data), .in_last_i(in_last)
    );

    usb_words i_words (
        .clk_i, .rst_ni, .clear_i(restart), .valid_i(word_valid), .ready_o(word_ready), .data_i(word),
        .last_i(word_last), .valid_o(in_valid), .ready_i(in_ready), .data_o(in_data), .last_o(in_last)
    );

    device #(.Cfg(Cfg), .RamLog2(RamLog2), .ClockMhz(ClockMhz), .Firmware(Firmware)) i_device (
        .clk_i, .rst_ni, .link_reset_i(restart), .out_valid_i(out_valid), .out_ready_o(out_ready),
        .out_data_i({56'd0, out_data}), .out_bytes_i(4'd1),
        .in_valid_o(word_valid), .in_ready_i(word_ready), .in_data_o(word), .in_last_o(word_last), .uart_tx_o,
        .uart_rx_i
    );
endmodule

`default_nettype wire
