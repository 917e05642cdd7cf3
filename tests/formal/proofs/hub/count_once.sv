// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Three sources send packets of counts: rows (whole or in halves), copies and lists, any number of
// each in any order. The proof follows one source, one half of its rows, one part of its copies,
// and one list. Layers begin at any time between packets. With Cached some layers use the counts of
// the previous one.
`default_nettype none

module prove_count_once #(
    parameter bit Lists = 1'b0,        // of sources
    parameter int unsigned Parts = 1,  // of copies
    parameter bit Cached = 1'b0
) (
    input  wire logic               clk_i, go_i, cached_i, list_i,
    input  wire bundle_pkg::count_t cnt_i,
    input  wire logic [1:0]         one_i,
    input  wire logic               half_i,
    input  wire logic [1:0]         one_list_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = 3;
        c.MaxLocalExperts = 4;
        c.SourceLists = Lists;
        c.CachedHandle = Cached;
        c = cfg_pkg::derived(c);
        c.CopyPkts = Parts;
        return c;
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    logic                rst_n, rows_here, copies_here, rows, starts, between_q, one_half_q;
    logic [3:0]          lists;
    logic [1:0]          one_q, one_list_q;
    bundle_pkg::count_t  out, before_q;
    bundle_pkg::error_t  err;
    node_pkg::node_cfg_t cfg;

    always_comb begin
        cfg               = '0;
        cfg.source_lists  = Lists;
        cfg.local_experts = 7'd1;
        cfg.cached        = cached_i;
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    count_once #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i, .cfg_i(cfg),
        .cnt_i, .cnt_list_i(list_i), .cnt_o(out), .counted_o({rows_here, lists}),
        .copies_here_o(copies_here), .err_o(err)
    );

    // ---- input: the words of a packet follow each other without words of others ----
    assign rows   = cnt_i.valid && !cnt_i.kind && !list_i;
    assign starts = cnt_i.valid && between_q;

    always_comb begin
        assume (cnt_i.src < 5'd3 && one_i < 2'd3);
        if (cnt_i.valid) begin
            assume (!go_i);
            if (!cnt_i.kind) assume (list_i || cnt_i.halves != '0);
            // if there are lists, rows come only in lists
            assume (list_i ? Lists && !cnt_i.kind && cnt_i.last && cnt_i.idx < 6'd3 && between_q
                    : cnt_i.kind || !Lists);
            if (!between_q) assume ({cnt_i.kind, cnt_i.halves, cnt_i.part, cnt_i.src}
                                    == {before_q.kind, before_q.halves, before_q.part,
                                        before_q.src});
        end
        if (!between_q) assume (!go_i);
        if (rst_n) assume (one_i == one_q && half_i == one_half_q && one_list_i == one_list_q);
    end

    // ---- what passes ----
    logic       passes, halves_end, rows_end, copies_end, one_rows_q,
                one_copies_q, one_list_said_q, pass_q, again_q;
    logic       half_now, half_before_q, part_now, part_before_q;
    logic [2:0] sources_q, copied_q; // number of sources (or lists) whose rows, and whose copies,
                                     // are complete

    assign passes     = out.valid;
    assign halves_end = cnt_i.valid && cnt_i.last && rows && cnt_i.src == 5'(one_i)
                        && cnt_i.halves[half_i];
    assign half_now   = passes && halves_end; // the followed half of the followed source passes
    // the followed part of copies, if copies have parts
    assign part_now   = cnt_i.valid && cnt_i.kind && cnt_i.src == 5'(one_i)
                        && (Parts == 1 || cnt_i.part == 2'(half_i));
    assign rows_end   = passes && out.last && !cnt_i.kind;
    assign copies_end = passes && out.last && cnt_i.kind;

    always_ff @(posedge clk_i) begin
        {one_q, one_half_q, one_list_q} <= {one_i, half_i, one_list_i};
        again_q <= rst_n && ((go_i && cached_i) || (again_q && !go_i));
        if (cnt_i.valid) before_q <= cnt_i;
        if (!rst_n) between_q <= 1'b1;
        else if (cnt_i.valid) between_q <= cnt_i.last;
        if (starts) pass_q <= passes;
        if (!rst_n || (go_i && !(Cached && cached_i))) begin
            {sources_q, copied_q} <= '0;
            {one_rows_q, one_copies_q, one_list_said_q, half_before_q, part_before_q} <= '0;
        end else begin
            sources_q <= sources_q + 3'(rows_end);
            copied_q  <= copied_q + 3'(copies_end);
            if (rows_end && !list_i && cnt_i.src == 5'(one_i)) one_rows_q <= 1'b1;
            if (copies_end && cnt_i.src == 5'(one_i)) one_copies_q <= 1'b1;
            if (rows_end && list_i && cnt_i.idx == 6'(one_list_i)) one_list_said_q <= 1'b1;
            if (half_now) half_before_q <= 1'b1;
            if (part_now && passes && cnt_i.last) part_before_q <= 1'b1;
        end
        if (rst_n) begin
            // the followed source and list pass once
            a_rows:   assert (!(rows_end && !list_i && cnt_i.src == 5'(one_i) && one_rows_q));
            a_half:   assert (!(half_now && half_before_q));
            a_copies: assert (!(copies_end && cnt_i.src == 5'(one_i) && one_copies_q));
            a_part:   assert (!(part_now && passes && part_before_q));
            a_none:   assert (!(passes && cnt_i.kind && Parts > 1 && 32'(cnt_i.part) >= Parts));
            a_list:   assert (!(rows_end && list_i && cnt_i.idx == 6'(one_list_i)
                                && one_list_said_q));
            // a packet passes whole or not at all; if not, its last word is an error
            a_whole:  assert (!cnt_i.valid || between_q || passes == pass_q);
            a_error:  assert (err.valid == (cnt_i.valid && cnt_i.last && !passes));
            a_code:   assert (!err.valid || err.code == error_pkg::ERR_COUNT);
            a_same:   assert (!passes || {out.kind, out.halves, out.src, out.idx, out.val}
                              == {cnt_i.kind, cnt_i.halves, cnt_i.src, cnt_i.idx, cnt_i.val});
            // what comes for the first time passes
            a_first:  assert (!(halves_end && !half_before_q && cnt_i.halves == 2'(1) << half_i)
                              || passes);
            a_copied: assert (!(part_now && !part_before_q) || passes);
            a_said:   assert (!(cnt_i.valid && list_i && cnt_i.idx == 6'(one_list_i)
                                && !one_list_said_q) || passes);
            // all are here when each source has counted
            a_here:   assert (rows_here == (sources_q == 3'd3)
                              && copies_here == (copied_q == 3'd3));
            a_lists:  assert (lists[one_list_i] == one_list_said_q);
            c_here:   cover (rows_here && copies_here);
            c_twice:  cover (err.valid && !between_q);
            c_parts:  cover (Parts == 1 || (copies_end && part_before_q));
            c_cached: cover (!Cached || (again_q && rows_here && err.valid));
            c_halves: cover (Lists || (half_now && cnt_i.halves == 2'b10 && one_rows_q == 1'b0
                                       && out.last));
        end
    end
endmodule

`default_nettype wire
