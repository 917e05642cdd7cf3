// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// One port of the switch: the input from its endpoint, and the output with the queues of other
// inputs.
//
// Ports: All ports are alike except for the constant port_i. Ports name each other by distance: bit
// or element d-1 of a signal between ports is port port_i+d modulo N. There is no queue from a port
// to itself. A signal between ports has one name: x_o of one port is x_i of the others. If x_o is a
// vector by distance, it has one bit per other port: what p drives in x_o for q, q reads in x_i for
// p. Otherwise all others get the same value, and x_i has it by distance. switch_top contains these
// wires.
// Latency: Only part_we_o, issue_o, part_done_o, here_o, queued_o, late_o, and outputs to the
// endpoint and to switch_common depend on what other ports send in the same cycle. Nothing that
// depends on these feeds back. Given the ports' outputs, two steps settle everything between ports.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module switch_port #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type group_t = `MW_GROUP(Cfg),
    parameter type link_t = `MW_LINK(Cfg),
    parameter type common_t = `MW_COMMON(Cfg),
    parameter type strobes_t = `MW_STROBES(Cfg),
    parameter type copy_t = `MW_COPY(Cfg),
    parameter type desc_t = `MW_DESC(Cfg),
    parameter type window_t = `MW_WINDOW(Cfg),
    parameter type part_t = `MW_PART(Cfg),
    parameter type notified_t = `MW_NOTIFIED(Cfg),
    parameter type backs_t = `MW_BACKS(Cfg),
    parameter type entry_t = `MW_ENTRY(Cfg),
    parameter type members_t = `MW_MEMBERS(Cfg),
    parameter type opened_t = `MW_OPENED(Cfg),
    parameter type open_t = `MW_OPEN(Cfg),
    parameter type shared_t = `MW_SHARED(Cfg),
    parameter type take_t = `MW_TAKE(Cfg),
    parameter type joined_t = `MW_JOINED(Cfg)
) (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    input  wire logic [Cfg.PortW-1:0] port_i,
    input  wire logic       go_i,
    input  wire logic [1:0] epoch_i,
    input  wire logic       sweep_i,  // of its tables, see report_scoreboard
    output logic            sweep_busy_o,

    // the endpoint's link
    input  wire link_t          up_i,
    output bundle_pkg::credit_t up_crd_o,
    output link_t               dn_o,
    input  wire logic [3:0]     dn_crd_i,

    // tables; outputs that this input may reach
    input  wire bundle_pkg::emap_write_t  emap_i,
    input  wire group_t groups_i,
    input  wire logic [Cfg.N-1:0]         partition_i,

    // of switch_common
    input  wire common_t         common_i,
    input  wire logic            hold_i,
    input  wire logic            cnt_read_i,
    output bundle_pkg::counter_t cnt_o,
    output bundle_pkg::error_t   err_o,  // waits until err_take_i
    input  wire logic            err_take_i,

    input  wire logic   mon_read_i,
    output logic [31:0] mon_data_o,

    input  wire logic enable_i,  // see port_guard
    input  wire logic disable_i,
    input  wire logic quiet_i,
    output logic      idle_o,

    // to the queues of this input at the other outputs, and from other inputs to those here
    output strobes_t                   strobes_o,
    output copy_t                      wr_o,
    output desc_t                      desc_o,
    output logic                       scarce_o,
    output logic                       arrive_o,
    output logic                       issue_o,  // a STORE credit goes to the sender
    output window_t                    win_o,
    output logic [Cfg.Others-1:0]      part_we_o,
    output part_t                      part_o,
    output logic                       down_o,
    output logic                       flush_o,
    output notified_t                  notified_o,
    input  wire strobes_t              strobes_i,
    input  wire copy_t                 wr_i [Cfg.Others],
    input  wire desc_t                 desc_i [Cfg.Others],
    input  wire logic [Cfg.Others-1:0] scarce_i,
    input  wire logic [Cfg.Others-1:0] arrive_i,
    input  wire logic [Cfg.Others-1:0] issue_i,
    input  wire window_t               win_i [Cfg.Others],
    input  wire logic [Cfg.Others-1:0] part_we_i,
    input  wire part_t                 part_i [Cfg.Others],
    input  wire logic [Cfg.Others-1:0] down_i,
    input  wire logic [Cfg.Others-1:0] flush_i,
    input  wire notified_t             notified_i [Cfg.Others],

    // from the queues here to the inputs that fill them
    output backs_t                     backs_o,
    output logic [Cfg.Others-1:0]      here_o,
    output logic [Cfg.Others-1:0]      queued_o,  // a packet is in the queue
    output logic [Cfg.Others-1:0]      part_done_o,
    output logic [Cfg.Others-1:0]      late_o,    // the join here has waited for that port too long
    input  wire backs_t                backs_i,
    input  wire logic [Cfg.Others-1:0] here_i,
    input  wire logic [Cfg.Others-1:0] queued_i,
    input  wire logic [Cfg.Others-1:0] part_done_i,
    input  wire logic [Cfg.Others-1:0] late_i
);
    import packet_pkg::*;

    localparam int unsigned PartAddrW = Cfg.PayW + cfg_pkg::index_w(Cfg.PartPkts);

    if (Cfg.PartSharedRam && PartAddrW > Cfg.SharedRamW) begin : gen_check
        $error("switch_port: PartPkts partials do not fit beside the requests");
    end

    // A set of other ports by distance as one by number, and back.
    function automatic logic [Cfg.N-1:0] by_number(input logic [Cfg.Others-1:0] set,
                                                   input logic [Cfg.PortW-1:0] port);
        logic [Cfg.N-1:0] from_self;
        from_self = {set, 1'b0};
        return (from_self << port) | (from_self >> (port_t'(Cfg.N) - port_t'(port)));
    endfunction

    function automatic logic [Cfg.Others-1:0] by_distance(input logic [Cfg.N-1:0] set,
                                                          input logic [Cfg.PortW-1:0] port);
        return Cfg.Others'((set >> (port_t'(port) + port_t'(1)))
                           | (set << (port_t'(Cfg.N - 1) - port_t'(port))));
    endfunction

    // ---- what others say, and what this port does ----
    logic mark, old, fell, crowded;
    logic [Cfg.LoadIndexW-1:0] lane_index;
    opened_t opened_q;
    logic [Cfg.Others-1:0] marks, olds, falls, crowds;

    logic lane_load, lane_merge;
    error_pkg::err_e load_code, sum_code;

    assign notified_o = '{
            mark: mark,
            old: old,
            fell: fell,
            crowded: crowded,
            lane_index: lane_index,
            lane_load: lane_load,
            lane_merge: lane_merge,
            load_code: load_code,
            sum_code: sum_code,
            opened_index: opened_q.index
        };
    for (genvar d = 0; d < Cfg.Others; d++) begin : gen_notified
        assign {marks[d], olds[d]} = {notified_i[d].mark, notified_i[d].old};
        assign {falls[d], crowds[d]} = {notified_i[d].fell, notified_i[d].crowded};
    end

    // ---- guard ----
    link_t in;
    logic drop, report, report_take, rst_in, in_idle, parts_idle, win_idle, join_idle;
    logic requests_here, none_kept;
    logic [2:0] starved;
    bundle_pkg::error_t err;
    logic err_waits_q;
    error_pkg::err_e report_code;

    if (Cfg.Guard) begin : gen_guard
        logic down_q;

        port_guard #(
            .Cfg(Cfg)
        ) i_guard (
            .clk_i,
            .rst_ni,
            .tick_i(common_i.tick),
            .step_i(common_i.step),
            .enable_i,
            .disable_i,
            .up_i,
            .in_o(in),
            .drop_o(drop),
            .starved_i(starved),
            .late_i(late_i != '0),
            .written_i(parts_idle),
            .drained_i(in_idle && win_idle && queued_i == '0 && none_kept),
            .ready_i(quiet_i && join_idle && !requests_here && !old && olds == '0),
            .down_o,
            .flush_o,
            .report_o(report),
            .report_code_o(report_code),
            .report_take_i(report_take)
        );

        always_ff @(posedge clk_i) down_q <= down_o;
        assign mark = down_o && !down_q;
    end else begin : gen_no_guard
        assign in = up_i;
        assign {drop, down_o, flush_o, mark, report} = '0;
        assign report_code = error_pkg::ERR_NONE;
    end
    assign rst_in = rst_ni && !flush_o;

    // ---- input ----
    logic [Cfg.N-1:0] wr_valid, desc_we, push, part_come, part_we, open_mask;
    logic ctrl_drop, open_valid, open_full;
    logic [14:0] open_bytes;
    red_pkg::red_t open_red;
    logic [Cfg.N-1:0] lane_home;
    logic lane_take, ready_free;
    bundle_pkg::error_t row_err;
    entry_t entry;
    logic [Cfg.OpenLoadW-1:0] load_room;
    logic [1:0] load_open;
    packet_pkg::header_t answer;
    logic [Cfg.Others-1:0] answer_mask;
    error_pkg::err_e answer_code;
    logic answer_accept;
    logic kept, kept_last, kept_use, kept_take, kept_left, kept_begins, answer_kept;
    logic kept_may, kept_idle;
    logic pay, pay_bad, pay_last;
    logic [Cfg.FlitW-1:0] kept_data, pay_data;
    bundle_pkg::credit_t crd;  // that return, to the hub and to kept answers

    ingress #(
        .Cfg(Cfg)
    ) i_ingress (
        .clk_i,
        .rst_ni(rst_in),
        .go_i,
        .port_i,
        .epoch_i,
        .common_i,
        .up_i(in),
        .crd_i(crd.cls[1:0]),
        .emap_i,
        .groups_i,
        .partition_i,
        .wr_valid_o(wr_valid),
        .wr_o,
        .desc_we_o(desc_we),
        .desc_o,
        .push_o(push),
        .arrive_o,
        .scarce_o,
        .ctrl_drop_o(ctrl_drop),
        .open_valid_o(open_valid),
        .open_mask_o(open_mask),
        .open_bytes_o(open_bytes),
        .open_red_o(open_red),
        .open_full_i(open_full),
        .entry_o(entry),
        .home_o(lane_home),
        .index_o(lane_index),
        .lane_take_i(lane_take),
        .row_err_i(row_err),
        .load_o(lane_load),
        .merge_o(lane_merge),
        .ready_free_o(ready_free),
        .load_room_i(load_room),
        .load_open_o(load_open),
        .answer_o(answer),
        .answer_mask_i(by_number(answer_mask, port_i)),
        .answer_code_i(answer_code),
        .answer_accept_o(answer_accept),
        .kept_i(kept),
        .kept_last_i(kept_last),
        .kept_data_i(kept_data),
        .kept_use_i(kept_use),
        .kept_take_o(kept_take),
        .kept_left_o(kept_left),
        .kept_begins_o(kept_begins),
        .answer_kept_o(answer_kept),
        .pay_o(pay),
        .pay_bad_o(pay_bad),
        .pay_last_o(pay_last),
        .pay_data_o(pay_data),
        .part_come_o(part_come),
        .part_we_o(part_we),
        .part_o,
        .part_full_i(by_number(backs_i.part_full, port_i)),
        .err_o(err),
        .parts_idle_o(parts_idle),
        .idle_o(in_idle)
    );
    assign strobes_o.wr = by_distance(wr_valid, port_i);
    assign strobes_o.desc = by_distance(desc_we, port_i);
    assign strobes_o.push = by_distance(push, port_i);
    assign strobes_o.come = by_distance(part_come, port_i);
    assign part_we_o = by_distance(part_we, port_i);

    logic may;  // STORE credits of this input may come back
    if (Cfg.Window != 0) begin : gen_window
        window #(
            .Cfg(Cfg)
        ) i_window (
            .clk_i,
            .rst_ni(rst_in),
            .limited_i(common_i.window_limit != '0),
            .push_i(arrive_o && push != '0),
            .drop_i(arrive_o && push == '0),
            .issue_i(issue_o),
            .here_i(here_i != '0),
            .win_o,
            .may_o(may),
            .idle_o(win_idle)
        );
    end else begin : gen_no_window
        assign {may, win_idle} = '1;
        assign win_o = '0;
    end

    logic [Cfg.N-1:0] part_hold;
    logic crd_idle;

    credit_return #(
        .Cfg(Cfg)
    ) i_credits (
        .clk_i,
        .rst_ni(rst_in),
        .room_i({backs_i.room, may}),
        .ctrl_free_i({backs_i.ctrl_free, ready_free}),
        .ctrl_drop_i(ctrl_drop),
        .part_done_i(by_number(part_done_i, port_i)),
        .part_hold_o(part_hold),
        .crd_o(crd),
        .idle_o(crd_idle)
    );
    assign strobes_o.hold = by_distance(part_hold, port_i);
    assign issue_o = crd.cls[CLS_STORE];

    // ---- queues of this output ----
    logic [Cfg.Others-1:0] has_req, has_store, has_ctrl, urgent, pop, free_store, sent, re;
    logic [1:0] arb_cls;
    logic [Cfg.SlotW-1:0] rd_slot;
    logic [Cfg.PayW:0] rd_line;
    logic [Cfg.Others-1:0] q_has, q_re, q_done;  // of partials
    // at the join
    logic [Cfg.Others-1:0] j_has, j_want, j_may, j_wait, members;
    take_t j_take;
    logic [Cfg.Others-1:0] claimed;  // see read_turns
    logic [Cfg.FlitW+1:0] j_term;
    logic row_done;
    logic [$clog2(Cfg.OpenRows+1)-1:0] rows;

    for (genvar i = 0; i < Cfg.Others; i++) begin : gen_in
        // what queues 0 .. i give; each gives 0 unless it is read, but for the description
        logic [Cfg.DescW-1:0] desc, desc_or;
        logic [Cfg.FlitW:0] rdata, rdata_or;
        logic [Cfg.FlitW+1:0] term, term_or, own_term;
        logic [Cfg.WordW-1:0] shared_term;
        logic [PartAddrW-1:0] part_waddr, part_raddr;
        shared_t shared;

        if (i == 0) begin : gen_first
            assign desc_or = desc & {Cfg.DescW{pop[i]}};
            assign rdata_or = rdata;
            assign term_or = term;
        end else begin : gen_next
            assign desc_or = (desc & {Cfg.DescW{pop[i]}}) | gen_in[i-1].desc_or;
            assign rdata_or = rdata | gen_in[i-1].rdata_or;
            assign term_or = term | gen_in[i-1].term_or;
        end

        voq #(
            .Cfg(Cfg)
        ) i_voq (
            .clk_i,
            .rst_ni(rst_ni && !flush_i[i]),
            .put_i('{wr: strobes_i.wr[i], desc: strobes_i.desc[i], push: strobes_i.push[i]}),
            .wr_i(wr_i[i]),
            .desc_i(desc_i[i]),
            .scarce_i(scarce_i[i]),
            .limit_i(common_i.window_limit),
            .win_i(win_i[i]),
            .here_o(here_o[i]),
            .sent_i(sent[i]),
            .steps_i('{arrive: arrive_i[i], issue: issue_i[i]}),
            .room_o(backs_o.room[i]),
            .state_o({urgent[i], has_req[i], has_store[i], has_ctrl[i]}),
            .pop_i('{valid: pop[i], cls: arb_cls}),
            .desc_o(desc),
            .free_i(free_store[i]),
            .rd_i('{re: re[i], line: rd_line, slot: rd_slot}),
            .rdata_o(rdata),
            .shared_i(shared),
            .shared_rdata_o(shared_term)
        );

        part_queue #(
            .Cfg(Cfg)
        ) i_part (
            .clk_i,
            .rst_ni(rst_ni && !flush_i[i]),
            .come_i(strobes_i.come[i]),
            .we_i(part_we_i[i]),
            .widx_i(part_i[i].idx),
            .wdata_i(part_i[i].data),
            .full_o(backs_o.part_full[i]),
            .has_o(q_has[i]),
            .re_i(q_re[i]),
            .ridx_i(j_take.idx),
            .done_i(q_done[i]),
            .rdata_o(own_term),
            .waddr_o(part_waddr),
            .raddr_o(part_raddr)
        );

        if (Cfg.PartSharedRam) begin : gen_shared_ram
            assign term = shared_term;
            assign shared = '{
                    we: part_we_i[i],
                    waddr: Cfg.SharedRamW'(part_waddr),
                    re: q_re[i],
                    raddr: Cfg.SharedRamW'(part_raddr)
                };
        end else begin : gen_own_ram
            assign term = own_term;
            assign shared = '0;
            wire unused_shared = &{1'b0, shared_term, part_waddr, part_raddr};
        end
    end

    assign queued_o = has_ctrl | has_req | has_store;
    assign members = by_distance(open_mask, port_i);
    assign part_done_o = q_done;

    if (Cfg.Guard) begin : gen_dummy
        dummy_partial #(
            .Cfg(Cfg),
            .Width(Cfg.FlitW + 2)
        ) i_dummy (
            .clk_i,
            .rst_ni,
            .tick_i(common_i.tick[2]),
            .down_i,
            .mark_i(mark || marks != '0),
            .wait_i(j_wait),
            .row_done_i(row_done),
            .level_i(rows),
            .late_o,
            .old_o(old),
            .re_i(j_take.re),
            .done_i(j_take.done),
            .has_o(j_has),
            .term_o(j_term),
            .has_i(q_has),
            .term_i(gen_in[Cfg.Others-1].term_or),
            .re_o(q_re),
            .done_o(q_done)
        );
    end else begin : gen_no_dummy
        assign {j_has, j_term} = {q_has, gen_in[Cfg.Others-1].term_or};
        assign {q_re, q_done} = {j_take.re, j_take.done};
        assign {late_o, old} = '0;
    end

    // ---- output ----
    joined_t res;
    bundle_pkg::result_read_t res_read;
    logic res_start, res_err;
    logic [Cfg.FlitW-1:0] res_data;
    logic [Cfg.StampB-1:0] leave_stamp;
    logic wait_turn, wait_credit, discard, leave, out_idle, back_valid_q, back_sent;
    error_pkg::err_e err_code_q;  // of the last error
    logic [Cfg.N-1:0] pop_n, re_n, free_ctrl_n, free_store_n, sent_n, able_n;
    logic open;

    // ---- turns at the RAMs that queues of packets and of partials share ----
    if (Cfg.PartSharedRam) begin : gen_turns
        read_turns #(
            .Cfg(Cfg)
        ) i_turns (
            .clk_i,
            .rst_ni,
            .want_i(j_want),
            .read_i(j_take.re),
            .done_i(j_take.done),
            .may_o(j_may),
            .open_i(open),
            .able_i(by_distance(able_n, port_i)),
            .pop_i(pop),
            .reads_i(re),
            .claimed_o(claimed)
        );
    end else begin : gen_no_turns
        assign j_may = '1;
        assign claimed = '0;
        wire unused_turns = &{1'b0, j_want, open, able_n};
    end

    // ---- rows that the switch opens: this port's, and others of which it is a member ----
    logic joins_q, grant_valid, grant_sent, fetch_valid, opener_idle;
    logic [63:0] grant_upper;
    logic [Cfg.Others-1:0] load_lanes, load_take;  // rows of this port's GPU that others load
    logic load_err;  // a load of this port's GPU was wrong
    error_pkg::err_e load_err_code;
    logic red_err;  // a red of this port's GPU was wrong
    error_pkg::err_e red_err_code;

    if (Cfg.SwitchReductions) begin : gen_by_switch
        opened_t row;  // that may be opened
        logic row_take, own_lane_take, own_lane_bad, table_idle, open_idle;
        logic grants_idle;
        logic [Cfg.Others-1:0] ready_taken;
        logic [Cfg.TokensLog2-1:0] lane_indices[Cfg.N], opened_indices[Cfg.Others];
        bundle_pkg::error_t table_err;
        members_t tile_members;

        assign tile_members = '{
                valid: common_i.tile_reductions,
                members: by_distance(partition_i, port_i)
            };
        always_comb begin
            for (int unsigned d = 0; d < Cfg.Others; d++) begin
                lane_indices[d] = notified_i[d].lane_index[Cfg.TokensLog2-1:0];
                opened_indices[d] = notified_i[d].opened_index;
            end
            lane_indices[Cfg.Others] = lane_index[Cfg.TokensLog2-1:0];
        end

        report_scoreboard #(
            .Cfg(Cfg)
        ) i_table (
            .clk_i,
            .rst_ni,
            .go_i,
            .epoch_i,
            .sweep_i,
            .sweep_busy_o,
            .token_shift_i(common_i.token_shift),
            .down_i(down_o),
            .fell_o(fell),
            .tiles_i(tile_members),
            .entry_i(entry),
            .members_i(by_distance(entry.mask, port_i)),
            .lane_i({|(lane_home & (Cfg.N'(1) << port_i)), strobes_i.ready & ~load_lanes}),
            .lane_index_i(lane_indices),
            .take_o({own_lane_take, ready_taken}),
            .bad_o({own_lane_bad, backs_o.lane_bad}),
            .row_o(row),
            .row_take_i(row_take),
            .err_o(table_err),
            .idle_o(table_idle)
        );
        assign backs_o.lane_take = ready_taken | load_take;
        assign strobes_o.ready = by_distance(lane_home, port_i);
        assign lane_take = own_lane_take || backs_i.lane_take != '0;
        assign row_err.valid = table_err.valid || own_lane_bad || backs_i.lane_bad != '0
                               || load_err || red_err;
        assign row_err.code  = table_err.valid ? table_err.code : load_err ? load_err_code
                               : red_err ? red_err_code : error_pkg::ERR_COUNT;

        row_open #(
            .Cfg(Cfg)
        ) i_open (
            .clk_i,
            .rst_ni,
            .port_i,
            .common_i,
            .row_i(row),
            .row_take_o(row_take),
            .full_i(open_full),
            .opened_o(opened_q),
            .joins_o(joins_q),
            .opened_i(strobes_i.opened),
            .opened_index_i(opened_indices),
            .fell_i(fell),
            .crowded_o(crowded),
            .crowded_i(crowds),
            .grant_valid_o(grant_valid),
            .grant_upper_o(grant_upper),
            .grant_sent_i(grant_sent),
            .grants_idle_o(grants_idle),
            .idle_o(open_idle)
        );
        assign strobes_o.opened = opened_q.valid ? opened_q.members : '0;
        assign opener_idle = table_idle && open_idle;
        assign requests_here = has_req != '0 || !grants_idle || fetch_valid;
    end else begin : gen_not_by_switch
        assign {sweep_busy_o, fell, crowded, backs_o.lane_take, backs_o.lane_bad} = '0;
        assign {strobes_o.ready, strobes_o.opened} = '0;
        assign {opened_q, lane_take, grant_valid, grant_upper} = '0;
        assign joins_q = 1'b0;
        assign row_err = '{valid: 1'b0, code: error_pkg::ERR_NONE};
        assign {opener_idle, requests_here} = {1'b1, has_req != '0};
        for (genvar d = 0; d < Cfg.Others; d++) begin : gen_unused
        end
    end

    always_comb begin
        red_err = 1'b0;
        red_err_code = error_pkg::ERR_NONE;
        if (Cfg.SumEntries != 0) begin
            red_err = backs_i.sum_bad != '0;
            for (int unsigned d = 0; d < Cfg.Others; d++)
            if (backs_i.sum_bad[d]) red_err_code = notified_i[d].sum_code;
        end
    end

    // ---- loads: of this port's GPU, and of its rows by others ----
    logic made_valid, made_fetch, made_sent, loads_idle;
    logic [63:0] made_upper;
    logic [31:0] load_count;

    if (Cfg.MergeLoads) begin : gen_loads
        logic fetch_sent;
        logic [63:0] fetch_upper;
        logic [Cfg.Others-1:0] may_merge;
        logic [Cfg.LoadIndexW-1:0] indices[Cfg.Others];

        always_comb begin
            load_err_code = error_pkg::ERR_NONE;
            for (int unsigned d = 0; d < Cfg.Others; d++) begin
                indices[d] = notified_i[d].lane_index;
                may_merge[d] = notified_i[d].lane_merge;
                load_lanes[d] = notified_i[d].lane_load;
                if (backs_i.load_bad[d]) load_err_code = notified_i[d].load_code;
            end
        end
        assign load_err = backs_i.load_bad != '0;

        load_window #(
            .Cfg(Cfg)
        ) i_window (
            .clk_i,
            .rst_ni,
            .go_i,
            .open_i(load_open),
            .answered_i(strobes_i.answered),
            .bad_i(backs_i.load_bad),
            .room_o(load_room)
        );
        merge_table #(
            .Cfg(Cfg)
        ) i_table (
            .clk_i,
            .rst_ni,
            .go_i,
            .port_i,
            .reach_i(by_distance(partition_i, port_i)),
            .fell_i(fell),
            .limit_i(common_i.load_entries),
            .wait_i(common_i.fetch_cycles),
            .row_bytes_i(common_i.load_bytes),
            .row_shift_i(common_i.load_shift),
            .lane_i(strobes_i.ready & load_lanes),
            .lane_merge_i(may_merge),
            .lane_index_i(indices),
            .take_o(load_take),
            .bad_o(backs_o.load_bad),
            .bad_code_o(load_code),
            .fetch_valid_o(fetch_valid),
            .fetch_upper_o(fetch_upper),
            .fetch_sent_i(fetch_sent),
            .answer_i(answer),
            .answer_mask_o(answer_mask),
            .answer_code_o(answer_code),
            .answer_accept_i(answer_accept),
            .answered_o(strobes_o.answered),
            .keep_i(common_i.load_keep),
            .epoch_i,
            .answer_kept_i(answer_kept),
            .flit_i(pay),
            .flit_bad_i(pay_bad),
            .flit_last_i(pay_last),
            .flit_data_i(pay_data),
            .kept_o(kept),
            .kept_last_o(kept_last),
            .kept_data_o(kept_data),
            .kept_take_i(kept_take),
            .kept_may_i(kept_may),
            .kept_use_o(kept_use),
            .kept_idle_o(none_kept),
            .count_o(load_count),
            .count_idx_i(common_i.cnt_addr),
            .idle_o(loads_idle)
        );
        request_turn i_turn (
            .clk_i,
            .rst_ni,
            .grant_valid_i(grant_valid),
            .grant_upper_i(grant_upper),
            .grant_sent_o(grant_sent),
            .fetch_valid_i(fetch_valid),
            .fetch_upper_i(fetch_upper),
            .fetch_sent_o(fetch_sent),
            .valid_o(made_valid),
            .fetch_o(made_fetch),
            .upper_o(made_upper),
            .sent_i(made_sent)
        );
    end else begin : gen_no_loads
        assign {made_valid, made_upper, grant_sent} = {grant_valid, grant_upper, made_sent};
        assign {made_fetch, fetch_valid, load_lanes, load_take, load_err} = '0;
        assign {load_err_code, load_code, answer_code} = {3{error_pkg::ERR_NONE}};
        assign {load_room, load_count, answer_mask, strobes_o.answered, backs_o.load_bad} = '0;
        assign {kept, kept_last, kept_data, kept_use} = '0;
        assign {none_kept, loads_idle} = 2'b11;
    end

    if (Cfg.MergeLoads && Cfg.MergeKeep != 0) begin : gen_kept
        logic to_hub;

        kept_credits #(
            .Cfg(Cfg)
        ) i_kept_credits (
            .clk_i,
            .rst_ni(rst_in),
            .left_i(kept_left),
            .begins_i(kept_begins),
            .may_o(kept_may),
            .use_i(kept_use),
            .crd_i(crd.cls[CLS_STORE]),
            .crd_o(to_hub),
            .idle_o(kept_idle)
        );
        always_comb begin
            up_crd_o = crd;
            up_crd_o.cls[CLS_STORE] = to_hub;
        end
    end else begin : gen_not_kept
        assign up_crd_o = crd;
        assign {kept_may, kept_idle} = 2'b01;
    end

    // of requests, or of rows that the switch opens: bf16 sums of whole rows
    open_t opening;

    assign opening = '{
            valid: open_valid || joins_q,
            mask: opened_q.valid ? opened_q.members : members,
            bytes: opened_q.valid ? common_i.row_bytes - 15'd1 : open_bytes,
            red: opened_q.valid ? '0 : open_red,
            stamp: opened_q.valid ? common_i.now : desc_o.stamp
        };
    reduce_join #(
        .Cfg(Cfg)
    ) i_join (
        .clk_i,
        .rst_ni,
        .open_i(opening),
        .open_full_o(open_full),
        .away_i(down_i | (common_i.switch_reductions ? falls : '0)),
        .q_has_i(j_has),
        .q_hold_i(strobes_i.hold),
        .q_want_o(j_want),
        .q_may_i(j_may),
        .q_o(j_take),
        .q_data_i(j_term),
        .q_wait_o(j_wait),
        .row_done_o(row_done),
        .level_o(rows),
        .res_o(res),
        .res_start_i(res_start),
        .res_i(res_read),
        .res_data_o(res_data),
        .res_err_o(res_err),
        .idle_o(join_idle)
    );

    logic dn_hold, dn_busy;
    link_t egress_dn;  // before reds are added up
    logic [3:0] egress_crd;
    logic sums, sums_hold, sums_hold_store, sums_idle;  // sums: reds may be added up in this layer
    logic dn_starts;  // a flit for the downlink
    logic [31:0] sum_count;

    egress #(
        .Cfg(Cfg)
    ) i_egress (
        .clk_i,
        .rst_ni,
        .port_i,
        .go_i,
        .epoch_i,
        .hold_i(hold_i || (sums ? sums_hold : dn_hold)),
        .hold_store_i(sums && sums_hold_store),
        .down_i(down_o),
        .store_limit_i(common_i.store_limit),
        .part_limit_i(common_i.part_limit),
        .has_ctrl_i(by_number(has_ctrl, port_i)),
        .has_req_i(by_number(has_req, port_i)),
        .has_store_i(by_number(has_store, port_i)),
        .urgent_i(by_number(urgent, port_i)),
        .claimed_i(by_number(claimed, port_i)),
        .open_o(open),
        .able_o(able_n),
        .cls_o(arb_cls),
        .pop_o(pop_n),
        .desc_i(gen_in[Cfg.Others-1].desc_or),
        .re_o(re_n),
        .rd_line_o(rd_line),
        .rd_slot_o(rd_slot),
        .rdata_i(gen_in[Cfg.Others-1].rdata_or),
        .free_ctrl_o(free_ctrl_n),
        .free_store_o(free_store_n),
        .sent_o(sent_n),
        .res_valid_i(res.valid),
        .res_len_i(res.len),
        .res_poison_i(res.poison),
        .res_stamp_i(res.stamp),
        .res_start_o(res_start),
        .res_read_o(res_read.read),
        .res_first_o(res_read.first),
        .res_last_o(res_read.last),
        .res_data_i(res_data),
        .res_err_i(res_err),
        .grant_valid_i(made_valid),
        .grant_fetch_i(made_fetch),
        .grant_upper_i(made_upper),
        .grant_sent_o(made_sent),
        .error_valid_i(back_valid_q),
        .error_code_i(8'(err_code_q)),
        .error_sent_o(back_sent),
        .dn_o(egress_dn),
        .dn_crd_i(egress_crd),
        .wait_turn_o(wait_turn),
        .wait_credit_o(wait_credit),
        .starved_o(starved),
        .discard_o(discard),
        .leave_o(leave),
        .leave_stamp_o(leave_stamp),
        .idle_o(out_idle)
    );

    if (Cfg.SumEntries != 0) begin : gen_sums
        logic sums_crd;
        logic [Cfg.N-1:0] sums_bad;  // whose red is wrong
        logic [Cfg.N-1:0] sums_all_q;
        error_pkg::err_e sums_code;
        logic sums_start;
        link_t sums_in, sums_dn;

        sum_table #(
            .Cfg(Cfg)
        ) i_sums (
            .clk_i,
            .rst_ni,
            .go_i,
            .down_i(down_o),
            .port_i,
            .epoch_i,
            .all_i(sums_all_q),
            .common_i,
            .in_i(sums_in),
            .hold_o(sums_hold),
            .hold_store_o(sums_hold_store),
            .hold_i(dn_hold),
            .starts_o(sums_start),
            .crd_o(sums_crd),
            .out_o(sums_dn),
            .crd_i(sums && dn_crd_i[packet_pkg::CLS_STORE]),
            .bad_o(sums_bad),
            .bad_code_o(sums_code),
            .count_o(sum_count),
            .idle_o(sums_idle)
        );
        always_ff @(posedge clk_i) begin
            sums_all_q <= partition_i & ~(Cfg.N'(1) << port_i);  // constant in a layer
            backs_o.sum_bad <= rst_ni ? by_distance(sums_bad, port_i) : '0;
            sum_code <= sums_code;
        end
        // in a layer without sums no flit passes the table
        assign sums = common_i.sum_entries != '0;
        assign dn_o = sums ? sums_dn : egress_dn;
        assign dn_starts = sums ? sums_start : egress_dn.valid;
        always_comb begin
            sums_in = egress_dn;
            sums_in.valid = sums && egress_dn.valid;
            egress_crd = dn_crd_i;
            if (sums) egress_crd[packet_pkg::CLS_STORE] = sums_crd;
        end
    end else begin : gen_no_sums
        assign dn_o = egress_dn;
        assign dn_starts = egress_dn.valid;
        assign egress_crd = dn_crd_i;
        assign {sums, sums_hold, sums_hold_store, sum_count, backs_o.sum_bad} = '0;
        assign sum_code = error_pkg::ERR_NONE;
        assign sums_idle = 1'b1;
    end

    if (Cfg.LinkRate) begin : gen_rate
        link_rate #(
            .Ahead(2),
            .MaxPkt(Cfg.HeadFlits + Cfg.ListFlits + Cfg.PayFlits)
        ) i_rate (
            .clk_i,
            .rst_ni,
            .wait_i(common_i.link_wait),
            .valid_i(dn_starts),
            .hold_o(dn_hold),
            .busy_o(dn_busy)
        );
    end else begin : gen_full_rate
        assign {dn_hold, dn_busy} = '0;
    end
    assign pop = by_distance(pop_n, port_i);
    assign re = by_distance(re_n, port_i);
    assign free_store = by_distance(free_store_n, port_i);
    assign sent = by_distance(sent_n, port_i);
    assign backs_o.ctrl_free = by_distance(free_ctrl_n, port_i);

    // ---- errors: kept until they are reported, and sent back to the source ----
    assign report_take = report && !err.valid && !err_waits_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            err_waits_q <= 1'b0;
            back_valid_q <= 1'b0;
        end else begin
            if (err.valid || report_take) err_waits_q <= 1'b1;
            else if (err_take_i) err_waits_q <= 1'b0;
            if (err.valid) back_valid_q <= 1'b1;
            else if (back_sent) back_valid_q <= 1'b0;
        end
        if (err.valid) err_code_q <= err.code;
        else if (report_take) err_code_q <= report_code;
    end
    assign err_o.valid = err_waits_q;
    assign err_o.code = err_code_q;

    // ---- counters ----
    packet_pkg::header_low_t link_head[2];
    logic [1:0] link_cls[2];
    logic [7:0] link_len[2];
    assign link_head = '{up_i.data[63:0], dn_o.data[63:0]};
    assign link_cls = '{up_i.cls, dn_o.cls};
    assign link_len = '{link_head[0].len[7:0], link_head[1].len[7:0]};

    bundle_pkg::counter_t port_count;
    if (Cfg.MergeLoads) begin : gen_load_count
        assign cnt_o = !common_i.cnt_loads ? port_count : '{
                high: 27'((load_count | sum_count) >> 10),
                low: cnt_read_i ? load_count[9:0] | sum_count[9:0] : '0
            };
    end else begin : gen_port_count
        assign cnt_o = port_count;
    end

    port_counters i_counters (
        .clk_i,
        .clear_i(!rst_ni || go_i),
        .clearing_i(common_i.cnt_clearing),
        .visit_i(common_i.cnt_visit),
        .read_i(cnt_read_i),
        .addr_i(common_i.cnt_addr),
        .at_i(common_i.cnt_at),
        .valid_i({dn_o.valid, up_i.valid}),
        .last_i({dn_o.last, up_i.last}),
        .cls_i(link_cls),
        .len_i(link_len),
        .reject_i(err.valid),
        .wait_turn_i(wait_turn),
        .wait_credit_i(wait_credit),
        .discard_i(discard),
        .drop_i(drop),
        .high_o(port_count.high),
        .low_o(port_count.low)
    );

    // ---- monitor ----
    if (Cfg.Monitor) begin : gen_monitor
        monitor_port i_monitor (
            .clk_i,
            .clear_i(!rst_ni || go_i),
            .now_i(common_i.now),
            .leave_i(leave),
            .leave_cls_i(arb_cls),
            .leave_stamp_i(leave_stamp),
            .classes_i(common_i.mon_classes),
            .count_i(common_i.mon_count),
            .events_i({wait_turn, wait_credit, dn_o.valid, up_i.valid}),
            .sample_i(common_i.mon_sample),
            .sample_idx_i(common_i.mon_idx),
            .read_i(mon_read_i),
            .series_i(common_i.mon_series),
            .word_i(common_i.mon_word),
            .data_o(mon_data_o)
        );
    end else begin : gen_no_monitor
        assign mon_data_o = '0;
    end

    assign idle_o = in_idle && crd_idle && win_idle && out_idle && !dn_busy && join_idle
                    && !err_waits_q && !report && !flush_o && opener_idle && loads_idle
                    && kept_idle && sums_idle;

    `MW_CONTRACT(open_valid, !opened_q.valid, "a request and a row open in one cycle")
    `MW_NEXT(err_o.valid && !err_take_i, err_o.valid, "an error goes before it is taken")
    `MW_CONTRACT(err_take_i, err_o.valid, "an error is taken that is not there")
    `MW_CONTRACT(idle_o, dn_o.valid == 1'b0 && open_full == 1'b0,
                 "idle, and a packet or a reduction is here")
endmodule

`default_nettype wire
