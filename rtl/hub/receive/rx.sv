// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The hub's end of the downlink: splits the flits of the link by class.
//
// Function:
//
//   CTRL   each packet becomes a word of a small queue. SIGNAL goes to the token tracker (sig_),
//          EVENT to the streams' counters (ev_). ACK is a pulse, ERROR an error report
//   STORE  flits pass to rx_store (st_o), which has a slot for every credit
//   REQ    flits pass to reduce_serve (req_o), which has a place for every request of the
//          window; err: it ended wrongly. With switch-initiated reductions these are GRANTs.
//          Their rows go on one by one, own tokens' to the token tracker in place of signals,
//          others' to grant_lists (lane_), those that are loaded to unit load (tile_). FETCHs
//          (fetch_) are among them, for load_serve, where rows are loaded
//   PART   flits wait in rx_store's queue for RxResultPkts packets (res_push_o), with
//          data, last and err of st_o
//
// Order: Kept inside each class.
// Back-pressure: None to the link, because credits bound its packets. A CTRL credit returns when
// the word leaves the queue, a STORE credit when rx_store frees the slot, a PART credit when the
// packet has left.
// Latency: A CTRL packet waits in the queue for RxCtrlPkts - 1 others, one cycle each plus the time
// of the token tracker and the event counters.
// Errors: A packet beyond its credit is dropped and reported (CREDIT). A CTRL packet does nothing
// but return its credit if it is of another epoch, has an unknown opcode or a wrong size, or names
// a token or event counter that does not exist (BOUNDS). REQ and PART packets of another epoch, or
// with an opcode of another class, are poisoned but keep their place, because their receiver waits
// for an answer. rx_store checks STORE packets. SIGNAL is an unknown opcode in layers with
// row_returns, and in layers with switch-initiated reductions. So is a request in the latter. A
// wrong GRANT names no row: EPOCH, or LENGTH if it has a size, is damaged, or has a lane after an
// empty one.
// grant_lanes checks each row. A wrong FETCH is dropped: EPOCH and LENGTH as for a GRANT, OPCODE
// in layers without merge_loads. It is BOUNDS if the index is not a loaded row, and WINDOW if
// load_serve has no place.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module rx #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type link_t = `MW_LINK(Cfg),
    parameter type marked_t = `MW_MARKED(Cfg)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire node_pkg::node_cfg_t cfg_i,

    // link bundle
    input  wire link_t rx_i,
    output logic [3:0] crd_o,

    // CTRL
    output logic                        sig_valid_o,
    input  wire logic                   sig_ready_i,
    output logic [node_pkg::TokenW-1:0] sig_token_o,
    output logic                        ev_valid_o,
    input  wire logic                   ev_ready_i,
    output logic [4:0]                  ev_idx_o,   // one that packets count
    output logic                        ev_ack_o,
    output packet_pkg::port_t           ack_src_o,  // who answers

    // STORE
    output marked_t   st_o,
    input  wire logic st_crd_i,  // a slot is free again

    // REQ
    output marked_t                   req_o,
    input  wire logic                 req_ready_i,
    output logic                      lane_valid_o,  // a row is granted: of another GPU's token
    input  wire logic                 lane_ready_i,
    output logic [Cfg.GpuW-1:0]       lane_home_o,
    output logic [Cfg.TokensLog2-1:0] lane_index_o,
    // a tile of rows that are loaded: lane_home_o, lane_index_o
    output logic                      tile_valid_o,
    input  wire logic                 tile_ready_i,
    output logic                      push_valid_o, // a tile of pushes is granted
    output logic                      fetch_o,     // another GPU loads a row of this one
    input  wire logic                 fetch_room_i,
    output logic [Cfg.LoadIndexW-1:0] fetch_index_o,
    output logic [15:0]               fetch_ref_o,

    // PART
    output logic      res_push_o,
    input  wire logic res_room_i,  // for a packet
    input  wire logic res_crd_i,   // a packet has left

    output bundle_pkg::error_t err_o,
    output logic               idle_o
);
    import packet_pkg::*;
    import error_pkg::*;

    localparam int unsigned ValW = (Cfg.TokW > 8) ? Cfg.TokW : 8;

    if ((Cfg.FlitBytes != 8 && Cfg.FlitBytes != 16)
        || Cfg.TokW > node_pkg::TokenW) begin : gen_check
        $error("rx: flits have 8 or 16 bytes, and N << TokensLog2 tokens at most 2^TokenW");
    end

    typedef enum logic [1:0] {
        Signal,
        Event,
        Ack,
        Err
    } ctrl_e;
    typedef struct packed {
        ctrl_e           kind;
        logic [ValW-1:0] val;   // token, event counter, source of the ACK or error code
    } ctrl_t;

    logic is_ctrl, is_req, is_part, first, first_q, bad_epoch, alien, by_switch, sig_known;
    attributes_t op;
    header_t header, poisoned;
    logic [Cfg.FlitW-1:0] patched;

    assign is_ctrl = rx_i.valid && rx_i.cls == CLS_CTRL;
    assign is_req = rx_i.valid && rx_i.cls == CLS_REQ;
    assign is_part = rx_i.valid && rx_i.cls == CLS_PART;
    assign first = first_q;
    assign by_switch = Cfg.SwitchReductions && cfg_i.switch_reductions;
    assign sig_known = !by_switch && !(Cfg.RowSparse && cfg_i.row_returns);

    always_ff @(posedge clk_i) begin
        if (!rst_ni) first_q <= 1'b1;
        else if (rx_i.valid) first_q <= rx_i.last;
    end

    // Flits of a packet arrive in consecutive cycles, so one beat counter serves all classes.
    // Epoch and poison are in the low half of the header.
    assign header = (Cfg.HeadFlits == 1) ? header_t'(rx_i.data)
                    : header_t'({rx_i.data[63:0], rx_i.data[63:0]});
    assign bad_epoch = header.epoch != cfg_i.epoch;
    // Partial sums arrive as results of the switch. The setting of the layer decides whether the
    // switch or a hub requests rows.
    assign op = attributes_of(header.opcode, Cfg.MergeLoads && cfg_i.merge_loads);
    assign alien = op.receiver != UNIT_HUB
                   || (is_part ? op.cls != CLS_PART
                       : op.cls != CLS_REQ || op.sender != (by_switch ? UNIT_SWITCH : UNIT_HUB));

    always_comb begin
        poisoned = header;
        poisoned.poison = header.poison || bad_epoch || alien;
        patched = first ? Cfg.FlitW'(poisoned) : rx_i.data;
    end

    // ---- STORE, REQ ----
    assign st_o.valid = rx_i.valid && rx_i.cls == CLS_STORE;
    assign st_o.last = rx_i.last;
    assign st_o.err = rx_i.err;
    assign st_o.data = is_part ? patched : rx_i.data;
    assign req_o.valid = is_req && !by_switch;
    assign req_o.last = rx_i.last;
    assign req_o.err = rx_i.err;
    assign req_o.data = patched;

    // ---- PART ----
    logic res_full_q, res_lost;

    // A packet without room is dropped whole. Credits prevent this.
    assign res_lost = is_part && (first ? !res_room_i : res_full_q);
    assign res_push_o = is_part && !res_lost;

    always_ff @(posedge clk_i) begin
        if (is_part && first) res_full_q <= res_lost;
    end

    // ---- CTRL ----
    logic ctrl_push, ctrl_room, ctrl_valid, ctrl_pop, long_q;
    ctrl_t ctrl_in, ctrl_first, ctrl_first_q, ctrl_out;
    logic [$clog2(Cfg.RxCtrlPkts+1)-1:0] ctrl_level;
    logic sized;  // payload or targets, which no CTRL packet has
    logic [Cfg.PortW-1:0] src;
    logic known_event;
    logic high_bad;  // token or event counter outside the range that exists

    assign src = Cfg.PortW'(cfg_pkg::port_of(Cfg, header.src_far, header.src));
    assign sized = header.len != '0 || header.cnt != '0;
    assign known_event = cfg_pkg::counted(Cfg.Events, 48'(header.addr[Cfg.TokW-1:0]));
    assign high_bad = (header.addr >> Cfg.TokW) != '0 || (ctrl_first.kind == Event && !known_event);

    function automatic ctrl_t low_half(opcode_e opcode, logic has_size, logic [Cfg.PortW-1:0] port,
                                       logic [7:0] tag, logic epoch_bad, logic signals);
        ctrl_t c;
        c = '{kind: Err, val: ValW'(ERR_OPCODE)};
        if (epoch_bad) c.val = ValW'(ERR_EPOCH);
        else if (has_size) c.val = ValW'(ERR_LENGTH);
        else
            case (opcode)
                OP_SIGNAL: if (signals) c.kind = Signal;
                OP_EVENT:  c.kind = Event;
                OP_ACK:    c      = '{kind: Ack, val: ValW'(port)};
                OP_ERROR:  c.val  = ValW'(tag);
                default: ;
            endcase
        return c;
    endfunction

    assign ctrl_first = (Cfg.HeadFlits == 1) ? low_half(
        header.opcode, sized, src, header.tag, bad_epoch, sig_known
    ) : ctrl_first_q;

    always_comb begin
        ctrl_in = ctrl_first;
        if (rx_i.err || long_q || (Cfg.HeadFlits == 2 && first)) begin
            ctrl_in = '{kind: Err, val: ValW'(ERR_LENGTH)};
        end else if (ctrl_first.kind inside {Signal, Event}) begin
            if (high_bad) ctrl_in = '{kind: Err, val: ValW'(ERR_BOUNDS)};
            else ctrl_in.val = ValW'(header.addr[Cfg.TokW-1:0]);
        end
    end

    assign ctrl_push = is_ctrl && rx_i.last;

    always_ff @(posedge clk_i) begin
        if (is_ctrl && first)
            ctrl_first_q <= low_half(header.opcode, sized, src, header.tag, bad_epoch, sig_known);
        // more flits than a header
        if (!rst_ni || rx_i.last) long_q <= 1'b0;
        else if (is_ctrl) long_q <= (Cfg.HeadFlits == 1) || !first;
    end

    fifo #(
        .Width($bits(ctrl_t)),
        .Depth(Cfg.RxCtrlPkts)
    ) i_ctrl (
        .clk_i,
        .rst_ni,
        .valid_i(ctrl_push),
        .ready_o(ctrl_room),
        .data_i(ctrl_in),
        .valid_o(ctrl_valid),
        .ready_i(ctrl_pop),
        .data_o(ctrl_out),
        .level_o(ctrl_level)
    );

    assign ev_valid_o = ctrl_valid && ctrl_out.kind == Event;
    assign ev_idx_o = 5'(ctrl_out.val[Cfg.EventW-1:0]);
    assign ev_ack_o = ctrl_valid && ctrl_out.kind == Ack;
    assign ack_src_o = port_t'(ctrl_out.val[Cfg.PortW-1:0]);

    // ---- GRANT ----
    logic sig_valid, grant_err, grant_lost, grants_idle;
    bundle_pkg::error_t lane_err;
    err_e grant_code;

    assign sig_valid = ctrl_valid && ctrl_out.kind == Signal;

    logic now_err;  // an error of the link's own, reported before those in the queue
    err_e now_code;

    if (Cfg.SwitchReductions) begin : gen_grants
        logic low_good, low_good_q, second_q, good, push, room, own_valid;
        logic upper, whole, is_fetch, fetch_good, beyond;  // upper: the high half is here
        lane_t [Lanes-1:0] lanes;

        // The low half was good, and the high half arrives now.
        assign low_good = first ? !bad_epoch && !alien && !sized : low_good_q;
        assign lanes = (LaneBits * Lanes)'({header.target0, header.addr});
        assign upper = (Cfg.HeadFlits == 1) ? first : second_q;
        assign whole = low_good && upper && !rx_i.err;
        assign good = whole && (is_fetch ? fetch_good
                                : lanes[0].valid && (lanes[1].valid || !lanes[2].valid));
        assign push = by_switch && is_req && rx_i.last && good && !is_fetch;

        always_ff @(posedge clk_i) begin
            if (is_req && first) low_good_q <= low_good;
            if (!rst_ni) second_q <= 1'b0;
            else if (rx_i.valid) second_q <= first && !rx_i.last;
        end

        assign grant_err = by_switch && is_req
                           && ((first && !low_good) || (rx_i.last && low_good && !good));
        assign grant_code = (low_good && whole && beyond) ? ERR_BOUNDS
                            : (!first || low_good) ? ERR_LENGTH : bad_epoch ? ERR_EPOCH
                            : alien ? ERR_OPCODE : ERR_LENGTH;
        assign grant_lost = (push && !room) || (fetch_o && !fetch_room_i);

        grant_lanes #(
            .Cfg(Cfg)
        ) i_lanes (
            .clk_i,
            .rst_ni,
            .cfg_i,
            .push_i(push),
            .room_o(room),
            .lanes_i(lanes),
            .own_valid_o(own_valid),
            .own_ready_i(sig_ready_i),
            .far_valid_o(lane_valid_o),
            .far_ready_i(lane_ready_i),
            .load_valid_o(tile_valid_o),
            .load_ready_i(tile_ready_i),
            .push_valid_o,
            .home_o(lane_home_o),
            .index_o(lane_index_o),
            .err_o(lane_err),
            .err_ready_i(!now_err),
            .idle_o(grants_idle)
        );

        if (Cfg.MergeLoads) begin : gen_fetches
            logic fetches, fetch_q;  // fetch_q: of the packet whose low half has come
            logic [47:0] fetch_row;  // of the part that it names

            assign fetches = cfg_i.merge_loads && header.opcode == OP_FETCH;
            assign is_fetch = first ? fetches : fetch_q;
            assign fetch_row = header.addr >> cfg_i.load_parts;
            assign beyond   = is_fetch && ((header.addr >> Cfg.LoadIndexW) != '0
                                           || (fetch_row >> cfg_i.token_shift) != '0
                                           || fetch_row < 48'(cfg_i.load_first));
            assign fetch_good = !beyond;
            assign fetch_o = by_switch && is_req && rx_i.last && good && is_fetch;
            assign fetch_index_o = header.addr[Cfg.LoadIndexW-1:0];
            assign fetch_ref_o = header.target0;
            always_ff @(posedge clk_i) if (is_req && first) fetch_q <= fetches;
        end else begin : gen_no_fetches
            assign {is_fetch, beyond, fetch_good, fetch_o, fetch_index_o, fetch_ref_o} = '0;
        end

        assign sig_valid_o = by_switch ? own_valid : sig_valid;
        assign sig_token_o = by_switch ? (node_pkg::TokenW'(cfg_i.port) << cfg_i.token_shift)
                                    | node_pkg::TokenW'(lane_index_o)
                             : node_pkg::TokenW'(ctrl_out.val[Cfg.TokW-1:0]);
    end else begin : gen_no_grants
        assign {grant_err, grant_lost, grants_idle, lane_valid_o} = 4'b0010;
        assign {tile_valid_o, push_valid_o, fetch_o, fetch_index_o, fetch_ref_o} = '0;
        assign {lane_err, lane_home_o, lane_index_o} = '0;
        assign grant_code = ERR_NONE;
        assign sig_valid_o = sig_valid;
        assign sig_token_o = node_pkg::TokenW'(ctrl_out.val[Cfg.TokW-1:0]);
    end

    // ---- credits, errors ----
    always_comb begin
        now_err = 1'b1;
        now_code = bad_epoch ? ERR_EPOCH : ERR_OPCODE;
        if (res_lost || (ctrl_push && !ctrl_room)) now_code = ERR_CREDIT;
        else if (grant_lost || (is_req && !by_switch && !req_ready_i)) now_code = ERR_WINDOW;
        else if (is_req && by_switch) {now_err, now_code} = {grant_err, grant_code};
        else if ((is_req || is_part) && rx_i.err && rx_i.last) now_code = ERR_LENGTH;
        else now_err = (is_req || is_part) && first && (bad_epoch || alien);
    end

    always_comb begin
        unique case (ctrl_out.kind)
            Signal:  ctrl_pop = ctrl_valid && sig_ready_i;
            Event:   ctrl_pop = ctrl_valid && ev_ready_i;
            Err:     ctrl_pop = ctrl_valid && !now_err && !lane_err.valid;
            default: ctrl_pop = ctrl_valid;
        endcase
    end

    assign err_o.valid = now_err || lane_err.valid || (ctrl_valid && ctrl_out.kind == Err);
    assign err_o.code = now_err ? now_code : lane_err.valid ? lane_err.code
                        : err_e'(ctrl_out.val[7:0]);

    assign crd_o[CLS_CTRL] = ctrl_pop;
    assign crd_o[CLS_STORE] = st_crd_i;
    assign crd_o[CLS_REQ] = 1'b0;
    assign crd_o[CLS_PART] = res_crd_i;

    assign idle_o = !ctrl_valid && grants_idle;

    wire unused = &{1'b0, ctrl_level};

    `MW_NEXT(rx_i.valid && !rx_i.last, rx_i.valid && rx_i.cls == $past(rx_i.cls),
             "the link gives a packet with a gap, or of two classes")
    `MW_CONTRACT(err_o.valid, err_o.code != ERR_NONE, "an error without a code")
    `MW_CONTRACT(res_push_o && first, res_room_i, "a result without a place")
    `MW_STABLE(sig_valid_o, sig_ready_i, sig_token_o, "a token goes before it is taken")
    `MW_STABLE(ev_valid_o, ev_ready_i, ev_idx_o, "an event goes before it is taken")
endmodule

`default_nettype wire
