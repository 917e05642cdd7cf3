// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Counts the entries of the routing table: one per cycle, in a counter per {GPU, local expert}, or
// with copies_i once per token and GPU, at local expert 0.
//
// Function: Entries that are 0xffff or not mapped are not counted. With TokenOrder the GPUs of each
// token are reported (tok_o, in the cycle in which its last entry is added), also while counting_i
// is low and nothing is counted. With charge_i a token takes at least that many cycles.
// Ports: After start_i, done_o is high from the cycle in which the last entry is added, and
// counting_i in between. Otherwise count_o is the counter of gpu_i and local_i in the same cycle,
// and wipe_i clears it. After reset all counters are cleared (clearing_o).
// Back-pressure: rd_ready_i. Answers are always taken.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module entry_counts #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type places_t = `MW_PLACES(Cfg),
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type listed_t = `MW_LISTED(Cfg),
    localparam int unsigned CountW = Cfg.TokensLog2 + 1
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire bundle_pkg::emap_write_t emap_i,

    input  wire logic                    start_i,
    input  wire logic [Cfg.TokensLog2:0] first_i,  // with start_i: own tokens
    input  wire logic [Cfg.TokensLog2:0] end_i,    // behind the last one; from the next cycle on
    input  wire logic                    copies_i,
    input  wire logic                    counting_i,
    input  wire logic [15:0]             charge_i,
    output logic                         done_o,
    output places_t                      tok_o,

    output read_t        rd_o,
    input  wire logic    rd_ready_i,
    input  wire answer_t rd_i,

    input  wire logic [Cfg.GpuW-1:0]   gpu_i,
    input  wire logic [Cfg.LocalW-1:0] local_i,
    input  wire logic                  wipe_i,
    output logic [CountW-1:0]          count_o,
    output logic                       clearing_o
);
    localparam int unsigned SlotW = Cfg.GpuW + Cfg.LocalW;

    // ---- entries --------------------------------------------------------------------------------
    listed_t entry;
    logic walk_done, entry_valid, held, map_valid, hit_q, hit_last_q;
    logic [Cfg.GpuW-1:0] map_gpu, hit_gpu_q;
    logic [Cfg.LocalW-1:0] map_local, hit_local_q;
    logic [Cfg.N-1:0] seen_q;  // GPUs that the token has an expert at
    logic [3:0] k_last;

    assign entry_valid = entry.valid && !held;
    assign k_last = 4'(cfg_i.k - 5'd1);

    route_walk #(
        .Cfg(Cfg)
    ) i_walk (
        .clk_i,
        .rst_ni,
        .start_i,
        .first_i,
        .end_i,
        .k_last_i(k_last),
        .row_base_i(cfg_i.rt_base[Cfg.MemBytesLog2-1:7]),
        .done_o(walk_done),
        .picks_i(1'b0),
        .pick_i('0),
        .pick_take_o(),
        .rd_o,
        .rd_ready_i,
        .rd_i,
        .entry_o(entry),
        .take_i(entry_valid)
    );

    lutram #(
        .Width(1 + Cfg.GpuW + Cfg.LocalW),
        .Depth(Cfg.MaxExperts)
    ) i_emap (
        .clk_i,
        .we_i(emap_i.we),
        .waddr_i(emap_i.addr[Cfg.ExpW-1:0]),
        .wdata_i({
            emap_i.data.valid,
            emap_i.data.gpu[Cfg.GpuW-1:0],
            emap_i.data.local_expert[Cfg.LocalW-1:0]
        }),
        .raddr_i(entry.id[Cfg.ExpW-1:0]),
        .rdata_o({map_valid, map_gpu, map_local})
    );

    always_ff @(posedge clk_i) begin
        hit_q <= rst_ni && entry_valid && (entry.id >> Cfg.ExpW) == '0 && map_valid
                 && 7'(map_local) < cfg_i.local_experts;
        hit_last_q <= !rst_ni || (entry_valid && entry.last);
        hit_gpu_q <= map_gpu;
        hit_local_q <= map_local;
        for (int unsigned g = 0; g < Cfg.N; g++) begin
            if (hit_last_q) seen_q[g] <= 1'b0;
            else if (hit_q && hit_gpu_q == Cfg.GpuW'(g)) seen_q[g] <= 1'b1;
        end
    end

    // ---- tokens, one by one ---------------------------------------------------------------------
    if (Cfg.TokenOrder) begin : gen_tokens
        logic [15:0] owed_q;  // cycles until the next token may begin
        logic tok_q;

        assign held = owed_q != '0 && entry.pos == '0;
        assign done_o = walk_done && owed_q == '0;
        assign tok_o.valid = tok_q;
        for (genvar g = 0; g < Cfg.N; g++) begin : gen_gpu
            assign tok_o.gpus[g] = seen_q[g] || (hit_q && hit_gpu_q == Cfg.GpuW'(g));
        end

        always_ff @(posedge clk_i) begin
            tok_q <= rst_ni && entry_valid && entry.last;
            if (!rst_ni) owed_q <= '0;
            else if (entry_valid && entry.pos == '0 && charge_i != '0) owed_q <= charge_i - 1'b1;
            else if (owed_q != '0) owed_q <= owed_q - 1'b1;
        end
    end else begin : gen_no_tokens
        assign held = 1'b0;
        assign done_o = walk_done;
        assign tok_o = '0;
    end

    // ---- counters -------------------------------------------------------------------------------
    logic [SlotW-1:0] slot;
    logic [SlotW:0] clear_q;
    logic wipe;

    assign clearing_o = !clear_q[SlotW];
    assign wipe = clearing_o || wipe_i;

    always_comb begin
        if (clearing_o) slot = clear_q[SlotW-1:0];
        else if (counting_i) slot = {hit_gpu_q, copies_i ? Cfg.LocalW'(0) : hit_local_q};
        else slot = {gpu_i, local_i};
    end

    lutram #(
        .Width(CountW),
        .Depth(2 ** SlotW)
    ) i_count (
        .clk_i,
        .we_i(wipe || (counting_i && hit_q && !(copies_i && seen_q[hit_gpu_q]))),
        .waddr_i(slot),
        .wdata_i(wipe ? '0 : count_o + 1'b1),
        .raddr_i(slot),
        .rdata_o(count_o)
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni) clear_q <= '0;
        else if (clearing_o) clear_q <= clear_q + 1'b1;
    end

    `MW_CONTRACT(wipe_i, !counting_i, "a counter is cleared while entries are counted")
endmodule

`default_nettype wire
