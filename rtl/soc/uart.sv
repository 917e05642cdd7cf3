// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// UART: 8 data bits, no parity, one stop bit.
//
// Function: A bit takes divisor + 1 cycles, at least 8.
// Order: First in, first out, in both directions.
// Back-pressure: None. 512 characters to send and 16 received characters are stored.
// Errors: A character without a place is lost, in either direction. A received character with a
// low stop bit is discarded.
`default_nettype none

module uart (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire soc_pkg::uart_req_t cpu_i,
    output soc_pkg::uart_rsp_t      cpu_o,

    output logic      tx_o,
    input  wire logic rx_i
);
    // ---- sending ----
    logic next_valid, next_ready, tx_busy, tx_tick;
    logic [7:0] next;
    logic [9:0] level, tx_shift_q;
    logic [3:0] tx_left_q;
    logic [15:0] tx_count_q;
    logic tx_room;

    fifo_ram #(
        .Width(8),
        .Depth(512)
    ) i_tx (
        .clk_i,
        .rst_ni,
        .valid_i(cpu_i.send),
        .ready_o(tx_room),
        .data_i(cpu_i.data),
        .valid_o(next_valid),
        .ready_i(next_ready),
        .data_o(next),
        .level_o(level)
    );

    assign cpu_o.room = level <= 10'd257 ? 8'd255 : 8'(10'd512 - level);
    assign tx_busy = tx_left_q != '0;
    assign tx_tick = tx_count_q == '0;
    assign next_ready = !tx_busy;
    assign tx_o = tx_shift_q[0];

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            tx_left_q <= '0;
            tx_shift_q <= '1;
        end else if (!tx_busy) begin
            if (next_valid) begin
                tx_left_q <= 4'd10;
                tx_shift_q <= {1'b1, next, 1'b0};
            end
        end else if (tx_tick) begin
            tx_left_q <= tx_left_q - 4'd1;
            tx_shift_q <= {1'b1, tx_shift_q[9:1]};
        end
        tx_count_q <= (!tx_busy || tx_tick) ? cpu_i.divisor : tx_count_q - 16'd1;
    end

    // ---- receiving: every bit is looked at in its middle ----
    logic [2:0] rx_sync_q;
    logic [3:0] rx_left_q;
    logic [15:0] rx_count_q;
    logic [7:0] rx_shift_q;
    logic rx_tick, rx_busy, rx_push, rx_room;

    assign rx_busy = rx_left_q != '0;
    assign rx_tick = rx_count_q == '0;
    assign rx_push = rx_busy && rx_tick && rx_left_q == 4'd1 && rx_sync_q[2];

    always_ff @(posedge clk_i) begin
        rx_sync_q <= rst_ni ? {rx_sync_q[1:0], rx_i} : '1;
        if (!rst_ni) begin
            rx_left_q <= '0;
        end else if (!rx_busy) begin
            if (!rx_sync_q[2]) rx_left_q <= 4'd10;
        end else if (rx_tick) begin
            // a start bit that is gone by its middle was none
            rx_left_q <= (rx_left_q == 4'd10 && rx_sync_q[2]) ? '0 : rx_left_q - 4'd1;
        end
        if (!rx_busy) rx_count_q <= {1'b0, cpu_i.divisor[15:1]};
        else rx_count_q <= rx_tick ? cpu_i.divisor : rx_count_q - 16'd1;
        if (rx_busy && rx_tick) rx_shift_q <= {rx_sync_q[2], rx_shift_q[7:1]};
    end

    fifo #(
        .Width(8),
        .Depth(16)
    ) i_rx (
        .clk_i,
        .rst_ni,
        .valid_i(rx_push),
        .ready_o(rx_room),
        .data_i(rx_shift_q),
        .valid_o(cpu_o.valid),
        .ready_i(cpu_i.take),
        .data_o(cpu_o.data),
        .level_o()
    );

    wire unused = &{1'b0, tx_room, rx_room};
endmodule

`default_nettype wire
