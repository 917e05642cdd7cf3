// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Bench for an output of the switch. It has queues of packets and of partial sums of N-1 inputs,
// their look-ahead windows, and the output that reads them. The test drives the inputs, the join
// and the endpoint. Port 0 is the output, and port i + 1 is input i. Other outputs are one bit:
// whether a copy of an input's oldest packet waits at one.
`default_nettype none
`include "bundles.svh"

module switch_output #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic                  clk_i,
    input  wire logic                  rst_ni,
    input  wire logic                  go_i,
    input  wire logic [1:0]            epoch_i,
    input  wire logic                  hold_i,
    input  wire logic                  down_i,
    input  wire logic [Cfg.StoreW-1:0] store_limit_i,
    input  wire logic [Cfg.PartW-1:0]  part_limit_i,
    input  wire logic [Cfg.SeqW-1:0]   window_limit_i,

    // inputs, see voq and window
    input  wire logic [Cfg.Others-1:0] wr_valid_i,
    input  wire `MW_COPY(Cfg)          wr_i [Cfg.Others],
    input  wire logic [Cfg.Others-1:0] desc_we_i,
    input  wire `MW_DESC(Cfg)          desc_i [Cfg.Others],
    input  wire logic [Cfg.Others-1:0] push_i,
    input  wire logic [Cfg.Others-1:0] scarce_i,
    input  wire logic [Cfg.Others-1:0] arrive_i,
    input  wire logic [Cfg.Others-1:0] issue_i,
    input  wire logic [Cfg.Others-1:0] held_i,
    output logic [Cfg.Others-1:0]      room_o,
    output logic [Cfg.Others-1:0]      may_o,
    output logic [Cfg.N-1:0]           free_ctrl_o,
    input  wire logic [Cfg.Others-1:0] part_come_i,
    input  wire logic [Cfg.Others-1:0] part_we_i,
    input  wire `MW_PART(Cfg)          part_i [Cfg.Others],
    output logic [Cfg.Others-1:0]      part_full_o,

    // the join
    output logic [Cfg.Others-1:0]      q_has_o,
    input  wire logic [Cfg.Others-1:0] q_want_i,
    output logic [Cfg.Others-1:0]      q_may_o,
    input  wire logic [Cfg.Others-1:0] q_re_i,
    input  wire logic [Cfg.PayW-1:0]   q_idx_i,
    input  wire logic [Cfg.Others-1:0] q_done_i,
    output logic [Cfg.FlitW+1:0]       q_term_o,
    input  wire logic                  res_valid_i,
    input  wire logic [6:0]            res_len_i,
    input  wire logic                  res_poison_i,
    input  wire logic [Cfg.StampW-1:0] res_stamp_i,
    output logic                       res_start_o,
    output logic                       res_read_o,
    output logic                       res_first_o,
    output logic                       res_last_o,
    input  wire logic [Cfg.FlitW-1:0]  res_data_i,
    input  wire logic                  res_err_i,

    input  wire logic        grant_valid_i,
    input  wire logic [63:0] grant_upper_i,
    output logic             grant_sent_o,
    input  wire logic       error_valid_i,
    input  wire logic [7:0] error_code_i,
    output logic            error_sent_o,

    output `MW_LINK(Cfg)          dn_o,
    input  wire logic [3:0]       dn_crd_i,
    output logic                  wait_turn_o,
    output logic                  wait_credit_o,
    output logic [2:0]            starved_o,
    output logic                  discard_o,
    output logic                  leave_o,
    output logic [Cfg.StampW-1:0] leave_stamp_o,
    output logic [Cfg.Others-1:0] windows_idle_o,
    output logic                  idle_o
);
    localparam int unsigned AddrW = Cfg.PayW + cfg_pkg::index_w(Cfg.PartPkts);

    logic [Cfg.Others-1:0] has_ctrl, has_req, has_store, urgent, here, sent, claimed;
    logic [Cfg.N-1:0]      pop_n, re_n, free_store_n, sent_n, able_n;
    logic [1:0]            cls;
    logic                  open;
    logic [Cfg.PayW:0]     rd_line;
    logic [Cfg.SlotW-1:0]  rd_slot;

    assign sent = sent_n[Cfg.N-1:1];

    for (genvar i = 0; i < Cfg.Others; i++) begin : gen_in
        `MW_WINDOW(Cfg)       win;
        logic [Cfg.DescW-1:0] desc, desc_or;
        logic [Cfg.FlitW:0]   rdata, rdata_or;
        logic [Cfg.FlitW+1:0] term, term_or, own_term;
        logic [Cfg.WordW-1:0] shared_term;
        logic [AddrW-1:0]     waddr, raddr;

        if (Cfg.Window != 0) begin : gen_window
            window #(.Cfg(Cfg)) i_window (
                .clk_i, .rst_ni, .limited_i(window_limit_i != '0),
                .push_i(arrive_i[i] && push_i[i]),
                .drop_i(arrive_i[i] && !push_i[i]), .issue_i(issue_i[i]),
                .here_i(here[i] || held_i[i]),
                .win_o(win),
                .may_o(may_o[i]), .idle_o(windows_idle_o[i])
            );
        end else begin : gen_no_window
            assign {win, may_o[i], windows_idle_o[i]} = (2*Cfg.SeqW + 2)'(3);
            wire unused_here = &{1'b0, here[i], held_i[i]};
        end

        voq #(.Cfg(Cfg)) i_voq (
            .clk_i, .rst_ni,
            .put_i('{wr: wr_valid_i[i], desc: desc_we_i[i], push: push_i[i]}),
            .wr_i(wr_i[i]), .desc_i(desc_i[i]),
            .scarce_i(scarce_i[i]), .limit_i(window_limit_i), .win_i(win),
            .here_o(here[i]),
            .sent_i(sent[i]), .steps_i('{arrive: arrive_i[i], issue: issue_i[i]}),
            .room_o(room_o[i]),
            .state_o({urgent[i], has_req[i], has_store[i], has_ctrl[i]}),
            .pop_i('{valid: pop_n[i+1], cls: cls}), .desc_o(desc),
            .free_i(free_store_n[i+1]),
            .rd_i('{re: re_n[i+1], line: rd_line, slot: rd_slot}), .rdata_o(rdata),
            .shared_i('{we: Cfg.PartSharedRam && part_we_i[i], waddr: Cfg.SharedRamW'(waddr),
                        re: Cfg.PartSharedRam && q_re_i[i], raddr: Cfg.SharedRamW'(raddr)}),
            .shared_rdata_o(shared_term)
        );

        part_queue #(.Cfg(Cfg)) i_part (
            .clk_i, .rst_ni,
            .come_i(part_come_i[i]), .we_i(part_we_i[i]), .widx_i(part_i[i].idx),
            .wdata_i(part_i[i].data),
            .full_o(part_full_o[i]),
            .has_o(q_has_o[i]), .re_i(q_re_i[i]), .ridx_i(q_idx_i),
            .done_i(q_done_i[i]), .rdata_o(own_term),
            .waddr_o(waddr), .raddr_o(raddr)
        );

        assign term = Cfg.PartSharedRam ? (Cfg.FlitW+2)'(shared_term) : own_term;
        if (i == 0) begin : gen_first
            assign desc_or  = desc & {Cfg.DescW{pop_n[i+1]}};
            assign rdata_or = rdata;
            assign term_or  = term;
        end else begin : gen_next
            assign desc_or  = (desc & {Cfg.DescW{pop_n[i+1]}}) | gen_in[i-1].desc_or;
            assign rdata_or = rdata | gen_in[i-1].rdata_or;
            assign term_or  = term | gen_in[i-1].term_or;
        end
        wire unused_part = &{1'b0, own_term, shared_term, waddr, raddr};
    end
    assign q_term_o = gen_in[Cfg.Others-1].term_or;

    if (Cfg.PartSharedRam) begin : gen_turns
        read_turns #(.Cfg(Cfg)) i_turns (
            .clk_i, .rst_ni, .want_i(q_want_i), .read_i(q_re_i), .done_i(q_done_i), .may_o(q_may_o),
            .open_i(open), .able_i(able_n[Cfg.N-1:1]), .pop_i(pop_n[Cfg.N-1:1]),
            .reads_i(re_n[Cfg.N-1:1]),
            .claimed_o(claimed)
        );
    end else begin : gen_no_turns
        assign q_may_o = '1;
        assign claimed = '0;
        wire unused_turns = &{1'b0, q_want_i, open};
    end

    egress #(.Cfg(Cfg)) i_egress (
        .clk_i, .rst_ni, .port_i('0), .go_i, .epoch_i, .hold_i, .hold_store_i(1'b0), .down_i,
        .store_limit_i, .part_limit_i,
        .has_ctrl_i({has_ctrl, 1'b0}), .has_req_i({has_req, 1'b0}), .has_store_i({has_store, 1'b0}),
        .urgent_i({urgent, 1'b0}), .claimed_i({claimed, 1'b0}),
        .open_o(open), .able_o(able_n), .cls_o(cls), .pop_o(pop_n),
        .desc_i(gen_in[Cfg.Others-1].desc_or), .re_o(re_n),
        .rd_line_o(rd_line), .rd_slot_o(rd_slot),
        .rdata_i(gen_in[Cfg.Others-1].rdata_or),
        .free_ctrl_o, .free_store_o(free_store_n), .sent_o(sent_n),
        .res_valid_i, .res_len_i, .res_poison_i, .res_stamp_i, .res_start_o, .res_read_o,
        .res_first_o, .res_last_o,
        .res_data_i, .res_err_i,
        .grant_valid_i, .grant_fetch_i(1'b0), .grant_upper_i, .grant_sent_o,
        .error_valid_i, .error_code_i, .error_sent_o,
        .dn_o, .dn_crd_i,
        .wait_turn_o, .wait_credit_o, .starved_o, .discard_o, .leave_o, .leave_stamp_o, .idle_o
    );
    wire unused_self = &{1'b0, pop_n[0], re_n[0], free_store_n[0], sent_n[0], able_n};
endmodule

`default_nettype wire
