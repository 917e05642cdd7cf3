// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Counts the events that the streams of a GPU wait for: packets (software events, COUNTS, ACKS),
// rows, tokens and tiles of pushes.
//
// Ports: value_o is the counter idx_i of the previous cycle, 0 for a counter that does not exist.
// With 32 Events the counters from 16 on are a memory of their own, so that all restart in 16
// cycles.
// Back-pressure: A pulse counts at once. EVENT packets may come in every cycle. FLAG and COUNTS
// packets, never two in one cycle, use the other cycles, and wait in a ring of 15. EVENTs wait
// (ev_ready_o) while the ring is full, and in the 16 cycles after go in which counters restart
// (ready_o low). A full ring therefore loses one entry per cycle and drops none. In those 16 cycles
// the link brings at most eight entries. ACKs come last, at most one in a cycle without EVENT, and
// fewer wait than fill their counter.
`default_nettype none
`include "assert.svh"

module event_counters #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned Width = 16,  // of rows and tokens, too
    parameter int unsigned PktW = 16  // of packets
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic go_i,

    input  wire bundle_pkg::events_t ev_i,
    output logic                     ev_ready_o,  // for an EVENT

    input  wire logic [Cfg.EventW-1:0] idx_i,
    output logic [Width-1:0]           value_o,
    output logic                       ready_o
);
    import isa_pkg::*;

    if (!(Cfg.Events inside {16, 32})) begin : gen_check
        $error("event_counters: 16 or 32 event counters");
    end

    // ---- counters of packets --------------------------------------------------
    // One increment per cycle. Two copies: one for the increment, one for the waiting streams.
    logic [4:0] clear_q;  // entries cleared since go; 16: done
    logic ready, full, event_take, pkt_we, in_valid, queued;
    logic [PktW-1:0] pkt_old, pkt_new, pkt_value;
    logic [3:0] wptr_q, rptr_q;
    localparam int unsigned AckW = (Cfg.N > 64) ? 7 : 6;
    logic [AckW-1:0] acks_q;
    logic [Cfg.EventW-1:0] pkt_idx, in_idx, queue_idx, idx_q;

    assign in_valid = ev_i.flag_valid || ev_i.counts;
    assign in_idx = ev_i.flag_valid ? Cfg.EventW'(ev_i.flag_idx) : Cfg.EventW'(EV_COUNTS);
    assign queued = wptr_q != rptr_q;
    assign full = wptr_q + 4'd1 == rptr_q;
    lutram #(
        .Width(Cfg.EventW),
        .Depth(16)
    ) i_queue (
        .clk_i,
        .we_i(in_valid),
        .waddr_i(wptr_q),
        .wdata_i(in_idx),
        .raddr_i(rptr_q),
        .rdata_o(queue_idx)
    );

    assign ready = clear_q[4];
    assign ev_ready_o = ready && !full;
    assign event_take = ev_i.event_valid && ev_ready_o;
    assign ready_o = ready;
    assign pkt_we = !ready || event_take || queued || acks_q != '0;
    assign pkt_idx = !ready ? Cfg.EventW'(clear_q[3:0]) : event_take ? Cfg.EventW'(ev_i.event_idx)
                     : queued ? queue_idx : Cfg.EventW'(EV_ACKS);
    assign pkt_new = (pkt_old + PktW'(1)) & {PktW{ready}};

    // the counters below 16, and those from 16 on
    localparam int unsigned Halves = Cfg.Events / 16;
    logic [PktW-1:0] old_half[Halves], value_half[Halves];
    for (genvar h = 0; h < Halves; h++) begin : gen_half_counts
        logic we;
        assign we = pkt_we && (Halves == 1 || !ready || pkt_idx[Cfg.EventW-1] == 1'(h));

        lutram #(
            .Width(PktW),
            .Depth(16)
        ) i_count (
            .clk_i,
            .we_i(we),
            .waddr_i(pkt_idx[3:0]),
            .wdata_i(pkt_new),
            .raddr_i(pkt_idx[3:0]),
            .rdata_o(old_half[h])
        );
        lutram #(
            .Width(PktW),
            .Depth(16)
        ) i_count_wait (
            .clk_i,
            .we_i(we),
            .waddr_i(pkt_idx[3:0]),
            .wdata_i(pkt_new),
            .raddr_i(idx_q[3:0]),
            .rdata_o(value_half[h])
        );
    end
    assign pkt_old = (Halves == 2 && pkt_idx[Cfg.EventW-1]) ? old_half[Halves-1] : old_half[0];
    assign pkt_value = (Halves == 2 && idx_q[Cfg.EventW-1]) ? value_half[Halves-1] : value_half[0];

    always_ff @(posedge clk_i) begin
        logic ack_out;
        ack_out = ready && !event_take && !queued && acks_q != '0;
        if (!rst_ni || go_i) begin
            clear_q <= '0;
            wptr_q <= '0;
            rptr_q <= '0;
            acks_q <= '0;
        end else begin
            if (!ready) clear_q <= clear_q + 1'b1;
            if (in_valid) wptr_q <= wptr_q + 1'b1;
            if (ready && !event_take && queued) rptr_q <= rptr_q + 1'b1;
            if (ev_i.ack != ack_out) acks_q <= acks_q + (ack_out ? '1 : AckW'(1));
        end
    end

    // ---- counters of rows, tokens and tiles --------------------------------------------
    logic [Width-1:0] rows_q, tokens_q, syncs_q;
    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            rows_q <= '0;
            tokens_q <= '0;
            syncs_q <= '0;
        end else begin
            if (ev_i.row) rows_q <= rows_q + 1'b1;
            if (ev_i.token) tokens_q <= tokens_q + 1'b1;
            if (Cfg.SumEntries != 0 && ev_i.sync) syncs_q <= syncs_q + 1'b1;
        end
    end

    // ---- read -------------------------------------------------------------------
    logic sel_rows_q, sel_done_q, sel_token_q, sel_sync_q;
    always_ff @(posedge clk_i) begin
        idx_q <= idx_i;
        sel_rows_q <= idx_i == Cfg.EventW'(EV_ROWS);
        sel_done_q <= idx_i == Cfg.EventW'(EV_ROWS_DONE);
        sel_token_q <= idx_i == Cfg.EventW'(EV_TOKENS);
        sel_sync_q <= Cfg.SumEntries != 0 && idx_i == Cfg.EventW'(EV_SYNCS);
    end

    // Entries of the packet counters that are no counters of packets stay 0.
    assign value_o = Width'(pkt_value) | (rows_q & {Width{sel_rows_q}})
                     | (tokens_q & {Width{sel_token_q}}) | (syncs_q & {Width{sel_sync_q}})
                     | Width'(sel_done_q && ev_i.rows_done);

    // what rx_store promises, whatever comes in
    `MW_ASSERT(go_i || !in_valid || !full || ready, "FLAG and COUNTS packets in every cycle")
    `MW_ASSERT(go_i || !ev_i.flag_valid || !ev_i.counts, "FLAG and COUNTS in one cycle")
    `MW_CONTRACT(ev_ready_o, ready_o && !full, "an EVENT before the counters are clear")
    `MW_CONTRACT(ev_i.ack && !go_i, acks_q != '1, "more ACKs wait than fill their counter")
endmodule

`default_nettype wire
