// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The sender ignores credits. Packets of any class and length come at any time, whether the queue
// has room or not. The proof of flit_queue assumes what a_almost_full asserts.
`default_nettype none

module prove_credit_gate #(
    parameter int unsigned HeadFlits = 1,
    localparam int unsigned Pkts = 2
) (
    input  wire logic       clk_i, valid_i, last_i, err_i, almost_full_i,
    input  wire logic [1:0] cls_i,                         crd_i // crd_i: {STORE, CTRL}
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.FlitBytes = 16 / HeadFlits;
        c.StorePkts = Pkts;
        c.CtrlPkts = Pkts;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    import packet_pkg::*;

    logic rst_n, first, second, enters, last, err, scarce;
    error_pkg::err_e code;
    logic inside_q, open_q, head_q;          // in a packet; it was admitted; its first flit has
                                             // come
    logic [1:0] cls_q, store_q, ctrl_q;      // credits that the sender holds
    logic begins, open, cut, went_q;         // went_q: a flit has entered since the queue
                                             // became almost full

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    credit_gate #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .valid_i, .last_i, .cls_i, .err_i, .crd_i, .almost_full_i,
        .first_o(first), .second_o(second), .enters_o(enters), .last_o(last),
        .err_o(err), .code_o(code),
        .scarce_o(scarce), .kept_use_i(1'b0), .left_o(), .store_begins_o()
    );

    assign begins = valid_i && !inside_q;
    assign cut    = inside_q && almost_full_i && !last_i;

    always_comb begin
        unique case (cls_i)
            CLS_CTRL:  open = ctrl_q != '0 && !almost_full_i;
            CLS_STORE: open = store_q != '0 && !almost_full_i;
            CLS_REQ:   open = !almost_full_i;
            default:   open = 1'b0;
        endcase
        if (!rst_n) assume (!valid_i && crd_i == '0);
        if (inside_q) assume (cls_i == cls_q);
        if (ctrl_q == 2'(Pkts)) assume (!crd_i[0]);   // no more credits than exist
        if (store_q == 2'(Pkts)) assume (!crd_i[1]);
    end

    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            inside_q <= 1'b0;
            head_q   <= 1'b0;
            went_q   <= 1'b0;
            store_q  <= 2'(Pkts);
            ctrl_q   <= 2'(Pkts);
        end else begin
            if (valid_i) begin
                inside_q <= !last_i;
                head_q   <= begins && !last_i;
            end
            if (begins) cls_q <= cls_i;
            if (valid_i) open_q <= (begins ? open : open_q) && !cut;
            went_q  <= almost_full_i && (went_q || enters);
            store_q <= store_q + 2'(crd_i[1]) - 2'(begins && open && cls_i == CLS_STORE);
            ctrl_q  <= ctrl_q + 2'(crd_i[0]) - 2'(begins && open && cls_i == CLS_CTRL);

            a_first:   assert (first == !inside_q);
            a_second:  assert (second == (HeadFlits == 2 && head_q));
            // a packet enters whole, cut, or not at all
            a_enters:  assert (enters == (valid_i && (begins ? open : open_q)));
            a_last:    assert (!enters || (last == (last_i || cut) && err == (err_i || cut)));
            a_almost_full: assert (!(enters && almost_full_i && went_q));
            a_refused: assert (code == ((!begins || open || cls_i == CLS_PART) ? error_pkg::ERR_NONE
                                        : (cls_i == CLS_REQ) ? error_pkg::ERR_WINDOW
                                        : error_pkg::ERR_CREDIT));
            a_scarce:  assert (scarce == (store_q == '0));
        end
    end

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_full:    cover (enters && cls_i == CLS_STORE && last_i && inside_q);
            c_scarce:  cover (scarce && ctrl_q == '0);
            c_refused: cover (code == error_pkg::ERR_CREDIT && cls_i == CLS_STORE);
            c_part:    cover (valid_i && inside_q && cls_i == CLS_PART);
            c_back:    cover (crd_i == '1 && store_q == 2'd1);
        end
    end
endmodule

`default_nettype wire
