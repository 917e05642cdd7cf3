// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The link brings whole packets of any class and content, those of CTRL only with a credit. Token
// tracker and event counters take their packets at any time.
`default_nettype none
`include "bundles.svh"

module prove_rx_link #(
    parameter int unsigned FlitBytes = 8,
    localparam int unsigned Pkts = 2,
    localparam cfg_pkg::cfg_t Cfg = sizes()
) (
    input  wire logic         clk_i, watch_i, sig_ready_i, ev_ready_i, req_ready_i, res_room_i,
    input  wire `MW_LINK(Cfg) rx_i
);
    import packet_pkg::*;
    import error_pkg::*;
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = 2;
        c.FlitBytes = FlitBytes;
        c.TokensLog2 = 2;
        c.RxCtrlPkts = Pkts;
        c.SwitchReductions = 1'b0;
        return cfg_pkg::derived(c);
    endfunction

    localparam logic [1:0]  Epoch = 2'd1;

    logic                rst_n, sig_valid, ev_valid, ev_ack, res_push, idle;
    logic [3:0]          crd, ev_idx;
    packet_pkg::port_t   ack_src;
    `MW_MARKED(Cfg)      st, req;
    bundle_pkg::error_t  err;
    logic [node_pkg::TokenW-1:0] sig_token;
    node_pkg::node_cfg_t cfg;

    always_comb begin
        cfg       = '0;
        cfg.epoch = Epoch;
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    rx #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .cfg_i(cfg), .rx_i, .crd_o(crd),
        .sig_valid_o(sig_valid), .sig_ready_i, .sig_token_o(sig_token),
        .ev_valid_o(ev_valid), .ev_idx_o(ev_idx), .ev_ready_i, .ev_ack_o(ev_ack),
        .ack_src_o(ack_src),
        .st_o(st), .st_crd_i(1'b0), .req_o(req), .req_ready_i,
        .tile_ready_i(1'b0), .fetch_room_i(1'b0),
        .res_push_o(res_push), .res_room_i, .res_crd_i(1'b0), .err_o(err), .idle_o(idle)
    );

    // ---- the link: packets whole, in consecutive cycles ----
    logic       inside_q;
    logic [1:0] open_q, count, used;
    logic [1:0] flits_q;         // of the current packet, before this one; 3: 3 or more
    logic       ctrl, start, first;

    assign ctrl  = rx_i.valid && rx_i.cls == CLS_CTRL;
    assign first = !inside_q;
    assign start = rx_i.valid && first;
    always_ff @(posedge clk_i) begin
        if (!rst_n) inside_q <= 1'b0;
        else if (rx_i.valid) inside_q <= !rx_i.last;
        if (rx_i.valid) open_q <= rx_i.cls;
        if (!rst_n || (rx_i.valid && rx_i.last)) flits_q <= '0;
        else if (rx_i.valid && flits_q != '1) flits_q <= flits_q + 2'd1;
    end
    always_comb begin
        if (!rst_n) assume (!rx_i.valid);
        if (inside_q) assume (rx_i.valid && rx_i.cls == open_q);
        if (start && rx_i.cls == CLS_CTRL) assume (used != 2'(Pkts));
    end
    f_credit #(.Limit(Pkts)) i_credits (
        .clk_i, .rst_ni(rst_n), .spend_i(start && rx_i.cls == CLS_CTRL),
        .back_i(crd[CLS_CTRL]), .used_o(used)
    );

    // ---- content of a CTRL packet, from its whole header ----
    typedef enum logic [1:0] {Signal, Event, Ack, Err} kind_e;
    typedef struct packed {
        kind_e      kind;
        logic [7:0] val;
    } word_t;
    logic [Cfg.FlitW-1:0] low_q;
    header_t       header, low;
    word_t         in, out;
    logic          own_err;      // error of the link, which has priority

    if (Cfg.HeadFlits == 1) begin : gen_one
        assign header = header_t'(rx_i.data);
        assign low    = header;
    end else begin : gen_two
        assign header = header_t'({rx_i.data, low_q});
        assign low    = header_t'({64'd0, rx_i.data});
    end
    always_ff @(posedge clk_i) if (rx_i.valid && first) low_q <= rx_i.data;

    always_comb begin
        in = '{kind: Err, val: 8'(ERR_OPCODE)};
        if (rx_i.err || 3'(flits_q) + 3'd1 != 3'(Cfg.HeadFlits)) in.val = 8'(ERR_LENGTH);
        else if (header.epoch != Epoch) in.val = 8'(ERR_EPOCH);
        else if (header.len != '0 || header.cnt != '0) in.val = 8'(ERR_LENGTH);
        else if (header.opcode inside {OP_SIGNAL, OP_EVENT} && (header.addr >> Cfg.TokW) != '0)
            in.val = 8'(ERR_BOUNDS);
        else if (header.opcode == OP_SIGNAL)
            in = '{kind: Signal, val: 8'(header.addr[Cfg.TokW-1:0])};
        else if (header.opcode == OP_EVENT) in = '{kind: Event, val: 8'(header.addr[Cfg.TokW-1:0])};
        else if (header.opcode == OP_ACK) in = '{kind: Ack, val: 8'(header.src)};
        else if (header.opcode == OP_ERROR) in.val = header.tag;

        out = '{kind: Err, val: 8'(err.code)};
        if (sig_valid) out = '{kind: Signal, val: 8'(sig_token)};
        else if (ev_valid) out = '{kind: Event, val: 8'(ev_idx)};
        else if (ev_ack) out = '{kind: Ack, val: 8'(ack_src)};
    end
    assign own_err = i_dut.now_err;

    // Each packet acts once, in order, as its header requires, and returns its credit then.
    f_queue #(.Width($bits(word_t)), .Depth(Pkts), .Latency(0)) i_queue (
        .clk_i, .rst_ni(rst_n), .watch_i, .push_i(ctrl && rx_i.last), .in_i(in),
        .accept_i(i_dut.ctrl_room),
        .pop_i(crd[CLS_CTRL]), .show_i(crd[CLS_CTRL]), .out_i(out), .count_o(count)
    );

    // ---- other classes ----
    logic req_comes, part_comes, room, room_q, bad;   // bad: a header of another epoch or class
    assign req_comes  = rx_i.valid && rx_i.cls == CLS_REQ;
    assign part_comes = rx_i.valid && rx_i.cls == CLS_PART;
    assign room = first ? res_room_i : room_q;
    assign bad  = first && (low.epoch != Epoch || (rx_i.cls == CLS_PART && low.opcode != OP_RESULT)
                            || (rx_i.cls == CLS_REQ
                                && !(low.opcode inside {OP_MULTIMEM_LD_REDUCE,
                                                        OP_DYMULTIMEM_LD_REDUCE})));
    always_ff @(posedge clk_i) begin
        if (start && rx_i.cls == CLS_PART) room_q <= res_room_i;
        if (rst_n) begin
            // a CTRL packet waits only for the token tracker or the event counters, its error only
            // for an error of the link
            a_sunk:   assert (count == '0 || crd[CLS_CTRL] || (sig_valid && !sig_ready_i)
                              || (ev_valid && !ev_ready_i)
                              || (own_err && !sig_valid && !ev_valid && !ev_ack));
            a_lone:   assert (2'(sig_valid) + 2'(ev_valid) + 2'(ev_ack) <= 2'd1
                              && (count != '0 || !(sig_valid || ev_valid || ev_ack
                                                   || (err.valid && !own_err))));
            a_notified: assert (!crd[CLS_CTRL]
                              || (sig_valid ? sig_ready_i : ev_valid ? ev_ready_i
                                  : ev_ack || err.valid));
            // packets of other classes pass unchanged, but a bad header of REQ or PART is poisoned
            a_store:  assert (st.valid == (rx_i.valid && rx_i.cls == CLS_STORE)
                              && (!st.valid || (st.data == rx_i.data && st.last == rx_i.last
                                                && st.err == rx_i.err)));
            a_req:    assert (req.valid == req_comes
                              && (!req.valid || (req.last == rx_i.last && req.err == rx_i.err
                                                 && req.data == poisoned(rx_i.data, bad))));
            a_part:   assert (res_push == (part_comes && room)
                              && (!res_push || st.data == poisoned(rx_i.data, bad)));
            a_err:    assert (own_err
                              == ((req_comes && (!req_ready_i || (rx_i.err && rx_i.last) || bad))
                                          || (part_comes
                                              && (!room || (rx_i.err && rx_i.last) || bad))));
            a_open:   assert (used == count + 2'(inside_q && open_q == CLS_CTRL));
            c_full:   cover (count == 2'(Pkts));
            c_sig:    cover (crd[CLS_CTRL] && sig_valid && sig_token == 22'd7);
            c_err:    cover (crd[CLS_CTRL] && err.code == ERR_BOUNDS);
            c_last:   cover (start && rx_i.cls == CLS_CTRL && used == 2'(Pkts) - 2'd1
                             && inside_q == 1'b0);
            c_long:   cover (ctrl && rx_i.last && flits_q == '1);
            c_part:   cover (res_push && inside_q && rx_i.last);
        end
    end

    function automatic logic [Cfg.FlitW-1:0] poisoned(logic [Cfg.FlitW-1:0] flit, logic now);
        header_t h;
        h = header_t'(flit);
        h.poison = h.poison || now;
        return Cfg.FlitW'(h);
    endfunction

    logic unused;
    assign unused = idle;
endmodule

`default_nettype wire
