// SPDX-License-Identifier: CERN-OHL-P-2.0
`default_nettype none

module prove_credit_return #(
    parameter int unsigned N = 3
) (
    input  wire logic         clk_i,          drop_i,
    input  wire logic [N-1:0] room_i, free_i, done_i,
    input  wire logic [N-1:0]                 one_i // the requester that is followed
);
    localparam int unsigned CtrlPkts = 4;
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = N;
        c.CtrlPkts = CtrlPkts;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    logic         rst_n, idle;
    logic [N-1:0] hold, one_q, named;
    logic [3:0]   ctrl_q;               // events whose credit has not been returned
    logic         waits_q;              // a credit of the followed requester has not been returned
    bundle_pkg::credit_t crd;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    credit_return #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .room_i,
        .ctrl_free_i(free_i), .ctrl_drop_i(drop_i), .part_done_i(done_i),
        .part_hold_o(hold),
        .crd_o(crd), .idle_o(idle)
    );

    assign named = crd.cls[3] ? N'(1) << crd.part : '0;
    always_ff @(posedge clk_i) begin
        one_q   <= one_i;
        ctrl_q  <= rst_n ? ctrl_q + 4'($countones({drop_i, free_i})) - 4'(crd.cls[0]) : '0;
        waits_q <= rst_n && ((waits_q && (named & one_i) == '0) || (done_i & one_i) != '0);
    end
    always_comb begin
        assume (one_i != '0 && (one_i & (one_i - 1'b1)) == '0);
        if (rst_n) assume (one_i == one_q);
        else       assume (free_i == '0 && !drop_i && done_i == '0);
        // The sender has at most CtrlPkts packets inside.
        assume (32'(ctrl_q) + $countones({drop_i, free_i}) <= CtrlPkts);
        assume ((done_i & hold) == '0);
    end

    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            // every credit returns, and none too many
            a_ctrl:  assert (crd.cls[0] == (ctrl_q != '0));
            a_store: assert (crd.cls[1] == (room_i == '1) && !crd.cls[2]);
            a_part:  assert ((named & one_i) == '0 || waits_q);    // none too many, and none lost:
            a_kept:  assert (waits_q == ((hold & one_i) != '0));
            a_name:  assert (crd.cls[3] || crd.part == '0);
            // while a credit waits, one returns in each cycle
            a_some:  assert (!waits_q || crd.cls[3]);
            a_idle:  assert (idle == (crd.cls == '0));
        end
    end

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_most:   cover (32'(ctrl_q) == CtrlPkts);
            c_three:  cover (free_i == '1 && drop_i);
            c_behind: cover (waits_q && crd.cls[3] && (named & one_i) == '0);
            c_all:    cover (hold == '1);
            c_room:   cover (crd.cls == 4'b1011);
        end
    end
endmodule

`default_nettype wire
