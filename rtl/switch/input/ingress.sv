// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Input of the switch: checks the packets of one uplink and writes them into the queues of their
// outputs.
//
// Function: This module holds the parser's states and its decision. Each part has its own module:
//
//   credit_gate     credits of the sender, and admission
//   queue_head      flit queue, and the target to look up for the flit at its head
//   header_check    contents of a header, and its first error
//   target_lookup   position of one target, and whether it may be reached
//   target_walk     the list of targets, and what they have in common (seen_table:
//                   experts named before)
//   row_outputs     outputs of the open row, whose later packets have no list
//   row_entry       rows whose reduction the switch will open
//   ready_lanes     finished rows of READY packets, and rows of LDs, which end here
//   request_open    the open reduction that a request becomes
//   copy_write      the queues that get a flit, and its place there
//   part_entry      partials
//   write_turns     order of writes, where partials and other packets share RAMs
//   error_join      errors of parser and link
//
// CTRL, STORE and REQ pass the flit queue and the parser. PART goes directly to the queue of its
// requester, so a partial never waits for the parser. Where both write to the same RAMs
// (PartSharedRam), partials wait for the end of a payload, and the parser waits for the end of a
// partial (write_turns). With MergeKeep, kept answers enter between packets of the link, in turns.
// Order: First in, first out. No output sees a packet until its last target has been checked.
// Header, targets and payload are written to the free slot after the last packet of each queue, and
// push_o makes them a packet.
// Back-pressure: None to the link. The queue holds everything that credits and window allow. A
// STORE or CTRL packet without credit does not enter, nor anything that the queue has no room for.
// Latency: One flit per cycle. The parser needs one more cycle for each target after the first. If
// the queue is empty, the parser works directly on the link, except for lists of targets.
// Errors: A bad packet is dropped, or, if it is a request, pushed as an open reduction with an
// empty mask. err_o.valid reports it. A payload of the wrong length leaves with the length of its
// header, marked bad.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module ingress #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type group_t = `MW_GROUP(Cfg),
    parameter type common_t = `MW_COMMON(Cfg),
    parameter type link_t = `MW_LINK(Cfg),
    parameter type copy_t = `MW_COPY(Cfg),
    parameter type desc_t = `MW_DESC(Cfg),
    parameter type entry_t = `MW_ENTRY(Cfg),
    parameter type part_t = `MW_PART(Cfg),
    parameter type found_t = `MW_FOUND(Cfg),
    parameter type row_outputs_t = `MW_ROW_OUTPUTS(Cfg),
    parameter type lane_t = `MW_LANE(Cfg)
) (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    input  wire logic       go_i,
    input  wire logic [Cfg.PortW-1:0] port_i,  // constant: the number of this port
    input  wire logic [1:0] epoch_i,
    input  wire common_t    common_i,

    input  wire link_t      up_i,
    input  wire logic [1:0] crd_i,  // {STORE, CTRL} credit on its way to the sender

    input  wire bundle_pkg::emap_write_t  emap_i,
    input  wire group_t groups_i,
    input  wire logic [Cfg.N-1:0]         partition_i,  // outputs that this input may reach

    // to the queues of this input
    output logic [Cfg.N-1:0] wr_valid_o,   // with PartSharedRam also of partials;
                                           // see voq for what is Late
    output copy_t            wr_o,
    output logic [Cfg.N-1:0] desc_we_o,
    output desc_t            desc_o,
    output logic [Cfg.N-1:0] push_o,
    output logic             scarce_o,     // the sender has few STORE credits left
    output logic             arrive_o,     // a STORE packet was accepted or rejected
    output logic             ctrl_drop_o,  // a CTRL packet was rejected: its credit goes back

    // open reductions of this port
    output logic             open_valid_o,
    output logic [Cfg.N-1:0] open_mask_o,
    output logic [14:0]      open_bytes_o,  // less 1
    output red_pkg::red_t    open_red_o,
    input  wire logic        open_full_i,

    // rows that the switch opens: an entry, and a lane for the port home_o;
    // see row_entry and ready_lanes
    output entry_t                    entry_o,
    output logic [Cfg.N-1:0]          home_o,
    output logic [Cfg.LoadIndexW-1:0] index_o,
    input  wire logic                 lane_take_i,
    input  wire bundle_pkg::error_t   row_err_i,
    output logic                      load_o,        // the lane is of an LD, see ready_lanes
    output logic                      merge_o,
    output logic                      ready_free_o,  // the CTRL credit of a READY goes back
    input  wire logic [Cfg.OpenLoadW-1:0] load_room_i,  // see load_window
    output logic [1:0]                load_open_o,   // loads that begin

    // the answer of a load: its outputs, what is wrong with it; see merge_table
    output packet_pkg::header_t   answer_o,
    input  wire logic [Cfg.N-1:0] answer_mask_i,
    input  wire error_pkg::err_e  answer_code_i,
    output logic                  answer_accept_o,

    // a kept answer, which enters between packets of the link, and payloads for those that are kept
    input  wire logic                 kept_i,
    input  wire logic                 kept_last_i,
    input  wire logic [Cfg.FlitW-1:0] kept_data_i,
    input  wire logic                 kept_use_i,
    output logic                      kept_take_o,
    output logic                      kept_left_o,    // see kept_credits
    output logic                      kept_begins_o,
    output logic                      answer_kept_o,  // answer_o is of a kept answer
    output logic                      pay_o,
    output logic                      pay_bad_o,
    output logic                      pay_last_o,
    output logic [Cfg.FlitW-1:0]      pay_data_o,

    // partials: {poison, last, flit}
    output logic [Cfg.N-1:0]      part_come_o,  // a packet begins: it will be written, if not now
    output logic [Cfg.N-1:0]      part_we_o,
    output part_t                 part_o,
    input  wire logic [Cfg.N-1:0] part_full_i,

    output bundle_pkg::error_t err_o,
    output logic               parts_idle_o,  // partials that came are in their queues
    output logic               idle_o
);
    import packet_pkg::*;
    import error_pkg::*;

    logic by_switch;  // the switch opens reductions
    bundle_pkg::error_t row_err;  // see row_err_i
    assign by_switch = Cfg.SwitchReductions && common_i.switch_reductions;
    assign row_err = Cfg.SwitchReductions ? row_err_i : '{valid: 1'b0, code: ERR_NONE};

    // ---- link ----
    logic first, second, almost_full;  // see credit_gate
    link_t enter;  // what goes into the queue
    err_e gate_code;

    credit_gate #(
        .Cfg(Cfg)
    ) i_gate (
        .clk_i,
        .rst_ni,
        .valid_i(up_i.valid),
        .last_i(up_i.last),
        .err_i(up_i.err),
        .cls_i(up_i.cls),
        .crd_i,
        .almost_full_i(almost_full),
        .kept_use_i,
        .first_o(first),
        .second_o(second),
        .enters_o(enter.valid),
        .last_o(enter.last),
        .err_o(enter.err),
        .code_o(gate_code),
        .scarce_o,
        .left_o(kept_left_o),
        .store_begins_o(kept_begins_o)
    );
    assign enter.cls = up_i.cls;
    assign enter.data = up_i.data;

    err_e part_code;
    logic [Cfg.N-1:0] part_we;
    logic [Cfg.PayW-1:0] part_idx;
    logic [Cfg.FlitW+1:0] part_data;
    logic pause;  // the parser lets a partial pass

    part_entry #(
        .Cfg(Cfg)
    ) i_partials (
        .clk_i,
        .port_i,
        .epoch_i,
        .valid_i(up_i.valid),
        .first_i(first),
        .second_i(second),
        .last_i(up_i.last),
        .err_i(up_i.err),
        .cls_i(up_i.cls),
        .data_i(up_i.data),
        .we_o(part_we),
        .idx_o(part_idx),
        .data_o(part_data),
        .full_i(part_full_i),
        .code_o(part_code)
    );

    // ---- what the parser reads ----
    typedef enum logic [2:0] {
        Low,
        Head,
        Targets,
        Payload,
        Drop
    } state_e;
    localparam state_e Begin = (Cfg.HeadFlits == 2) ? Low : Head;

    state_e state_q, state_next;
    logic in_list_q;  // in state Targets
    bundle_pkg::parsed_t parsed;
    logic flit_there, flit_valid, flit_last, flit_err, take, queue_empty;
    link_t queued;  // the flit of the link
    logic [1:0] flit_cls, cls_q;
    logic kept;  // the flit is one of a kept answer
    logic [Cfg.StampB-1:0] stamp;
    cls_e cls;  // of the flit
    logic [Cfg.FlitW-1:0] flit_data;
    lane_t lane;
    logic [15:0] target;  // of the flit; see queue_head
    bundle_pkg::lookup_t lookup;
    logic open_late;  // the packet before is pushed as an
                      // open reduction

    assign parsed = '{
            first: state_q == Begin,
            head: state_q == Head,
            list: in_list_q,
            pay: state_q == Payload
        };
    queue_head #(
        .Cfg(Cfg)
    ) i_queue (
        .clk_i,
        .rst_ni,
        .now_i(common_i.now),
        .in_i(enter),
        .head_i((Cfg.HeadFlits == 2) ? second : first),
        .list_i(in_list_q),
        .pause_i(pause || kept),
        .lane_i(lane.lane),
        .begin_i(state_q == Begin),
        .late_i(open_late),
        .flit_o(queued),
        .target_o(target),
        .lookup_o(lookup),
        .stamp_o(stamp),
        .take_i(take && !kept),
        .almost_full_o(almost_full),
        .empty_o(queue_empty)
    );

    // Packets of the link and kept ones take turns. One of the link that the parser saw in the
    // cycle before and did not take goes first (link_q).
    if (Cfg.MergeKeep != 0) begin : gen_kept
        logic open_q, link_q, turn_q;

        assign kept = kept_i && (open_q || (state_q == Begin && !link_q
                                            && (!queued.valid || turn_q)));
        always_ff @(posedge clk_i) begin
            if (!rst_ni) {open_q, link_q, turn_q} <= '0;
            else begin
                if (kept && take) open_q <= !flit_last;
                link_q <= state_q == Begin && queued.valid && !kept && !take;
                if (go_i) turn_q <= 1'b0;
                else if (take && flit_last) turn_q <= !kept;
            end
        end
        assign flit_there = kept || (queued.valid && !open_q);
        assign {flit_last, flit_err} = kept ? {kept_last_i, 1'b0} : {queued.last, queued.err};
        assign flit_cls = kept ? CLS_STORE : queued.cls;
        assign flit_data = kept ? kept_data_i : queued.data;
        assign desc_o.stamp = (kept && !open_late) ? common_i.now : stamp;
    end else begin : gen_link
        assign kept = 1'b0;
        assign {flit_there, flit_last, flit_err} = {queued.valid, queued.last, queued.err};
        assign {flit_cls, flit_data, desc_o.stamp} = {queued.cls, queued.data, stamp};
        wire unused_kept = &{1'b0, kept_i, kept_last_i, kept_data_i};
    end
    assign kept_take_o = take && kept;
    assign answer_kept_o = kept;

    assign flit_valid = flit_there && !pause;
    assign cls = cls_e'((state_q == Begin) ? flit_cls : cls_q);

    // ---- header ----
    logic [63:0] low_q;  // first half of the header
    header_t head;  // valid in Head
    cls_e head_cls;  // of the header that is being checked
    logic is_dyn, is_group, is_ready, is_answer, at_answer, follow, has_pay, no_room;
    logic [Cfg.PayW-1:0] flits;  // of the payload, less 1
    err_e head_code;

    if (Cfg.HeadFlits == 2) begin : gen_half_head
        assign head = {flit_data, low_q};
    end else begin : gen_full_head
        assign head = flit_data[127:0];
    end
    assign head_cls = (Cfg.HeadFlits == 2) ? cls_e'(cls_q) : cls;

    header_check #(
        .Cfg(Cfg)
    ) i_header (
        .valid_i(state_q == Head),
        .head_i(head),
        .cls_i(head_cls),
        .epoch_i,
        .no_room_i(no_room),
        .by_switch_i(by_switch),
        .loads_i(common_i.merge_loads),
        .dynamic_o(is_dyn),
        .follow_o(follow),
        .group_o(is_group),
        .ready_o(is_ready),
        .answer_o(is_answer),
        .pay_o(has_pay),
        .flits_o(flits),
        .code_o(head_code)
    );

    // ---- targets ----
    found_t looked_up, found, listed;  // outputs of this target, first by its table
    logic [Cfg.N-1:0] mask, all_q;  // outputs: up to it; of the packet
    logic listing, in_range, reached, port_good, other_good, somewhere, allowed;
    logic list_wait, clearing, twice;
    bundle_pkg::before_t prior;
    logic decide, reject, accept;  // a target is checked; with it the packet is rejected, or
                                   // accepted
    row_outputs_t row;

    target_lookup #(
        .Cfg(Cfg)
    ) i_lookup (
        .clk_i,
        .port_i,
        .partition_i,
        .emap_i,
        .groups_i,
        .listing_i(listing),
        .grouped_i(is_group),
        .follow_i(follow),
        .lookup_i(lookup),
        .header_i(head),
        .row_i(row),
        .found_o(looked_up),
        .somewhere_o(somewhere),
        .allowed_o(allowed),
        .port_good_o(port_good),
        .other_good_o(other_good),
        .in_range_o(in_range),
        .reached_o(reached),
        .listed_o(listed)
    );

    // In a list the header's bits are targets, so answer_mask_i has no meaning. Bit by bit: of wide
    // vectors Verilator joins choices by in_list_q, and ports would wait for each other (lanes).
    assign at_answer = is_answer && !in_list_q;
    assign found.out = looked_up.out;
    always_comb
        for (int unsigned p = 0; p < Cfg.N; p++)
            found.sel[p] = at_answer ? answer_mask_i[p] : looked_up.sel[p];

    target_walk #(
        .Cfg(Cfg)
    ) i_walk (
        .clk_i,
        .rst_ni,
        .valid_i(flit_valid),
        .parsed_i(parsed),
        .dynamic_i(is_dyn),
        .cnt_i(head.cnt),
        .next_i(decide && !reject && !accept),
        .done_i(reject || accept),
        .expert_i(target[Cfg.ExpW+3:4]),
        .found_i(found),
        .listed_i(listed),
        .listing_o(listing),
        .wait_o(list_wait),
        .clearing_o(clearing),
        .lane_o(lane),
        .twice_o(twice),
        .before_o(prior),
        .count_o(desc_o.more),
        .mask_o(mask),
        .all_o(all_q)
    );

    // ---- decision ----
    err_e code, lanes_code, row_code;  // with reject; of a READY, see ready_lanes; see row_entry
    logic row_bad;  // something is wrong with rows
    logic misplaced, spoilt, bad_head, list_good, good;  // good: what was looked up
    logic settled, wait_clear, pay_q, pay, pay_end, pay_wrong;
    logic cut;  // a packet that ends inside its header

    assign pay = (state_q == Head) ? has_pay : pay_q;
    assign wait_clear = list_wait || (state_q == Head && open_late);
    assign decide = flit_valid && (state_q == Head || in_list_q) && !wait_clear;

    // the packet ends too early or too late
    assign misplaced = lane.last && flit_last != (!lane.more && !pay);
    // what this flit holds says nothing: it may be what the link's wires held in a cycle without
    // one
    assign spoilt = flit_last && flit_err;
    assign row_bad = state_q == Head
                     && (row_code != ERR_NONE || (is_ready && lanes_code != ERR_NONE)
                         || (is_answer && answer_code_i != ERR_NONE));
    assign bad_head = head_code != ERR_NONE || misplaced || spoilt || row_bad
                      || (!listing && !is_group && !follow && !is_ready && !is_answer
                          && !port_good);

    assign list_good = reached && !twice;
    assign good = (listing && in_range && list_good) || other_good;

    always_comb begin
        if (spoilt) code = ERR_LENGTH;
        else if (head_code != ERR_NONE) code = head_code;
        else if (row_bad)
            code = (row_code != ERR_NONE) ? row_code : is_answer ? answer_code_i : lanes_code;
        else if (state_q == Head && is_ready) code = ERR_LENGTH;
        else if (!somewhere) code = (follow && !listing) ? ERR_TARGETS : ERR_UNMAPPED;
        else if (!allowed) code = ERR_PARTITION;
        else if (twice) code = ERR_DUPLICATE;
        else code = ERR_LENGTH;
    end

    assign cut = flit_valid && state_q == Low && flit_last;
    assign reject = decide && (bad_head || !good);
    assign settled = decide && !lane.more && !bad_head;
    assign accept = (settled && listing && in_range && list_good) || (settled && other_good);

    always_comb begin
        unique case (state_q)
            Head:    take = flit_valid && !wait_clear;
            Targets: take = flit_valid && lane.last;
            default: take = flit_valid;
        endcase
    end

    assign push_o = (accept && !(state_q == Head && is_ready)) ? mask : '0;
    assign arrive_o = (accept || reject || cut) && cls == CLS_STORE;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) ctrl_drop_o <= 1'b0;
        else ctrl_drop_o <= (reject || cut) && cls == CLS_CTRL;
    end

    request_open #(
        .Cfg(Cfg)
    ) i_open (
        .clk_i,
        .rst_ni,
        .first_i(flit_valid && state_q == Low),
        .head_i(state_q == Head),
        .now_i(head),
        .low_i(low_q),
        .decide_i(decide && head_cls == CLS_REQ),
        .more_i(lane.more),
        .bad_i(bad_head || !good),
        .no_room_o(no_room),
        .late_o(open_late),
        .valid_o(open_valid_o),
        .bytes_o(open_bytes_o),
        .red_o(open_red_o),
        .full_i(open_full_i || by_switch)
    );
    assign open_mask_o = accept ? mask : '0;

    // ---- the open row ----
    if (Cfg.TargetListCache) begin : gen_row
        row_outputs #(
            .Cfg(Cfg)
        ) i_row (
            .clk_i,
            .rst_ni,
            .epoch_i,
            .head_i(flit_valid && state_q == Head),
            .header_i(head),
            .follow_i(follow),
            .accept_i(accept),
            .mask_i(mask),
            .reject_i(reject && cls == CLS_STORE),
            .lost_i((cut || (reject && spoilt)) && cls == CLS_STORE),
            .wrong_i(pay_end && (pay_wrong || flit_err)),
            .row_o(row)
        );
    end else begin : gen_no_row
        assign row = '0;
    end

    // ---- rows that the switch opens ----
    logic lanes_idle;

    if (Cfg.SwitchReductions) begin : gen_by_switch
        row_entry #(
            .Cfg(Cfg)
        ) i_entry (
            .clk_i,
            .rst_ni,
            .port_i,
            .common_i,
            .head_i(flit_valid && state_q == Head),
            .header_i(head),
            .follow_i(follow),
            .accept_i(accept),
            .mask_i(mask),
            .code_o(row_code),
            .entry_o
        );
        ready_lanes #(
            .Cfg(Cfg)
        ) i_lanes (
            .clk_i,
            .rst_ni,
            .port_i,
            .partition_i,
            .header_i(head),
            .load_i(Cfg.MergeLoads && head.opcode == packet_pkg::OP_LD),
            .code_o(lanes_code),
            .push_i(accept && state_q == Head && is_ready),
            .load_first_i(common_i.load_first),
            .load_parts_i(common_i.load_parts),
            .token_shift_i(common_i.token_shift),
            .load_room_i,
            .opened_o(load_open_o),
            .home_o,
            .index_o,
            .load_o,
            .merge_o,
            .take_i(lane_take_i),
            .free_o(ready_free_o),
            .idle_o(lanes_idle)
        );
        assign answer_o = head;
        assign answer_accept_o = accept && state_q == Head && is_answer;
    end else begin : gen_not_by_switch
        assign {entry_o, home_o, index_o, ready_free_o, load_o, merge_o, load_open_o} = '0;
        assign {answer_o, answer_accept_o} = '0;
        assign lanes_idle = 1'b1;
        assign lanes_code = ERR_NONE;
        assign row_code = ERR_NONE;
    end

    // ---- what the queues get ----
    logic [Cfg.N-1:0] copy_valid;
    copy_t copy;
    link_t flit;

    assign flit = '{
            valid: flit_valid,
            last: flit_last,
            err: flit_err,
            cls: cls,
            data: flit_data
        };

    copy_write #(
        .Cfg(Cfg)
    ) i_copies (
        .clk_i,
        .port_i,
        .flit_i(flit),
        .parsed_i(parsed),
        .refuse_i(cls == CLS_REQ && ((state_q == Begin) ? open_full_i || by_switch : no_room)),
        .flits_i(flits),
        .described_i(decide),
        .target_i(target),
        .sel_i(found.sel),
        .list_sel_i(listed.sel),
        .all_i(all_q),
        .before_i(prior),
        .wr_valid_o(copy_valid),
        .wr_o(copy),
        .desc_we_o,
        .desc_len_o(desc_o.len),
        .end_o(pay_end),
        .wrong_o(pay_wrong)
    );
    assign wr_o.region = copy.region;
    assign wr_o.line = copy.line;
    if (Cfg.PartSharedRam) begin : gen_shared_ram
        write_turns #(
            .Cfg(Cfg)
        ) i_turns (
            .clk_i,
            .rst_ni,
            .we_i(part_we),
            .idx_i(part_idx),
            .data_i(part_data),
            .pay_i(state_next == Payload),
            .copy_valid_i(copy_valid),
            .copy_lane_i(copy.lane),
            .copy_data_i(copy.data[Cfg.FlitW:0]),
            .pause_o(pause),
            .part_we_o,
            .part_idx_o(part_o.idx),
            .wr_valid_o,
            .wr_lane_o(wr_o.lane),
            .wr_data_o(wr_o.data),
            .idle_o(parts_idle_o)
        );
        assign part_o.data = '0;
    end else begin : gen_own_ram
        assign {pause, parts_idle_o} = 2'b01;
        assign {part_we_o, part_o.idx, part_o.data} = {part_we, part_idx, part_data};
        assign {wr_valid_o, wr_o.lane, wr_o.data} = {copy_valid, copy.lane, copy.data};
    end
    assign pay_o = flit_valid && state_q == Payload && !kept;
    assign pay_bad_o = flit_err || (pay_end && pay_wrong);
    assign pay_last_o = pay_end;
    assign pay_data_o = flit_data;
    assign part_come_o = (part_idx == '0) ? part_we : '0;
    assign desc_o.dyn = listing;
    assign desc_o.pay = pay;

    // ---- state ----
    always_comb begin
        state_next = state_q;
        if (flit_valid) begin
            unique case (state_q)
                Low: if (!flit_last) state_next = Head;
                Head, Targets: begin
                    if (reject)                   state_next = (flit_last && take) ? Begin : Drop;
                    else if (accept)              state_next = pay ? Payload : Begin;
                    else if (decide && Cfg.Multicast) state_next = Targets;
                end
                Payload: if (flit_last)    state_next = Begin;
                         else if (pay_end) state_next = Drop;
                default: if (flit_last) state_next = Begin;
            endcase
        end
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= Begin;
            in_list_q <= 1'b0;
        end else begin
            state_q <= state_next;
            in_list_q <= state_next == Targets;
        end
        if (flit_valid && (state_q == Low || (Cfg.HeadFlits == 1 && state_q == Head))) begin
            low_q <= flit_data[63:0];
            cls_q <= flit_cls;
        end
        if (flit_valid && state_q == Head) pay_q <= has_pay;
    end

    // ---- errors ----
    logic err_waits;

    error_join i_errors (
        .clk_i,
        .rst_ni,
        .reject_i(reject),
        .code_i(code),
        .cut_i(cut),
        .end_i(pay_end),
        .wrong_i(pay_wrong),
        .link_code_i(err_e'(gate_code | part_code)),  // never both
        .row_err_i(row_err),
        .waits_o(err_waits),
        .valid_o(err_o.valid),
        .code_o(err_o.code)
    );

    assign idle_o = queue_empty && state_q == Begin && first && parts_idle_o && !err_waits
                    && !err_o.valid && !clearing && lanes_idle;

    `MW_CONTRACT(accept, !reject, "a packet is accepted and rejected")
    `MW_CONTRACT(gate_code != ERR_NONE, part_code == ERR_NONE,
                 "two errors of the link in one cycle")
    `MW_CONTRACT(1'b1, (push_o & ~partition_i) == '0,
                 "a packet for an output that the input may not reach")
    `MW_CONTRACT(1'b1, (part_we & (part_we - 1'b1)) == '0, "a partial of two requesters")
    `MW_CONTRACT(1'b1, (part_come_o & part_full_i) == '0 || Cfg.PartSharedRam,
                 "a partial enters a full queue")
endmodule

`default_nettype wire
