// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The packet manager of a hub (MoE-Hub's RPM): merges small stores for the uplink into packets of
// up to a line.
//
// Function: Each GPU has a partition of RpmEntries lines of 128 bytes. A store of whole sectors of
// 32 bytes of one line enters the entry of its key (opcode, region, target, line or row; see
// manager_parse) or a new one. Later sectors replace earlier ones. An entry leaves as one packet
// for each run of its sectors, when it is full, when it must make room, or by the timer
// (manager_entries). Whole lines that need no merge, and all other packets, pass by. If on_i is low
// (constant from go to done), the input passes in the same cycle.
// Order: Two stores to the same bytes by the same kind of address keep their order. Every flag,
// fence, count and store that crosses a line follows all earlier packets for its GPU. Every
// multicast and every packet of an open row (target_list_cache) follows all earlier packets.
// Other stores may pass each other.
// Back-pressure: st_ready_o, from registers only. Input and output stop each other only if a packet
// waits for an entry to leave, for its place or for its order.
// Latency: One flit in and one out per cycle. A packet that passes takes two cycles. An entry and a
// passing packet alternate. An entry leaves by the timer (see manager_entries) and waits for the
// uplink, as do packets that wait for it.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module packet_manager #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type stream_t = `MW_STREAM(Cfg),
    parameter type merge_t = `MW_MERGE(Cfg),
    parameter type claim_t = `MW_CLAIM(Cfg)
) (
    input  wire logic        clk_i,
    input  wire logic        rst_ni,
    input  wire logic        go_i,
    input  wire logic        on_i,
    input  wire logic [15:0] timer_i,
    input  wire logic        target_list_cache_i,
    input  wire logic [3:0]  row_shift_i,

    input  wire bundle_pkg::emap_write_t emap_i,

    input  wire stream_t st_i,
    output logic         st_ready_o,
    output stream_t      st_o,
    input  wire logic    st_ready_i,

    output bundle_pkg::manager_counts_t count_o,
    output logic                        idle_o  // nothing is kept
);
    localparam int unsigned HeadW = (Cfg.HeadFlits == 1) ? 0 : 1;
    localparam int unsigned SlotW = Cfg.GpuW + Cfg.RpmW, Slots = 2 ** SlotW;
    localparam int unsigned SubW = Cfg.PayW - 2;  // of a flit in a sector
    localparam int unsigned Words = Slots * (Cfg.PayFlits + Cfg.HeadFlits), WordW = $clog2(Words);

    // ---- what comes -----------------------------------------------------------------------------
    stream_t in, flit, by, kept, out;
    merge_t desc;
    logic in_ready, take, desc_take, by_ready, kept_ready;

    assign in = '{valid: st_i.valid && on_i, last: st_i.last, data: st_i.data};

    manager_parse #(
        .Cfg(Cfg)
    ) i_parse (
        .clk_i,
        .rst_ni,
        .target_list_cache_i,
        .row_shift_i,
        .emap_i,
        .in_i(in),
        .in_ready_o(in_ready),
        .flit_o(flit),
        .flit_take_i(take),
        .desc_o(desc),
        .desc_take_i(desc_take)
    );

    // ---- entries --------------------------------------------------------------------------------
    claim_t next;
    logic absorb, pass, add, start, next_take, free_valid, left_full, left_timer, none_used;
    logic [Cfg.RpmW-1:0] idx;
    logic [SlotW-1:0] free_slot;

    manager_entries #(
        .Cfg(Cfg)
    ) i_entries (
        .clk_i,
        .rst_ni,
        .go_i,
        .timer_i,
        .desc_i(desc),
        .absorb_o(absorb),
        .pass_o(pass),
        .new_o(add),
        .idx_o(idx),
        .begin_i(start),
        .next_o(next),
        .next_take_i(next_take),
        .free_valid_i(free_valid),
        .free_slot_i(free_slot),
        .left_full_o(left_full),
        .left_timer_o(left_timer),
        .idle_o(none_used)
    );

    // ---- a packet at the front ------------------------------------------------------------------
    // It goes into its entry or by; its description stays until its last flit.
    logic inside_q, into_q, add_q, into, head, we;
    logic [Cfg.RpmW-1:0] idx_q;
    logic [1:0] head_left_q;  // flits of the header that are still to come
    logic [Cfg.PayW-1:0] flit_q;

    assign into = inside_q ? into_q : desc.valid && absorb;
    assign by.valid = flit.valid && (inside_q ? !into_q : desc.valid && pass);
    assign by.last = flit.last;
    assign by.data = flit.data;
    assign take = flit.valid && (into || (by.valid && by_ready));
    assign start = take && !inside_q;
    assign desc_take = take && flit.last;
    assign head = !inside_q || head_left_q != '0;
    assign we = take && into && (!head || (inside_q ? add_q : add));

    always_ff @(posedge clk_i) begin
        if (!rst_ni) inside_q <= 1'b0;
        else if (take) inside_q <= !flit.last;
        if (start) begin
            into_q <= absorb;
            add_q <= add;
            idx_q <= idx;
            head_left_q <= 2'(Cfg.HeadFlits - 1);
            flit_q <= {
                desc.mask[0] ? 2'd0 : desc.mask[1] ? 2'd1 : desc.mask[2] ? 2'd2 : 2'd3, SubW'(0)
            };
        end else if (take) begin
            if (head) head_left_q <= head_left_q - 1'b1;
            else flit_q <= flit_q + 1'b1;
        end
    end

    // ---- headers and payload --------------------------------------------------------------------
    logic re, out_head;
    logic [Cfg.PayW-1:0] word;
    logic [Cfg.FlitW-1:0] data;
    logic [WordW-1:0] waddr, raddr;
    logic [SlotW-1:0] wslot;

    // payload of all slots, then their headers
    function automatic logic [WordW-1:0] place(input logic is_head, input logic [SlotW-1:0] slot,
                                               input logic [Cfg.PayW-1:0] number);
        return is_head ? WordW'(Slots * Cfg.PayFlits) + (WordW'(slot) << HeadW) + WordW'(number)
                       : WordW'({slot, number});
    endfunction

    assign wslot = {desc.part, inside_q ? idx_q : idx};
    assign waddr = place(head, wslot, head ? Cfg.PayW'(inside_q) : flit_q);
    assign raddr = place(out_head, free_slot, word);

    ram_sdp #(
        .Width(Cfg.FlitW),
        .Depth(Words)
    ) i_ram (
        .clk_i,
        .we_i(we),
        .waddr_i(waddr),
        .wdata_i(flit.data),
        .wbe_i('1),
        .re_i(re),
        .raddr_i(raddr),
        .rdata_o(data)
    );

    manager_send #(
        .Cfg(Cfg)
    ) i_send (
        .clk_i,
        .rst_ni,
        .next_i(next),
        .next_take_o(next_take),
        .hold_i(inside_q && into_q && {next.part, next.idx} == wslot),
        .free_valid_o(free_valid),
        .free_slot_o(free_slot),
        .re_o(re),
        .head_o(out_head),
        .word_o(word),
        .data_i(data),
        .st_o(kept),
        .st_ready_i(kept_ready)
    );

    // ---- what leaves ----------------------------------------------------------------------------
    loc_merge #(
        .Cfg(Cfg)
    ) i_merge (
        .clk_i,
        .rst_ni,
        .go_i,
        .loc_i(kept),
        .loc_ready_o(kept_ready),
        .clo_i(by),
        .clo_ready_o(by_ready),
        .loc_o(out),
        .loc_ready_i(st_ready_i && on_i)
    );

    assign st_o = on_i ? out : st_i;
    assign st_ready_o = on_i ? in_ready : st_ready_i;
    assign idle_o = none_used && !flit.valid && !kept.valid;

    assign count_o = '{
            in: desc_take,
            out: out.valid && out.last && st_ready_i && on_i,
            merged: start && absorb && !add,
            full: left_full,
            timer: left_timer
        };

    `MW_ASSERT(!(we && re) || waddr != raddr, "a word is written while it is read")
    `MW_ASSERT(!start || !absorb || !flit.last, "a store without payload")
    `MW_CONTRACT(kept.valid && by.valid, !(kept_ready && by_ready),
                 "two packets leave in one cycle")
endmodule

`default_nettype wire
