// SPDX-License-Identifier: CERN-OHL-P-2.0
`default_nettype none
`include "bundles.svh"

module prove_link #(
    parameter int unsigned MaxLatency = 4,
    parameter bit Long = 1'b0,
    localparam cfg_pkg::cfg_t Cfg = sizes()
) (
    input wire logic                clk_i, watch_i, watch_crd_i,
    input wire logic [10:0]         latency_i,
    input wire `MW_LINK(Cfg)        tx_i,
    input wire bundle_pkg::credit_t crd_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.FlitBytes = 8;
        c.MaxLatency = MaxLatency;
        return cfg_pkg::derived(c);
    endfunction

    logic                rst_n, busy;
    logic [10:0]         latency_q;
    `MW_LINK(Cfg)        rx;
    bundle_pkg::credit_t crd;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    link #(.Cfg(Cfg), .NumPart(4), .Long(Long)) i_dut (
        .clk_i, .rst_ni(rst_n), .latency_i, .tx_i, .rx_o(rx), .crd_i, .crd_o(crd), .busy_o(busy)
    );

    always_ff @(posedge clk_i) latency_q <= latency_i;
    always_comb begin
        assume (latency_i != '0 && 32'(latency_i) <= MaxLatency && crd_i.part < 5'd4);
        if (rst_n) assume (latency_i == latency_q);
        else       assume (!tx_i.valid && crd_i.cls == '0);   // stable from a cycle before the
                                                              // first word enters
    end

    f_delay #(.Width(Cfg.FlitW + 4), .MaxLatency(MaxLatency)) i_flits (
        .clk_i, .rst_ni(rst_n), .latency_i, .watch_i,
        .valid_i(tx_i.valid), .data_i({tx_i.last, tx_i.err, tx_i.cls, tx_i.data}),
        .out_valid_i(rx.valid), .out_data_i({rx.last, rx.err, rx.cls, rx.data}), .busy_i(busy)
    );
    f_delay #(.Width($bits(crd_i)), .MaxLatency(MaxLatency)) i_credits (
        .clk_i, .rst_ni(rst_n), .latency_i, .watch_i(watch_crd_i),
        .valid_i(crd_i.cls != '0), .data_i(crd_i),
        .out_valid_i(crd.cls != '0), .out_data_i(crd), .busy_i(busy)
    );

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_far:    cover (busy && 32'(latency_i) == MaxLatency && rx.valid);
            c_near:   cover (rx.valid && latency_i == 11'd1);
            c_start:  cover (tx_i.valid);
            c_credit: cover (crd.cls == '1 && crd.part == 5'd3);
        end
    end
endmodule

`default_nettype wire
