// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// loc_merge stores nothing: what leaves is the head of one stream in the same cycle. No packet is
// cut by another.
`default_nettype none
`include "bundles.svh"

module prove_merge #(
    localparam int unsigned Streams = 2
) (
    input  wire logic               clk_i,           ready_i,
    input  wire logic [Streams-1:0] valid_i, data_i, last_i,
    input  wire logic [Streams-1:0]                  one_i // the followed stream
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.FlitBytes = 1;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    logic               rst_n, out_open;
    `MW_STREAM(Cfg)     in [Streams], loc;
    logic [Streams-1:0] ready, took, one_q, open, from_q;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    loc_merge #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i(1'b0),
        .loc_i(in[0]), .loc_ready_o(ready[0]), .clo_i(in[1]), .clo_ready_o(ready[1]),
        .loc_o(loc), .loc_ready_i(ready_i)
    );

    for (genvar s = 0; s < Streams; s++) begin : gen_in
        assign in[s] = '{valid: valid_i[s], last: last_i[s], data: {7'd0, data_i[s]}};
        f_stream #(.Assume(1'b1)) i_in (
            .clk_i, .rst_ni(rst_n), .valid_i(valid_i[s]), .ready_i(ready[s]),
            .data_i(data_i[s]), .last_i(last_i[s]),
            .inside_o(open[s])
        );
    end
    f_stream i_out (
        .clk_i, .rst_ni(rst_n), .valid_i(loc.valid), .ready_i,
        .data_i(loc.data[0]), .last_i(loc.last),
        .inside_o(out_open)
    );

    assign took = valid_i & ready;
    always_comb begin
        assume (one_i != '0 && (one_i & (one_i - 1'b1)) == '0);
        if (rst_n) assume (one_i == one_q);
    end
    always_ff @(posedge clk_i) begin
        one_q <= one_i;
        if (took != '0) from_q <= took;
        if (rst_n) begin
            a_one:    assert ((took & (took - 1'b1)) == '0
                              && (took != '0) == (loc.valid && ready_i));
            a_flit:   assert (took == '0 || (loc.data[0] == ((took & data_i) != '0)
                                             && loc.last == ((took & last_i) != '0)));
            a_packet: assert (!out_open || took == '0 || took == from_q);   // a packet is not cut
        end
    end
    // A waiting packet lets at most one packet of the other stream pass, besides the current one.
    f_fair #(.Bound(Streams)) i_fair (
        .clk_i, .rst_ni(rst_n), .wait_i((valid_i & one_i) != '0 && (open & one_i) == '0),
        .served_i((took & one_i) != '0), .other_i(loc.valid && ready_i && loc.last)
    );

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_both: cover (valid_i == '1);
            c_cut:  cover (out_open && valid_i == '1 && !loc.last);
            c_turn: cover (took != '0 && loc.last && (valid_i & ~took) != '0);
        end
    end
endmodule

`default_nettype wire
