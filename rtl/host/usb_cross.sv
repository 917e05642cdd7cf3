// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Clock crossing between the USB core and the device.
//
// Function: It carries the byte streams of both endpoints, and the restart (bus reset,
// SET_CONFIGURATION). No byte from before a restart leaves after it. Bytes from the host cross
// up to 8 at a time, and words to the host cross whole. Thus an eighth of the clock of the USB
// core sustains its full rate.
// Order: First in, first out. A word crosses with the byte that ends 8, counted from the
// restart, or after a pause of two clocks.
// Back-pressure: Without room bytes gather until the word is whole, then out_ready_o falls.
// Latency: A single byte waits for two clocks. No byte waits for more than 14 while there is
// room.
`default_nettype none

module usb_cross (
    input  wire logic       usb_clk_i,
    input  wire logic       usb_rst_ni,
    input  wire logic       restart_i,
    input  wire logic       out_valid_i,
    output logic            out_ready_o,
    input  wire logic [7:0] out_data_i,
    output logic            in_valid_o,
    input  wire logic       in_ready_i,
    output logic [7:0]      in_data_o,
    output logic            in_last_o,

    // as device has them
    input  wire logic                 clk_i,
    input  wire logic                 rst_ni,
    output logic                      link_reset_o,
    output bundle_pkg::out_bytes_t    link_out_o,
    input  wire logic                 link_out_ready_i,
    input  wire bundle_pkg::in_word_t link_in_i,
    output logic                      link_in_ready_o
);
    logic stop, usb_clear, clear;

    cdc_restart i_restart (
        .a_clk_i(usb_clk_i),
        .a_rst_ni(usb_rst_ni),
        .a_restart_i(restart_i),
        .a_stop_o(stop),
        .a_clear_o(usb_clear),
        .b_clk_i(clk_i),
        .b_rst_ni(rst_ni),
        .b_clear_o(clear),
        .b_restart_o(link_reset_o)
    );

    // ---- from the host: bytes wait for those that end their word, but not through a pause ----
    localparam logic [1:0] Pause = 2'd2;
    typedef struct packed {
        logic [2:0]      more;  // bytes behind the first
        logic [7:0][7:0] data;
    } out_t;

    logic [6:0][7:0] held_q;
    logic [2:0] fill_q, at_q;  // bytes held; place of the next one in its word
    logic [1:0] idle_q;  // Pause: what is held goes on
    logic ends, taken, send, room;
    out_t gathered, word_out;

    assign ends = at_q == 3'd7;
    assign out_ready_o = !stop && (!ends || room);
    assign taken = out_valid_i && out_ready_o;
    assign send = !stop && (idle_q == Pause || (ends && out_valid_i));

    always_comb begin
        gathered.more = out_valid_i ? fill_q : fill_q - 3'd1;
        gathered.data = {out_data_i, held_q};
        gathered.data[fill_q] = out_data_i;
    end

    always_ff @(posedge usb_clk_i) begin
        if (!usb_rst_ni || stop) begin
            fill_q <= '0;
            at_q <= '0;
            idle_q <= '0;
        end else begin
            at_q <= at_q + 3'(taken);
            if (send && room) begin
                fill_q <= '0;
                idle_q <= '0;
            end else begin
                fill_q <= fill_q + 3'(taken);
                if (idle_q != Pause) idle_q <= taken || fill_q == '0 ? '0 : idle_q + 2'd1;
            end
        end
        if (taken && fill_q != 3'd7) held_q[fill_q] <= out_data_i;
    end

    cdc_fifo #(
        .Width($bits(out_t))
    ) i_out (
        .wclk_i(usb_clk_i),
        .wrst_ni(usb_rst_ni),
        .wclear_i(usb_clear),
        .valid_i(send),
        .ready_o(room),
        .data_i(gathered),
        .rclk_i(clk_i),
        .rrst_ni(rst_ni),
        .rclear_i(clear),
        .valid_o(link_out_o.valid),
        .ready_i(link_out_ready_i),
        .data_o(word_out)
    );

    assign link_out_o.data = word_out.data;
    assign link_out_o.bytes = 4'(word_out.more) + 4'd1;

    // ---- to the host ----
    logic word_valid, word_ready, word_last, byte_valid;
    logic [63:0] word;

    cdc_fifo #(
        .Width(65)
    ) i_in (
        .wclk_i(clk_i),
        .wrst_ni(rst_ni),
        .wclear_i(clear),
        .valid_i(link_in_i.valid),
        .ready_o(link_in_ready_o),
        .data_i({link_in_i.last, link_in_i.data}),
        .rclk_i(usb_clk_i),
        .rrst_ni(usb_rst_ni),
        .rclear_i(usb_clear),
        .valid_o(word_valid),
        .ready_i(word_ready && !stop),
        .data_o({word_last, word})
    );

    usb_words i_words (
        .clk_i(usb_clk_i),
        .rst_ni(usb_rst_ni),
        .clear_i(stop),
        .valid_i(word_valid && !stop),
        .ready_o(word_ready),
        .data_i(word),
        .last_i(word_last),
        .valid_o(byte_valid),
        .ready_i(in_ready_i),
        .data_o(in_data_o),
        .last_o(in_last_o)
    );

    assign in_valid_o = byte_valid && !stop;
endmodule

`default_nettype wire
