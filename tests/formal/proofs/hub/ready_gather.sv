// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Lanes come from both sources. The uplink takes packets at any time. The proof follows one lane,
// which the solver chooses.
`default_nettype none

module prove_ready_gather (
    input wire logic clk_i, far_valid_i, far_home_i, far_index_i, own_valid_i,
    own_index_i, take_i, watch_i
);
    import packet_pkg::*;
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = 2;
        c.TokensLog2 = 1;
        c.SwitchReductions = 1'b1;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    logic        rst_n, far_ready, own_ready, valid, idle, take, far, own, in_q, seen_q;
    lane_t [2:0] lanes;
    lane_t       lane_q;
    logic [1:0]  cnt_q, at_q;
    logic [5:0]  age_q;      // of the first lane

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    ready_gather #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .port_i(1'b1),
        .far_valid_i, .far_ready_o(far_ready), .far_home_i, .far_index_i,
        .own_valid_i, .own_ready_o(own_ready), .own_index_i,
        .pkt_valid_o(valid), .pkt_take_i(take), .lanes_o(lanes),
        .idle_o(idle)
    );

    assign take = valid && take_i;
    assign far  = far_valid_i && far_ready;
    assign own  = own_valid_i && own_ready;

    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            cnt_q  <= '0;
            age_q  <= '0;
            in_q   <= 1'b0;
            seen_q <= 1'b0;
        end else begin
            cnt_q  <= (take ? '0 : cnt_q) + 2'(far || own);
            age_q  <= (take || cnt_q == '0) ? '0 : age_q + 6'(age_q != '1);
            seen_q <= valid && !take;
            if (take) in_q <= 1'b0;
            if ((far || own) && watch_i && (!in_q || take)) begin
                in_q   <= 1'b1;
                at_q   <= take ? '0 : cnt_q;
                lane_q <= own ? '{valid: 1'b1, home: 5'd1, index: 15'(own_index_i)}
                          : '{valid: 1'b1, home: 5'(far_home_i), index: 15'(far_index_i)};
            end
            a_one:   assert (!(far && own));
            a_lane:  assert (!in_q || lanes[at_q] == lane_q);
            a_count: assert ({lanes[2].valid, lanes[1].valid, lanes[0].valid}
                             == 3'((4'd1 << cnt_q) - 4'd1));
            a_some:  assert (!valid || cnt_q != '0);
            a_stays: assert (!seen_q || valid);
            a_soon:  assert (cnt_q == '0 || valid || age_q < 6'd31);
            a_full:  assert (cnt_q != 2'd3 || valid);
            a_room:  assert (own_ready == (cnt_q != 2'd3)
                             && (far_ready || own_valid_i || cnt_q == 2'd3));
            a_idle:  assert (idle == (cnt_q == '0));
            c_third: cover (in_q && at_q == 2'd2 && take);
            c_pause: cover (take && cnt_q == 2'd1);
        end
    end
endmodule

`default_nettype wire
