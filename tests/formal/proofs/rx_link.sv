// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// rx at the end of a link that brings whole packets of any class and content, those of CTRL only with a credit; token tracker and event counters take what is theirs when they like.
`default_nettype none

module prove_rx_link #(
    parameter int unsigned FlitBytes = 8,
    localparam int unsigned FW = 8 * FlitBytes
) (
    input  wire logic          clk_i, watch_i, valid_i, last_i, err_i, sig_ready_i, ev_ready_i, req_ready_i, res_room_i,
    input  wire logic [1:0]                                                                                  cls_i,
    input  wire logic [FW-1:0]                                                                               data_i
);
    import packet_pkg::*;
    import error_pkg::*;
    localparam int unsigned Pkts = 2, N = 2, TokensLog2 = 2, TokB = 3, HF = 16 / FlitBytes;
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = N;
        c.FlitBytes = FlitBytes;
        c.TokensLog2 = TokensLog2;
        c.RxCtrlPkts = Pkts;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    localparam logic [1:0]  Epoch = 2'd1;

    logic                rst_n, sig_valid, ev_valid, ev_ack, st_valid, st_last, st_err, req_valid, req_last, req_err, res_push, err_valid, idle;
    logic [3:0]          crd, ev_idx;
    logic [4:0]          ack_src;
    logic [FW-1:0]       st_data, req_data;
    logic [node_pkg::TokenW-1:0] sig_token;
    err_e                err_code;
    node_pkg::node_cfg_t cfg;

    always_comb begin
        cfg       = '0;
        cfg.epoch = Epoch;
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    rx #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .cfg_i(cfg), .rx_valid_i(valid_i), .rx_last_i(last_i), .rx_err_i(err_i), .rx_cls_i(cls_i), .rx_data_i(data_i), .crd_o(crd),
        .sig_valid_o(sig_valid), .sig_ready_i, .sig_token_o(sig_token), .ev_valid_o(ev_valid), .ev_idx_o(ev_idx), .ev_ready_i, .ev_ack_o(ev_ack), .ack_src_o(ack_src),
        .st_valid_o(st_valid), .st_last_o(st_last), .st_err_o(st_err), .st_data_o(st_data), .st_crd_i(1'b0),
        .req_valid_o(req_valid), .req_ready_i, .req_last_o(req_last), .req_err_o(req_err), .req_data_o(req_data),
        .res_push_o(res_push), .res_room_i, .res_crd_i(1'b0), .err_valid_o(err_valid), .err_code_o(err_code), .idle_o(idle)
    );

    // ---- the link: packets whole, in consecutive cycles ----
    logic       inside_q;
    logic [1:0] open_q, count, used;
    logic [1:0] flits_q;         // of the packet before this one: 3 for more
    logic       ctrl, start, first;

    assign ctrl  = valid_i && cls_i == CLS_CTRL;
    assign first = !inside_q;
    assign start = valid_i && first;
    always_ff @(posedge clk_i) begin
        if (!rst_n) inside_q <= 1'b0;
        else if (valid_i) inside_q <= !last_i;
        if (valid_i) open_q <= cls_i;
        if (!rst_n || (valid_i && last_i)) flits_q <= '0;
        else if (valid_i && flits_q != '1) flits_q <= flits_q + 2'd1;
    end
    always_comb begin
        if (!rst_n) assume (!valid_i);
        if (inside_q) assume (valid_i && cls_i == open_q);
        if (start && cls_i == CLS_CTRL) assume (used != 2'(Pkts));
    end
    f_credit #(.Limit(Pkts)) i_credits (.clk_i, .rst_ni(rst_n), .spend_i(start && cls_i == CLS_CTRL), .back_i(crd[CLS_CTRL]), .used_o(used));

    // ---- what a CTRL packet says: read of the whole header ----
    typedef enum logic [1:0] {Signal, Event, Ack, Err} kind_e;
    typedef struct packed {
        kind_e      kind;
        logic [7:0] val;
    } word_t;
    logic [FW-1:0] low_q;
    header_t       header, low;
    word_t         in, out;
    logic          own_err;      // one of the link, which comes first

    if (HF == 1) begin : gen_one
        assign header = header_t'(data_i);
        assign low    = header;
    end else begin : gen_two
        assign header = header_t'({data_i, low_q});
        assign low    = header_t'({64'd0, data_i});
    end
    always_ff @(posedge clk_i) if (valid_i && first) low_q <= data_i;

    always_comb begin
        in = '{kind: Err, val: 8'(ERR_OPCODE)};
        if (err_i || 3'(flits_q) + 3'd1 != 3'(HF)) in.val = 8'(ERR_LENGTH);
        else if (header.epoch != Epoch) in.val = 8'(ERR_EPOCH);
        else if (header.len != '0 || header.cnt != '0) in.val = 8'(ERR_LENGTH);
        else if (header.opcode inside {OP_SIGNAL, OP_EVENT} && (header.addr >> TokB) != '0) in.val = 8'(ERR_BOUNDS);
        else if (header.opcode == OP_SIGNAL) in = '{kind: Signal, val: 8'(header.addr[TokB-1:0])};
        else if (header.opcode == OP_EVENT) in = '{kind: Event, val: 8'(header.addr[TokB-1:0])};
        else if (header.opcode == OP_ACK) in = '{kind: Ack, val: 8'(header.src)};
        else if (header.opcode == OP_ERROR) in.val = header.tag;

        out = '{kind: Err, val: 8'(err_code)};
        if (sig_valid) out = '{kind: Signal, val: 8'(sig_token)};
        else if (ev_valid) out = '{kind: Event, val: 8'(ev_idx)};
        else if (ev_ack) out = '{kind: Ack, val: 8'(ack_src)};
    end
    assign own_err = i_dut.now_err;

    // each acts once, in order, with what it says, and gives its credit back as it does
    f_queue #(.Width($bits(word_t)), .Depth(Pkts), .Latency(0)) i_queue (
        .clk_i, .rst_ni(rst_n), .watch_i, .push_i(ctrl && last_i), .in_i(in), .accept_i(i_dut.ctrl_room),
        .pop_i(crd[CLS_CTRL]), .show_i(crd[CLS_CTRL]), .out_i(out), .count_o(count)
    );

    // ---- other classes ----
    logic room_q, bad;           // bad: a header of another epoch or class
    assign bad = first && (low.epoch != Epoch || (cls_i == CLS_PART && low.opcode != OP_RESULT)
                           || (cls_i == CLS_REQ && !(low.opcode inside {OP_MULTIMEM_LD_REDUCE, OP_DYMULTIMEM_LD_REDUCE})));
    always_ff @(posedge clk_i) begin
        if (start && cls_i == CLS_PART) room_q <= res_room_i;
        if (rst_n) begin
            // a CTRL packet waits for the token tracker or the event counters alone, its error for one of the link
            a_sunk:   assert (count == '0 || crd[CLS_CTRL] || (sig_valid && !sig_ready_i) || (ev_valid && !ev_ready_i) || (own_err && !sig_valid && !ev_valid && !ev_ack));
            a_lone:   assert (2'(sig_valid) + 2'(ev_valid) + 2'(ev_ack) <= 2'd1 && (count != '0 || !(sig_valid || ev_valid || ev_ack || (err_valid && !own_err))));
            a_told:   assert (!crd[CLS_CTRL] || (sig_valid ? sig_ready_i : ev_valid ? ev_ready_i : ev_ack || err_valid));
            // what is of other classes goes on as it is, REQ and PART with a bad header poisoned
            a_store:  assert (st_valid == (valid_i && cls_i == CLS_STORE) && (!st_valid || (st_data == data_i && st_last == last_i && st_err == err_i)));
            a_req:    assert (req_valid == (valid_i && cls_i == CLS_REQ) && (!req_valid || (req_last == last_i && req_err == err_i && req_data == poisoned(data_i, bad))));
            a_part:   assert (res_push == (valid_i && cls_i == CLS_PART && (first ? res_room_i : room_q)) && (!res_push || (st_data == poisoned(data_i, bad))));
            a_err:    assert (own_err == ((cls_i == CLS_REQ && valid_i && (!req_ready_i || (err_i && last_i) || bad)) || (cls_i == CLS_PART && valid_i && (!(first ? res_room_i : room_q) || (err_i && last_i) || bad))));
            a_open:   assert (used == count + 2'(inside_q && open_q == CLS_CTRL));
            c_full:   cover (count == 2'(Pkts));
            c_sig:    cover (crd[CLS_CTRL] && sig_valid && sig_token == 22'd7);
            c_err:    cover (crd[CLS_CTRL] && err_code == ERR_BOUNDS);
            c_last:   cover (start && cls_i == CLS_CTRL && used == 2'(Pkts) - 2'd1 && inside_q == 1'b0);
            c_long:   cover (ctrl && last_i && flits_q == '1);
            c_part:   cover (res_push && inside_q && last_i);
        end
    end

    function automatic logic [FW-1:0] poisoned(logic [FW-1:0] flit, logic now);
        header_t h;
        h = header_t'(flit);
        h.poison = h.poison || now;
        return FW'(h);
    endfunction

    logic unused;
    assign unused = idle;
endmodule

`default_nettype wire
