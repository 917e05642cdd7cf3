// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Own rows in both lanes: packets of any length are chosen at any time, in either lane. Each lane
// may delay its flits. The proof compares the lanes of departing packets with the chosen lanes, in
// order.
`default_nettype none

module prove_lane_join (
    input wire logic clk_i, watch_i, choose_i, copy_i, add_show_i, copy_show_i,
    add_last_i, copy_last_i, ready_i
);
    localparam int unsigned Inside = 3;  // maximum of packets

    localparam cfg_pkg::cfg_t Cfg = cfg_pkg::derived(cfg_pkg::usual());

    typedef struct packed {
        logic valid;
        logic copy;  // for the proof only: the lane
        logic last;
    } word_t;

    logic            rst_n, add_ready, copy_ready, out;
    word_t           word, add, copy;
    logic [1:0]      show, shown_q, last_q, last;
    logic [1:0][1:0] count_q;  // packets of the lanes

    assign show = {copy_show_i && count_q[1] != '0, add_show_i && count_q[0] != '0};
    assign last = {copy_last_i, add_last_i};
    assign add  = '{valid: show[0], copy: 1'b0, last: last[0]};
    assign copy = '{valid: show[1], copy: 1'b1, last: last[1]};
    assign out  = word.valid && ready_i && word.last;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    lane_join #(.Cfg(Cfg), .word_t(word_t)) i_dut (
        .clk_i, .rst_ni(rst_n), .choose_i, .copy_i, .add_i(add), .add_ready_o(add_ready),
        .copy_word_i(copy), .copy_ready_o(copy_ready), .word_o(word), .ready_i
    );

    // ---- the lanes ----
    always_ff @(posedge clk_i) begin
        last_q <= last;
        for (int unsigned l = 0; l < 2; l++) begin
            if (!rst_n) begin
                count_q[l] <= '0;
                shown_q[l] <= 1'b0;
            end else begin
                count_q[l] <= count_q[l] + 2'(choose_i && copy_i == 1'(l))
                              - 2'(out && word.copy == 1'(l));
                shown_q[l] <= show[l] && !(l == 0 ? add_ready : copy_ready);
            end
        end
    end
    always_comb begin
        if (!rst_n || 3'(count_q[0]) + 3'(count_q[1]) == 3'(Inside)) assume (!choose_i);
        // A flit that is shown stays until it is taken.
        for (int unsigned l = 0; l < 2; l++)
            if (shown_q[l]) assume (show[l] && last[l] == last_q[l]);
    end

    // ---- packets: each leaves once, from the lane chosen for it ----
    logic [1:0] count;
    logic       some, front, oldest;
    assign {some, front} = {i_dut.gen_lanes.some, i_dut.gen_lanes.copy};
    f_queue #(.Width(1), .Depth(Inside)) i_queue (
        .clk_i, .rst_ni(rst_n), .watch_i, .push_i(choose_i), .in_i(copy_i), .accept_i(1'b1),
        .pop_i(out), .show_i(some),
        .out_i(front), .count_o(count)
    );
    assign oldest = some && show[front];

    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            // only the packet in front is shown, as soon as its lane shows it
            a_lane:  assert (!word.valid || (some && word.copy == front));
            a_goes:  assert (word.valid == oldest);
            a_taken: assert (add_ready == (some && !front && ready_i)
                             && copy_ready == (some && front && ready_i));
            l_count: assert (3'(count_q[0]) + 3'(count_q[1]) == 3'(count));
            l_fifo:  assert (32'(i_dut.gen_lanes.i_order.i_lanes.level_q) == 32'(count));
            c_cross: cover (out && front && count_q[0] != '0 && show[0]);
            c_long:  cover (word.valid && ready_i && !word.last);
        end
    end
endmodule

`default_nettype wire
