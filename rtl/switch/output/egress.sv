// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Sends the packets that egress_choice selects to a downlink.
//
// Function: READ starts a packet while the last flit of the previous one is read, and issues one
// flit address per cycle to the queue. SEND forwards the data of the RAM, and fills in the number
// of targets of a trimmed list. RESULT, GRANT and ERROR headers are created here, one stage
// earlier.
// Order: The flits of a packet leave in consecutive cycles, without a gap between packets.
// Back-pressure: A packet starts when the receiver has a credit for it (credit_use), and not while
// hold_i, nor with class STORE while hold_store_i. The credits in use stay within the limits.
// Limits change only while nothing is queued.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module egress #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type link_t = `MW_LINK(Cfg)
) (
    input  wire logic                  clk_i,
    input  wire logic                  rst_ni,
    input  wire logic [Cfg.PortW-1:0]  port_i,  // constant: the number of this port
    input  wire logic                  go_i,
    input  wire logic [1:0]            epoch_i,
    input  wire logic                  hold_i,  // no packet starts in this cycle
    input  wire logic                  hold_store_i,  // no packet of class STORE starts
    input  wire logic                  down_i,  // packets that start are discarded;
                                                // the receiver holds all credits
    input  wire logic [Cfg.StoreW-1:0] store_limit_i,
    input  wire logic [Cfg.PartW-1:0]  part_limit_i,

    // queues of this output, one per input
    input  wire logic [Cfg.N-1:0]     has_ctrl_i,
    input  wire logic [Cfg.N-1:0]     has_req_i,
    input  wire logic [Cfg.N-1:0]     has_store_i,
    input  wire logic [Cfg.N-1:0]     urgent_i,  // the next STORE packet keeps others of its
                                                 // input from moving up
    input  wire logic [Cfg.N-1:0]     claimed_i,  // no packet of this input starts, see read_turns
    output logic                      open_o,  // a packet is chosen
    output logic [Cfg.N-1:0]          able_o,  // inputs with a packet for which there is a credit
    output logic [1:0]                cls_o,
    output logic [Cfg.N-1:0]          pop_o,
    input  wire logic [Cfg.DescW-1:0] desc_i,  // {stamp, slot, dyn, more, pay, len} of the
                                               // queue with pop_o, else 0
    output logic [Cfg.N-1:0]          re_o,
    output logic [Cfg.PayW:0]         rd_line_o,  // see voq
    output logic [Cfg.SlotW-1:0]      rd_slot_o,
    input  wire logic [Cfg.FlitW:0]   rdata_i,  // {bad, flit} of the queue read, else 0
    output logic [Cfg.N-1:0]          free_ctrl_o,
    output logic [Cfg.N-1:0]          free_store_o,
    // the STORE packet of this input is sent but for its last flit, or all of it if it is short
    output logic [Cfg.N-1:0]          sent_o,

    // results of the join of this output
    input  wire logic                  res_valid_i,
    input  wire logic [6:0]            res_len_i,   // bytes, less 1
    input  wire logic                  res_poison_i,
    input  wire logic [Cfg.StampB-1:0] res_stamp_i,
    output logic                       res_start_o,
    output logic                       res_read_o,  // in this cycle
    output logic                       res_first_o,
    output logic                       res_last_o,
    input  wire logic [Cfg.FlitW-1:0]  res_data_i,
    input  wire logic                  res_err_i,

    // rows that concern the endpoint were opened; all stable until grant_sent_o
    input  wire logic        grant_valid_i,
    input  wire logic        grant_fetch_i,  // it is a FETCH, of a row that others load
    input  wire logic [63:0] grant_upper_i,  // half of the header
    output logic             grant_sent_o,

    // a packet of this port's input was rejected; both stable until error_sent_o
    input  wire logic       error_valid_i,
    input  wire logic [7:0] error_code_i,
    output logic            error_sent_o,

    output link_t           dn_o,
    input  wire logic [3:0] dn_crd_i,

    output logic                  wait_turn_o,    // a store copy waits for its output
    output logic                  wait_credit_o,  // a store copy waits for a credit
    // a packet of class CTRL, STORE, PART (in this order) waits for a credit
    output logic [2:0]            starved_o,
    output logic                  discard_o,      // a packet is discarded
    output logic                  leave_o,        // a packet that came with a stamp leaves:
                                                  // its first flit in two cycles
    output logic [Cfg.StampB-1:0] leave_stamp_o,  // class: cls_o
    output logic                  idle_o
);
    import packet_pkg::*;

    localparam int unsigned CtrlW = $clog2(Cfg.RxCtrlPkts + 1);

    // ---- credits of the receiver ----
    bundle_pkg::credit_classes_t crd, takes;  // one is left; a packet that starts takes one
    logic store_ready;

    credit_use #(
        .Max(Cfg.RxCtrlPkts)
    ) i_ctrl_crd (
        .clk_i,
        .rst_ni,
        .clear_i(down_i),
        .limit_i(CtrlW'(Cfg.RxCtrlPkts)),
        .take_i(takes.ctrl),
        .back_i(dn_crd_i[CLS_CTRL]),
        .ready_o(crd.ctrl),
        .used_o()
    );
    credit_use #(
        .Max(Cfg.RxStorePkts)
    ) i_store_crd (
        .clk_i,
        .rst_ni,
        .clear_i(down_i),
        .limit_i(store_limit_i),
        .take_i(takes.store),
        .back_i(dn_crd_i[CLS_STORE]),
        .ready_o(store_ready),
        .used_o()
    );
    credit_use #(
        .Max(Cfg.RxResultPkts)
    ) i_part_crd (
        .clk_i,
        .rst_ni,
        .clear_i(down_i),
        .limit_i(part_limit_i),
        .take_i(takes.part),
        .back_i(dn_crd_i[CLS_PART]),
        .ready_o(crd.part),
        .used_o()
    );

    assign crd.store = store_ready && !hold_store_i;

    // ---- choice ----
    logic busy_q;  // a packet is being read
    logic read_last, start;
    logic free_q;  // none is, or its last flit: known a cycle before, much waits for it
    logic error, error_busy_q;  // an ERROR packet waits, is being made
    logic grant, grant_busy_q, grant_start;

    assign error = error_valid_i && !error_busy_q;
    assign grant = Cfg.SwitchReductions && grant_valid_i && !grant_busy_q;
    assign open_o = free_q && !hold_i;
    assign able_o = has_req_i | (crd.ctrl ? has_ctrl_i : '0) | (crd.store ? has_store_i : '0);

    egress_choice #(
        .Cfg(Cfg)
    ) i_choice (
        .clk_i,
        .rst_ni,
        .go_i,
        .open_i(open_o),
        .has_ctrl_i(has_ctrl_i & ~claimed_i),
        .has_req_i(has_req_i & ~claimed_i),
        .has_store_i(has_store_i & ~claimed_i),
        .urgent_i,
        .has_error_i(error),
        .has_grant_i(grant),
        .has_result_i(res_valid_i),
        .crd_i(crd),
        .start_o(start),
        .cls_o,
        .pop_o,
        .grant_start_o(grant_start),
        .takes_o(takes)
    );

    assign res_start_o = takes.part;
    assign wait_turn_o = has_store_i != '0 && crd.store && !takes.store;
    assign wait_credit_o = has_store_i != '0 && !crd.store;
    assign starved_o = {
        res_valid_i && !crd.part, wait_credit_o, (has_ctrl_i != '0 || error) && !crd.ctrl
    };
    assign discard_o = start && down_i;

    // ---- READ ----
    logic [Cfg.N-1:0] from_q;  // input; none: made here
    logic [1:0] cls_q;
    logic [Cfg.SlotW-1:0] slot_q;
    logic pay_q, in_pay_q, dyn_q, discard_q;
    // flit of the part being read; flits of header and targets, of the payload, less 1
    logic [Cfg.PayW-1:0] off_q, front, len_q;
    logic [3:0] more_q;
    // it is the last of its part: in a register, as much waits for the last flit of a packet
    logic part_end_q;
    logic made;  // the packet is made here
    logic off_end;  // the flit behind this one is the last of its part
    logic [Cfg.SlotW-1:0] slot;
    logic dyn, pay;
    logic [3:0] more;
    logic [Cfg.PayW-1:0] len;

    assign {slot, dyn, more, pay, len} = desc_i[Cfg.SlotW+5+Cfg.PayW:0];
    assign front = Cfg.PayW'(Cfg.HeadFlits - 1)
                   + Cfg.PayW'((6'(more_q) + 6'(Cfg.Lanes - 1)) >> Cfg.LaneW);
    assign read_last = busy_q && part_end_q && (in_pay_q || !pay_q);
    assign made = busy_q && from_q == '0;
    assign off_end = off_q + 1'b1 == (in_pay_q ? len_q : front);
    assign re_o = busy_q ? from_q : '0;
    assign rd_slot_o = slot_q;
    assign rd_line_o = in_pay_q ? {1'b0, off_q}
                       : {1'b1, cls_q == CLS_REQ,
                          off_q[Cfg.PayW-2:0]
                          | ((cls_q == CLS_CTRL) ? (Cfg.PayW-1)'(Cfg.HeadFlits + Cfg.ListFlits)
                                                 : '0)};
    assign free_ctrl_o = (read_last && cls_q == CLS_CTRL) ? from_q : '0;
    assign free_store_o = (read_last && cls_q == CLS_STORE) ? from_q : '0;

    // ---- look-ahead window ----
    if (Cfg.Window != 0) begin : gen_window
        logic long_q;  // the payload has two flits or more
        logic [Cfg.PayW-1:0] before_q;  // the last but one

        assign sent_o = (busy_q && cls_q == CLS_STORE
                         && (long_q ? in_pay_q && off_q == before_q : read_last)) ? from_q
                        : '0;

        always_ff @(posedge clk_i) begin
            if (start) begin
                long_q <= pay && len != '0;
                before_q <= len - 1'b1;
            end
        end
    end else begin : gen_no_window
        assign sent_o = '0;
    end

    // ---- time stamps ----
    assign leave_o = start && !down_i && !(takes.ctrl && error) && !grant_start;

    if (Cfg.StampW != 0) begin : gen_stamp
        assign leave_stamp_o = (cls_o == CLS_PART) ? res_stamp_i : desc_i[Cfg.DescW-1-:Cfg.StampW];
    end else begin : gen_no_stamp
        assign leave_stamp_o = '0;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            busy_q <= 1'b0;
            free_q <= 1'b1;
            error_busy_q <= 1'b0;
        end else begin
            // it has one flit
            if (start) free_q <= Cfg.HeadFlits == 1 && more == '0 && !pay && cls_o != CLS_PART;
            else if (free_q) free_q <= 1'b1;
            else free_q <= part_end_q ? len_q == '0 : off_end && (in_pay_q || !pay_q);
            if (start) busy_q <= 1'b1;
            else if (read_last) busy_q <= 1'b0;
            if (takes.ctrl && error) error_busy_q <= 1'b1;
            else if (read_last) error_busy_q <= 1'b0;
        end
        if (start) begin
            discard_q <= down_i;
            from_q <= pop_o;
            cls_q <= cls_o;
            slot_q <= slot;
            dyn_q <= dyn;
            more_q <= more;
            pay_q <= pay || cls_o == CLS_PART;
            len_q <= (cls_o == CLS_PART) ? Cfg.PayW'(res_len_i >> Cfg.FlitLog2) : len;
            in_pay_q <= 1'b0;
            off_q <= '0;
            part_end_q <= Cfg.HeadFlits == 1 && more == '0;  // front will be 0
        end else if (part_end_q) begin
            in_pay_q <= 1'b1;
            off_q <= '0;
            part_end_q <= len_q == '0;
        end else begin
            off_q <= off_q + 1'b1;
            part_end_q <= off_end;
        end
    end

    if (Cfg.SwitchReductions) begin : gen_grant
        always_ff @(posedge clk_i) begin
            if (!rst_ni) grant_busy_q <= 1'b0;
            else if (grant_start) grant_busy_q <= 1'b1;
            else if (read_last) grant_busy_q <= 1'b0;
        end
    end else begin : gen_no_grant
        assign grant_busy_q = 1'b0;
    end

    assign error_sent_o = error_busy_q && read_last;
    assign grant_sent_o = grant_busy_q && read_last;
    assign res_read_o = made && in_pay_q;
    assign res_first_o = off_q == '0;
    assign res_last_o = read_last;

    // ---- headers made here ----
    logic [6:0] res_len_q;
    logic res_poison_q;
    header_t head;
    logic [127:0] head_bits;

    always_ff @(posedge clk_i) begin
        if (takes.part) begin
            res_len_q <= res_len_i;
            res_poison_q <= res_poison_i;
        end
    end

    always_comb begin
        head = '0;
        head.opcode = (cls_q == CLS_CTRL) ? OP_ERROR : !grant_busy_q ? OP_RESULT
                      : (Cfg.MergeLoads && grant_fetch_i) ? OP_FETCH : OP_GRANT;
        head.cls = cls_e'(cls_q);
        {head.src_far, head.src} = port_t'(port_i);
        {head.dst_far, head.dst} = port_t'(port_i);
        head.epoch = epoch_i;
        if (cls_q == CLS_CTRL) begin
            head.tag = error_code_i;
        end else if (grant_busy_q) begin
            {head.target0, head.addr} = grant_upper_i;
        end else begin
            head.len = 15'(res_len_q) + 15'd1;
            head.poison = res_poison_q;
        end
        head_bits = head;
    end

    // ---- SEND: queues that were not read give 0, and so does made_q ----
    logic valid_q, first_q, last_q, last_pay_q, dyn_send_q;
    logic [1:0] send_cls_q;
    logic [3:0] send_more_q;
    logic [Cfg.FlitW:0] made_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) valid_q <= 1'b0;
        else valid_q <= busy_q && !discard_q;
        if (busy_q) begin
            first_q <= !in_pay_q && off_q == '0;
            last_q <= read_last;
            dyn_send_q <= dyn_q;
            send_more_q <= more_q;
            send_cls_q <= cls_q;
            last_pay_q <= read_last && in_pay_q;
        end
        if (res_read_o) made_q <= {res_err_i, res_data_i};
        // the first half with F = 8; the other is 0, but of a GRANT
        else if (made && off_q == '0) made_q <= {1'b0, head_bits[Cfg.FlitW-1:0]};
        else if (Cfg.SwitchReductions && Cfg.HeadFlits == 2 && grant_busy_q)
            made_q <= {1'b0, Cfg.FlitW'(head_bits[127:64])};
        else made_q <= '0;
    end

    packet_pkg::header_low_t sent;

    always_comb begin
        dn_o.data = made_q[Cfg.FlitW-1:0] | rdata_i[Cfg.FlitW-1:0];
        sent = dn_o.data[63:0];
        sent.cnt = sent.cnt | (5'(send_more_q) + 5'd1);
        if (first_q && dyn_send_q) dn_o.data[63:0] = sent;
    end

    assign dn_o.valid = valid_q;
    assign dn_o.last = last_q;
    assign dn_o.cls = send_cls_q;
    // of a result each flit that is not valid, else the last one of a packet that is not
    assign dn_o.err = made_q[Cfg.FlitW] || (last_pay_q && rdata_i[Cfg.FlitW]);
    assign idle_o = !busy_q && !valid_q && has_ctrl_i == '0 && has_req_i == '0
                    && has_store_i == '0 && !error_valid_i;

`ifndef SYNTHESIS
    logic begun_q;  // a packet has begun and not ended
    always_ff @(posedge clk_i) begun_q <= rst_ni && (dn_o.valid ? !dn_o.last : begun_q);
    `MW_ASSERT(!begun_q || dn_o.valid, "a gap inside a packet")
`endif
    `MW_NEXT(dn_o.valid && !dn_o.last, dn_o.valid && dn_o.cls == $past(dn_o.cls),
             "a packet of two classes")
    `MW_CONTRACT(1'b1, (pop_o & (pop_o - 1'b1)) == '0 && (pop_o & ~able_o) == '0,
                 "packets of two inputs, or one without a credit")
    `MW_CONTRACT(1'b1, (pop_o & claimed_i) == '0, "a packet of an input that the join reads")
    `MW_CONTRACT(res_start_o, res_valid_i, "a result that is not there")
    `MW_NEXT(grant_valid_i && !grant_sent_o, grant_valid_i && $stable(grant_upper_i),
             "a GRANT changes before it is sent")
    `MW_NEXT(error_valid_i && !error_sent_o, error_valid_i, "an error goes before it is sent")
endmodule

`default_nettype wire
