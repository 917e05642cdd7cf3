// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The entries of packet_manager: which entry takes a packet, and which leaves next.
//
// Function: Each GPU has a partition of RpmEntries entries. They are searched by the key of desc_i
// in the cycle in which it is at the front. An entry is open from its first packet until it is
// claimed, and used until it has left (free_*). Keys lie in LUT RAM, one for each place in a
// partition, read at desc_i.part. One bit for each pair of entries of a partition states which goes
// first. It is set when the later one arrives, so the choice compares nothing.
// Ports: For desc_i: absorb_o: it may enter entry idx_o, a new one with new_o. pass_o: it may pass
// by. Neither: it waits. begin_i: it starts, as absorb_o or pass_o say. Only a new entry or a mask
// changes.
// Order: A key has one open entry. Stores for a claimed entry's key go into another one, which is
// claimed later. next_o, in the order of claims: round robin over the partitions that have a full
// entry or must free one. A partition must free an entry if it is almost full, if desc_i waits for
// it, or if timer_i is 0. With more than two places, one is kept free. In a partition full entries
// go first, then the first entry by key. An entry that two sweeps have met precedes all others. A
// sweep starts timer_i cycles after the end of the previous one, and meets one entry per cycle.
// Latency: While next_o is taken, an entry is claimed within 2 (timer_i + N RpmEntries) cycles plus
// the time that this many entries of sweeps take to leave.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module manager_entries #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type merge_t = `MW_MERGE(Cfg),
    parameter type claim_t = `MW_CLAIM(Cfg)
) (
    input  wire logic        clk_i,
    input  wire logic        rst_ni,
    input  wire logic        go_i,
    input  wire logic [15:0] timer_i,

    input  wire merge_t         desc_i,
    output logic                absorb_o,
    output logic                pass_o,
    output logic                new_o,
    output logic [Cfg.RpmW-1:0] idx_o,
    input  wire logic           begin_i,

    output claim_t                            next_o,
    input  wire logic                         next_take_i,
    input  wire logic                         free_valid_i,
    input  wire logic [Cfg.GpuW+Cfg.RpmW-1:0] free_slot_i,

    output logic left_full_o,  // an entry is claimed: it is full; not full, and a sweep has it
    output logic left_timer_o,
    output logic idle_o        // no entry is used
);
    localparam int unsigned E = Cfg.RpmEntries, IdxW = Cfg.RpmW, KeyW = Cfg.MergeKeyW;
    localparam int unsigned Pairs = (E > 1) ? E * (E - 1) / 2 : 1;

    if (E < 1 || 2 ** $clog2(E) != E) begin : gen_check
        $error("manager_entries: RpmEntries is not a power of two");
    end

    // A pair's bit, of entries a < b: a goes before b.
    function automatic int unsigned pair(input int unsigned a, input int unsigned b);
        return a * E - a * (a + 1) / 2 + b - a - 1;
    endfunction

    function automatic logic [IdxW-1:0] index_of(input logic [E-1:0] one);
        index_of = '0;
        for (int unsigned e = 0; e < E; e++) if (one[e]) index_of |= IdxW'(e);
    endfunction

    logic [Cfg.N-1:0][E-1:0] open_q, used_q, full, seen_q;
    logic [Cfg.N-1:0][E-1:0][3:0] mask_q;

    // ---- the packet at the front ----------------------------------------------------------------
    logic [E-1:0] same, earlier, hit, leaving, free, place;  // earlier: desc_i goes first
    logic [Pairs-1:0] pairs, pairs_new, pairs_next;
    logic whole, claim_hit, add;
    claim_t claimed;

    for (genvar e = 0; e < E; e++) begin : gen_key
        logic [KeyW-1:0] key;
        lutram #(
            .Width(KeyW),
            .Depth(Cfg.N)
        ) i_key (
            .clk_i,
            .we_i(add && place[e]),
            .waddr_i(desc_i.part),
            .wdata_i(desc_i.key),
            .raddr_i(desc_i.part),
            .rdata_o(key)
        );
        assign same[e] = key == desc_i.key;
        assign earlier[e] = desc_i.key[KeyW-1-:Cfg.MergeRankW] < key[KeyW-1-:Cfg.MergeRankW];
    end

    assign hit = same & open_q[desc_i.part];
    assign leaving = same & used_q[desc_i.part] & ~open_q[desc_i.part];
    assign free = ~used_q[desc_i.part];
    assign place = free & (~free + 1'b1);
    assign whole = desc_i.mask == '1;
    assign claim_hit = claimed.valid && claimed.part == desc_i.part && hit[claimed.idx];
    assign new_o = hit == '0;
    assign idx_o = new_o ? index_of(place) : index_of(hit);
    assign add = begin_i && absorb_o && new_o;

    always_comb begin
        {absorb_o, pass_o} = '0;
        unique case (desc_i.kind)
            bundle_pkg::Keep: begin
                absorb_o = new_o ? !whole && free != '0 : !claim_hit;
                pass_o = whole && new_o && leaving == '0;
            end
            bundle_pkg::BehindLine: pass_o = new_o && leaving == '0;
            bundle_pkg::BehindGpu:  pass_o = free == '1;
            default:          pass_o = idle_o;
        endcase
    end
    assign idle_o = used_q == '0;

    // which partitions it waits for
    logic want;
    logic [Cfg.N-1:0] flush;
    always_comb begin
        unique case (desc_i.kind)
            bundle_pkg::Keep: want = new_o && !whole && open_q[desc_i.part] == '1 && E <= 2;
            bundle_pkg::BehindLine:  want = !new_o;
            default:           want = 1'b1;
        endcase
        for (int unsigned p = 0; p < Cfg.N; p++) begin
            flush[p] = desc_i.valid && want
                       && (desc_i.kind == bundle_pkg::BehindAll || desc_i.part == Cfg.GpuW'(p));
        end
    end

    // ---- who is first of two --------------------------------------------------------------------
    for (genvar a = 0; a < E; a++) begin : gen_pair
        for (genvar b = a + 1; b < E; b++) begin : gen_with
            localparam int unsigned P = pair(a, b);
            assign pairs_new[P] = place[a] ? earlier[b] : place[b] ? !earlier[a] : pairs[P];
        end
    end
    if (E == 1) begin : gen_no_pairs
        assign pairs_new = '0;
    end

    logic [Cfg.GpuW-1:0] pick_part_q;
    lutram #(
        .Width(Pairs),
        .Depth(Cfg.N)
    ) i_pairs (
        .clk_i,
        .we_i(add),
        .waddr_i(desc_i.part),
        .wdata_i(pairs_new),
        .raddr_i(desc_i.part),
        .rdata_o(pairs)
    );
    lutram #(
        .Width(Pairs),
        .Depth(Cfg.N)
    ) i_pairs_next (
        .clk_i,
        .we_i(add),
        .waddr_i(desc_i.part),
        .wdata_i(pairs_new),
        .raddr_i(pick_part_q),
        .rdata_o(pairs_next)
    );

    // ---- a partition ----------------------------------------------------------------------------
    logic [Cfg.N-1:0] has_full, has_any, give, requests, grant;
    logic pick_q, any_q, pick, sweep_claim;  // any_q: it gives an entry that is
                                             // not full, too
    logic [Cfg.GpuW-1:0] grant_part;

    for (genvar p = 0; p < Cfg.N; p++) begin : gen_part
        logic [E-1:0] closed;
        for (genvar e = 0; e < E; e++) begin : gen_entry
            assign full[p][e] = open_q[p][e] && mask_q[p][e] == '1;
        end
        assign closed = ~open_q[p];
        assign has_full[p] = full[p] != '0;
        assign has_any[p] = open_q[p] != '0;
        assign give[p] = flush[p] || timer_i == '0 || (E > 2 && (closed & (closed - 1'b1)) == '0);
        assign requests[p] = has_full[p] || (has_any[p] && give[p]);
    end

    rr_arb #(
        .N(Cfg.N)
    ) i_turn (
        .clk_i,
        .rst_ni,
        .clear_i(go_i),
        .req_i(requests),
        .grant_o(grant),
        .idx_o(grant_part),
        .advance_i(pick)
    );
    assign pick = !pick_q && requests != '0;

    // ---- an entry of it -------------------------------------------------------------------------
    logic [E-1:0] among, first;

    assign among = (full[pick_part_q] != '0) ? full[pick_part_q] : any_q ? open_q[pick_part_q] : '0;
    always_comb begin
        first = among;
        for (int unsigned a = 0; a < E; a++) begin
            for (int unsigned b = a + 1; b < E; b++) begin
                if (among[a] && among[b] && pairs_next[pair(a, b)]) first[b] = 1'b0;
                if (among[a] && among[b] && !pairs_next[pair(a, b)]) first[a] = 1'b0;
            end
        end
    end

    // ---- sweeps ---------------------------------------------------------------------------------
    logic sweep_q, meets, sweep_step;
    logic [15:0] since_q;
    logic [Cfg.GpuW-1:0] sweep_part_q;
    logic [IdxW-1:0] sweep_idx_q;

    assign meets = sweep_q && open_q[sweep_part_q][sweep_idx_q];
    assign sweep_claim = meets && seen_q[sweep_part_q][sweep_idx_q] && !next_o.valid;
    assign sweep_step = sweep_q && (sweep_claim || !meets || !seen_q[sweep_part_q][sweep_idx_q]);

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            sweep_q <= 1'b0;
            since_q <= '0;
            sweep_part_q <= '0;
            sweep_idx_q <= '0;
        end else if (!sweep_q) begin
            since_q <= since_q + 1'b1;
            sweep_q <= since_q >= timer_i;
        end else if (sweep_step) begin
            since_q <= '0;
            if (sweep_idx_q == IdxW'(E - 1)) begin
                sweep_idx_q <= '0;
                sweep_part_q <= (sweep_part_q == Cfg.GpuW'(Cfg.N - 1)) ? '0 : sweep_part_q + 1'b1;
                sweep_q <= sweep_part_q != Cfg.GpuW'(Cfg.N - 1);
            end else begin
                sweep_idx_q <= sweep_idx_q + 1'b1;
            end
        end
    end

    // ---- the next one ---------------------------------------------------------------------------
    assign claimed.part = sweep_claim ? sweep_part_q : pick_part_q;
    assign claimed.idx = sweep_claim ? sweep_idx_q : index_of(first);
    assign claimed.mask = mask_q[claimed.part][claimed.idx];
    assign claimed.valid = sweep_claim || (pick_q && !next_o.valid && among != '0);
    assign left_full_o = claimed.valid && claimed.mask == '1;
    assign left_timer_o = sweep_claim && claimed.mask != '1;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            pick_q <= 1'b0;
            next_o.valid <= 1'b0;
        end else begin
            // a sweep may have taken what it was picked for
            if (pick) pick_q <= 1'b1;
            else if (!sweep_claim && (claimed.valid || among == '0)) pick_q <= 1'b0;
            if (claimed.valid) next_o.valid <= 1'b1;
            else if (next_take_i) next_o.valid <= 1'b0;
        end
        if (pick) begin
            pick_part_q <= grant_part;
            any_q <= !(|(grant & has_full));
        end
        if (claimed.valid) begin
            next_o.part <= claimed.part;
            next_o.idx <= claimed.idx;
            next_o.mask <= claimed.mask;
        end
    end

    always_ff @(posedge clk_i) begin
        for (int unsigned p = 0; p < Cfg.N; p++) begin
            for (int unsigned e = 0; e < E; e++) begin
                automatic logic here = desc_i.part == Cfg.GpuW'(p);
                automatic logic made = add && here && place[e];
                automatic logic mine = claimed.part == Cfg.GpuW'(p);
                automatic logic out = claimed.valid && mine && claimed.idx == IdxW'(e);
                if (!rst_ni) begin
                    open_q[p][e] <= 1'b0;
                    used_q[p][e] <= 1'b0;
                end else begin
                    if (made) open_q[p][e] <= 1'b1;
                    else if (out) open_q[p][e] <= 1'b0;
                    if (made) used_q[p][e] <= 1'b1;
                    else if (free_valid_i && free_slot_i == {Cfg.GpuW'(p), IdxW'(e)})
                        used_q[p][e] <= 1'b0;
                end
                if (made) mask_q[p][e] <= desc_i.mask;
                else if (begin_i && absorb_o && here && hit[e])
                    mask_q[p][e] <= mask_q[p][e] | desc_i.mask;
                if (made) seen_q[p][e] <= 1'b0;
                else if (meets && sweep_part_q == Cfg.GpuW'(p) && sweep_idx_q == IdxW'(e))
                    seen_q[p][e] <= 1'b1;
            end
        end
    end

    `MW_ASSERT((hit & (hit - 1'b1)) == '0 || !desc_i.valid, "two open entries of a key")
    `MW_ASSERT(!begin_i || (desc_i.valid && (absorb_o || pass_o)), "a packet that should wait")
    `MW_CONTRACT(desc_i.valid, !(absorb_o && pass_o), "a packet both enters an entry and passes")
    `MW_CONTRACT(next_take_i, next_o.valid, "an entry is taken that is not there")
    `MW_CONTRACT(1'b1, (open_q & ~used_q) == '0, "an entry is open and not used")
    `MW_STABLE(next_o.valid, next_take_i, next_o, "a claimed entry changes before it is taken")
endmodule

`default_nettype wire
