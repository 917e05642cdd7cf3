// SPDX-License-Identifier: CERN-OHL-P-2.0
`default_nettype none
`include "bundles.svh"

module prove_egress #(
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned Window = 0,
    parameter bit          BySwitch = 1'b0, // GRANTs are made
    parameter bit          Claims = 1'b0,   // inputs are claimed at any time; the proof of
                                            // read_turns bounds the wait
    localparam int unsigned N = 3,
    localparam cfg_pkg::cfg_t Cfg = sizes()
) (
    input  wire logic                  clk_i, hold_i, down_i, res_valid_i,
    error_valid_i, dyn_i, pay_i,
    input  wire logic                  grant_valid_i,
    input  wire logic [Cfg.StoreW-1:0] store_limit_i,
    input  wire logic [Cfg.PartW-1:0]  part_limit_i,
    input  wire logic [N-1:0]          has_ctrl_i, has_req_i, has_store_i, urgent_i, claimed_i,
    input  wire logic [3:0]            more_i, dn_crd_i,
    input  wire logic [Cfg.PayW-1:0]   len_i,
    input  wire logic [6:0]            res_len_i,
    input  wire logic [N-1:0]          one_i   // the input that is followed
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = N;
        c.FlitBytes = FlitBytes;
        c.OpenRows = 2;
        c.StorePkts = 2;
        c.CtrlPkts = 2;
        c.Window = Window;
        c.SwitchReductions = BySwitch;
        c.RxStorePkts = 2;
        c.RxResultPkts = 2;
        c.RxCtrlPkts = 2;
        c.Monitor = 1'b0;
        return cfg_pkg::derived(c);
    endfunction

    logic         rst_n, res_start, error_sent, grant_sent, start, from_error, from_grant, discard;
    logic [1:0]   cls;
    logic [2:0]   starved;
    logic [N-1:0] pop, free_store, sent, able;
    `MW_LINK(Cfg) dn;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    egress #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .port_i('0), .go_i(1'b0), .epoch_i(2'd0),
        .hold_i, .hold_store_i(1'b0), .down_i, .store_limit_i,
        .part_limit_i, .has_ctrl_i, .has_req_i, .has_store_i, .urgent_i, .claimed_i,
        .open_o(), .able_o(able),
        .cls_o(cls), .pop_o(pop),
        .desc_i((pop == '0) ? '0 : {1'b0, dyn_i && cls != 2'd0, more_i & {4{cls != 2'd0}}, pay_i
                                    && cls == 2'd1, len_i}),
        .re_o(), .rd_line_o(), .rd_slot_o(), .rdata_i('0),
        .free_ctrl_o(), .free_store_o(free_store), .sent_o(sent),
        .res_valid_i, .res_len_i, .res_poison_i(1'b0), .res_stamp_i('0),
        .res_start_o(res_start), .res_read_o(),
        .res_first_o(), .res_last_o(), .res_data_i('0), .res_err_i(1'b0),
        .grant_valid_i, .grant_fetch_i(1'b0), .grant_upper_i('0), .grant_sent_o(grant_sent),
        .error_valid_i, .error_code_i(8'd1), .error_sent_o(error_sent), .dn_o(dn), .dn_crd_i,
        .wait_turn_o(), .wait_credit_o(), .starved_o(starved), .discard_o(discard),
        .leave_o(), .leave_stamp_o(),
        .idle_o()
    );

    // ---- what waits stays until it is taken; credits come back for what was sent ----
    logic [N-1:0] ctrl_q, req_q, store_q, one_q;
    logic         res_q, error_q, grant_q;
    logic [1:0]   store_limit_q, part_limit_q;
    logic [1:0]   used_ctrl, used_store, used_part;
    logic         start_store, start_ctrl;

    assign start_store = pop != '0 && cls == 2'd1;
    assign start_ctrl  = (pop != '0 && cls == 2'd0) || from_error;
    assign start       = pop != '0 || res_start || from_error || from_grant;
    // An ERROR packet of the switch uses a CTRL credit when it starts, and is sent later.
    assign from_error  = i_dut.takes.ctrl && pop == '0;
    assign from_grant  = i_dut.grant_start;

    always_ff @(posedge clk_i) begin
        ctrl_q        <= rst_n ? has_ctrl_i & ~(pop & {N{cls == 2'd0}}) : '0;
        store_q       <= rst_n ? has_store_i & ~(pop & {N{cls == 2'd1}}) : '0;
        req_q         <= rst_n ? has_req_i & ~(pop & {N{cls == 2'd2}}) : '0;
        res_q         <= rst_n && res_valid_i && !res_start;
        error_q       <= rst_n && error_valid_i && !error_sent;
        grant_q       <= rst_n && grant_valid_i && !grant_sent;
        one_q         <= one_i;
        store_limit_q <= store_limit_i;
        part_limit_q  <= part_limit_i;
    end
    always_comb begin
        assume ((ctrl_q & ~has_ctrl_i) == '0 && (store_q & ~has_store_i) == '0
                && (req_q & ~has_req_i) == '0);
        if (!Claims) assume (claimed_i == '0);
        assume ((!res_q || res_valid_i) && (!error_q || error_valid_i));
        assume (grant_q ? grant_valid_i : !grant_valid_i || BySwitch);
        assume (one_i != '0 && (one_i & (one_i - 1'b1)) == '0);
        assume (store_limit_i != '0 && store_limit_i != 2'd3 && part_limit_i != '0
                && part_limit_i != 2'd3);
        if (rst_n) assume (one_i == one_q && store_limit_i == store_limit_q
                           && part_limit_i == part_limit_q);
        if (!rst_n) assume (dn_crd_i == '0);
        if (used_ctrl == '0)  assume (!dn_crd_i[0]);
        if (used_store == '0) assume (!dn_crd_i[1]);
        if (used_part == '0)  assume (!dn_crd_i[3]);
    end

    f_credit #(.Limit(2)) i_ctrl (
        .clk_i, .rst_ni(rst_n && !down_i), .spend_i(start_ctrl),
        .back_i(dn_crd_i[0]), .used_o(used_ctrl)
    );
    f_credit #(.Limit(2)) i_store (
        .clk_i, .rst_ni(rst_n && !down_i), .spend_i(start_store),
        .back_i(dn_crd_i[1]), .used_o(used_store)
    );
    f_credit #(.Limit(2)) i_part (
        .clk_i, .rst_ni(rst_n && !down_i), .spend_i(res_start),
        .back_i(dn_crd_i[3]), .used_o(used_part)
    );

    // ---- flits ----
    // Each packet leaves two cycles after its start, whole, with the length of its description.
    logic [4:0] length, length_q, length_qq, left_q;
    logic       start_q, start_qq;
    logic       gone_q, gone_qq, gone_left_q, gone;   // a packet that starts while the port is down
                                                      // is discarded whole
    logic [4:0] targets;

    assign targets = (5'(more_i) + 5'(FlitBytes / 2 - 1)) / 5'(FlitBytes / 2);
    always_comb begin
        length = 5'(Cfg.HeadFlits);
        if (res_start) length = 5'(Cfg.HeadFlits) + 5'(res_len_i / 7'(FlitBytes)) + 5'd1;
        else if (pop != '0 && cls != 2'd0) begin
            length = 5'(Cfg.HeadFlits) + targets;
            if (pay_i && cls == 2'd1) length = length + 5'(len_i) + 5'd1;
        end
    end
    always_ff @(posedge clk_i) begin
        start_q   <= rst_n && start;
        start_qq  <= rst_n && start_q;
        length_q  <= length;
        length_qq <= length_q;
        gone_q    <= down_i;
        gone_qq   <= gone_q;
        if (start_qq) gone_left_q <= gone_qq;
        if (!rst_n) left_q <= '0;
        else if (start_qq) left_q <= length_qq - 5'd1;
        else if (left_q != '0) left_q <= left_q - 5'd1;
    end

    // ---- the store that is being read ----
    logic [N-1:0] from, from_q;
    logic         notified_q;   // its end was reported
    assign from = from_q;
    always_ff @(posedge clk_i) begin
        if (!rst_n) from_q <= '0;
        else if (start) from_q <= (cls == 2'd1) ? pop : '0;
        else if (free_store != '0) from_q <= '0;
        notified_q <= rst_n && !start && free_store == '0 && (notified_q || sent != '0);
    end

    logic [4:0] left;   // flits of the packet, the one of this cycle included
    assign left = start_qq ? length_qq : left_q;
    assign gone = start_qq ? gone_qq : gone_left_q;

    // what may be chosen
    logic [N-1:0] open_ctrl, open_req, open_store;
    logic         open_grant; // a GRANT that has not started
    logic         began_q;    // the one that waits has started
    assign open_grant = grant_valid_i && !began_q;
    always_ff @(posedge clk_i) began_q <= rst_n && !grant_sent && (from_grant || began_q);
    assign {open_ctrl, open_req, open_store} = {has_ctrl_i, has_req_i, has_store_i}
                                               & ~{3{claimed_i}};

    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            a_one:    assert ((pop & (pop - 1'b1)) == '0 && !(pop != '0 && res_start));
            a_asked:  assert ((pop & ~((cls == 2'd0) ? open_ctrl : (cls == 2'd1) ? open_store
                                       : (cls == 2'd2) ? open_req : '0)) == '0);
            a_result: assert (!res_start || res_valid_i);
            // each starts once
            a_grant:  assert (!from_grant || (open_grant && pop == '0 && cls == 2'd2));
            a_first:  assert (pop == '0 || cls != 2'd2 || !open_grant);
            a_sent_g: assert (!grant_sent || began_q);
            a_store:  assert (used_store <= store_limit_i && used_part <= part_limit_i);
            // no packet begins inside another
            a_last:   assert (!start_qq || left_q == '0);
            a_gone:   assert (discard == (start && down_i));
            a_whole:  assert (dn.valid == (left != '0 && !gone)
                              && (!dn.valid || dn.last == (left == 5'd1)));
            // a store is reported as sent once, at its end or one cycle before
            a_sent:   assert (Window == 0
                              || ((sent & ~(sent & from)) == '0 && !(notified_q && sent != '0)
                                              && (free_store == '0 || notified_q
                                                  || sent == free_store)));
            // a class that waits without a credit is reported
            a_starved: assert (starved == {res_valid_i && used_part == part_limit_i,
                                           has_store_i != '0 && used_store == store_limit_i,
                                           (has_ctrl_i != '0
                                            || (error_valid_i && !i_dut.error_busy_q))
                                           && used_ctrl == 2'd2});
            a_able:   assert (able
                              == (has_req_i | ((used_store == store_limit_i) ? '0 : has_store_i)
                                       | ((used_ctrl == 2'd2) ? '0 : has_ctrl_i)));
            // valid one cycle early, and equal
            a_free:   assert (i_dut.free_q == (!i_dut.busy_q || i_dut.read_last));
            a_held:   assert (!(hold_i && start));
            c_all:    cover (has_ctrl_i != '0 && has_req_i != '0 && has_store_i != '0
                             && res_valid_i && start);
            c_other:  cover (start_store && (pop & one_i) == '0 && (has_store_i & one_i) != '0);
            c_error:  cover (from_error);
            c_grant:  cover (from_grant == BySwitch && start);
            c_gone:   cover (discard);
            c_full:   cover (used_store == store_limit_i && used_part == part_limit_i
                             && store_limit_i == 2'd2);
            a_busy:   assert (hold_i || start || i_dut.busy_q
                              || !((open_req != '0) || open_grant
                                   || (open_store != '0 && used_store != store_limit_i)
                                   || (res_valid_i && used_part != part_limit_i)
                                   || (open_ctrl != '0 && used_ctrl != 2'd2)));
        end
    end

    // ---- fairness ----
    // A class that waits with a credit lets at most 16 packets of others pass, CTRL one. An input
    // lets at most N - 1 packets of its class pass. With a window it lets 8 N - 1 stores pass,
    // whichever are urgent.
    f_fair #(.Bound(1)) i_fair_ctrl (
        .clk_i, .rst_ni(rst_n), .wait_i(open_ctrl != '0 && used_ctrl != 2'd2),
        .served_i(start_ctrl), .other_i(start)
    );
    f_fair #(.Bound(16)) i_fair_store (
        .clk_i, .rst_ni(rst_n), .wait_i(open_store != '0 && used_store != store_limit_i),
        .served_i(start_store),
        .other_i(start)
    );
    f_fair #(.Bound(16)) i_fair_req (
        .clk_i, .rst_ni(rst_n), .wait_i(open_req != '0 || open_grant),
        .served_i(from_grant || (pop != '0 && cls == 2'd2)), .other_i(start)
    );
    f_fair #(.Bound(16)) i_fair_part (
        .clk_i, .rst_ni(rst_n), .wait_i(res_valid_i && used_part != part_limit_i),
        .served_i(res_start), .other_i(start)
    );
    f_fair #(.Bound((Window == 0) ? N - 1 : 8 * N - 1)) i_fair_input (
        .clk_i, .rst_ni(rst_n), .wait_i((open_store & one_i) != '0),
        .served_i(start_store && (pop & one_i) != '0),
        .other_i(start_store)
    );
    f_fair #(.Bound(N - 1)) i_fair_input_req (
        .clk_i, .rst_ni(rst_n), .wait_i((open_req & one_i) != '0),
        .served_i(cls == 2'd2 && (pop & one_i) != '0),
        .other_i(pop != '0 && cls == 2'd2)
    );
endmodule

`default_nettype wire
