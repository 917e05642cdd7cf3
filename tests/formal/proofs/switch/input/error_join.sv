// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// In each cycle there is at most one error of the parser, of any kind, and any of the link and of
// rows.
`default_nettype none

module prove_error_join (
    input wire logic clk_i, reject_i, cut_i, end_i, wrong_i, row_err_i,
    input wire logic [7:0] code_i, link_code_i, row_code_i
);
    import error_pkg::*;

    logic rst_n, waits, valid, found, leaves;
    logic found_q, waiting_q, left_q;          // parser's; link's: one waits, it left
    err_e code, found_code_q, waiting_code_q, left_code_q;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    error_join i_dut (
        .clk_i, .rst_ni(rst_n), .reject_i, .code_i(err_e'(code_i)), .cut_i, .end_i, .wrong_i,
        .link_code_i(err_e'(link_code_i)),
        .row_err_i('{valid: row_err_i, code: err_e'(row_code_i)}),
        .waits_o(waits), .valid_o(valid), .code_o(code)
    );

    assign found  = reject_i || cut_i || (end_i && wrong_i);
    assign leaves = waiting_q && !found;

    always_comb begin
        if (!rst_n)
            assume (!reject_i && !cut_i && !end_i && !row_err_i && link_code_i == 8'(ERR_NONE));
        assume (2'(reject_i) + 2'(cut_i) + 2'(end_i) < 2'd2);
    end
    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            found_q   <= 1'b0;
            waiting_q <= 1'b0;
            left_q    <= 1'b0;
        end else begin
            found_q      <= found;
            found_code_q <= reject_i ? err_e'(code_i) : ERR_LENGTH;
            left_q       <= leaves;
            left_code_q  <= waiting_code_q;
            if (link_code_i != 8'(ERR_NONE) || row_err_i) begin
                waiting_q      <= 1'b1;
                waiting_code_q <= err_e'(row_err_i ? row_code_i : link_code_i);
            end else if (leaves) begin
                waiting_q <= 1'b0;
            end

            a_once:   assert (valid == (found_q || left_q));
            a_parser: assert (!found_q || code == found_code_q);
            a_link:   assert (!left_q || code == left_code_q);
            a_waits:  assert (waits == waiting_q);
        end
    end

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_waits: cover (waiting_q && found);
            c_both:  cover (left_q && found);
            c_again: cover (left_q && link_code_i != 8'(ERR_NONE));
            c_row:   cover (row_err_i && link_code_i != 8'(ERR_NONE));
        end
    end
endmodule

`default_nettype wire
