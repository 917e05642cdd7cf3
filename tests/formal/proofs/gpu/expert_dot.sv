// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Rows have any length. Steps and results may wait at any time. Any elements of a row are marked,
// and the model of the adder shows which elements are in a sum. With Values the proof checks the
// results, otherwise the time of each result.
`default_nettype none

module prove_expert_dot #(
    parameter int unsigned FlitBytes = 8,
    parameter bit Values = 1'b0
) (
    input wire logic       clk_i, start_i, valid_i, last_i, ready_i,
    input wire logic [1:0] keep_i,
    input wire logic [1:0] mark_i  // of the step's flits
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.FlitBytes = FlitBytes;
        c.GateGradients = 1'b1;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();
    localparam int unsigned Latency = 44;

    logic                 rst_n, place, dot_valid, idle;
    logic [31:0]          dot;
    logic [Cfg.FlitW-1:0] a[2], b[2];

    // A marked element is NaN, whose lowest bit is set. All others are 0.
    always_comb begin
        for (int unsigned f = 0; f < 2; f++) begin
            a[f] = '0;
            a[f][14:0] = {15{mark_i[f]}};
            b[f] = '0;
        end
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    expert_dot #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .start_i, .ready_o(place), .valid_i, .last_i, .keep_i,
        .a_i(a), .b_i(b), .dot_valid_o(dot_valid), .dot_ready_i(ready_i), .dot_o(dot),
        .idle_o(idle)
    );

    // ---- steps as the ports allow: a second one at once, then two free cycles ----
    logic       now_q, wait_q, odd_q;  // second flit of a step; a step waits; odd step of a group
    logic [1:0] rows_q, ended_q;       // rows started and not taken; rows of these that have ended
    logic       taken, begins;

    assign taken  = dot_valid && ready_i;
    assign begins = wait_q || (valid_i && !now_q);
    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            {now_q, wait_q, odd_q} <= '0;
            {rows_q, ended_q} <= '0;
        end else begin
            wait_q  <= valid_i && now_q;
            now_q   <= begins;
            if (valid_i) odd_q <= !last_i && !odd_q;
            rows_q  <= rows_q + 2'(start_i) - 2'(taken);
            ended_q <= ended_q + 2'(valid_i && last_i) - 2'(taken);
        end
    end
    always_comb begin
        if (!rst_n) assume (!start_i && !valid_i);
        if (!place) assume (!start_i);
        if (rows_q + 2'(start_i) == ended_q) assume (!valid_i);
        if (wait_q || (now_q && !odd_q)) assume (!valid_i);
        if (!odd_q) assume (!last_i);
    end

    // ---- what is in the results ----
    logic       mark_q, mark;     // of the row that has not ended
    logic       front_q, back_q;  // of the rows that have ended
    logic [6:0] late_q;           // cycles in which a row has ended and no result is shown

    assign mark = mark_q || (valid_i && (mark_i & keep_i) != '0);
    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            mark_q <= 1'b0;
            late_q <= '0;
        end else begin
            mark_q <= (valid_i && last_i) ? 1'b0 : mark;
            if (taken) front_q <= back_q;
            if (valid_i && last_i) begin
                if (ended_q - 2'(taken) == '0) front_q <= mark;
                else back_q <= mark;
            end
            late_q <= (dot_valid || ended_q == '0) ? '0 : late_q + 1'b1;
        end
        if (rst_n && !Values) begin
            a_once:   assert (!dot_valid || ended_q != '0);
            a_place:  assert (place == !rows_q[1] && idle == (rows_q == '0));
            a_rows:   assert (rows_q <= 2'd2 && ended_q <= rows_q);
            a_soon:   assert (late_q <= 7'(Latency));
            c_behind: cover (taken && ended_q == 2'd2);
        end
        if (rst_n && Values) begin
            a_value:  assert (!dot_valid || dot[0] == front_q);
            c_start:  cover (start_i);
            c_row:    cover (taken && front_q);
        end
    end
endmodule

`default_nettype wire
