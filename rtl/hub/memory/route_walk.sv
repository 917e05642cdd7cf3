// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Reads the routing table of own tokens and returns their list entries one by one.
//
// Order: Tokens first_i, first_i + 1, ..., and inside a token in list order, k entries each,
// including 0xffff. The row of an entry is row_base_i + token. With Picks and a start with picks_i,
// tokens come in the order of pick_*. Each is taken at least one cycle before it is read.
// Back-pressure: An entry is stable until take_i. take_i only with a valid entry.
// Latency: Reads run one flit ahead of the entries. An entry is available in every cycle while
// memory answers within F/2 cycles, or else one flit of entries per answer.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module route_walk #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type pick_t = `MW_PICK(Cfg),
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type listed_t = `MW_LISTED(Cfg),
    parameter bit Picks = 1'b0,
    // flit inside a row
    localparam int unsigned SubW = $clog2(isa_pkg::RouteBytes / Cfg.FlitBytes),
    localparam int unsigned RowW = Cfg.AddrW - SubW
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic                    start_i,     // only when done_o
    input  wire logic [Cfg.TokensLog2:0] first_i,     // end_i if there is none
    // first token behind the range, from the cycle after start_i; stable until the next start_i
    input  wire logic [Cfg.TokensLog2:0] end_i,
    input  wire logic [3:0]              k_last_i,    // k - 1
    input  wire logic [RowW-1:0]         row_base_i,  // rt_base / 128
    output logic                         done_o,      // every entry was taken
    input  wire logic                    picks_i,     // with start_i
    input  wire pick_t                   pick_i,
    output logic                         pick_take_o,

    output read_t        rd_o,
    input  wire logic    rd_ready_i,
    input  wire answer_t rd_i,  // answers to this module only

    output listed_t   entry_o,
    input  wire logic take_i
);

    // fetch_q, token_q: tokens of the range, counted; fetch, token: their numbers
    logic [Cfg.TokensLog2:0] fetch_q, token_q;
    logic [Cfg.TokensLog2-1:0] fetch, token;
    logic may_fetch;
    logic [3-Cfg.LaneW:0] sub_q;  // flit of the entry list that is read next
    logic sub_last, all_fetched, pending_q, hold_valid_q, move;
    logic [Cfg.FlitW-1:0] hold_q, cur_q;
    logic [3:0] pos_q;

    assign sub_last = sub_q == k_last_i[3:Cfg.LaneW];
    assign all_fetched = fetch_q == end_i;
    assign rd_o.valid = !pending_q && !hold_valid_q && !all_fetched && may_fetch;
    assign rd_o.addr = {row_base_i + RowW'(fetch), SubW'(sub_q)};

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            pending_q <= 1'b0;
            hold_valid_q <= 1'b0;
        end else begin
            if (rd_o.valid && rd_ready_i) pending_q <= 1'b1;
            else if (rd_i.rvalid) pending_q <= 1'b0;
            if (rd_i.rvalid) hold_valid_q <= 1'b1;
            else if (move) hold_valid_q <= 1'b0;
        end
        if (rd_i.rvalid) hold_q <= rd_i.rdata;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            fetch_q <= '0;
            sub_q <= '0;
        end else if (start_i) begin
            fetch_q <= first_i;
            sub_q <= '0;
        end else if (rd_o.valid && rd_ready_i) begin
            sub_q <= sub_last ? '0 : sub_q + 1'b1;
            if (sub_last) fetch_q <= fetch_q + 1'b1;
        end
    end

    // The entry side: the held flit moves over when the one before is used up.
    assign entry_o.last = pos_q == k_last_i;
    assign move = hold_valid_q
                  && (!entry_o.valid
                      || (take_i && (entry_o.last || pos_q[Cfg.LaneW-1:0] == '1)));
    assign entry_o.id = cur_q[16*pos_q[Cfg.LaneW-1:0]+:16];
    assign entry_o.pos = pos_q;
    assign entry_o.token = token;
    assign entry_o.row = row_base_i + RowW'(token);
    assign done_o = token_q == end_i;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            entry_o.valid <= 1'b0;
            token_q <= '0;
            pos_q <= '0;
        end else begin
            if (move) entry_o.valid <= 1'b1;
            else if (take_i && (entry_o.last || pos_q[Cfg.LaneW-1:0] == '1)) entry_o.valid <= 1'b0;
            if (start_i) token_q <= first_i;
            else if (take_i && entry_o.last) token_q <= token_q + 1'b1;
            if (take_i) pos_q <= entry_o.last ? '0 : pos_q + 1'b1;
        end
        if (move) cur_q <= hold_q;
    end

`ifndef SYNTHESIS
    logic idle_q;  // every entry was taken, and no walk has started
    always_ff @(posedge clk_i) idle_q <= rst_ni && done_o && !start_i;
    `MW_ASSERT(!idle_q || done_o, "route_walk: the end of the range changes without a start")
`endif

    // Tokens by choice: the one that is read, and the one whose entries are shown.
    if (Picks) begin : gen_picks
        logic picks_q, here_q;
        logic [Cfg.TokensLog2-1:0] fetch_pick_q, token_pick_q;

        assign may_fetch = !picks_q || here_q;
        assign fetch = picks_q ? fetch_pick_q : fetch_q[Cfg.TokensLog2-1:0];
        assign token = picks_q ? token_pick_q : token_q[Cfg.TokensLog2-1:0];
        // not while the one before is still to be shown
        assign pick_take_o = picks_q && !here_q && !pending_q && !hold_valid_q && !all_fetched
                             && pick_i.valid;

        always_ff @(posedge clk_i) begin
            if (!rst_ni) begin
                picks_q <= 1'b0;
                here_q <= 1'b0;
            end else if (start_i) begin
                picks_q <= picks_i;
                here_q <= 1'b0;
            end else if (pick_take_o) begin
                here_q <= 1'b1;
            end else if (rd_o.valid && rd_ready_i && sub_last) begin
                here_q <= 1'b0;
            end
            if (pick_take_o) fetch_pick_q <= pick_i.token;
            if (move) token_pick_q <= fetch_pick_q;
        end
    end else begin : gen_in_order
        assign may_fetch = 1'b1;
        assign fetch = fetch_q[Cfg.TokensLog2-1:0];
        assign token = token_q[Cfg.TokensLog2-1:0];
        assign pick_take_o = 1'b0;
        wire unused_picks = &{1'b0, picks_i, pick_i};
    end

    `MW_CONTRACT(start_i, done_o, "a walk starts inside a walk")
    `MW_CONTRACT(take_i, entry_o.valid, "an entry is taken that is not there")
    `MW_STABLE(entry_o.valid, take_i, entry_o, "an entry changes before it is taken")
    `MW_NEXT(rd_o.valid && !start_i && !rd_ready_i, rd_o.valid && $stable(rd_o.addr),
             "a read changes before memory takes it")
    `MW_CONTRACT(rd_i.rvalid, pending_q && !hold_valid_q,
                 "an answer without a request, or without a place")
endmodule

`default_nettype wire
