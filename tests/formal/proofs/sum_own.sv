// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Own rows on their way from the adder to memory: rows of any length, a memory that refuses as it likes, places of rows
// that are told as late as may be.
`default_nettype none
`include "bundles.svh"

module prove_sum_own #(
    parameter int unsigned Refuse = 2   // cycles in a row in which memory refuses, and in which a place is not told
) (
    input wire logic       clk_i, watch_i, promise_i, push_i, bit_i, last_i, row_last_i, poison_i, dest_i, more_i,
                           grant_i,
    input wire logic [3:0] place_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = 2;
        c.FlitBytes = 16;
        c.MemBytesLog2 = 11;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();
    localparam int unsigned   Places = 3;   // of the model of its queue

    logic          rst_n, room, dest_ready, pkt_done, row_done, row_more, busy;
    `MW_DEST(Cfg)  dest;
    `MW_WRITE(Cfg) wr;

    assign dest = '{valid: dest_i, more: more_i, addr: Cfg.AddrW'(place_i)};
    f_reset i_reset (.clk_i, .rst_no(rst_n));
    sum_own #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .promise_i, .room_o(room), .push_i, .data_i(Cfg.FlitW'(bit_i)), .last_i, .row_last_i,
        .poison_i, .dest_i(dest), .dest_ready_o(dest_ready), .out_wr_o(wr), .out_wr_ready_i(grant_i),
        .pkt_done_o(pkt_done), .row_done_o(row_done), .row_more_o(row_more), .busy_o(busy)
    );

    // ---- the adder: flits that were promised a place; the last of a row is the last of a packet ----
    logic [4:0] promised_q, inside_q;
    logic       out;
    always_ff @(posedge clk_i) begin
        promised_q <= rst_n ? promised_q + 5'(promise_i) - 5'(push_i) : '0;
        inside_q   <= rst_n ? inside_q + 5'(push_i) - 5'(out) : '0;
    end
    always_comb begin
        if (!room || !rst_n) assume (!promise_i);
        if (promised_q == '0 || !rst_n) assume (!push_i);
    end

    // ---- memory, and who tells where rows go ----
    logic [2:0]           refused_q, untold_q, waits_q;
    logic                 row_q, more_q, ended_q, ended_more_q, flit_last, flit_row_last, flit_poison, offered_q;
    logic [Cfg.AddrW-1:0] at_q;     // where the row's next flit goes
    always_ff @(posedge clk_i) begin
        refused_q <= (rst_n && wr.valid && !grant_i) ? refused_q + 3'd1 : '0;
        untold_q  <= (rst_n && dest_ready && !dest_i) ? untold_q + 3'd1 : '0;
    end
    always_comb begin
        if (32'(refused_q) == Refuse) assume (grant_i);
        if (32'(untold_q) == Refuse) assume (dest_i);
    end

    assign {flit_last, flit_row_last, flit_poison} = {i_dut.last, i_dut.row_last, i_dut.poison};
    assign out = busy && row_q && (flit_poison || grant_i);

    // each flit leaves once, as it came, in its order
    f_queue #(.Width(4), .Depth(Places)) i_queue (
        .clk_i, .rst_ni(rst_n), .watch_i, .push_i, .in_i({last_i, row_last_i, poison_i, bit_i}),
        .accept_i(1'b1), .pop_i(out), .show_i(busy), .out_i({flit_last, flit_row_last, flit_poison, wr.data[0]}),
        .count_o()
    );

    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            row_q     <= 1'b0;
            ended_q   <= 1'b0;
            waits_q   <= '0;
            offered_q <= 1'b0;
        end else begin
            if (dest_ready) row_q <= dest_i;
            ended_q   <= out && flit_last && flit_row_last;
            waits_q   <= (busy && !out) ? waits_q + 3'd1 : '0;
            offered_q <= wr.valid && !grant_i;
        end
        ended_more_q <= more_q;
        if (dest_ready) more_q <= more_i;
        at_q <= dest_ready ? Cfg.AddrW'(place_i) : at_q + Cfg.AddrW'(out);
        if (rst_n) begin
            // what is valid is written where it belongs, all of it; what is poisoned nowhere
            a_write:  assert (wr.valid == (busy && row_q && !flit_poison));
            a_where:  assert (!wr.valid || (wr.addr == at_q && wr.be == '1));
            a_next:   assert (dest_ready == (!row_q || (out && flit_last && flit_row_last)));
            a_packet: assert (pkt_done == (out && flit_last));
            a_done:   assert (row_done == ended_q && (!row_done || row_more == ended_more_q));
            // a flit waits for memory, and for its row's place, alone
            a_soon:   assert (32'(waits_q) <= 2 * Refuse + 1);
            a_room:   assert (room || promised_q + inside_q == 5'(Places));
            l_inside: assert (5'(i_queue.count_o) == inside_q && inside_q <= 5'(Places) && promised_q <= 5'(Places));
            l_model:  assert (5'(i_dut.i_flits.count_q) == inside_q && 5'(i_dut.i_flits.promised_q) == promised_q);
            l_row:    assert (i_dut.dest_q == row_q);
            l_wait:   assert (row_q ? 32'(waits_q) <= Refuse + 1 + 32'(refused_q) : 32'(waits_q) <= 32'(untold_q));
            c_full:   cover (inside_q == 5'(Places));
            c_poison: cover (out && flit_poison && !flit_last);
            c_rows:   cover (row_done && row_more && out);
        end
    end
    logic unused;
    assign unused = offered_q ^ (^wr.data);
endmodule

`default_nettype wire
