// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The uplink: takes packets of all classes from the units of the hub and sends them when the link
// partner has room.
//
// Function: A packet starts when it is complete and its class has credit. Its flits leave in
// consecutive cycles, and the next packet follows without an idle cycle. cfg.throttle delays a
// start by a cycle at random (the same numbers after each go_i).
// Ports: Packets of row_sum (sum_*: 0 partials, 1 stores) have no queue here. Gradients (dw_*, with
// GateGradients) have none either. Once a packet is offered, its flits must follow as fast as they
// are taken. row_sum takes the credits of partials, and returned ones go to it. Requests need no
// credit.
// Order: CTRL before REQ before STORE and PART, which alternate. A waiting STORE or PART packet
// passes after at most 16 others. With TokenOrder and cfg.dispatch_throttle, dispatch_throttle
// selects which of dispatch and PART goes first, until 16 others have passed the other one. While
// it holds the head packet, arbitration ignores the store queue. Inside a class first in, first
// out. send and control share one queue of stores. row_sum's stores alternate with that queue.
// Where rows return, two of them go for each of the queue. A gradient goes before both, but lets
// one of them pass behind each gradient. It never waits for dispatch_throttle.
// Back-pressure: ready of req and st is low while their queue is full. ready of ctl, dw and sum is
// a grant: it is low while another packet is on the link or no credit is left.
// Latency: A store waits for credit for ever only if the switch never frees a packet. No other
// class waits for it.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module tx #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type share_t = `MW_SHARE(Cfg),
    parameter type stream_t = `MW_STREAM(Cfg),
    parameter type summed_t = `MW_SUMMED(Cfg),
    parameter type link_t = `MW_LINK(Cfg),
    parameter int unsigned StoreFlits = 256 / Cfg.FlitBytes,  // queue of stores
    parameter int unsigned ReqFlits = 16  // queue of requests
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,
    input  wire share_t              share_i,

    input  wire bundle_pkg::ctl_t ctl_i,
    output logic                  ctl_ready_o,
    input  wire stream_t          req_i,
    output logic                  req_ready_o,
    input  wire stream_t          st_i,  // send and control
    output logic                  st_ready_o,
    input  wire summed_t          sum_i,
    output logic [1:0]            sum_ready_o,
    input  wire stream_t          dw_i,  // gradients
    output logic                  dw_ready_o,

    output link_t                    up_o,
    input  wire logic                hold_i,  // no packet starts, see link_rate
    input  wire bundle_pkg::credit_t crd_i,

    output bundle_pkg::tx_counts_t count_o,
    output logic                   idle_o  // nothing queued here
);
    import packet_pkg::*;
    localparam int unsigned Part = 0, Sst = 1;  // of row_sum

    // ---- queues ---------------------------------------------------------------------------------
    logic store_valid, store_take, store_last, req_valid, req_take, req_last, fire;
    logic [Cfg.FlitW-1:0] store_data, req_data;  // of the flit that was taken in the
                                                 // cycle before, else 0

    pkt_fifo #(
        .FlitBytes(Cfg.FlitBytes),
        .Flits(StoreFlits),
        .MaxPkt(Cfg.HeadFlits + Cfg.ListFlits + Cfg.PayFlits)
    ) i_store (
        .clk_i,
        .rst_ni,
        .in_valid_i(st_i.valid),
        .in_ready_o(st_ready_o),
        .in_data_i(st_i.data),
        .in_last_i(st_i.last),
        .out_valid_o(store_valid),
        .out_last_o(store_last),
        .take_i(store_take),
        .step_i(fire),
        .out_data_o(store_data)
    );
    pkt_fifo #(
        .FlitBytes(Cfg.FlitBytes),
        .Flits(ReqFlits),
        .MaxPkt(Cfg.HeadFlits + Cfg.ListFlits)
    ) i_req (
        .clk_i,
        .rst_ni,
        .in_valid_i(req_i.valid),
        .in_ready_o(req_ready_o),
        .in_data_i(req_i.data),
        .in_last_i(req_i.last),
        .out_valid_o(req_valid),
        .out_last_o(req_last),
        .take_i(req_take),
        .step_i(fire),
        .out_data_o(req_data)
    );

    // ---- credits --------------------------------------------------------------------------------
    localparam int unsigned StoreW = $clog2(Cfg.StorePkts + 1);
    localparam int unsigned CtrlW = $clog2(Cfg.CtrlPkts + 1);
    logic [StoreW-1:0] store_used_q, store_limit;
    logic [CtrlW-1:0] ctrl_used_q, ctrl_limit;
    logic start_store, start_ctrl, store_credit, ctrl_credit;

    assign store_limit = (cfg_i.store_credits == '0 || 32'(cfg_i.store_credits) > Cfg.StorePkts)
                         ? StoreW'(Cfg.StorePkts) : StoreW'(cfg_i.store_credits);
    assign ctrl_limit = (cfg_i.ctrl_credits == '0 || 32'(cfg_i.ctrl_credits) > Cfg.CtrlPkts)
                        ? CtrlW'(Cfg.CtrlPkts) : CtrlW'(cfg_i.ctrl_credits);
    assign store_credit = store_used_q != store_limit;  // constant while packets are out, so
                                                        // never above it
    assign ctrl_credit = ctrl_used_q != ctrl_limit;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            store_used_q <= '0;
            ctrl_used_q <= '0;
        end else begin
            if (start_store != crd_i.cls[CLS_STORE])
                store_used_q <= store_used_q + (start_store ? StoreW'(1) : '1);
            if (start_ctrl != crd_i.cls[CLS_CTRL])
                ctrl_used_q <= ctrl_used_q + (start_ctrl ? CtrlW'(1) : '1);
        end
    end

    // ---- the next packet ------------------------------------------------------------------------
    logic inside_q, half_q, part_turn_q, sum_turn_q, put_off, start, last;
    logic more_sums;  // where rows return up to two of them go before a
                      // waiting packet of the queue
    logic sum_q, sum;  // a store, and that of row_sum
    logic dw_q, dw, dw_here;  // a gradient
    logic dw_last_q;  // the last store was one
    logic [Cfg.FlitW-1:0] direct_q;
    cls_e cls_q, cls, low_cls;
    logic [3:0] can;  // by class: a packet is here, and credit
    logic high, low, low_first;
    logic [4:0] passed_q;  // packets that went before a waiting STORE or PART
    // see dispatch_throttle; it is long enough that the other one waits
    logic throttled, throttle_first, held, turn_due;
    logic store_here;
    cls_e turn;  // of STORE and PART, the one that has not gone last

    assign can[CLS_CTRL] = ctl_i.valid && ctrl_credit;
    assign can[CLS_REQ] = req_valid;
    assign store_here = store_valid && !held;
    assign dw_here = Cfg.GateGradients && dw_i.valid;
    assign can[CLS_STORE] = (store_here || sum_i.valid[Sst] || dw_here) && store_credit;
    assign can[CLS_PART] = sum_i.valid[Part];
    assign high = can[CLS_CTRL] || can[CLS_REQ];
    assign low = can[CLS_STORE] || can[CLS_PART];
    assign low_first = passed_q[4] || turn_due;
    assign turn = part_turn_q ? CLS_PART : CLS_STORE;

    always_comb begin
        if (!can[CLS_STORE] || !can[CLS_PART]) low_cls = can[CLS_PART] ? CLS_PART : CLS_STORE;
        else if (throttled && !sum_i.valid[Sst] && !dw_here && !low_first)
            low_cls = throttle_first ? CLS_STORE : CLS_PART;
        else low_cls = turn;
    end

    always_comb begin
        dw = Cfg.GateGradients
             && (inside_q ? dw_q : dw_here && !(dw_last_q && (store_here || sum_i.valid[Sst])));
        sum = inside_q ? sum_q
              : !dw && sum_i.valid[Sst] && (sum_turn_q || !store_here || more_sums);
        if (inside_q) cls = cls_q;
        else if (low && (low_first || !high)) cls = low_cls;
        else cls = can[CLS_CTRL] ? CLS_CTRL : CLS_REQ;
    end

    assign start = !inside_q && can != '0 && !put_off && !hold_i;
    assign start_store = start && cls == CLS_STORE;
    assign start_ctrl = start && cls == CLS_CTRL;
    assign fire = inside_q || start;
    assign store_take = fire && cls == CLS_STORE && !sum && !dw;
    assign sum_ready_o[Sst] = fire && cls == CLS_STORE && sum;
    assign dw_ready_o = fire && cls == CLS_STORE && dw;
    assign req_take = fire && cls == CLS_REQ;
    assign sum_ready_o[Part] = fire && cls == CLS_PART;
    assign ctl_ready_o = fire && cls == CLS_CTRL && last;

    always_comb begin
        unique case (cls)
            CLS_CTRL:  last = (Cfg.HeadFlits == 1) || half_q;
            CLS_STORE: last = dw ? dw_i.last : sum ? sum_i.last : store_last;
            CLS_REQ:   last = req_last;
            default:   last = sum_i.last;
        endcase
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            inside_q <= 1'b0;
            half_q <= 1'b0;
            part_turn_q <= 1'b0;
            sum_turn_q <= 1'b0;
            dw_last_q <= 1'b0;
            passed_q <= '0;
            up_o.valid <= 1'b0;
        end else begin
            up_o.valid <= fire;
            if (fire) begin
                inside_q <= !last;
                half_q <= !last;
            end
            if (go_i) part_turn_q <= 1'b0;
            else if (start && cls == CLS_STORE) part_turn_q <= 1'b1;
            else if (start && cls == CLS_PART) part_turn_q <= 1'b0;
            if (go_i) sum_turn_q <= 1'b0;
            else if (start_store && !dw) sum_turn_q <= !sum;
            if (go_i) dw_last_q <= 1'b0;
            else if (start_store) dw_last_q <= dw;
            if (go_i || (start && cls inside {CLS_STORE, CLS_PART})) passed_q <= '0;
            else if (start && low) passed_q <= passed_q + 1'b1;
        end
        if (fire) begin
            cls_q <= cls;
            sum_q <= sum;
            dw_q <= dw;
            up_o.cls <= cls;
            up_o.last <= last;
            // what has no queue here; 0 where a queue has the flit
            unique case (cls)
                CLS_CTRL:  direct_q <=
                    Cfg.FlitW'(ctl_i.header >> ((Cfg.HeadFlits == 2 && half_q) ? Cfg.FlitW : 0));
                CLS_STORE: direct_q <= dw ? dw_i.data : sum ? sum_i.data : '0;
                CLS_PART:  direct_q <= sum_i.data;
                default:   direct_q <= '0;
            endcase
        end
    end
    assign up_o.data = store_data | req_data | direct_q;
    assign up_o.err = 1'b0;

    // Finished rows are for all homes alike, dispatch is for the busiest GPU above all: it waits
    // for that in front of them, so they go first.
    if (Cfg.RowSparse) begin : gen_returns
        logic [1:0] sums_q;  // in a row

        assign more_sums = cfg_i.row_returns && !sums_q[1];
        always_ff @(posedge clk_i) begin
            if (!rst_ni || go_i) sums_q <= '0;
            else if (start_store && !dw) sums_q <= !sum ? '0 : sums_q[1] ? sums_q : sums_q + 1'b1;
        end
    end else begin : gen_turns
        assign more_sums = 1'b0;
    end

    // ---- dispatch and partial sums in step ------------------------------------------------------
    if (Cfg.TokenOrder) begin : gen_throttle
        logic [4:0] waited_q;  // packets that passed the one whose turn it is
        logic [5:0] opcode;

        assign opcode = st_i.data[5:0];
        assign turn_due = waited_q[4] && can[turn];

        always_ff @(posedge clk_i) begin
            if (!rst_ni || go_i || !can[turn] || (start && cls == turn)) waited_q <= '0;
            else if (start && !turn_due) waited_q <= waited_q + 1'b1;
        end

        dispatch_throttle #(
            .Cfg(Cfg),
            .Packets(StoreFlits)
        ) i_throttle (
            .clk_i,
            .rst_ni,
            .go_i,
            .cfg_i,
            .share_i,
            .in_valid_i(st_i.valid && st_ready_o),
            .in_last_i(st_i.last),
            .in_opcode_i(opcode),
            .out_i(store_take && store_last),
            .start_store_i(start_store && !sum && !dw),
            .start_part_i(start && cls == CLS_PART),
            .used_i(fire),
            .throttled_o(throttled),
            .first_o(throttle_first),
            .hold_o(held)
        );
    end else begin : gen_no_throttle
        assign {throttled, throttle_first, held, turn_due} = '0;
    end

    // ---- throttle -------------------------------------------------------------------------------
    // x^16 + x^15 + x^13 + x^4 + 1; the bits compared lie apart, so that cycles
    // in a row are independent.
    logic [15:0] lfsr_q;
    logic [7:0] chance;
    assign chance = {
        lfsr_q[0], lfsr_q[4], lfsr_q[8], lfsr_q[12], lfsr_q[2], lfsr_q[6], lfsr_q[10], lfsr_q[14]
    };
    assign put_off = chance < cfg_i.throttle;
    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) lfsr_q <= 16'h1;
        else lfsr_q <= {lfsr_q[14:0], lfsr_q[15] ^ lfsr_q[14] ^ lfsr_q[12] ^ lfsr_q[3]};
    end

    // ---- counters -------------------------------------------------------------------------------
    assign count_o.stall_store = (store_valid || sum_i.valid[Sst] || dw_here) && !store_credit
                                 && !(inside_q && cls_q == CLS_STORE);
    assign count_o.stall_ctrl = ctl_i.valid && !ctrl_credit && !(inside_q && cls_q == CLS_CTRL);
    assign count_o.part_empty = !sum_i.valid[Part];
    assign idle_o = !up_o.valid && !fire && !ctl_i.valid && !store_valid && !req_valid
                    && !sum_i.valid[Part] && !sum_i.valid[Sst] && !dw_here;

`ifndef SYNTHESIS
    logic begun_q;  // a packet has begun and not ended
    always_ff @(posedge clk_i) begun_q <= rst_ni && (up_o.valid ? !up_o.last : begun_q);
    `MW_ASSERT(!begun_q || up_o.valid, "a gap inside a packet")
`endif
    `MW_NEXT(up_o.valid && !up_o.last, up_o.valid && up_o.cls == $past(up_o.cls),
             "a packet of two classes")
    `MW_CONTRACT(1'b1, $onehot0({sum_ready_o, dw_ready_o, req_take, store_take}),
                 "flits of two packets in one cycle")
    `MW_CONTRACT(start_store || start_ctrl, start_store ? store_credit : ctrl_credit,
                 "a packet without a credit")
    `MW_CONTRACT(crd_i.cls[CLS_STORE], store_used_q != '0, "a credit of a store that was not sent")
    `MW_CONTRACT(crd_i.cls[CLS_CTRL], ctrl_used_q != '0,
                 "a credit of a control packet that was not sent")
    `MW_CONTRACT(inside_q && cls_q == CLS_PART, sum_i.valid[Part], "a partial stops in the middle")
    `MW_CONTRACT(inside_q && cls_q == CLS_STORE && sum_q, sum_i.valid[Sst],
                 "a store of row_sum stops in the middle")
    `MW_CONTRACT(inside_q && cls_q == CLS_STORE && dw_q, dw_i.valid,
                 "a gradient stops in the middle")
    `MW_CONTRACT(inside_q && cls_q == CLS_CTRL, ctl_i.valid, "a control packet goes before its end")
endmodule

`default_nettype wire
