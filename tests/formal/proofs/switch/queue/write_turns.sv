// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The link brings partials with any gaps or none, each after its header. The parser enters a
// payload when it may, and stays in it for at most the length of a payload. With FlitBytes 32 and
// 64 packets have four and two flits. The data of a flit are a mark and its last flag.
`default_nettype none

module prove_write_turns #(
    parameter int unsigned FlitBytes = 32,
    parameter bit          Late = 1'b0
) (
    input  wire logic clk_i, watch_i, begin_i, end_i, payload_i, leave_i, mark_i, copy_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = 1;
        c.FlitBytes = FlitBytes;
        c = cfg_pkg::derived(c);
        c.Late = Late;
        return c;
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    localparam int unsigned Flits = 128 / FlitBytes;
    localparam int unsigned OffW  = $clog2(Flits);

    logic            rst_n, in_q, last, pay, pay_q, pause, idle, we, part_we;
    logic [OffW-1:0] idx_q, left_q, idx;
    logic [8*FlitBytes+1:0] data;
    logic [OffW-1:0] idx_wq, out_idx;
    logic [OffW-1:0] next_q;        // the next flit of the open partial
    logic            open_q;        // a partial is being written
    logic            wr_valid, part_we_q, copy, copy_q;
    logic            out_we;        // a flit of a partial is written

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    write_turns #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .we_i(we), .idx_i(idx_q),
        .data_i({{8*FlitBytes{1'b0}}, mark_i, last}),
        .pay_i(pay), .copy_valid_i(copy), .copy_lane_i('0), .copy_data_i('0), .pause_o(pause),
        .part_we_o(part_we), .part_idx_o(idx),
        .wr_valid_o(wr_valid), .wr_lane_o(), .wr_data_o(data), .idle_o(idle)
    );

    assign copy   = copy_i && !pause;
    assign out_we = Late ? part_we_q : part_we;
    assign out_idx = Late ? idx_wq : idx;

    // A header, then the flits without gaps.
    assign we   = in_q;
    assign last = end_i || idx_q == '1;
    // The parser is in a payload for at most Flits cycles, and enters one only when it is not
    // paused.
    assign pay  = pay_q ? left_q != '0 && !leave_i : payload_i && !pause;

    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            in_q   <= 1'b0;
            pay_q  <= 1'b0;
            open_q <= 1'b0;
            part_we_q <= 1'b0;
            copy_q <= 1'b0;
        end else begin
            in_q   <= in_q ? !last : begin_i;
            idx_q  <= in_q ? idx_q + 1'b1 : '0;
            pay_q  <= pay;
            left_q <= pay_q ? left_q - 1'b1 : '1;
            part_we_q <= part_we;
            copy_q    <= copy;
            idx_wq    <= idx;
            if (out_we) begin
                open_q <= !data[0];
                next_q <= out_idx + 1'b1;
            end
            a_apart: assert (!pause || !pay_q);
            a_whole: assert (!open_q || (out_we && out_idx == next_q));
            a_first: assert (open_q || !out_we || out_idx == '0);
            a_word:  assert (wr_valid == (out_we || (Late ? copy_q : copy)));
            a_pause: assert (pause == part_we);
            a_idle:  assert (idle || pause || pay_q || we);
        end
    end

    f_queue #(.Width(2), .Depth(Flits + 2), .Latency(0)) i_order (
        .clk_i, .rst_ni(rst_n), .watch_i, .push_i(we), .in_i({mark_i, last}),
        .accept_i(1'b1), .pop_i(out_we),
        .show_i(out_we), .out_i(data[1:0]), .count_o()
    );

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_waits: cover (begin_i && pay_q);
            c_both:  cover (pay_q && in_q);
            c_pause: cover (pause && open_q);
        end
    end
endmodule

`default_nettype wire
