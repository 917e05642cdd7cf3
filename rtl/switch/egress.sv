// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Output of the switch: chooses the next packet for a downlink and sends its flits in consecutive cycles, without a gap between packets.
//
// Order of classes: CTRL, REQ, RESULT, STORE; inside a class round robin over the inputs. With a look-ahead window seven of eight stores are chosen, also round robin,
// among those that keep others of their input from moving up, being the oldest of its window or in a full queue: an input with nothing to
// offer to the other outputs leaves them idle. The eighth is chosen among all, so none waits for more than 8 N - 1 others of its class.
// In every 16 packets each of the three lower classes has one turn in which it goes first, so nothing that waits with credit lets more than 16 others pass. Back-pressure: a packet starts when the receiver has a credit for it; credits used
// stay below the limits, which change only while nothing is queued.
//
// Two stages: READ chooses a packet while the last flit of the one before is being read and issues one flit
// address per cycle to the queue; SEND passes on what the RAM gave and fills in the number of targets of a trimmed list.
// RESULT and ERROR headers are made here, a stage earlier.
`default_nettype none

module egress #(
    parameter int unsigned N = 4,
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned SlotW = 4,
    parameter int unsigned RxStorePkts = 16,
    parameter int unsigned RxResultPkts = 4,
    parameter int unsigned RxCtrlPkts = 16,
    parameter int unsigned Window = 0,               // see voq
    parameter int unsigned StampW = 0,               // see voq
    localparam int unsigned FW = 8 * FlitBytes,
    localparam int unsigned OffW = $clog2(128 / FlitBytes),
    localparam int unsigned StampB = (StampW == 0) ? 1 : StampW,
    localparam int unsigned DescW = SlotW + 6 + OffW + StampW,
    localparam int unsigned StoreW = $clog2(RxStorePkts + 1),
    localparam int unsigned PartW = $clog2(RxResultPkts + 1)
) (
    input  wire logic              clk_i,
    input  wire logic              rst_ni,
    input  wire logic [4:0]        port_i,         // constant: the number of this port
    input  wire logic              go_i,
    input  wire logic [1:0]        epoch_i,
    input  wire logic              hold_i,           // no packet starts in this cycle
    input  wire logic              down_i,           // packets that start are discarded; the receiver holds all credits
    input  wire logic [StoreW-1:0] store_limit_i,
    input  wire logic [PartW-1:0]  part_limit_i,

    // queues of this output, one per input
    input  wire logic [N-1:0]      has_ctrl_i,
    input  wire logic [N-1:0]      has_req_i,
    input  wire logic [N-1:0]      has_store_i,
    input  wire logic [N-1:0]      urgent_i,         // the next STORE packet keeps others of its input from moving up
    output logic [1:0]             cls_o,
    output logic [N-1:0]           pop_o,
    input  wire logic [DescW-1:0]  desc_i,           // {stamp, slot, dyn, more, pay, len} of the queue with pop_o, else 0
    output logic [N-1:0]           re_o,
    output logic [OffW:0]          rd_line_o,        // see voq
    output logic [SlotW-1:0]       rd_slot_o,
    input  wire logic [FW:0]       rdata_i,          // {bad, flit} of the queue read, else 0
    output logic [N-1:0]           free_ctrl_o,
    output logic [N-1:0]           free_store_o,
    output logic [N-1:0]           sent_o,           // the STORE packet of this input is sent but for its last flit, or all of it if it is short

    // results of the join of this output
    input  wire logic              res_valid_i,
    input  wire logic [6:0]        res_len_i,        // bytes, less 1
    input  wire logic              res_poison_i,
    input  wire logic [StampB-1:0] res_stamp_i,
    output logic                   res_start_o,
    output logic                   res_read_o,       // in this cycle
    output logic                   res_first_o,
    output logic                   res_last_o,
    input  wire logic [FW-1:0]     res_data_i,
    input  wire logic              res_err_i,

    // a packet of this port's input was rejected; both stable until error_sent_o
    input  wire logic              error_valid_i,
    input  wire logic [7:0]        error_code_i,
    output logic                   error_sent_o,

    output logic                   dn_valid_o,
    output logic                   dn_last_o,
    output logic                   dn_err_o,
    output logic [1:0]             dn_cls_o,
    output logic [FW-1:0]          dn_data_o,
    input  wire logic [3:0]        dn_crd_i,

    output logic                   wait_turn_o,      // a store copy waits for its output
    output logic                   wait_credit_o,    // a store copy waits for a credit
    output logic [2:0]             starved_o,        // a packet of class CTRL, STORE, PART (in this order) waits for a credit
    output logic                   discard_o,        // a packet is discarded
    output logic                   leave_o,          // a packet that came with a stamp leaves: its first flit in two cycles
    output logic [StampB-1:0]      leave_stamp_o,    // class: cls_o
    output logic                   idle_o
);
    import packet_pkg::*;

    localparam int unsigned HF    = 16 / FlitBytes;
    localparam int unsigned TF    = (30 + FlitBytes - 1) / FlitBytes;
    localparam int unsigned LaneW = $clog2(FlitBytes / 2);
    localparam int unsigned L2F   = $clog2(FlitBytes);
    localparam int unsigned CtrlW = $clog2(RxCtrlPkts + 1);

    // ---- credits of the receiver ----
    logic [CtrlW-1:0]  ctrl_used_q;
    logic [StoreW-1:0] store_used_q;
    logic [PartW-1:0]  part_used_q;
    logic ctrl_crd, store_crd, part_crd, ctrl_start, store_start, part_start;

    // Everything waits for these: the comparison with what will be used is made before, in a register.
    always_ff @(posedge clk_i) begin
        if (!rst_ni || down_i || (dn_crd_i[CLS_CTRL] && !ctrl_start)) ctrl_crd <= 1'b1;
        else if (ctrl_start && !dn_crd_i[CLS_CTRL]) ctrl_crd <= ctrl_used_q + 1'b1 != CtrlW'(RxCtrlPkts);
        if (!rst_ni || down_i || (dn_crd_i[CLS_STORE] && !store_start)) store_crd <= 1'b1;
        else if (store_start && !dn_crd_i[CLS_STORE]) store_crd <= store_used_q + 1'b1 != store_limit_i;
        else store_crd <= store_used_q != store_limit_i;
        if (!rst_ni || down_i || (dn_crd_i[CLS_PART] && !part_start)) part_crd <= 1'b1;
        else if (part_start && !dn_crd_i[CLS_PART]) part_crd <= part_used_q + 1'b1 != part_limit_i;
        else part_crd <= part_used_q != part_limit_i;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni || down_i) begin
            ctrl_used_q  <= '0;
            store_used_q <= '0;
            part_used_q  <= '0;
        end else begin
            if (ctrl_start != dn_crd_i[CLS_CTRL])   ctrl_used_q  <= ctrl_used_q + (ctrl_start ? CtrlW'(1) : '1);
            if (store_start != dn_crd_i[CLS_STORE]) store_used_q <= store_used_q + (store_start ? StoreW'(1) : '1);
            if (part_start != dn_crd_i[CLS_PART])   part_used_q  <= part_used_q + (part_start ? PartW'(1) : '1);
        end
    end

    // ---- choice ----
    logic       busy_q;                       // a packet is being read
    logic       read_last, start;
    logic       can_ctrl, can_req, can_part, can_store;
    logic       error, error_busy_q;          // an ERROR packet waits, is being made
    logic [1:0] cls;
    logic [3:0] turn_q;                       // packets sent, modulo 16
    logic       turn_req_q, turn_part_q, turn_store_q;   // 5, 10, 15: the turn of that class, if it waits
    logic [N-1:0] req, grant, above;
    logic [N-1:0] ctrl_next_q, req_next_q, store_next_q, next;  // inputs behind the last grant of a class

    assign error     = error_valid_i && !error_busy_q;
    assign can_ctrl  = (has_ctrl_i != '0 || error) && ctrl_crd;
    assign can_req   = has_req_i != '0;
    assign can_part  = res_valid_i && part_crd;
    assign can_store = has_store_i != '0 && store_crd;
    assign start     = (!busy_q || read_last) && !hold_i && (can_ctrl || can_req || can_part || can_store);

    always_comb begin
        if (can_req && turn_req_q)          cls = CLS_REQ;
        else if (can_part && turn_part_q)   cls = CLS_PART;
        else if (can_store && turn_store_q) cls = CLS_STORE;
        else if (can_ctrl)                  cls = CLS_CTRL;
        else if (can_req)                   cls = CLS_REQ;
        else if (can_part)                  cls = CLS_PART;
        else                                cls = CLS_STORE;
    end

    // Of eight choices of an input for STORE seven are among those whose next packet is in the way of others of its input, where there are such.
    logic         urgent;
    logic [N-1:0] urgent_next;

    if (Window != 0) begin : gen_urgent
        logic [N-1:0] urgent_next_q;
        logic [2:0]   choice_q;

        assign urgent      = choice_q != '1 && (has_store_i & urgent_i) != '0;
        assign urgent_next = urgent_next_q;

        always_ff @(posedge clk_i) begin
            if (!rst_ni || go_i) begin
                urgent_next_q <= '0;
                choice_q      <= '0;
            end else if (store_start) begin
                choice_q <= choice_q + 3'd1;
                if (urgent) urgent_next_q <= above;
            end
        end
    end else begin : gen_no_urgent
        assign urgent      = 1'b0;
        assign urgent_next = '0;
        wire unused_urgent = &{1'b0, urgent_i};
    end

    // The first request behind the last grant, or else the first one: both are found side by side, while start is not known yet.
    always_comb begin
        req  = '0;
        next = '0;
        unique case (cls)
            CLS_CTRL: begin
                req  = error ? '0 : has_ctrl_i;
                next = ctrl_next_q;
            end
            CLS_REQ: begin
                req  = has_req_i;
                next = req_next_q;
            end
            CLS_STORE: begin
                req  = urgent ? has_store_i & urgent_i : has_store_i;
                next = urgent ? urgent_next : store_next_q;
            end
            default: ;
        endcase
    end

    logic [N-1:0] behind;

    assign behind = req & next;
    assign above  = (behind != '0) ? above_first(behind) : above_first(req);
    assign grant  = start ? ((behind != '0) ? behind & ~above_first(behind) : req & ~above_first(req)) : '0;

    // Ones above the lowest one of a set.
    function automatic logic [N-1:0] above_first(input logic [N-1:0] set);
        above_first = '0;
        for (int unsigned i = 1; i < N; i++) above_first[i] = above_first[i-1] || set[i-1];
    endfunction

    assign cls_o        = cls;
    assign pop_o        = grant;
    assign ctrl_start   = start && cls == CLS_CTRL;
    assign store_start  = start && cls == CLS_STORE;
    assign part_start   = start && cls == CLS_PART;
    assign res_start_o  = part_start;
    assign wait_turn_o  = has_store_i != '0 && store_crd && !store_start;
    assign wait_credit_o = has_store_i != '0 && !store_crd;
    assign starved_o    = {res_valid_i && !part_crd, wait_credit_o, (has_ctrl_i != '0 || error) && !ctrl_crd};
    assign discard_o    = start && down_i;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            turn_q       <= '0;
            turn_req_q   <= 1'b0;
            turn_part_q  <= 1'b0;
            turn_store_q <= 1'b0;
            ctrl_next_q  <= '0;
            req_next_q   <= '0;
            store_next_q <= '0;
        end else if (start) begin
            turn_q       <= turn_q + 4'd1;
            turn_req_q   <= turn_q == 4'd4;
            turn_part_q  <= turn_q == 4'd9;
            turn_store_q <= turn_q == 4'd14;
            unique case (cls)
                CLS_CTRL:  if (!error) ctrl_next_q <= above;
                CLS_REQ:   req_next_q   <= above;
                CLS_STORE: if (!urgent) store_next_q <= above;
                default: ;
            endcase
        end
    end

    // ---- READ ----
    logic [N-1:0]     from_q;           // input; none: made here
    logic [1:0]       cls_q;
    logic [SlotW-1:0] slot_q;
    logic             pay_q, in_pay_q, dyn_q, discard_q;
    logic [OffW-1:0]  off_q, front, len_q;    // flit of the part being read; flits of header and targets, of the payload, less 1
    logic [3:0]       more_q;
    logic             part_end, made;         // the packet is made here
    logic [SlotW-1:0] slot;
    logic             dyn, pay;
    logic [3:0]       more;
    logic [OffW-1:0]  len;

    assign {slot, dyn, more, pay, len} = desc_i[SlotW+5+OffW:0];
    assign front       = OffW'(HF - 1) + OffW'((6'(more_q) + 6'(FlitBytes / 2 - 1)) >> LaneW);
    assign part_end    = off_q == (in_pay_q ? len_q : front);
    assign read_last   = busy_q && part_end && (in_pay_q || !pay_q);
    assign made        = busy_q && from_q == '0;
    assign re_o        = busy_q ? from_q : '0;
    assign rd_slot_o   = slot_q;
    assign rd_line_o   = in_pay_q ? {1'b0, off_q} : {1'b1, cls_q == CLS_REQ, off_q[OffW-2:0] | ((cls_q == CLS_CTRL) ? (OffW-1)'(HF + TF) : '0)};
    assign free_ctrl_o  = (read_last && cls_q == CLS_CTRL) ? from_q : '0;
    assign free_store_o = (read_last && cls_q == CLS_STORE) ? from_q : '0;

    // ---- look-ahead window ----
    if (Window != 0) begin : gen_window
        logic            long_q;      // the payload has two flits or more
        logic [OffW-1:0] before_q;    // the last but one

        assign sent_o = (busy_q && cls_q == CLS_STORE && (long_q ? in_pay_q && off_q == before_q : read_last)) ? from_q : '0;

        always_ff @(posedge clk_i) begin
            if (start) begin
                long_q   <= pay && len != '0;
                before_q <= len - 1'b1;
            end
        end
    end else begin : gen_no_window
        assign sent_o = '0;
    end

    // ---- time stamps ----
    assign leave_o = start && !down_i && !(cls == CLS_CTRL && error);

    if (StampW != 0) begin : gen_stamp
        assign leave_stamp_o = (cls == CLS_PART) ? res_stamp_i : desc_i[DescW-1 -: StampW];
    end else begin : gen_no_stamp
        assign leave_stamp_o = '0;
        wire unused_stamp = &{1'b0, res_stamp_i};
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            busy_q       <= 1'b0;
            error_busy_q <= 1'b0;
        end else if (start) begin
            busy_q       <= 1'b1;
            error_busy_q <= cls == CLS_CTRL && error;
        end else if (read_last) begin
            busy_q       <= 1'b0;
            error_busy_q <= 1'b0;
        end
        if (start) begin
            discard_q <= down_i;
            from_q   <= grant;
            cls_q    <= cls;
            slot_q   <= slot;
            dyn_q    <= dyn;
            more_q   <= more;
            pay_q    <= pay || cls == CLS_PART;
            len_q    <= (cls == CLS_PART) ? OffW'(res_len_i >> L2F) : len;
            in_pay_q <= 1'b0;
            off_q    <= '0;
        end else if (part_end) begin
            in_pay_q <= 1'b1;
            off_q    <= '0;
        end else begin
            off_q <= off_q + 1'b1;
        end
    end

    assign error_sent_o = error_busy_q && read_last;
    assign res_read_o   = made && in_pay_q;
    assign res_first_o  = off_q == '0;
    assign res_last_o   = read_last;

    // ---- headers made here ----
    logic [6:0]  res_len_q;
    logic        res_poison_q;
    header_t     head;
    logic [127:0] head_bits;

    always_ff @(posedge clk_i) begin
        if (part_start) begin
            res_len_q    <= res_len_i;
            res_poison_q <= res_poison_i;
        end
    end

    always_comb begin
        head        = '0;
        head.opcode = (cls_q == CLS_CTRL) ? OP_ERROR : OP_RESULT;
        head.cls    = cls_e'(cls_q);
        head.src    = port_i;
        head.dst    = port_i;
        head.epoch  = epoch_i;
        if (cls_q == CLS_CTRL) begin
            head.tag    = error_code_i;
        end else begin
            head.len    = 15'(res_len_q) + 15'd1;
            head.poison = res_poison_q;
        end
        head_bits = head;
    end

    // ---- SEND: queues that were not read give 0, and so does made_q ----
    logic          valid_q, first_q, last_q, last_pay_q, dyn_send_q, bad;
    logic [1:0]    send_cls_q;
    logic [3:0]    send_more_q;
    logic [FW:0]   made_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) valid_q <= 1'b0;
        else         valid_q <= busy_q && !discard_q;
        if (busy_q) begin
            first_q     <= !in_pay_q && off_q == '0;
            last_q      <= read_last;
            dyn_send_q  <= dyn_q;
            send_more_q <= more_q;
            send_cls_q  <= cls_q;
            last_pay_q  <= read_last && in_pay_q;
        end
        if (res_read_o)                 made_q <= {res_err_i, res_data_i};
        else if (made && off_q == '0)   made_q <= {1'b0, head_bits[FW-1:0]};   // the first half with F = 8, the other is 0
        else                            made_q <= '0;
    end

    always_comb begin
        {bad, dn_data_o} = made_q | rdata_i;
        if (first_q && dyn_send_q) dn_data_o[45:41] = dn_data_o[45:41] | (5'(send_more_q) + 5'd1);
    end

    assign dn_valid_o  = valid_q;
    assign dn_last_o   = last_q;
    assign dn_cls_o    = send_cls_q;
    assign dn_err_o    = last_pay_q && bad;
    assign idle_o      = !busy_q && !valid_q && has_ctrl_i == '0 && has_req_i == '0 && has_store_i == '0 && !error_valid_i;

    if (HF == 2) begin : gen_unused
        wire unused_half = &{1'b0, head_bits[127:64]};
    end
    wire unused_crd = dn_crd_i[CLS_REQ];
endmodule

`default_nettype wire
