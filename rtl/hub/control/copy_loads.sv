// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Derives from all GPUs' copy counts the GPUs that get most copies, and the share of this GPU, for
// token order and dispatch throttle.
//
// Function: The copies that each GPU gets are added as their counts arrive. A GPU's copies to
// itself are left out, as they cross no link. find_i searches the Hot other GPUs that get most,
// into hot_o. hot_o[0] gets most of them. Of equal ones, the lower number goes first. A search
// before all counts have arrived uses those that have. share_o has the tokens of this GPU with
// remote targets (tok_i, from its own count), and the copies of other GPUs for it. It is valid once
// the copy counts of all GPUs have arrived. go_i clears the counts and share_o. hot_o stays, and a
// search continues. A cached layer has no go_i: it uses counts and share_o of its forward layer.
// Order: A count takes effect in the next cycle.
// Back-pressure: None.
// Latency: find_i takes Hot x N cycles, and one for each count that comes meanwhile. hot_o is valid
// from the cycle in which busy_o falls until the next find_i.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module copy_loads #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type places_t = `MW_PLACES(Cfg),
    parameter type share_t = `MW_SHARE(Cfg),
    parameter int unsigned Hot = 5  // at most N - 1
) (
    input  wire logic              clk_i,
    input  wire logic              rst_ni,
    input  wire logic              go_i,
    input  wire packet_pkg::port_t port_i,

    input  wire bundle_pkg::count_t cnt_i,      // of kind 1 those that count here
    input  wire logic               cnt_bad_i,  // it cannot be: it is not added
    input  wire logic               here_i,     // the copy counts of all GPUs are, from the
                                                // cycle behind the last
    input  wire places_t            tok_i,      // a token of this GPU's own count of copies

    input  wire logic           find_i,  // not while busy_o
    output logic                busy_o,
    output logic [Cfg.GpuW-1:0] hot_o [Hot],
    output share_t              share_o
);
    localparam int unsigned LoadW = Cfg.TokW + 1;

    if (Hot < 1 || Hot >= Cfg.N) begin : gen_check
        $error("copy_loads: there are not so many other GPUs");
    end

    logic copies, count, own, step, last_gpu, better;
    logic [Cfg.GpuW-1:0] at, gpu_q;
    logic [LoadW-1:0] word, load, most_q;
    logic [Cfg.N-1:0] known_q, taken_q, own_bit;
    logic [2:0] rank_q;
    logic some_q;
    logic [Cfg.GpuW-1:0] best_q;

    assign copies = cnt_i.valid && cnt_i.kind;
    assign count = copies && !cnt_bad_i && cnt_i.src != cnt_i.idx;
    assign own = cnt_i.idx == port_i;
    assign at = copies ? cnt_i.idx[Cfg.GpuW-1:0] : gpu_q;
    assign load = known_q[at] ? word : '0;

    lutram #(
        .Width(LoadW),
        .Depth(Cfg.N)
    ) i_load (
        .clk_i,
        .we_i(count),
        .waddr_i(at),
        .wdata_i(load + cnt_i.val[LoadW-1:0]),
        .raddr_i(at),
        .rdata_o(word)
    );

    for (genvar g = 0; g < Cfg.N; g++) begin : gen_own
        assign own_bit[g] = port_i == packet_pkg::port_t'(g);
    end

    // ---- the share of this GPU ------------------------------------------------------------------
    assign share_o.valid = here_i;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            known_q <= '0;
            share_o.tokens <= '0;
            share_o.rows <= '0;
        end else begin
            if (count) known_q[at] <= 1'b1;
            if (count && own) share_o.rows <= share_o.rows + cnt_i.val[LoadW-1:0];
            if (tok_i.valid && (tok_i.gpus & ~own_bit) != '0)
                share_o.tokens <= share_o.tokens + 1'b1;
        end
    end

    // ---- those that get most --------------------------------------------------------------------
    // One pass over the GPUs for each place.
    assign step = busy_o && !copies;
    assign last_gpu = gpu_q == Cfg.GpuW'(Cfg.N - 1);
    assign better = !taken_q[gpu_q] && (!some_q || load > most_q);

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            busy_o <= 1'b0;
        end else if (find_i) begin
            busy_o <= 1'b1;
        end else if (step && last_gpu && rank_q == 3'(Hot - 1)) begin
            busy_o <= 1'b0;
        end
        if (find_i) begin
            rank_q <= '0;
            taken_q <= own_bit;
        end else if (step && last_gpu) begin
            rank_q <= rank_q + 1'b1;
            taken_q[better?gpu_q : best_q] <= 1'b1;
        end
        if (find_i || (step && last_gpu)) begin
            gpu_q <= '0;
            some_q <= 1'b0;
        end else if (step) begin
            gpu_q <= gpu_q + 1'b1;
            some_q <= some_q || better;
        end
        if (step && better) begin
            best_q <= gpu_q;
            most_q <= load;
        end
        for (int unsigned i = 0; i < Hot; i++) begin
            if (step && last_gpu && rank_q == 3'(i)) hot_o[i] <= better ? gpu_q : best_q;
        end
    end

    `MW_CONTRACT(find_i, !busy_o, "a search begins inside a search")
endmodule

`default_nettype wire
