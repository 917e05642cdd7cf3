// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Input of the switch: takes the flits of one uplink, checks every packet as a whole, and writes it into
// the queues of its outputs, trimmed to the targets behind each.
//
// CTRL, STORE and REQ go through a flit queue and a parser, one flit per cycle; the parser stays one cycle longer for each target but the first. When the queue is
// empty the parser works on the link itself, but for lists of targets. PART goes straight to the queue of its requester, so partials never wait for the parser.
// Back-pressure: none towards the link. The queue holds everything that credits and window allow; a STORE or CTRL packet without credit is not let in.
//
// Until the last target has been checked nothing of a packet is visible: header, targets and payload are
// written to the free slot behind the last packet of each queue, and push_o makes them packets. A bad one is dropped, or, if it is a request, pushed as an open reduction
// with an empty mask; err_valid_o reports it. A payload of the wrong length goes out as long as the header says, marked bad.
//
// Duplicates are found with a table of one bit per expert. It is cleared after a list, 8 cycles, during the payload; only the next list waits for it.
`default_nettype none

module ingress #(
    parameter int unsigned N = 4,
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned StorePkts = 16,
    parameter int unsigned CtrlPkts = 16,
    parameter int unsigned OpenRows = 8,
    parameter int unsigned MaxExperts = 64,
    parameter int unsigned Groups = 16,
    parameter bit          Multicast = 1'b1,
    parameter int unsigned StampW = 0,               // bits of the time that packets carry, 0: none
    parameter red_pkg::set_t RedTypes = red_pkg::AllTypes,
    parameter red_pkg::set_t RedOps   = red_pkg::AllOps,
    localparam int unsigned FW = 8 * FlitBytes,
    localparam int unsigned Lanes = FlitBytes / 2,
    localparam int unsigned StampB = (StampW == 0) ? 1 : StampW,
    localparam int unsigned OffW = $clog2(128 / FlitBytes)
) (
    input  wire logic              clk_i,
    input  wire logic              rst_ni,
    input  wire logic [4:0]        port_i,         // constant: the number of this port
    input  wire logic [1:0]        epoch_i,
    input  wire logic [StampB-1:0] now_i,          // the time

    input  wire logic              up_valid_i,
    input  wire logic              up_last_i,
    input  wire logic              up_err_i,
    input  wire logic [1:0]        up_cls_i,
    input  wire logic [FW-1:0]     up_data_i,
    input  wire logic [1:0]        crd_i,          // {STORE, CTRL} credit on its way to the sender

    input  wire logic              emap_we_i,
    input  wire logic [11:0]       emap_addr_i,
    input  wire node_pkg::emap_t   emap_data_i,
    input  wire logic              group_we_i,
    input  wire logic [3:0]        group_addr_i,
    input  wire logic [N-1:0]      group_data_i,
    input  wire logic [N-1:0]      partition_i,    // outputs that this input may reach

    // to the queues of this input
    output logic [N-1:0]           wr_valid_o,
    output logic [1:0]             wr_region_o,
    output logic [OffW:0]          wr_line_o,      // see voq
    output logic [Lanes-1:0]       wr_lane_o,
    output logic [FW:0]            wr_data_o,      // {bad, flit}
    output logic [N-1:0]           desc_we_o,
    output logic                   desc_dyn_o,
    output logic [3:0]             desc_more_o,
    output logic                   desc_pay_o,
    output logic [OffW-1:0]        desc_len_o,
    output logic [N-1:0]           push_o,
    output logic [StampB-1:0]      stamp_o,        // with desc_we_o and open_valid_o: when the packet's first flit came
    output logic                   scarce_o,       // the sender has few STORE credits left
    output logic                   arrive_o,       // a STORE packet was accepted or rejected
    output logic                   ctrl_drop_o,    // a CTRL packet was rejected: its credit goes back

    // open reductions of this port
    output logic                   open_valid_o,
    output logic [N-1:0]           open_mask_o,
    output logic [14:0]            open_bytes_o,   // less 1
    output red_pkg::red_t          open_red_o,
    input  wire logic              open_full_i,

    // partials: {poison, last, flit}
    output logic [N-1:0]           part_we_o,
    output logic [OffW-1:0]        part_idx_o,
    output logic [FW+1:0]          part_data_o,
    input  wire logic [N-1:0]      part_full_i,

    output logic                   err_valid_o,
    output error_pkg::err_e        err_code_o,
    output logic                   idle_o
);
    import packet_pkg::*;
    import error_pkg::*;

    localparam int unsigned HF     = 16 / FlitBytes;
    localparam int unsigned TF     = (30 + FlitBytes - 1) / FlitBytes;
    localparam int unsigned MaxPkt = HF + TF + 128 / FlitBytes;
    localparam int unsigned Need   = $clog2(StorePkts * MaxPkt + CtrlPkts * HF + OpenRows * (HF + TF) + 1);
    localparam int unsigned DW     = (Need < 9) ? 9 : Need;   // a block RAM has 512 words
    localparam int unsigned L2F    = $clog2(FlitBytes);
    localparam int unsigned HeadW  = OffW - 1;            // a flit of header and targets
    localparam int unsigned LaneW  = $clog2(Lanes);
    localparam int unsigned EW     = $clog2(MaxExperts);
    localparam int unsigned GW     = (Groups > 1) ? $clog2(Groups) : 1;
    localparam int unsigned PW     = (N > 1) ? $clog2(N) : 1;
    localparam int unsigned SeenW  = MaxExperts / 8;      // bits of a word of the table of seen experts

    if (MaxExperts < 16 || MaxExperts > 4096 || (1 << EW) != MaxExperts) begin : gen_check
        $error("ingress: MaxExperts must be a power of two, 16 to 4096");
    end

    typedef struct packed {
        logic          head;   // the last flit of a header
        logic          last;
        logic          err;
        logic [1:0]    cls;
        logic [FW-1:0] data;
    } flit_t;

    // ---- credits, and what is let in ----
    localparam int unsigned StoreW = $clog2(StorePkts + 1);
    localparam int unsigned CtrlW  = $clog2(CtrlPkts + 1);

    logic [StoreW-1:0] store_left_q;   // credits that the sender holds
    logic [CtrlW-1:0]  ctrl_left_q;
    logic              store_none_q, ctrl_none_q;
    logic              first_q;        // the next flit of the link begins a packet
    logic              second_q;       // it is the second half of a header
    logic              shut_q;         // packet without credit
    logic              begins, store_begins, ctrl_begins, shut, open, enters;

    assign scarce_o     = store_left_q < StoreW'((StorePkts + 3) / 4);
    assign begins       = up_valid_i && first_q;
    assign store_begins = begins && up_cls_i == CLS_STORE;
    assign ctrl_begins  = begins && up_cls_i == CLS_CTRL;
    assign shut         = (store_begins && store_none_q) || (ctrl_begins && ctrl_none_q);
    assign enters       = up_valid_i && open;

    always_comb begin
        unique case (up_cls_i)
            CLS_CTRL:  open = !(first_q ? ctrl_none_q : shut_q);
            CLS_STORE: open = !(first_q ? store_none_q : shut_q);
            CLS_REQ:   open = 1'b1;
            default:   open = 1'b0;
        endcase
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            first_q      <= 1'b1;
            store_left_q <= StoreW'(StorePkts);
            ctrl_left_q  <= CtrlW'(CtrlPkts);
            store_none_q <= 1'b0;
            ctrl_none_q  <= 1'b0;
        end else begin
            if (up_valid_i) first_q <= up_last_i;
            if ((store_begins && !shut) != crd_i[1]) begin
                store_left_q <= store_left_q + (crd_i[1] ? StoreW'(1) : '1);
                store_none_q <= !crd_i[1] && store_left_q == StoreW'(1);
            end
            if ((ctrl_begins && !shut) != crd_i[0]) begin
                ctrl_left_q <= ctrl_left_q + (crd_i[0] ? CtrlW'(1) : '1);
                ctrl_none_q <= !crd_i[0] && ctrl_left_q == CtrlW'(1);
            end
        end
        if (begins) shut_q <= shut;
    end

    // ---- flit queue ----
    localparam int unsigned QueueW = $bits(flit_t) + StampW;

    logic              take, flit_valid, held_valid, load, queue_empty;
    logic              in_list_q;   // the parser is in state TARGETS
    flit_t             flit, load_flit;
    logic [FW-1:0]     held_data;
    logic [QueueW-1:0] queued, held, loaded;

    assign flit      = queued[$bits(flit_t)-1:0];
    assign held_data = held[FW-1:0];
    assign load_flit = loaded[$bits(flit_t)-1:0];
    wire unused_held = &{1'b0, held[QueueW-1:FW], loaded, flit.head, load_flit};

    flit_queue #(.Width(QueueW), .DepthLog2(DW)) i_queue (
        .clk_i, .rst_ni,
        .valid_i  (enters),
        .data_i   (QueueW'({now_i, flit_t'{head: (HF == 2) ? second_q : first_q, last: up_last_i, err: up_err_i, cls: up_cls_i, data: up_data_i}})),
        .direct_i (!in_list_q),
        .valid_o  (flit_valid),
        .data_o   (queued),
        .held_valid_o (held_valid),
        .load_o   (load),
        .load_data_o (loaded),
        .held_o   (held),
        .take_i   (take),
        .empty_o  (queue_empty)
    );

    // ---- parser: what the header says ----
    typedef enum logic [2:0] {LOW, HEAD, TARGETS, PAYLOAD, DROP} state_e;
    localparam state_e Begin = (HF == 2) ? LOW : HEAD;

    state_e            state_q, state_next;
    logic [63:0]       low_q;         // first half of the header
    header_t           head;          // valid in HEAD
    logic [14:0]       len;           // valid in HEAD and TARGETS, and with open_late_q
    logic              open_late_q;   // a rejected request becomes an open reduction
    logic [1:0]        cls_q;
    cls_e              cls, head_cls; // of the flit; of the header that is being checked
    logic              is_dyn, is_group, has_pay, known, fits;
    logic [8:0]        span;          // bytes from the start of the first payload flit, less 1
    logic [L2F-1:0]    skip;

    if (HF == 2) begin : gen_half_head
        assign head = {flit.data, low_q};
        assign len  = low_q[40:26];
    end else begin : gen_full_head
        assign head = flit.data[127:0];
        assign len  = (state_q == HEAD && !open_late_q) ? head.len : low_q[40:26];
    end

    assign cls      = cls_e'((state_q == Begin) ? flit.cls : cls_q);
    assign head_cls = (HF == 2) ? cls_e'(cls_q) : cls;
    assign is_dyn   = Multicast && head.opcode inside {OP_DYMULTIMEM_ST, OP_DYMULTIMEM_LD_REDUCE};
    assign is_group = Multicast && head.opcode inside {OP_MULTIMEM_ST, OP_MULTIMEM_RED, OP_MULTIMEM_LD_REDUCE};
    assign has_pay  = head.opcode inside {OP_ST, OP_MULTIMEM_ST, OP_MULTIMEM_RED, OP_DYMULTIMEM_ST, OP_COUNTS} && head.len != '0;
    assign known    = head.opcode inside {OP_SIGNAL, OP_EVENT, OP_ACK, OP_ERROR, OP_ST, OP_MULTIMEM_ST, OP_MULTIMEM_RED, OP_DYMULTIMEM_ST, OP_FLAG, OP_FENCE,
                                          OP_COUNTS, OP_MULTIMEM_LD_REDUCE, OP_DYMULTIMEM_LD_REDUCE}
                   && head.opcode[5:4] == head_cls && head.cls == head_cls
                   && (Multicast || !(head.opcode inside {OP_MULTIMEM_ST, OP_MULTIMEM_RED, OP_DYMULTIMEM_ST, OP_MULTIMEM_LD_REDUCE, OP_DYMULTIMEM_LD_REDUCE}));
    assign skip     = head.addr[L2F-1:0];
    assign span     = {1'b0, head.len[7:0]} + {{(9-L2F){skip == '0}}, skip - 1'b1};

    always_comb begin
        if (head_cls == CLS_REQ) fits = head.len != '0;
        else if (has_pay)   fits = head.len[14:8] == '0 && span[8:7] == '0;
        else                fits = head.len == '0;
    end

    // ---- parser: when the packet came ----
    if (StampW != 0) begin : gen_stamp
        logic [StampW-1:0] stamp, stamp_q;

        assign stamp   = queued[QueueW-1 -: StampW];
        assign stamp_o = (state_q == Begin && !open_late_q) ? stamp : stamp_q;

        always_ff @(posedge clk_i) if (flit_valid && state_q == Begin) stamp_q <= stamp;
    end else begin : gen_no_stamp
        assign stamp_o = '0;
        wire unused_now = &{1'b0, now_i};
    end

    // ---- parser: targets ----
    logic [3:0]        left_q;        // targets left, this one included
    logic [LaneW-1:0]  lane_q;        // of the target in its flit; the last lane in HEAD
    logic [15:0]       target, held_target_q, next_target;
    logic [PW:0]       entry;         // {mapped, port}
    logic              mapped, again, twice, listed, one_more, lane_end;
    logic              listing;       // the target is an expert
    logic              somewhere, allowed;  // there is an output behind the target, and all of them may be reached
    logic              in_range, list_allowed, list_good, group_some, group_allowed, plain_some, plain_allowed;
    logic [N-1:0]      mask_q, hit, sel, mask, group_mask, self, reach, list_at, list_sel, group_sel, plain_sel;
    logic [3:0]        extra;         // targets so far behind the same output, less 1; defined after its first
    logic              look;          // a target is being looked up

    // Looking up takes longest, so the target of the flit in the queue's register is chosen a cycle before: in a header that of the last lane, in a list one lane after the other.
    // A header may come straight from the link, a list may not.
    always_comb begin
        next_target = '0;
        for (int unsigned l = 0; l < Lanes; l++) begin
            if (lane_q + 1'b1 == LaneW'(l)) next_target = held_data[16*l +: 16];
        end
    end
    always_ff @(posedge clk_i) begin
        if (load)           held_target_q <= load_flit.head ? load_flit.data[FW-1 -: 16] : load_flit.data[15:0];
        else if (in_list_q) held_target_q <= next_target;
    end
    assign target = held_valid ? held_target_q : up_data_i[FW-1 -: 16];

    lutram #(.Width(PW + 1), .Depth(MaxExperts)) i_map (
        .clk_i,
        .we_i    (emap_we_i && (emap_addr_i >> EW) == '0),
        .waddr_i (emap_addr_i[EW-1:0]),
        .wdata_i ({emap_data_i.valid && 32'(emap_data_i.gpu) < N, emap_data_i.gpu[PW-1:0]}),
        .raddr_i (target[EW+3:4]),
        .rdata_o (entry)
    );

    lutram #(.Width(N), .Depth(Groups)) i_groups (
        .clk_i,
        .we_i    (group_we_i),
        .waddr_i (group_addr_i[GW-1:0]),
        .wdata_i (group_data_i),
        .raddr_i (head.target0[GW-1:0]),
        .rdata_o (group_mask)
    );

    assign self     = N'(1) << port_i;
    assign reach    = partition_i & ~self;
    assign in_range = (target[15:4] >> EW) == '0;
    assign mapped   = entry[PW] && in_range;
    assign hit      = in_list_q ? mask_q : '0;
    assign listed   = in_list_q || (is_dyn && head.cnt != 5'd1);
    assign one_more = in_list_q ? left_q != 4'd1 : listed;   // targets follow this one
    assign lane_end = lane_q == LaneW'(Lanes - 1) || !one_more;
    assign look     = flit_valid && (in_list_q || (state_q == HEAD && is_dyn));

    // What is looked up comes late: each of the checks takes the shortest way from there, and who needs one only for lists, or only for groups, takes that one.
    assign listing = in_list_q || is_dyn;

    always_comb begin
        list_at       = '0;
        plain_sel     = '0;
        plain_allowed = 1'b0;
        for (int unsigned i = 0; i < N; i++) begin
            list_at[i] = entry == {1'b1, PW'(i)};
            if (head.dst == 5'(i)) begin
                plain_sel[i]  = 1'b1;
                plain_allowed = reach[i];
            end
        end
        plain_some    = 32'(head.dst) < N;
        group_sel     = ((head.target0 >> GW) == '0) ? group_mask & ~self : '0;
        group_some    = group_sel != '0;
        group_allowed = (group_sel & ~reach) == '0;
        list_sel      = in_range ? list_at : '0;
        list_allowed  = (list_at & reach) != '0;
        list_good     = (list_at & reach) != '0 && !twice;
        again         = in_list_q && (list_sel & mask_q) != '0;
    end

    always_comb begin
        if (listing)       {sel, somewhere, allowed} = {list_sel, mapped, list_allowed};
        else if (is_group) {sel, somewhere, allowed} = {group_sel, group_some, group_allowed};
        else               {sel, somewhere, allowed} = {plain_sel, plain_some, plain_allowed};
    end

    assign mask = hit | sel;

    lutram #(.Width(4), .Depth(N)) i_extra (
        .clk_i,
        .we_i    (look),
        .waddr_i (entry[PW-1:0]),
        .wdata_i (desc_more_o),
        .raddr_i (entry[PW-1:0]),
        .rdata_o (extra)
    );

    // ---- seen experts ----
    logic             clearing_q;
    logic [2:0]       clear_q;
    logic [SeenW-1:0] seen, seen_bit;

    if (SeenW > 1) begin : gen_seen_bit
        assign seen_bit = SeenW'(1) << target[EW:4];
    end else begin : gen_seen_one
        assign seen_bit = 1'b1;
    end
    assign twice = listed && (seen & seen_bit) != '0 && listing;

    lutram #(.Width(SeenW), .Depth(8)) i_seen (
        .clk_i,
        .we_i    (clearing_q || (look && listed)),
        .waddr_i (clearing_q ? clear_q : target[EW+3 -: 3]),
        .wdata_i (clearing_q ? '0 : seen | seen_bit),
        .raddr_i (target[EW+3 -: 3]),
        .rdata_o (seen)
    );

    // ---- parser: decision ----
    err_e head_code, code;   // of the header alone, and with reject
    logic misplaced, spoilt, bad_head, good, other_good;   // good: what was looked up
    logic decide, settled, reject, accept, wait_clear, pay_q, pay, pay_end;
    logic cut;               // a packet that ends inside its header
    logic no_room, full_q;   // of the open reductions, when the request began
    logic opens;
    logic [OffW-1:0] flits_q, count_q;

    assign pay        = (state_q == HEAD) ? has_pay : pay_q;
    assign wait_clear = state_q == HEAD && ((clearing_q && listed) || open_late_q);
    assign decide     = flit_valid && (state_q == HEAD || in_list_q) && !wait_clear;

    always_comb begin
        head_code = ERR_NONE;
        if (state_q == HEAD) begin
            if (!known)                              head_code = ERR_OPCODE;
            else if (head_cls == CLS_REQ && no_room)    head_code = ERR_WINDOW;
            else if (head_cls == CLS_REQ && !red_pkg::has(RedTypes, RedOps, '{dtype: head.dtype, redop: head.redop})) head_code = ERR_REDUCTION;
            else if (head.epoch != epoch_i)          head_code = ERR_EPOCH;
            else if (!fits)                          head_code = ERR_LENGTH;
            else if (is_dyn && (head.cnt == '0 || head.cnt > 5'd16)) head_code = ERR_TARGETS;
        end
    end

    assign misplaced = lane_end && flit.last != (!one_more && !pay);   // the packet ends too early or too late
    assign spoilt    = lane_end && flit.last && flit.err;
    assign bad_head  = head_code != ERR_NONE || misplaced || spoilt || (!listing && !is_group && !(plain_some && plain_allowed));

    assign other_good = !listing && (!is_group || (group_some && group_allowed));
    assign good       = (listing && in_range && list_good) || other_good;

    always_comb begin
        if (head_code != ERR_NONE)                   code = head_code;
        else if (!somewhere)                         code = ERR_UNMAPPED;
        else if (!allowed)                           code = ERR_PARTITION;
        else if (twice)                              code = ERR_DUPLICATE;
        else if (misplaced)                          code = ERR_LENGTH;
        else                                         code = ERR_POISON;
    end

    assign cut     = flit_valid && state_q == LOW && flit.last;
    assign no_room = (HF == 2) ? full_q : open_full_i;
    assign reject  = decide && (bad_head || !good);
    assign settled = decide && !one_more && !bad_head;
    assign accept  = (settled && listing && in_range && list_good) || (settled && other_good);
    assign pay_end = flit_valid && state_q == PAYLOAD && (flit.last || count_q == flits_q);

    always_comb begin
        unique case (state_q)
            HEAD:    take = flit_valid && !wait_clear;
            TARGETS: take = flit_valid && lane_end;
            default: take = flit_valid;
        endcase
    end

    assign push_o      = accept ? mask : '0;
    assign arrive_o    = (accept || reject || cut) && cls == CLS_STORE;

    // A request that is rejected before its last target is pushed a cycle later: that of an accepted one shall not wait for the checks.
    assign opens        = decide && head_cls == CLS_REQ && len != '0 && !no_room;
    assign open_valid_o = (opens && !one_more) || open_late_q;
    assign open_mask_o  = accept ? mask : '0;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            open_late_q <= 1'b0;
            ctrl_drop_o <= 1'b0;
        end else begin
            open_late_q <= opens && one_more && (bad_head || !good);
            ctrl_drop_o <= (reject || cut) && cls == CLS_CTRL;
        end
    end

    assign open_bytes_o = len - 15'd1;
    assign open_red_o   = (HF == 1 && state_q == HEAD && !open_late_q) ? '{dtype: head.dtype, redop: head.redop} : '{dtype: dtype_e'(low_q[52:50]), redop: redop_e'(low_q[55:53])};

    // ---- what the queues get ----
    logic new_flit;  // the target begins a target flit of its copy
    logic [HeadW-1:0] flit_no;
    logic [FW-1:0] wr_flit;
    assign new_flit = extra[LaneW-1:0] == '0;

    always_comb begin
        wr_region_o = (state_q == PAYLOAD) ? 2'd3 : cls;
        flit_no     = (state_q == HEAD) ? HeadW'(HF - 1) : '0;
        if (cls == CLS_CTRL) flit_no = HeadW'(HF + TF) | ((state_q == HEAD) ? HeadW'(HF - 1) : '0);
        wr_lane_o   = '1;
        wr_flit = flit.data;
        if (in_list_q) begin
            // zeros behind the first target of a target flit
            for (int unsigned l = 0; l < Lanes; l++) wr_flit[16*l +: 16] = (l != 0 && again && new_flit) ? '0 : target;
        end
        wr_valid_o  = '0;
        desc_we_o   = '0;
        unique case (state_q)
            LOW, HEAD: begin
                if (flit_valid && !(cls == CLS_REQ && (state_q == Begin ? open_full_i : no_room))) wr_valid_o = '1;
                if (state_q == Begin) begin
                    wr_flit[12:8] = port_i;
                    if (flit.data[5:0] inside {OP_DYMULTIMEM_ST, OP_DYMULTIMEM_LD_REDUCE}) wr_flit[45:41] = '0;  // the output fills it in
                end
                if (decide && state_q == HEAD) desc_we_o = sel;
            end
            TARGETS: begin
                if (flit_valid) begin
                    wr_valid_o = list_sel;
                    desc_we_o  = list_sel;
                end
                if (!again) begin
                    flit_no   = HeadW'(HF - 1);
                    wr_lane_o = Lanes'(1) << (Lanes - 1);
                end else begin
                    flit_no   = HeadW'(HF) + HeadW'(extra >> LaneW);
                    wr_lane_o = new_flit ? '1 : Lanes'(1) << extra[LaneW-1:0];
                end
            end
            PAYLOAD: if (flit_valid) wr_valid_o = mask_q;
            default: ;
        endcase
    end

    // A payload that ends early gets its mark where the output expects the last flit.
    assign wr_line_o     = (state_q == PAYLOAD) ? {1'b0, flit.last ? flits_q : count_q} : {1'b1, cls == CLS_REQ, flit_no};
    assign wr_data_o     = {state_q == PAYLOAD && (!flit.last || flit.err || count_q != flits_q), wr_flit};

    assign desc_dyn_o  = listing;
    assign desc_more_o = again ? extra + 4'd1 : '0;
    assign desc_pay_o  = pay;
    assign desc_len_o  = (state_q == HEAD) ? span[L2F +: OffW] : flits_q;

    // ---- parser: state ----
    always_comb begin
        state_next = state_q;
        if (flit_valid) begin
            unique case (state_q)
                LOW: if (!flit.last) state_next = HEAD;
                HEAD, TARGETS: begin
                    if (reject)                   state_next = (flit.last && take) ? Begin : DROP;
                    else if (accept)              state_next = pay ? PAYLOAD : Begin;
                    else if (decide && Multicast) state_next = TARGETS;
                end
                PAYLOAD: if (flit.last) state_next = Begin;
                         else if (count_q == flits_q) state_next = DROP;
                default: if (flit.last) state_next = Begin;
            endcase
        end
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q    <= Begin;
            in_list_q    <= 1'b0;
            lane_q     <= '1;
            clearing_q <= 1'b1;
            clear_q    <= '0;
        end else begin
            clear_q <= clear_q + 3'd1;
            if (clear_q == 3'd7) clearing_q <= 1'b0;
            if (flit_valid && (state_q == HEAD || in_list_q)) lane_q <= (decide && !reject && !accept) ? lane_q + 1'b1 : '1;
            state_q <= state_next;
            in_list_q <= state_next == TARGETS;
            if ((reject || accept) && listed) begin
                clearing_q <= 1'b1;
                clear_q    <= '0;
            end
        end
        if (flit_valid) begin
            unique case (state_q)
                LOW: begin
                    low_q  <= flit.data[63:0];
                    cls_q  <= flit.cls;
                    full_q <= open_full_i;
                end
                HEAD: begin
                    if (HF == 1) begin
                        low_q <= flit.data[63:0];
                        cls_q <= flit.cls;
                    end
                    left_q  <= 4'(head.cnt - 5'd1);
                    pay_q   <= has_pay;
                    flits_q <= span[L2F +: OffW];
                    count_q <= '0;
                    mask_q  <= mask;
                end
                TARGETS: begin
                    left_q <= left_q - 4'd1;
                    mask_q <= mask;
                end
                default: count_q <= count_q + 1'b1;
            endcase
        end
    end

    // ---- partials ----
    logic [N-1:0]    to_q, to;         // requester; none: the packet is dropped
    logic            spoilt_q, over_q, part_flit, bare;
    header_t         part_head;
    logic [OffW-1:0] part_idx_q;
    err_e            part_code;

    assign part_head = {64'd0, up_data_i[63:0]};
    assign bare      = up_valid_i && up_cls_i == CLS_PART && up_last_i && (first_q || second_q);   // no payload
    assign part_flit = up_valid_i && up_cls_i == CLS_PART && !first_q && !second_q;
    assign to        = (part_idx_q == '0 && !over_q) ? to_q & ~part_full_i : to_q;
    assign part_we_o   = (part_flit && !over_q) ? to : '0;
    assign part_idx_o  = part_idx_q;
    assign part_data_o = {spoilt_q || (up_last_i && up_err_i), up_last_i, up_data_i};

    always_comb begin
        part_code = ERR_NONE;
        if (begins && up_cls_i == CLS_PART) begin
            if (part_head.opcode != OP_PARTIAL)     part_code = ERR_OPCODE;
            else if (part_head.epoch != epoch_i)    part_code = ERR_EPOCH;
            else if (part_head.dst == port_i || 32'(part_head.dst) >= N) part_code = ERR_UNMAPPED;
        end else if (part_flit && part_idx_q == '0 && !over_q && (to_q & part_full_i) != '0) begin
            part_code = ERR_CREDIT;
        end
        if (bare) part_code = ERR_LENGTH;
        if (shut) part_code = ERR_CREDIT;
    end

    always_ff @(posedge clk_i) begin
        if (begins) begin
            for (int unsigned i = 0; i < N; i++) to_q[i] <= part_head.dst == 5'(i) && !self[i];
            spoilt_q   <= part_head.poison || part_head.epoch != epoch_i || part_head.opcode != OP_PARTIAL;
            part_idx_q <= '0;
            over_q     <= 1'b0;
        end else if (part_flit) begin
            to_q       <= to;
            part_idx_q <= part_idx_q + 1'b1;
            if (part_idx_q == '1) over_q <= 1'b1;
        end
        if (!rst_ni) second_q <= 1'b0;
        else if (up_valid_i) second_q <= (HF == 2) && first_q && !up_last_i;
    end

    // ---- errors: the parser's first, the link's one waits ----
    logic late_q;
    err_e late_code_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            late_q      <= 1'b0;
            err_valid_o <= 1'b0;
        end else begin
            if (part_code != ERR_NONE)              late_q <= 1'b1;
            else if (!reject && !cut && !pay_end) late_q <= 1'b0;
            err_valid_o <= reject || cut || late_q || (pay_end && (!flit.last || count_q != flits_q));
        end
        if (reject)                          err_code_o <= code;
        else if (late_q && !cut && !pay_end) err_code_o <= late_code_q;
        else                                 err_code_o <= ERR_LENGTH;
        if (part_code != ERR_NONE) late_code_q <= part_code;
    end

    wire unused_fields = &{1'b0, emap_data_i.local_expert, head.src, head.tag, head.stage, head.rsvd, head.poison, span[L2F-1:0], low_q, part_head};

    assign idle_o = queue_empty && state_q == Begin && first_q && !late_q && !err_valid_o && !clearing_q;
endmodule

`default_nettype wire
