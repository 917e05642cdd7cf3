// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Packets have any kind, GPU, sectors and key, and any duration. The sender takes a claimed entry
// within Take cycles, and frees its place at any time. All entries have a model.
`default_nettype none
`include "bundles.svh"

module prove_manager_entries #(
    parameter int unsigned N = 2,
    parameter int unsigned E = 2,
    parameter int unsigned Timer = 1,
    localparam cfg_pkg::cfg_t Cfg = sizes(),
    localparam int unsigned Take = 2
) (
    input wire logic                  clk_i, come_i, begin_i, end_i, take_i, free_i,
    input wire logic [1:0]            kind_i,
    input wire logic [Cfg.GpuW-1:0]   part_i, the_part_i,
    input wire logic [Cfg.RpmW-1:0]   the_idx_i,
    input wire logic [3:0]            mask_i,
    input wire logic [Cfg.MergeKeyW-1:0] key_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = N;
        c.RpmEntries = E;
        c = cfg_pkg::derived(c);
        c.MergeKeyW = 2;
        c.MergeRankW = 1;
        return c;
    endfunction
    localparam int unsigned SlotW = Cfg.GpuW + Cfg.RpmW;
    // In a sweep each entry may wait until the previous one is taken. The bound covers two sweeps,
    // and the time after each.
    localparam int unsigned Bound = 2 * (N * E * (Take + 3) + Timer + 2), AgeW = $clog2(Bound + 2);

    logic                rst_n, absorb, pass, add, start, left_full, left_timer, idle;
    logic [Cfg.RpmW-1:0] idx;
    logic [15:0]         timer;
    `MW_MERGE(Cfg)       desc;
    `MW_CLAIM(Cfg)       next;

    f_reset i_reset (.clk_i, .rst_no(rst_n));

    // ---- the packet in front stays until it has ended ----
    logic             valid_q, inside_q, take, free, sending_q;
    logic [SlotW-1:0] sending_slot_q;
    logic [1:0]       waits_q;

    assign start = begin_i && desc.valid && !inside_q && (absorb || pass);
    assign take  = next.valid && take_i && (!sending_q || free);
    assign free  = sending_q && free_i;
    assign timer = 16'(Timer);

    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            valid_q   <= 1'b0;
            inside_q  <= 1'b0;
            sending_q <= 1'b0;
            waits_q   <= '0;
        end else begin
            valid_q  <= (valid_q || come_i) && !((inside_q || start) && end_i);
            inside_q <= (inside_q || start) && !end_i;
            if (take) sending_q <= 1'b1;
            else if (free) sending_q <= 1'b0;
            waits_q <= (next.valid && !take) ? waits_q + 2'(waits_q != '1) : '0;
        end
        if (!valid_q) begin
            desc.kind <= bundle_pkg::merge_e'(kind_i);
            desc.part <= part_i;
            desc.mask <= mask_i;
            desc.key  <= key_i;
        end
        if (take) sending_slot_q <= {next.part, next.idx};
    end
    assign desc.valid = valid_q;
    logic [Cfg.GpuW-1:0] the_part_q;
    logic [Cfg.RpmW-1:0] the_idx_q;
    always_ff @(posedge clk_i) {the_part_q, the_idx_q} <= {the_part_i, the_idx_i};
    always_comb begin
        assume (32'(part_i) < N && mask_i != '0 && 32'(the_part_i) < N && 32'(the_idx_i) < E);
        if (rst_n) assume (the_part_i == the_part_q && the_idx_i == the_idx_q);
        if (rst_n && waits_q == 2'(Take)) assume (!next.valid || take);
    end

    manager_entries #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i(1'b0), .timer_i(timer), .desc_i(desc),
        .absorb_o(absorb), .pass_o(pass),
        .new_o(add), .idx_o(idx), .begin_i(start),
        .next_o(next), .next_take_i(take), .free_valid_i(free),
        .free_slot_i(sending_slot_q), .left_full_o(left_full), .left_timer_o(left_timer),
        .idle_o(idle)
    );

    // ---- model of the entries ----
    logic [N-1:0][E-1:0]                    open_q, used_q;
    logic [N-1:0][E-1:0][Cfg.MergeKeyW-1:0] key_q;
    logic [N-1:0][E-1:0][3:0]               mask_q;
    logic                                   into, claim, full_here, before_one;
    logic [Cfg.GpuW-1:0]                    cpart;
    logic [Cfg.RpmW-1:0]                    cidx;

    assign into  = start && absorb;
    assign claim = i_dut.claimed.valid;
    assign cpart = i_dut.claimed.part;
    assign cidx  = i_dut.claimed.idx;
    always_comb begin
        full_here  = 1'b0;
        before_one = 1'b0;
        for (int unsigned e = 0; e < E; e++) begin
            if (open_q[cpart][e] && mask_q[cpart][e] == '1) full_here = 1'b1;
            if (open_q[cpart][e] && (mask_q[cpart][e] == '1 || mask_q[cpart][cidx] != '1)
                && key_q[cpart][e][1] < key_q[cpart][cidx][1]) before_one = 1'b1;
        end
    end

    for (genvar p = 0; p < N; p++) begin : gen_part
        for (genvar e = 0; e < E; e++) begin : gen_entry
            logic here, goes, of_key, of_part;
            assign here    = into && desc.part == Cfg.GpuW'(p) && idx == Cfg.RpmW'(e);
            assign goes    = claim && cpart == Cfg.GpuW'(p) && cidx == Cfg.RpmW'(e);
            assign of_part = used_q[p][e] && desc.part == Cfg.GpuW'(p);
            assign of_key  = of_part && key_q[p][e] == desc.key;

            always_ff @(posedge clk_i) begin
                if (!rst_n) begin
                    open_q[p][e] <= 1'b0;
                    used_q[p][e] <= 1'b0;
                end else begin
                    if (here && add) {open_q[p][e], used_q[p][e]} <= '1;
                    if (goes) open_q[p][e] <= 1'b0;
                    if (free && sending_slot_q == {Cfg.GpuW'(p), Cfg.RpmW'(e)})
                        used_q[p][e] <= 1'b0;
                    // a new entry gets a free place; more goes only into an open entry of its key
                    a_new:  assert (!(here && add) || !used_q[p][e]);
                    a_more: assert (!(here && !add) || (open_q[p][e] && of_key && !goes));
                    a_once: assert (!goes || open_q[p][e]);
                    // a key has at most one open entry
                    a_one:  assert (!(into && add) || !(open_q[p][e] && of_key));
                    // nothing passes entries of its line, of its GPU, or any, as its kind requires
                    a_line: assert (!(start && pass
                                      && desc.kind inside {bundle_pkg::Keep,
                                                           bundle_pkg::BehindLine})
                                    || !of_key);
                    a_gpu:  assert (!(start && pass && desc.kind == bundle_pkg::BehindGpu)
                                    || !of_part);
                    a_all:  assert (!(start && pass && desc.kind == bundle_pkg::BehindAll)
                                    || !used_q[p][e]);
                    // lemmas
                    l_same: assert (i_dut.open_q[p][e] == open_q[p][e]
                                    && i_dut.used_q[p][e] == used_q[p][e]
                                    && (!open_q[p][e]
                                        || (used_q[p][e] && i_dut.mask_q[p][e] == mask_q[p][e])));
                    l_key:  assert (!used_q[p][e] || i_dut.gen_key[e].i_key.mem[p] == key_q[p][e]);
                end
                if (here) begin
                    key_q[p][e]  <= desc.key;
                    mask_q[p][e] <= (add ? '0 : mask_q[p][e]) | desc.mask;
                end
            end
        end
        if (E == 2) begin : gen_two
            always_ff @(posedge clk_i) begin
                if (rst_n) begin
                    l_keys: assert (open_q[p] != '1 || key_q[p][0] != key_q[p][E-1]);
                    l_pair: assert (used_q[p] != '1
                                    || (i_dut.i_pairs.mem[p] == i_dut.i_pairs_next.mem[p]
                                    && (i_dut.i_pairs.mem[p] ? key_q[p][0][1] <= key_q[p][E-1][1]
                                                             : key_q[p][0][1]
                                                             >= key_q[p][E-1][1])));
                end
            end
        end
    end

    // ---- departures ----
    logic [3:0]       next_mask_q;
    logic [SlotW-1:0] next_slot_q;
    logic [AgeW-1:0]  age_q;  // of the followed entry
    always_ff @(posedge clk_i) begin
        if (claim) {next_slot_q, next_mask_q} <= {cpart, cidx, mask_q[cpart][cidx]};
        if (!rst_n || !open_q[the_part_i][the_idx_i]) age_q <= '0;
        else age_q <= age_q + 1'b1;
        if (rst_n) begin
            a_next:  assert (!next.valid
                             || {next.part, next.idx, next.mask} == {next_slot_q, next_mask_q});
            a_stay:  assert (!(claim && next.valid));
            a_full:  assert (!claim || i_dut.sweep_claim || !full_here
                             || mask_q[cpart][cidx] == '1);
            a_first: assert (!claim || i_dut.sweep_claim || !before_one);
            a_count: assert (left_full == (claim && mask_q[cpart][cidx] == '1));
            a_soon:  assert (age_q <= AgeW'(Bound));
            a_idle:  assert (idle == (used_q == '0));
            c_start: cover (valid_q);
            c_merge: cover (into && !add && open_q[desc.part] == '1);
            c_full:  cover (claim && mask_q[cpart][cidx] == '1 && !i_dut.sweep_claim);
            c_sweep: cover (left_timer || Timer == 0);
            c_wait:  cover (valid_q && !absorb && !pass && desc.kind == bundle_pkg::Keep);
            c_pass:  cover (start && pass && desc.kind == bundle_pkg::BehindAll && claim == 1'b0);
        end
    end
endmodule

`default_nettype wire
