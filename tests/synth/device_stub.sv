// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// In the place of rtl/top/device.sv, for what a board has around it: pads, clocks, USB
// core, crossings. What comes from the host goes back to it, and the CPU's RAM is there with
// nobody but a counter to read it.
`default_nettype none

module device #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned RamLog2 = 14,
    parameter int unsigned ClockKhz = 0,
    parameter int unsigned CycleClocks = 1,
    parameter Firmware = "build/firmware/firmware.hex"
) (
    input  wire logic clk_i,
    input  wire logic node_clk_i,
    input  wire logic rst_ni,

    input  wire logic        link_reset_i,
    input  wire logic        out_valid_i,
    output logic             out_ready_o,
    input  wire logic [63:0] out_data_i,
    input  wire logic [3:0]  out_bytes_i,
    output logic             in_valid_o,
    input  wire logic        in_ready_i,
    output logic [63:0]      in_data_o,
    output logic             in_last_o,
    output logic             active_o,
    output logic             error_o,

    output logic      uart_tx_o,
    input  wire logic uart_rx_i
);
    logic [RamLog2-3:0] addr_q;
    logic [31:0]        word, shift_q;

    cpu_ram #(.BytesLog2(RamLog2), .InitFile(Firmware)) i_ram (
        .clk_i, .req_i(1'b1), .we_i({4{uart_rx_i && addr_q == '1}}), .addr_i(addr_q),
        .wdata_i(shift_q), .rdata_o(word)
    );

    always_ff @(posedge clk_i) begin
        addr_q    <= rst_ni ? addr_q + 1'b1 : '0;
        shift_q   <= {shift_q[30:0], uart_rx_i} ^ word;
        uart_tx_o <= shift_q[31];
        if (!rst_ni || link_reset_i) begin
            in_valid_o <= 1'b0;
        end else if (!in_valid_o || in_ready_i) begin
            in_valid_o <= out_valid_i;
            in_data_o  <= out_data_i;
            in_last_o  <= out_bytes_i == 4'd1;
        end
    end

    assign out_ready_o = !in_valid_o || in_ready_i;
    assign active_o    = out_valid_i && out_ready_o;
    assign error_o     = link_reset_i;

    wire unused = &{1'b0, node_clk_i};
endmodule

`default_nettype wire
