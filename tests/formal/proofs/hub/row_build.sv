// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// A requester has rows and requests of any tokens, static rows and received rows, with experts
// anywhere. Each request has its row, in the same order, and the rows fit in the window.
`default_nettype none
`include "bundles.svh"

module prove_row_build #(
    parameter int unsigned Experts = 2,   // of a token, at most
    parameter bit Ends = 1'b0,            // checks the time of an item
    parameter bit BySwitch = 1'b0,        // switch-initiated reductions: no request leaves
    localparam cfg_pkg::cfg_t Cfg = sizes(),
    localparam type group_t = `MW_GROUP(Cfg)
) (
    input wire logic        clk_i, item_i, push_i, static_i, sum_i, own_i,
    dense_i, fill_i, every_i, last_i,
                            row_done_i, st_done_i,
                            req_ready_i, own_ready_i, table_i,
    input wire logic [1:0]  k_i, shift_i, limit_i,
    input wire logic [Experts-1:0][5:0] ids_i, // of 6 bits, all ones: none
    input wire bundle_pkg::emap_write_t emap_i,
    input wire group_t groups_i
);
    import packet_pkg::*;
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = 2;
        c.FlitBytes = 16;
        c.OpenRows = 2;
        c.MaxExperts = 32;
        c.TokensLog2 = 2;
        c.MemBytesLog2 = 11;
        c.SwitchReductions = BySwitch;
        c.RowSparse = 1'b0; // rows that return nothing are not covered
        return cfg_pkg::derived(c);
    endfunction

    logic                rst_n, item_done, push_done, quiet, push_quiet, own_valid;
    bundle_pkg::built_t  built;
    bundle_pkg::pushed_t pushed;
    `MW_ITEM(Cfg)        item;
    `MW_ITEMS(Cfg)       items;
    `MW_BACK(Cfg)        push;
    bundle_pkg::id_req_t id;
    `MW_STREAM(Cfg)      req;
    header_t             header;
    node_pkg::node_cfg_t cfg;
    logic [1:0]          k_q, shift_q, limit_q;   // layer constants
    logic [Experts-1:0][5:0] ids_q;               // of the item's entry

    always_comb begin
        cfg           = '0;
        cfg.k         = 5'(k_q);
        cfg.row_shift = 4'(shift_q);
        cfg.open_rows = 8'(limit_q);
        cfg.row_bytes = 15'd128;
        cfg.switch_reductions = BySwitch;
    end
    // Tables are written between layers.
    bundle_pkg::emap_write_t  emap;
    group_t                   groups;
    always_comb begin
        emap      = emap_i;
        groups    = groups_i;
        emap.we   = table_i;
        groups.we = table_i;
        if (item_i || push_i) assume (!table_i);
    end

    // one item to reduce, and one received item from GPU 1, both at 0
    always_comb begin
        item       = '0;
        item.valid = item_i;
        item.last  = last_i;
        items      = '0;
        {items.is_static, items.sum, items.own} = {static_i, sum_i, own_i};
        {items.dense, items.fill, items.every} = {dense_i, fill_i, every_i};
        items.last_flits = 7'd1;
        push       = '0;
        push.valid = push_i;
        push.home  = 1'b1;
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    row_build #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i(1'b0), .cfg_i(cfg), .emap_i(emap), .groups_i(groups),
        .item_i(item), .items_i(items), .built_o(built), .row_done_i, .push_i(push),
        .pushed_o(pushed), .st_done_i,
        .id_o(id), .id_i({{10{ids_q[id.idx[0]][5]}}, ids_q[id.idx[0]]}),
        .req_o(req), .req_ready_i, .own_valid_o(own_valid), .own_ready_i, .own_static_o()
    );
    assign header = req.data;
    assign {item_done, quiet} = {built.done, built.quiet};
    assign {push_done, push_quiet} = {pushed.done, pushed.quiet};

    logic       req_fire, own_fire, req_in_q, own_in_q, asked_q, with_r, of_push, r_q, push_row_q;
    logic [2:0] rows_q, st_q, limit; // unfinished own rows, and those of push

    // ---- the units ----
    // An offered item and its kind are stable until it is done.
    logic item_q, push_q, static_q, sum_q, own_q, last_q, dense_q, fill_q, every_q;
    always_ff @(posedge clk_i) begin
        item_q <= rst_n && item_i && !item_done;
        push_q <= rst_n && push_i && !push_done;
        {static_q, sum_q, own_q, last_q} <= {static_i, sum_i, own_i, last_i};
        {dense_q, fill_q, every_q} <= {dense_i, fill_i, every_i};
        if (!rst_n) {k_q, shift_q, limit_q} <= {k_i, shift_i, limit_i};
        if (!rst_n || item_done || push_done) ids_q <= ids_i;
    end
    always_comb begin
        assume (32'(k_q) != 0 && 32'(k_q) <= Experts);
        assume (!(static_i && sum_i) && !(BySwitch && static_i));
        if (item_q)
            assume (item_i && {static_i, sum_i, own_i, last_i} == {static_q, sum_q, own_q, last_q});
        if (item_q) assume ({dense_i, fill_i, every_i} == {dense_q, fill_q, every_q});
        if (!sum_i) assume (own_i);
        if (!sum_i || every_i) assume (!dense_i);
        if (!dense_i || own_i) assume (!fill_i);
        if (push_q) assume (push_i);
        if (rows_q == '0) assume (!row_done_i);
        if (st_q == '0) assume (!st_done_i);
    end

    // ---- packets ----
    assign limit    = (limit_q == '0 || limit_q > 2'd2) ? 3'd2 : 3'(limit_q);
    assign req_fire = req.valid && req_ready_i;
    assign own_fire = own_valid && own_ready_i;
    assign with_r   = own_in_q ? r_q : header.tag[2];
    assign of_push  = own_in_q ? push_row_q : header.tag[7];

    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            req_in_q <= 1'b0;
            own_in_q <= 1'b0;
            asked_q  <= 1'b0;
            rows_q   <= '0;
            st_q     <= '0;
        end else begin
            if (req_fire) req_in_q <= !req.last;
            if (own_fire) own_in_q <= !req.last;
            if (req_fire && req.last) asked_q <= 1'b1;
            else if (own_fire && req.last) asked_q <= 1'b0;
            rows_q <= rows_q + 3'(own_fire && req.last && !of_push) - 3'(row_done_i);
            st_q   <= st_q + 3'(own_fire && req.last && of_push) - 3'(st_done_i);
        end
        if (own_fire && !own_in_q) {r_q, push_row_q} <= {header.tag[2], header.tag[7]};
    end

    // ---- experts of the item: on another GPU, or not mapped ----
    logic others, strange;
    always_comb begin
        others  = 1'b0;
        strange = 1'b0;
        for (int unsigned j = 0; j < Experts; j++) begin
            if (2'(j) < k_q && ids_q[j] != '1) begin
                if (ids_q[j][5] || !i_dut.i_emap.mem[ids_q[j][4:0]][1]) strange = 1'b1;
                else if (i_dut.i_emap.mem[ids_q[j][4:0]][0]) others = 1'b1;
            end
        end
    end

    // ---- time of an item, without waits for uplink and reduce_serve ----
    logic [6:0] work_q;
    always_ff @(posedge clk_i) begin
        if (!rst_n || item_done || push_done || i_dut.state_q == '0) work_q <= '0;
        else work_q <= work_q + 7'(!((req.valid && !req_ready_i) || (own_valid && !own_ready_i)));

        if (rst_n) begin
            // each request is followed by its row, which ends with R, and no other row does
            a_request: assert (!req.valid || !asked_q);
            a_row:     assert (!own_valid || BySwitch || (asked_q == with_r));
            // With switch-initiated reductions nothing is requested. A token's row ends with R
            // exactly if another GPU has an expert of it.
            a_none:    assert (!BySwitch || !req.valid);
            a_r:       assert (!BySwitch || !own_valid
                               || with_r == (!of_push && !sum_i && others && !strange));
            a_apart:   assert (!(req.valid && own_valid) && !(own_in_q && req.valid)
                               && !(req_in_q && own_valid));
            a_owed:    assert (!(item_done || push_done) || !asked_q);
            // requested rows that are not in memory have a place
            a_window:  assert (rows_q + 3'(asked_q) <= limit);
            a_push:    assert (st_q <= limit);
            a_quiet:   assert (quiet == (rows_q == '0) && push_quiet == (st_q == '0));
            // an item takes a bounded time, besides the waits of its packets
            a_ends:    assert (!Ends || 32'(work_q) <= 3 * 32'(k_q) + 32'(shift_q) + 6);
            // the row of a gathered token goes to its dense row, and does not have it as a term
            a_dense:   assert (!own_valid || own_in_q || of_push
                               || (header.tag[4:3] == 2'b11) == dense_i);
            a_alone:   assert (!own_valid || own_in_q || of_push || !dense_i || !header.tag[6]);
            l_open:    assert (3'(i_dut.open_q) == rows_q && 3'(i_dut.push_open_q) == st_q);
            c_start:   cover (item_i || push_i);
            c_full:    cover (rows_q == 3'd2);
            c_window:  cover ((asked_q || (BySwitch && own_fire && with_r)) && rows_q == 3'd1);
            c_lone:    cover (own_fire && !with_r && !of_push);
            c_push:    cover (st_q == 3'd2);
            c_dense:   cover (own_fire && dense_i && !of_push && header.cnt != '0);
        end
    end
    f_stream #(.Width(64)) i_req (
        .clk_i, .rst_ni(rst_n), .valid_i(req.valid), .ready_i(req_ready_i),
        .data_i(req.data[63:0]), .last_i(req.last),
        .inside_o()
    );

    logic unused;
    assign unused = ^{id, header, req.data, built};
endmodule

`default_nettype wire
