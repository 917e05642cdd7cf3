// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The hub and kept answers share the STORE credits of an input. The hub sends whenever it has a
// credit, and kept answers whenever they may. Packets leave in any order.
`default_nettype none

module prove_kept_credits #(
    localparam int unsigned Pkts = 3,
    localparam int unsigned Share = 1
) (
    input wire logic clk_i, begins_i, wants_i, crd_i, keeps_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.StorePkts = Pkts;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    logic       rst_n, left, may, use_kept, to_hub, idle;
    logic [1:0] used;                     // credits, as the gate of the input counts them
    logic [2:0] inside_q;                 // packets
    logic [2:0] hub_q, kept_q;            // credits of each, used and not returned
    logic       keeps_q;                  // the hub leaves Share credits to kept answers

    assign use_kept = wants_i && may;
    f_reset i_reset (.clk_i, .rst_no(rst_n));
    credit_use #(.Max(Pkts)) i_use (
        .clk_i, .rst_ni(rst_n), .clear_i(1'b0), .limit_i(2'(Pkts)),
        .take_i(begins_i || use_kept), .back_i(crd_i), .ready_o(left), .used_o(used)
    );
    kept_credits #(.Cfg(Cfg), .Share(Share)) i_dut (
        .clk_i, .rst_ni(rst_n), .left_i(left), .begins_i, .may_o(may), .use_i(use_kept),
        .crd_i, .crd_o(to_hub), .idle_o(idle)
    );

    always_comb begin
        if (!rst_n) assume (!begins_i && !wants_i && !crd_i);
        // The gate admits no packet without a credit. While the hub leaves Share credits, it sends
        // whenever it has one of the others.
        if (!left && !keeps_q) assume (!begins_i);
        if (keeps_q && 32'(hub_q) == Pkts - Share) assume (!begins_i);
        if (inside_q == '0) assume (!crd_i);   // a place becomes free
    end

    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            inside_q <= '0;
            hub_q <= '0;
            kept_q <= '0;
            keeps_q <= keeps_i;
        end else begin
            keeps_q <= keeps_q;
            inside_q <= inside_q + 3'(begins_i) + 3'(use_kept) - 3'(crd_i);
            hub_q <= hub_q + 3'(begins_i) - 3'(to_hub);
            kept_q <= kept_q + 3'(use_kept) - 3'(crd_i && !to_hub);
            a_place: assert (32'(inside_q) <= Pkts);
            a_hub:   assert (!begins_i || left);
            a_kept:  assert (!use_kept || left);
            a_back:  assert (!to_hub || (crd_i && hub_q != '0));
            a_all:   assert (inside_q == hub_q + kept_q && 3'(used) == inside_q);
            a_idle:  assert (idle == (kept_q == '0));
            c_both:  cover (hub_q == 3'd2 && kept_q == 3'd1);
            c_back:  cover (crd_i && !to_hub);
        end
    end
endmodule

`default_nettype wire
