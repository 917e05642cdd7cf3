// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Readers send FETCHs within their windows. Own rows come, and transfers are taken, at any time.
// The proof follows one FETCH: its row, and the number of FETCHs before it.
`default_nettype none

module prove_load_serve #(
    localparam int unsigned TokensLog2 = 2,
    localparam int unsigned Places = 3
) (
    input wire logic                  clk_i, push_i, own_valid_i, take_i, watch_i,
    input wire logic [TokensLog2-1:0] index_i, own_index_i,
    input wire logic [15:0]           ref_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = 2;
        c.FlitBytes = 16;
        c.MemBytesLog2 = 11;
        c.TokensLog2 = TokensLog2;
        c.OpenLoads = Places;
        c.MergeLoads = 1'b1;
        c = cfg_pkg::derived(c);
        c.LoadIndexW = TokensLog2;  // width of the number of a row or part
        return c;
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();
    localparam int unsigned   RowShift = 9, RowBytes = 272; // row 3 exceeds the memory

    node_pkg::node_cfg_t cfg;
    always_comb begin
        cfg           = '0;
        cfg.row_shift = 4'(RowShift);
        cfg.row_bytes = 15'(RowBytes);
        cfg.load_base = 36'd256;
    end

    logic              rst_n, room, own_ready, valid, own, poison, idle, push;
    logic [15:0]       who;
    logic [39:0]       addr;
    logic [Cfg.AddrW-1:0] from;
    logic [14:0]       last;
    logic [2:0]        inside_q; // FETCHs that wait or are offered

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    assign push = push_i && rst_n && 32'(inside_q) < Places;
    load_serve #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .cfg_i(cfg), .push_i(push), .room_o(room), .index_i, .ref_i,
        .own_valid_i, .own_ready_o(own_ready), .own_index_i,
        .xfer_valid_o(valid), .xfer_take_i(take_i && valid), .xfer_own_o(own), .xfer_ref_o(who),
        .xfer_poison_o(poison), .xfer_addr_o(addr), .xfer_from_o(from), .xfer_end_o(last),
        .idle_o(idle)
    );

    logic                  own_q, take;
    logic [TokensLog2-1:0] own_index_q;
    always_ff @(posedge clk_i) begin
        own_q       <= rst_n && own_valid_i && !own_ready;
        own_index_q <= own_index_i;
    end
    always_comb if (own_q) assume (own_valid_i && own_index_i == own_index_q);
    assign take = take_i && valid;

    // ---- the followed FETCH ----
    logic                  one_q;
    logic [2:0]            before_q;
    logic [15:0]           who_q;
    logic [TokensLog2-1:0] index_q;
    logic                  follow, mine;

    assign follow = push && watch_i && !one_q;
    assign mine   = one_q && before_q == '0 && valid && !own;

    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            inside_q <= '0;
            one_q    <= 1'b0;
        end else begin
            inside_q <= inside_q + 3'(push) - 3'(take && !own);
            if (follow) begin
                one_q    <= 1'b1;
                before_q <= inside_q - 3'(take && !own);
                {who_q, index_q} <= {ref_i, index_i};
            end else if (take && !own && one_q) begin
                if (before_q == '0) one_q <= 1'b0;
                else before_q <= before_q - 3'd1;
            end
        end
        if (rst_n) begin
            a_room:   assert (!push || room);
            a_row:    assert (!mine || (who == who_q && addr == 40'(index_q) << RowShift));
            a_from:   assert (!mine || from == Cfg.AddrW'((256 + (32'(index_q) << RowShift)) / 16));
            a_poison: assert (!mine || poison
                              == (256 + (32'(index_q) << RowShift) + RowBytes > 2048));
            a_end:    assert (!valid || last == 15'(RowBytes - 1));
            a_there:  assert (!valid || own || inside_q != '0);
            a_idle:   assert (!idle || inside_q == '0);
            c_last:   cover (mine && poison && take);
            c_own:    cover (take && own && one_q);
        end
    end

    // The next FETCH lets at most one own row pass.
    f_fair #(.Bound(1)) i_fetch (
        .clk_i, .rst_ni(rst_n), .wait_i(one_q && before_q == '0), .served_i(take && mine),
        .other_i(take && own)
    );
endmodule

`default_nettype wire
