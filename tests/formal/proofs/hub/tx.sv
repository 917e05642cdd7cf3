// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Sources offer packets of any length at any time. The link partner returns credits at any time.
// With Throttled the outputs of dispatch_throttle are free (throttle_i). With Gradients gradients
// come, too.
`default_nettype none
`include "bundles.svh"

module prove_tx #(
    parameter int unsigned FlitBytes = 8,
    parameter bit Throttled = 1'b0,
    parameter bit Gradients = 1'b0
) (
    input  wire logic       clk_i, ctl_valid_i, req_come_i, req_last_i, st_come_i, st_last_i,
    input  wire logic       sum_valid_i, sum_store_i, sum_last_i, dw_valid_i, dw_last_i,
    input  wire logic       hold_i, // hold of a slower link
    input  wire logic [2:0] throttle_i, // takes part, dispatch first, dispatch waits
    input  wire logic [1:0] ctl_word_i, req_word_i, st_word_i, sum_word_i, dw_word_i, limit_i,
    input  wire bundle_pkg::credit_t crd_i
);
    import packet_pkg::*;
    localparam int unsigned Credits = 2;
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.FlitBytes = FlitBytes;
        c.StorePkts = Credits;
        c.CtrlPkts = Credits;
        c.TokenOrder = Throttled;
        c.GateGradients = Gradients;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    logic                rst_n, ctl_ready, sst_ready, part_ready, dw_ready,
                         sst_valid, idle;
    logic [1:0]          limit_q, word_q, ctl_q;
    header_t             ctl_header;
    bundle_pkg::tx_counts_t count;
    node_pkg::node_cfg_t cfg;
    `MW_STREAM(Cfg)      req, st, part, dw;
    `MW_LINK(Cfg)        up;
    `MW_SHARE(Cfg)       share;
    logic                held;

    assign held  = Throttled && throttle_i[0];
    assign share = '{valid: 1'b0, tokens: (Cfg.TokensLog2+1)'(throttle_i), rows: '0};

    assign sst_valid = sum_valid_i && sum_store_i;
    assign req  = '{valid: req_come_i, last: req_last_i, data: Cfg.FlitW'(req_word_i)};
    assign st   = '{valid: st_come_i, last: st_last_i, data: Cfg.FlitW'(st_word_i)};
    assign part = '{valid: sum_valid_i && !sum_store_i, last: sum_last_i,
                    data: Cfg.FlitW'(sum_word_i)};
    assign dw   = '{valid: Gradients && dw_valid_i, last: dw_last_i, data: Cfg.FlitW'(dw_word_i)};
    always_comb begin
        cfg               = '0;
        cfg.store_credits = 8'(limit_i);
        cfg.ctrl_credits  = 8'(limit_i);
        ctl_header        = '0;
        ctl_header[1:0]   = ctl_word_i;
        ctl_header[Cfg.FlitW*(Cfg.HeadFlits-1) +: 2] = ctl_word_i;
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    tx #(.Cfg(Cfg), .StoreFlits(32)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i(1'b0), .cfg_i(cfg), .share_i(share),
        .ctl_i('{valid: ctl_valid_i, header: ctl_header}), .ctl_ready_o(ctl_ready),
        .req_i(req), .req_ready_o(), .st_i(st), .st_ready_o(),
        .sum_i('{valid: {sst_valid, part.valid}, last: part.last, data: part.data}),
        .sum_ready_o({sst_ready, part_ready}), .dw_i(dw), .dw_ready_o(dw_ready),
        .up_o(up), .hold_i, .crd_i, .count_o(count), .idle_o(idle)
    );

    // ---- what is offered stays; packets of row_sum have no gap ----
    logic sum_wait_q, sum_inside_q, sum_kind_q, sum_last_q, sum_take, ctl_wait_q;
    logic [1:0] sum_q, dw_q;
    logic dw_wait_q, dw_inside_q, dw_last_q;
    logic [1:0] used_ctrl, used_store, limit;

    assign sum_take = sst_ready || part_ready;
    assign limit    = (limit_i == '0 || limit_i > 2'(Credits)) ? 2'(Credits) : limit_i;
    always_ff @(posedge clk_i) begin
        limit_q      <= limit_i;
        sum_wait_q   <= rst_n && sum_valid_i && !sum_take;
        sum_inside_q <= rst_n && (sum_take ? !sum_last_i : sum_inside_q);
        sum_kind_q   <= sum_store_i;
        sum_last_q   <= sum_last_i;
        sum_q        <= sum_word_i;
        ctl_wait_q   <= rst_n && ctl_valid_i && !ctl_ready;
        ctl_q        <= ctl_word_i;
        dw_wait_q    <= rst_n && dw.valid && !dw_ready;
        dw_inside_q  <= rst_n && (dw_ready ? !dw_last_i : dw_inside_q);
        dw_last_q    <= dw_last_i;
        dw_q         <= dw_word_i;
    end
    always_comb begin
        if (!rst_n) assume (!ctl_valid_i && !sum_valid_i && !dw.valid && crd_i.cls == '0);
        if (rst_n) assume (limit_i == limit_q);
        if (sum_wait_q) begin
            assume (sum_valid_i && sum_store_i == sum_kind_q && sum_last_i == sum_last_q
                    && sum_word_i == sum_q);
        end
        if (sum_inside_q) assume (sum_valid_i && sum_store_i == sum_kind_q);
        if (ctl_wait_q) assume (ctl_valid_i && ctl_word_i == ctl_q);
        if (used_ctrl == '0) assume (!crd_i.cls[CLS_CTRL]);
        if (used_store == '0) assume (!crd_i.cls[CLS_STORE]);
    end

    // ---- what leaves: one cycle after it was taken, whole ----
    logic       took, took_q, last, last_q, inside_q, half_q, open_sum_q, open_dw_q;
    logic [1:0] cls, cls_q, open_cls_q, word;
    logic [3:0] took_from;   // by class
    logic       start, start_ctrl, start_store, start_part, start_req;

    assign took_from[CLS_CTRL]  = i_dut.fire && i_dut.cls == CLS_CTRL;
    assign took_from[CLS_STORE] = sst_ready || dw_ready || i_dut.store_take;
    assign took_from[CLS_REQ]   = i_dut.req_take;
    assign took_from[CLS_PART]  = part_ready;
    assign took        = took_from != '0;
    assign start       = took && !inside_q;
    assign start_ctrl  = start && took_from[CLS_CTRL];
    assign start_store = start && took_from[CLS_STORE];
    assign start_part  = start && took_from[CLS_PART];
    assign start_req   = start && took_from[CLS_REQ];

    always_comb begin
        cls  = took_from[CLS_CTRL] ? CLS_CTRL : took_from[CLS_STORE] ? CLS_STORE
               : took_from[CLS_REQ] ? CLS_REQ : CLS_PART;
        last = took_from[CLS_CTRL] ? ctl_ready : sum_take ? sum_last_i : dw_ready ? dw_last_i
               : took_from[CLS_STORE] ? i_dut.store_last : i_dut.req_last;
        word = took_from[CLS_CTRL] ? ctl_word_i : sum_take ? sum_word_i : dw_ready ? dw_word_i
               : took_from[CLS_STORE] ? st_word_i : req_word_i;
    end
    always_ff @(posedge clk_i) begin
        took_q <= rst_n && took;
        cls_q  <= cls;
        last_q <= last;
        word_q <= word;
        if (!rst_n) inside_q <= 1'b0;
        else if (took) inside_q <= !last;
        if (took) {open_cls_q, open_sum_q, open_dw_q} <= {cls, sum_take, dw_ready};
        half_q <= rst_n && took_from[CLS_CTRL] && !half_q;
    end

    f_credit #(.Limit(Credits)) i_ctrl (
        .clk_i, .rst_ni(rst_n), .spend_i(start_ctrl),
        .back_i(crd_i.cls[CLS_CTRL]), .used_o(used_ctrl)
    );
    f_credit #(.Limit(Credits)) i_store (
        .clk_i, .rst_ni(rst_n), .spend_i(start_store),
        .back_i(crd_i.cls[CLS_STORE]), .used_o(used_store)
    );

    logic ctrl_here, store_here, req_here;   // a packet waits, and has a credit
    assign ctrl_here  = ctl_valid_i && used_ctrl != limit;
    assign store_here = ((i_dut.store_valid && !held) || sst_valid || dw.valid)
                        && used_store != limit;
    assign req_here   = i_dut.req_valid;

    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            a_one:    assert ((took_from & (took_from - 1'b1)) == '0
                              && !(sst_ready && i_dut.store_take)
                              && !(dw_ready && (sst_ready || i_dut.store_take)));
            // one packet at a time, in consecutive cycles
            a_gap:    assert (!inside_q || (took && cls == open_cls_q && sum_take == open_sum_q
                                            && dw_ready == open_dw_q));
            a_here:   assert (!took
                              || (took_from[CLS_CTRL] ? ctl_valid_i
                                  : (!sum_take || sum_valid_i) && (!dw_ready || dw.valid)));
            a_out:    assert (up.valid == took_q);
            a_flit:   assert (!up.valid || (up.last == last_q && up.cls == cls_q
                                            && up.data == Cfg.FlitW'(word_q) && !up.err));
            a_header: assert (!took_from[CLS_CTRL] || ctl_ready == (Cfg.HeadFlits == 1 || half_q));
            a_limit:  assert (used_ctrl <= limit && used_store <= limit
                              && !(start_ctrl && used_ctrl == limit)
                              && !(start_store && used_store == limit));
            a_rate:   assert (!(start && hold_i));
            a_held:   assert (!(start_store && !sum_take && !dw_ready && held));
            // never idle while a packet may go
            a_busy:   assert (took || hold_i
                              || !(ctrl_here || store_here || req_here || part.valid));
            a_used:   assert (i_dut.ctrl_used_q == used_ctrl && i_dut.store_used_q == used_store
                              && i_dut.inside_q == inside_q);
            c_credit: cover (used_ctrl == limit && used_store == limit && limit == 2'd2);
            c_back:   cover (start_store && used_store + 2'd1 == limit && crd_i.cls[CLS_STORE]);
            c_all:    cover (ctrl_here && store_here && req_here && part.valid);
            c_turn:   cover (i_dut.low_first && ctrl_here && start_store);
            c_sum:    cover (start_store && sst_valid && i_dut.store_valid);
            if (Gradients) c_dw: cover (start_store && dw_ready && i_dut.store_valid
                                        && held == Throttled);
        end
    end

    // ---- between classes ----
    // STORE or PART passes after at most 16 other packets. Each of the two therefore passes after
    // 33, including the turn of the other, and each queue of stores after 67. CTRL waits for one
    // other packet. REQ waits for CTRL, which credits bound, and otherwise for one other packet.
    f_fair #(.Bound(16)) i_fair_low (
        .clk_i, .rst_ni(rst_n), .wait_i(store_here || part.valid),
        .served_i(start_store || start_part), .other_i(start)
    );
    f_fair #(.Bound(33)) i_fair_store (
        .clk_i, .rst_ni(rst_n), .wait_i(store_here), .served_i(start_store), .other_i(start)
    );
    f_fair #(.Bound(33)) i_fair_part (
        .clk_i, .rst_ni(rst_n), .wait_i(part.valid), .served_i(start_part), .other_i(start)
    );
    f_fair #(.Bound(1)) i_fair_ctrl (
        .clk_i, .rst_ni(rst_n), .wait_i(ctrl_here), .served_i(start_ctrl), .other_i(start)
    );
    f_fair #(.Bound(1)) i_fair_req (
        .clk_i, .rst_ni(rst_n), .wait_i(req_here && !ctrl_here),
        .served_i(start_req), .other_i(start)
    );
    // After each gradient another store goes, if there is one. A gradient lets at most one store
    // pass, and at most three stores and partial sums together.
    f_fair #(.Bound(Gradients ? 3 : 1)) i_fair_queue (
        .clk_i, .rst_ni(rst_n), .wait_i(i_dut.store_valid && !held && used_store != limit),
        .served_i(start_store && i_dut.store_take), .other_i(start_store)
    );
    f_fair #(.Bound(Gradients ? 3 : 1)) i_fair_sum (
        .clk_i, .rst_ni(rst_n), .wait_i(sst_valid && used_store != limit),
        .served_i(start_store && sst_ready),
        .other_i(start_store)
    );

    if (Gradients) begin : gen_gradients
        always_comb begin
            if (dw_wait_q) assume (dw.valid && dw_last_i == dw_last_q && dw_word_i == dw_q);
            if (dw_inside_q) assume (dw.valid);
        end
        f_fair #(.Bound(1)) i_fair_dw (
            .clk_i, .rst_ni(rst_n), .wait_i(dw.valid && used_store != limit),
            .served_i(start_store && dw_ready), .other_i(start_store)
        );
        f_fair #(.Bound(3)) i_fair_dw_low (
            .clk_i, .rst_ni(rst_n), .wait_i(dw.valid && used_store != limit),
            .served_i(start_store && dw_ready), .other_i(start_store || start_part)
        );
    end

    logic unused;
    assign unused = ^{count, idle};
endmodule

`default_nettype wire
