// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The proof follows one flit, which the solver chooses (watch_i), through the flit queue of an
// input. The flit may be taken in the cycle in which it comes. Flits come whenever almost_full_o
// allows it. The proof of credit_gate shows that they come only then.
`default_nettype none

module prove_flit_queue (
    input wire logic clk_i, watch_i, valid_i, take_i, direct_i, data_i
);
    localparam int unsigned DW = 3;
    logic       rst_n, almost_full, went_q; // went_q: a flit has come since almost_full rose
    logic       valid, data, held_valid, held, load, load_data, empty, take, pass, mine;
    logic       loaded_q, load_q;
    logic [DW:0] count_q, ahead_q;
    logic [1:0] hidden_q;
    logic       in_q, value_q;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    flit_queue #(.Width(1), .DepthLog2(DW)) i_dut (
        .clk_i, .rst_ni(rst_n), .valid_i, .data_i, .direct_i, .valid_o(valid), .data_o(data),
        .held_valid_o(held_valid),
        .held_o(held), .load_o(load), .load_data_o(load_data), .take_i(take),
        .almost_full_o(almost_full),
        .empty_o(empty)
    );

    assign take = take_i && valid;
    assign mine = in_q && ahead_q == '0;
    // The followed flit comes and leaves in one cycle.
    assign pass = valid_i && watch_i && !in_q && take && count_q == '0;

    always_comb begin
        if (!rst_n) assume (!valid_i);
        if (almost_full && went_q) assume (!valid_i);
    end
    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            count_q  <= '0;
            hidden_q <= '0;
            load_q   <= 1'b0;
            in_q     <= 1'b0;
            went_q   <= 1'b0;
        end else begin
            count_q  <= count_q + (DW+1)'(valid_i) - (DW+1)'(take);
            went_q   <= almost_full && (went_q || valid_i);
            hidden_q <= (count_q == '0 || valid) ? '0 : hidden_q + 2'd1;
            if (valid_i && watch_i && !in_q && !pass) begin
                in_q    <= 1'b1;
                value_q <= data_i;
                ahead_q <= count_q - (DW+1)'(take);
            end else if (in_q && take) begin
                if (mine) in_q <= 1'b0;
                else ahead_q <= ahead_q - 1'b1;
            end

            // only a flit that has come is shown
            a_shown: assert (!valid || count_q != '0 || valid_i);
            a_soon:  assert (hidden_q < 2'd3 && (count_q != '0 || valid == (valid_i && direct_i)));
            a_order: assert (!(mine && take) || data == value_q);
            a_pass:  assert (!pass || data == data_i);
            load_q   <= load;
            loaded_q <= load_data;
            a_load:  assert (!load_q || (held_valid && held == loaded_q));
            a_held:  assert (held_valid == (valid && count_q != '0)
                             && (!held_valid || held == data));
            a_empty: assert (empty == (count_q == '0));
            a_room:  assert (count_q <= (DW+1)'(2 ** DW));
            // packets within credits do not raise it
            a_almost_full: assert (!almost_full || count_q >= (DW+1)'(2 ** DW - 5));
        end
    end

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_full:   cover (almost_full);
            c_direct: cover (pass);
            c_third:  cover (hidden_q != '0);
            c_mine:   cover (mine && take);
        end
    end
endmodule

`default_nettype wire
