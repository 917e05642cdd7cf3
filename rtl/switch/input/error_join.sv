// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Merges the errors of one input of the switch: those of the parser and those of the link.
//
// Order: An error of the parser is reported one cycle later. An error of the link (a packet without
// credit, a partial) waits until no error of the parser is in its way. A second one then replaces
// it.
// Back-pressure: None.
`default_nettype none
`include "assert.svh"

module error_join (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic               reject_i,     // a packet is rejected, why is code_i
    input  wire error_pkg::err_e    code_i,
    input  wire logic               cut_i,        // a packet ends inside its header
    input  wire logic               end_i,        // a payload ends
    input  wire logic               wrong_i,      // with end_i: not as its header says
    input  wire error_pkg::err_e    link_code_i,  // ERR_NONE: nothing is wrong
    input  wire bundle_pkg::error_t row_err_i,    // of rows that the switch opens, see
                                                  // report_scoreboard

    output logic            waits_o,
    output logic            valid_o,
    output error_pkg::err_e code_o
);
    import error_pkg::*;

    err_e link_code_q;
    logic wrong, free;  // free: nothing of the parser's is in the way

    assign wrong = end_i && wrong_i;
    assign free = !reject_i && !cut_i && !wrong;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            waits_o <= 1'b0;
            valid_o <= 1'b0;
        end else begin
            if (link_code_i != ERR_NONE || row_err_i.valid) waits_o <= 1'b1;
            else if (free) waits_o <= 1'b0;
            valid_o <= reject_i || cut_i || wrong || waits_o;
        end
        if (reject_i) code_o <= code_i;
        else if (waits_o && free) code_o <= link_code_q;
        else code_o <= ERR_LENGTH;
        if (row_err_i.valid) link_code_q <= row_err_i.code;
        else if (link_code_i != ERR_NONE) link_code_q <= link_code_i;
    end

    `MW_CONTRACT(reject_i, code_i != ERR_NONE && !cut_i && !wrong,
                 "two errors of the parser at once, or one without a code")
    `MW_CONTRACT(valid_o, code_o != ERR_NONE, "an error without a code")
endmodule

`default_nettype wire
