// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// list_keep and grant_lists with a memory that grants when it likes and answers anything three cycles later. One token,
// chosen by the solver, is followed: its list is taken before its row is granted.
`default_nettype none
`include "bundles.svh"

module prove_kept_lists #(
    localparam cfg_pkg::cfg_t Cfg = sizes()
) (
    input wire logic                        clk_i, take_i, last_i, wr_ready_i, lane_valid_i, rd_ready_i, watch_i,
    input wire logic [3:0]                  idx_i,
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
        c.SwitchAsks = 1'b1;
        return cfg_pkg::derived(c);
    endfunction
    localparam int unsigned Base = 256;

    logic                     rst_n, room, done, lane_ready, take, lane, wr_done, req_end, busy_q;
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
        .clk_i, .rst_ni(rst_n), .cfg_i(cfg), .room_o(room), .take_i(take), .last_i, .idx_i(at_q), .cnt_i(5'(at_q) + 5'd1),
        .tgt_i('0), .src_i, .token_i({src_i, index_i}), .level_o(level), .done_o(done), .wr_o(wr), .wr_ready_i,
        .idle_o(idle[0])
    );
    grant_lists #(.Cfg(Cfg)) i_lists (
        .clk_i, .rst_ni(rst_n), .cfg_i(cfg), .lane_valid_i(lane_valid_i && rst_n), .lane_ready_o(lane_ready), .home_i,
        .index_i(lane_index_i), .keep_level_i(level), .keep_done_i(done), .rd_o(rd), .rd_ready_i,
        .rd_i('{rvalid: back_q[2], rdata: rdata_i}), .req_o(req), .idle_o(idle[1])
    );

    // a list begins when there is room; how many targets it has shows with the last one
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
            else if (i_lists.asked && granted_q && i_lists.addr_q[Cfg.AddrW-1:2] == (Cfg.AddrW-2)'(Base / 32 + the_q))
                granted_q <= 1'b0;
            // a list that was taken is in memory before it is read
            a_read:  assert (!(rd.valid && listed_q)
                             || rd.addr[Cfg.AddrW-1:2] != (Cfg.AddrW-2)'(Base / 32 + 32'(the_q)));
            // and it is the token's that is written then
            a_write: assert (!(listed_q && ahead_q == '0 && wr.valid)
                             || wr.addr[Cfg.AddrW-1:2] == (Cfg.AddrW-2)'(Base / 32 + 32'(the_q)));
            a_ahead: assert (!listed_q || ahead_q < level);
            c_wait:  cover (mine && listed_q);
            c_full:  cover (!room);
        end
    end

    // ---- each row one request ----
    logic       head_q;
    logic [1:0] half_q;
    logic [2:0] asked;
    packet_pkg::header_low_t low;
    assign low     = req.data;
    assign req_end = req.valid && req.last;
    f_queue #(.Width(Cfg.GpuW), .Depth(6), .Latency(0)) i_rows (
        .clk_i, .rst_ni(rst_n), .watch_i, .push_i(lane), .in_i(home_i), .accept_i(1'b1), .pop_i(req.valid && !head_q),
        .show_i(req.valid && !head_q), .out_i(low.src[Cfg.GpuW-1:0]), .count_o(asked)
    );
    always_ff @(posedge clk_i) begin
        busy_q <= rst_n && i_lists.here;
        if (!rst_n) head_q <= 1'b0;
        else if (req.valid) head_q <= !req.last;
        if (rst_n) begin
            a_req:   assert (req.valid == busy_q);
            // what each waits for is memory, and what memory has granted
            a_lists: assert (lane_ready || i_lists.ask_q || i_lists.used_q == 3'd4);
            a_ask:   assert (!i_lists.ask_q || rd.valid || (i_lists.wait_q != '0 && i_lists.wait_q <= level));
            a_keep:  assert (level == '0 || wr.valid || !i_keep.active_q);
            a_back:  assert (i_lists.used_q >= i_lists.whole_q);
            c_req:   cover (req_end);
        end
    end

    wire unused = &{1'b0, idle, idx_i};
endmodule

`default_nettype wire
