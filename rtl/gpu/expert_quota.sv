// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// How many of the rows that this GPU has loaded the expert engine may start, in layers with
// merge_loads.
//
// Function: Each expert.rows with flags 3 takes up the next rows of the list of load_expert
// (take_i). Of that list the engine sees the complete rows that are taken up, and expects all of
// them. Rows that nothing has taken up do not start, whatever instruction runs. Other lists pass
// unchanged. More rows than the list may have are never complete.
// Latency: Combinational. stat_i belongs to the list that le_i named in the cycle before.
`default_nettype none

module expert_quota #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire logic              take_i,
    input  wire logic [Cfg.TokW:0] rows_i,

    input  wire logic [node_pkg::ExpertW-1:0] le_i,
    input  wire bundle_pkg::stat_t            stat_i,
    output bundle_pkg::stat_t                 stat_o
);
    import node_pkg::RowW;

    localparam int unsigned SumW = ((Cfg.CountW > Cfg.TokW + 1) ? Cfg.CountW : Cfg.TokW + 1) + 1;

    logic [Cfg.CountW-1:0] taken_q;  // rows taken up since go; all ones: more than there may be
    logic [SumW-1:0] sum;
    logic here_q;

    assign sum = SumW'(taken_q) + SumW'(rows_i);

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) taken_q <= '0;
        else if (take_i) taken_q <= ((sum >> Cfg.CountW) != '0) ? '1 : Cfg.CountW'(sum);
        here_q <= cfg_i.merge_loads && le_i == cfg_i.load_expert;
    end

    always_comb begin
        stat_o = stat_i;
        if (here_q) begin
            stat_o.expected = RowW'(taken_q);
            if (RowW'(taken_q) < stat_i.complete) stat_o.complete = RowW'(taken_q);
        end
    end

endmodule

`default_nettype wire
