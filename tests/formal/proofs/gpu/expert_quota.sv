// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// expert.rows takes up rows at any time. The row tracker may report any counts of any expert.
`default_nettype none

module prove_expert_quota #(
    localparam int unsigned TokensLog2 = 2
) (
    input wire logic              clk_i, go_i, take_i, loads_i, le_i,
    input wire logic [3:0]        rows_i,
    input wire bundle_pkg::stat_t stat_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = 2;
        c.TokensLog2 = TokensLog2;
        c.RowsLog2 = 3;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    node_pkg::node_cfg_t cfg;
    bundle_pkg::stat_t   stat;
    logic                rst_n, here_q, loads_q;
    logic [4:0]          taken_q; // rows taken up, at most 15

    always_comb begin
        cfg             = '0;
        cfg.merge_loads = loads_i;
        cfg.load_expert = 6'd1;
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    expert_quota #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i, .cfg_i(cfg), .take_i, .rows_i,
        .le_i(node_pkg::ExpertW'(le_i)), .stat_i, .stat_o(stat)
    );

    always_ff @(posedge clk_i) begin
        if (!rst_n || go_i) taken_q <= '0;
        else if (take_i) taken_q <= (6'(taken_q) + 6'(rows_i) > 6'd15) ? 5'd15
                                    : taken_q + 5'(rows_i);
        here_q <= loads_i && le_i;
        if (rst_n) begin
            // of the expert of loaded rows at most the rows taken up, of others all
            a_others:   assert (here_q || stat == stat_i);
            a_complete: assert (!here_q || stat.complete
                                == ((stat_i.complete < 22'(taken_q)) ? stat_i.complete
                                    : 22'(taken_q)));
            a_expected: assert (!here_q || stat.expected == 22'(taken_q));
            c_some:     cover (here_q && stat.complete != '0 && stat.complete < stat_i.complete);
        end
    end
endmodule

`default_nettype wire
