// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// There are two slots. Loads and answers of any rows come. Answers are whole, poisoned or cut
// short. The parser takes packets at any time. The proof follows one reader, one row, and one flit
// of the row: bit 0 is set only in that flit.
`default_nettype none

module prove_kept_answers #(
    localparam int unsigned Others = 2,
    localparam int unsigned TokensLog2 = 2,
    localparam int unsigned RowBytes = 144, // two packets, of eight flits and one
    localparam int unsigned Flits = RowBytes / 16
) (
    input wire logic                  clk_i, go_i, enable_i, reader_i, look_i, from_i, first_i,
                                      next_i, poison_i, flit_i, cut_i, take_i, may_i,
    input wire logic [TokensLog2-1:0] row_i, index_i, comes_i,
    input wire logic [3:0]            which_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = Others + 1;
        c.FlitBytes = 16;
        c.TokensLog2 = TokensLog2;
        c.SwitchReductions = 1'b1;
        c.TileReductions = 1'b1;
        c.MergeLoads = 1'b1;
        c.MergeKeep = 512;
        c.KeepRows = 2;
        c = cfg_pkg::derived(c);
        c.LoadIndexW = TokensLog2;  // width of the number of a row or part
        return c;
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    logic                  rst_n, hit, twice, packet, packet_last, row_end, used, evict, idle, take;
    logic [Cfg.FlitW-1:0]  data;
    logic [Others-1:0]     mask, from;
    packet_pkg::header_t   head;

    // ---- constants ----
    logic                  reader_q;
    logic [TokensLog2-1:0] row_q;
    logic [3:0]            which_q;
    always_ff @(posedge clk_i) {reader_q, row_q, which_q} <= {reader_i, row_i, which_i};
    always_comb if (rst_n) assume (reader_i == reader_q && row_i == row_q && which_i == which_q);
    always_comb assume (32'(which_i) < Flits);

    // ---- the link: packets of answers, in the order of their rows ----
    logic                  pay_q;    // a payload is open
    logic [TokensLog2-1:0] comes_q;  // of this row
    logic                  second_q; // it is the second packet of it
    logic                  more_q;   // a packet of comes_q's row is still to come
    logic [2:0]            place_q;  // of the next flit
    logic                  last, bad;
    logic [3:0]            number;

    assign number = {second_q, place_q};
    assign last   = cut_i || second_q || place_q == 3'd7;
    assign bad    = cut_i && !(second_q || place_q == 3'd7);
    always_comb begin
        assume (!(first_i && next_i));
        if (pay_q) assume (!first_i && !next_i);
        if (!pay_q) assume (!flit_i);
        if (next_i) assume (more_q && comes_i == comes_q);
        if (!rst_n || go_i) assume (!first_i && !next_i && !flit_i && !look_i && !take_i);
        if (go_i) assume (idle && !pay_q);
    end
    always_ff @(posedge clk_i) begin
        if (!rst_n || go_i) {pay_q, more_q} <= '0;
        else begin
            if (first_i || next_i) begin
                pay_q    <= 1'b1;
                comes_q  <= comes_i;
                second_q <= next_i;
                more_q   <= first_i;
                place_q  <= '0;
            end else if (flit_i) begin
                place_q <= place_q + 1'b1;
                pay_q   <= !last;
            end
        end
    end

    assign from = Others'(1) << from_i;
    assign take = take_i && packet;
    f_reset i_reset (.clk_i, .rst_no(rst_n));
    kept_answers #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i, .enable_i, .epoch_i(2'd0), .row_bytes_i(15'(RowBytes)),
        .row_shift_i(4'd8), .look_i('{valid: look_i, index: index_i, reader: from}),
        .hit_o(hit), .twice_o(twice),
        .answer_i('{first: first_i, next: next_i, poison: poison_i, row: comes_i}),
        .flit_i('{valid: flit_i, last: last, err: bad,
                  data: Cfg.FlitW'(comes_q == row_q && number == which_q)}),
        .packet_o({packet, packet_last, data}), .packet_mask_o(mask),
        .row_end_o(row_end), .packet_take_i(take), .may_i, .use_o(used), .evict_o(evict),
        .idle_o(idle)
    );
    assign head = packet_pkg::header_t'(data);

    // ---- the reader: it loads the row and waits for it ----
    logic waits_q;             // for the row, here
    logic mine, ends;          // a flit of the row goes to it; the last one
    logic in_q, mine_q, clean_q; // a packet is open; it is of the row; it is not poisoned
    logic [3:0] got_q;         // flits of the row received

    assign mine = take && mask[reader_q]
                  && (in_q ? mine_q : 64'(head.addr) >> 8 == 64'(row_q));
    assign ends = mine && in_q && packet_last && row_end;
    always_comb
        if (waits_q) assume (!(look_i && from_i == reader_q && index_i == row_q));

    always_ff @(posedge clk_i) begin
        if (!rst_n || go_i) begin
            {waits_q, in_q, mine_q} <= '0;
            got_q <= '0;
        end else begin
            if (take) begin
                in_q <= !in_q || !packet_last;
                if (!in_q) mine_q <= mine;
                if (!in_q) clean_q <= !head.poison;
            end
            if (mine && in_q) got_q <= ends ? '0 : got_q + 1'b1;
            if (look_i && hit && !twice && from_i == reader_q && index_i == row_q) waits_q <= 1'b1;
            else if (ends) waits_q <= 1'b0;
        end
        if (rst_n && !go_i) begin
            // the reader gets the row once, whole and in order, with the row's flits
            a_asked: assert (!mine || waits_q);
            a_head:  assert (!(mine && !in_q) || (head.addr[7:0] == {got_q, 4'd0} && head.len
                             == ((got_q == '0) ? 15'd128 : 15'(RowBytes - 128))));
            a_last:  assert (!(mine && in_q) || packet_last
                             == (got_q == 4'd7 || 32'(got_q) == Flits - 1));
            a_end:   assert (!(mine && in_q) || (packet_last && row_end)
                             == (32'(got_q) == Flits - 1));
            a_data:  assert (!(mine && in_q && clean_q) || data[0] == (got_q == which_q));
            a_begin: assert (!used || may_i);
            // a slot that sends, or for which a load waits, keeps its row
            a_slot:  assert (!i_dut.starts || (i_dut.wait_q[i_dut.oldest] == '0
                             && !(i_dut.sending_q && i_dut.out_q == i_dut.oldest)));
            a_kept:  assert (!waits_q || i_dut.wait_q[0][reader_q] || i_dut.wait_q[1][reader_q]
                             || (i_dut.sending_q && mask[reader_q]));
            a_idle:  assert (!idle || (i_dut.complete_q & {i_dut.wait_q[1][reader_q],
                                                          i_dut.wait_q[0][reader_q]}) == '0);
            c_whole: cover (ends && clean_q);
            c_spoilt: cover (ends && !clean_q);
            c_evict: cover (evict && waits_q);
        end
    end
endmodule

`default_nettype wire
