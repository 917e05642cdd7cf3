// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Passes counts that each source may send once per layer: of its rows (COUNTS of rows, whole or in
// two halves), of its copies (COUNTS of copies, whole or in parts), and with source_lists of each
// list (FLAG LIST).
//
// Ports: A packet passes word by word (cnt_o) in its cycle. cnt_o.last marks the word that
// completes what its source counts. counted_o: the rows of every source, or every list, are
// counted, and which lists are. copies_here_o: the copies of every source are. go_i clears all of
// them, unless the layer uses a handle (cached), whose counts they are.
// Order: The order of the words. A packet's words come without others between.
// Back-pressure: None.
// Latency: counted_o and copies_here_o change in the cycle after the last word.
// Errors: COUNT, with its last word, for a packet whose source has counted the same before, or half
// of it. It is discarded.
`default_nettype none
`include "bundles.svh"

module count_once #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type counted_t = `MW_COUNTED(Cfg)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire bundle_pkg::count_t cnt_i,
    input  wire logic               cnt_list_i,  // it is that of a list
    output bundle_pkg::count_t      cnt_o,

    output counted_t counted_o,  // no lists without SourceLists
    output logic     copies_here_o,

    output bundle_pkg::error_t err_o
);
    logic [Cfg.N-1:0] low_q, high_q;  // sources: rows of the first 32 experts, of the others
    logic [Cfg.CopyPkts-1:0][Cfg.N-1:0] copies_q;  // and each part of their copies
    logic [Cfg.CopyPkts-1:0] had_parts, parts, now_parts;  // of this source, the same of these
    logic [Cfg.GpuW-1:0] src;
    logic [1:0] had, now;  // halves: of which its rows are counted; with this packet
    logic rows, twice, ends, listed, all_rows;

    logic anew;

    assign anew = go_i && !(Cfg.CachedHandle && cfg_i.cached);
    assign src = cnt_i.src[Cfg.GpuW-1:0];
    assign rows = !cnt_i.kind && !cnt_list_i;
    assign had = {high_q[src], low_q[src]};
    assign now = had | cnt_i.halves;
    assign twice = rows ? (had & cnt_i.halves) != '0 : cnt_list_i ? listed
                   : (had_parts & parts) != '0 || parts == '0;  // or one that there is not
    assign ends = cnt_i.valid && cnt_i.last && !twice;  // a packet that counts

    assign all_rows = {high_q, low_q} == '1;

    for (genvar i = 0; i < Cfg.CopyPkts; i++) begin : gen_parts
        assign had_parts[i] = copies_q[i][src];
        assign parts[i] = Cfg.CopyPkts == 1 || cnt_i.part == 2'(i);
    end
    assign now_parts = had_parts | parts;

    always_comb begin
        cnt_o = cnt_i;
        cnt_o.valid = cnt_i.valid && !twice;
        cnt_o.last = cnt_i.last && (!rows || now == '1) && (!cnt_i.kind || now_parts == '1);
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni || anew) begin
            {high_q, low_q, copies_q} <= '0;
        end else if (ends) begin
            if (rows) {high_q[src], low_q[src]} <= now;
            for (int unsigned i = 0; i < Cfg.CopyPkts; i++)
            if (cnt_i.kind) copies_q[i][src] <= now_parts[i];
        end
    end

    // ---- lists of sources ----
    if (Cfg.SourceLists) begin : gen_lists
        logic [2**Cfg.LocalW-1:0] lists_q;
        logic [Cfg.LocalW-1:0] list;
        logic [11:0] counted_q, counted;  // how many of them; all

        assign list = cnt_i.idx[Cfg.LocalW-1:0];
        assign listed = lists_q[list];
        assign counted = 12'(cfg_i.local_experts) * 12'(Cfg.N);
        assign counted_o.lists = lists_q;

        assign counted_o.all = cfg_i.source_lists ? counted_q == counted : all_rows;

        always_ff @(posedge clk_i) begin
            if (!rst_ni || anew) begin
                lists_q <= '0;
                counted_q <= '0;
            end else if (ends && cnt_list_i) begin
                lists_q[list] <= 1'b1;
                counted_q <= counted_q + 12'd1;
            end
        end
    end else begin : gen_no_lists
        assign {listed, counted_o.lists} = '0;
        assign counted_o.all = all_rows;
    end

    assign copies_here_o = copies_q == '1;
    assign err_o.valid = cnt_i.valid && cnt_i.last && twice;
    assign err_o.code = error_pkg::ERR_COUNT;

endmodule

`default_nettype wire
