// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// list_keep and grant_lists use a memory that grants at any time, and answers anything three cycles
// later. The proof follows one token, which the solver chooses. Its list is taken before its row is
// granted.
`default_nettype none
`include "bundles.svh"

module prove_kept_lists #(
    localparam cfg_pkg::cfg_t Cfg = sizes()
) (
    input wire logic                        clk_i, take_i, last_i, wr_ready_i,
    lane_valid_i, rd_ready_i,
    input wire logic [Cfg.GpuW-1:0]         src_i, home_i, the_home_i,
    input wire logic                        index_i, lane_index_i, the_index_i,
    input wire logic [Cfg.FlitW-1:0]        rdata_i,
    input wire logic [4:0]                  k_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = 4;
        c.FlitBytes = 8;
        c.MemBytesLog2 = 10;
        c.TokensLog2 = 1;
        c.MaxExperts = 2;
        c.SwitchReductions = 1'b1;
        return cfg_pkg::derived(c);
    endfunction
    localparam int unsigned Base = 256;

    logic                     rst_n, room, done, lane_ready, take, lane;
    logic [2:0]               level;
    logic [1:0]               idle;
    `MW_WRITE(Cfg)            wr;
    `MW_READ(Cfg)             rd;
    `MW_MARKED(Cfg)           req;
    logic [2:0]               back_q;
    node_pkg::node_cfg_t      cfg;
    logic [4:0]               k_q;
    logic [Cfg.TokW-1:0]      the_q;
    logic [3:0]               at_q;

    always_comb begin
        cfg             = '0;
        cfg.k           = k_q;
        cfg.token_shift = 4'd1;
        cfg.row_bytes   = 15'd64;
        cfg.rl_base     = 36'(Base);
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    list_keep #(.Cfg(Cfg)) i_keep (
        .clk_i, .rst_ni(rst_n), .cfg_i(cfg), .room_o(room), .take_i(take), .last_i, .idx_i(at_q),
        .cnt_i(5'(at_q) + 5'd1), .tgt_i('0), .src_i, .token_i({src_i, index_i}),
        .level_o(level), .done_o(done),
        .wr_o(wr), .wr_ready_i,
        .idle_o(idle[0])
    );
    grant_lists #(.Cfg(Cfg)) i_lists (
        .clk_i, .rst_ni(rst_n), .cfg_i(cfg),
        .lane_valid_i(lane_valid_i && rst_n), .lane_ready_o(lane_ready), .home_i,
        .index_i(lane_index_i), .keep_level_i(level), .keep_done_i(done), .rd_o(rd), .rd_ready_i,
        .rd_i('{rvalid: back_q[2], rdata: rdata_i}), .req_o(req), .idle_o(idle[1])
    );

    // A list begins when there is room. Its number of targets is valid with the last one.
    assign take = take_i && rst_n && (room || at_q != '0);
    assign lane = lane_valid_i && lane_ready && rst_n;
    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            at_q   <= '0;
            back_q <= '0;
            k_q    <= k_i;
            the_q  <= {the_home_i, the_index_i};
        end else begin
            if (take) at_q <= last_i ? '0 : at_q + 1'b1;
            back_q <= {back_q[1:0], rd.valid && rd_ready_i};
        end
    end
    always_comb begin
        assume (k_q >= 5'd1 && k_q <= 5'd16);
        if (take && at_q == '1) assume (last_i);
    end

    // ---- the token's list, and its row ----
    logic [Cfg.TokW-1:0] row_q [4], ask_row; // granted rows, in use from the oldest one on; row
                                             // whose list is requested
    assign ask_row = row_q[i_lists.ask_slot_q];

    logic       list, listed_q, mine, granted_q;
    logic [2:0] ahead_q;
    assign list = take && last_i && {src_i, index_i} == the_q;
    assign mine = lane && {home_i, lane_index_i} == the_q;

    always_comb begin
        if (list) assume (!granted_q && !mine && !listed_q);
    end

    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            listed_q  <= 1'b0;
            granted_q <= 1'b0;
        end else begin
            if (list) begin
                listed_q <= 1'b1;
                ahead_q  <= level - 3'(done);
            end else if (listed_q && done) begin
                if (ahead_q == '0) listed_q <= 1'b0;
                else               ahead_q  <= ahead_q - 1'b1;
            end
            if (mine) granted_q <= 1'b1;
            else if (i_lists.asked && ask_row == the_q) granted_q <= 1'b0;
            // a list that was taken is in memory before it is read
            a_read:  assert (!(rd.valid && listed_q)
                             || rd.addr[Cfg.AddrW-1:2] != (Cfg.AddrW-2)'(Base / 32 + 32'(the_q)));
            // the list written then is that of the token
            a_write: assert (!(listed_q && ahead_q == '0 && wr.valid)
                             || wr.addr[Cfg.AddrW-1:2] == (Cfg.AddrW-2)'(Base / 32 + 32'(the_q)));
            a_ahead: assert (!listed_q || ahead_q < level);
            c_wait:  cover (mine && listed_q);
            c_full:  cover (!room);
        end
    end

    // ---- each row one request, in the order of the grants ----
    logic [1:0]          put_q, get_q;
    logic [2:0]          in_use_q;
    logic                busy_q, head_now;
    logic [Cfg.GpuW-1:0] home_q;
    packet_pkg::header_low_t low;
    assign low      = req.data;
    assign head_now = i_lists.here && i_lists.head && !i_lists.half_q;

    always_ff @(posedge clk_i) begin
        busy_q <= rst_n && head_now;
        home_q <= row_q[get_q][Cfg.TokW-1:1];
        if (!rst_n) begin
            put_q    <= '0;
            get_q    <= '0;
            in_use_q <= '0;
        end else begin
            if (lane) begin
                row_q[put_q] <= {home_i, lane_index_i};
                put_q        <= put_q + 1'b1;
            end
            if (i_lists.sent) get_q <= get_q + 1'b1;
            in_use_q <= in_use_q + 3'(lane) - 3'(i_lists.sent);

            a_place:  assert (!lane || in_use_q < 3'd4);
            a_order:  assert (!busy_q || (req.valid && low.src == 5'(home_q)
                                          && low.opcode == packet_pkg::OP_DYMULTIMEM_LD_REDUCE));
            a_sent:   assert (!i_lists.sent || in_use_q != '0);
            // each waits only for memory, and for writes that memory has not granted
            a_lists:  assert (lane_ready || i_lists.ask_q || in_use_q == 3'd4);
            a_ask:    assert (!i_lists.ask_q || rd.valid
                              || (i_lists.wait_q != '0 && i_lists.wait_q <= level));
            a_keep:   assert (level == '0 || wr.valid || !i_keep.active_q);
            c_req:    cover (req.valid && req.last);
        end
    end

    // ---- lemmas ----
    logic [3:0] flits_in;                // flits of incomplete lists: here, and on their way
    logic [2:0] waiting;                 // lists with a flit that is not here
    typedef struct packed {
        logic [3:0]          last;
        logic [Cfg.GpuW-1:0] src;
        logic                index;
    } list_t;
    list_t kept_the;
    logic  rows;
    always_comb begin
        rows = 1'b1;
        for (int unsigned r = 0; r < 4; r++)
            rows &= 3'(2'(2'(r) - get_q)) >= in_use_q || i_lists.i_rows.mem[r] == row_q[r];
    end
    assign waiting   = i_lists.used_q - i_lists.whole_q;
    assign flits_in  = 4'(i_lists.got_flit_q) + 4'(back_q[0]) + 4'(back_q[1]) + 4'(back_q[2]);
    assign kept_the  = list_t'(i_keep.i_lists.mem[i_keep.rlist_q + ahead_q[1:0]]);

    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            l_ring:  assert (i_lists.out_slot_q == get_q && i_lists.used_q == in_use_q
                             && in_use_q <= 3'd4 && put_q == 2'(get_q + in_use_q[1:0])
                             && i_lists.ask_slot_q == 2'(put_q - 2'(i_lists.ask_q)));
            l_whole: assert (i_lists.whole_q <= i_lists.used_q
                             && i_lists.got_slot_q == 2'(get_q + i_lists.whole_q[1:0])
                             && (!i_lists.ask_q || in_use_q != '0));
            // flits here and on their way are the requested ones
            l_flits: assert (6'(waiting - 3'(i_lists.ask_q)) * (6'(i_lists.last_flit) + 6'd1)
                             + 6'(i_lists.ask_flit_q)
                             == 6'(flits_in) && waiting >= 3'(i_lists.ask_q)
                             && i_lists.got_flit_q <= i_lists.last_flit
                             && i_lists.ask_flit_q <=
                                 i_lists.last_flit && (i_lists.ask_q || i_lists.ask_flit_q == '0));
            l_head:  assert (i_lists.here || (!i_lists.head_q && !i_lists.half_q));
            l_half:  assert (!(i_lists.head_q && i_lists.half_q));
            l_rows:  assert (rows);
            l_addr:  assert (!i_lists.ask_q
                             || i_lists.addr_q == {(Cfg.AddrW-2)'(Base / 32 + 32'(ask_row)),
                                                   i_lists.ask_flit_q});
            l_wait:  assert (!i_lists.ask_q || i_lists.wait_q <= level);
            l_mine:  assert (!(listed_q && i_lists.ask_q && ask_row == the_q)
                             || i_lists.wait_q > ahead_q);
            l_level: assert (level <= 3'd4 && i_keep.wlist_q == 2'(i_keep.rlist_q + level[1:0])
                             && (!i_keep.active_q || level != '0)
                             && (i_keep.active_q || i_keep.flit_q == '0));
            l_kept:  assert (!listed_q
                             || (ahead_q < level && {kept_the.src, kept_the.index} == the_q));
            l_wr:    assert (!(listed_q && ahead_q == '0 && i_keep.active_q)
                             || (wr.addr == {(Cfg.AddrW-2)'(Base / 32 + 32'(the_q)), i_keep.flit_q}
                                 && i_keep.flit_q <= kept_the.last[3:2]));
            l_begun: assert (at_q == '0 || level != 3'd4);
            l_grant: assert (granted_q || !(i_lists.ask_q && ask_row == the_q));
        end
    end

    wire unused = &{1'b0, idle, lane_ready};
endmodule

`default_nettype wire
