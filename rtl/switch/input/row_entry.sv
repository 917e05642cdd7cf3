// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Creates the entries of rows whose reduction the switch will open.
//
// Function: The last packet of a row (stage GATE, `reduce` set) makes an entry in the port's table
// (report_scoreboard) when it is accepted. If it has no targets, members and number of targets are
// those of the open row (row_outputs). The list that opened the row stored them here.
// Order: The order of the packets. An entry follows the acceptance of its packet by one cycle.
// Back-pressure: None. Entries are two cycles apart, as a packet with an entry has a payload.
// Errors: A packet with `reduce` and without gate weights must be rejected (LENGTH). An entry for a
// token of another GPU, or beyond the table, leaves without entry_o.mine.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module row_entry #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type common_t = `MW_COMMON(Cfg),
    parameter type entry_t = `MW_ENTRY(Cfg)
) (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    input  wire logic [Cfg.PortW-1:0] port_i,  // constant: the number of this port
    input  wire common_t    common_i,

    // of the parser, see row_outputs
    input  wire logic                head_i,
    input  wire packet_pkg::header_t header_i,
    input  wire logic                follow_i,
    input  wire logic                accept_i,
    input  wire logic [Cfg.N-1:0]    mask_i,

    output error_pkg::err_e code_o,  // with head_i: what is wrong with it; ERR_NONE: nothing
    output entry_t          entry_o
);
    import packet_pkg::*;
    import error_pkg::*;

    typedef struct packed {
        logic        row;     // of a row, with its targets
        logic        reduce;
        logic        own;
        logic [4:0]  cnt;     // its own targets
        logic [47:0] token;   // of all GPUs
    } said_t;

    said_t said, said_q;
    logic [4:0] cnt_q;  // targets of the open row
    logic [47:0] index, above;
    logic gate, stores;

    assign gate = header_i.opcode == OP_DYMULTIMEM_ST && header_i.stage == STAGE_GATE;
    assign stores = cfg_pkg::stores_row(Cfg.RowSparse, header_i.opcode);
    assign said.row = stores && header_i.stage != STAGE_FLAT && header_i.cnt != '0;
    assign said.reduce = common_i.switch_reductions && gate && header_i.reduce;
    assign said.own = header_i.own;
    assign said.cnt = (head_i && follow_i) ? cnt_q : header_i.cnt;
    assign said.token = header_i.addr >> common_i.row_shift;

    assign code_o = (said.reduce && header_i.len == '0) ? ERR_LENGTH : ERR_NONE;

    always_ff @(posedge clk_i) if (head_i) said_q <= said;

    // ---- with its last target the packet is accepted ----
    said_t of;
    assign of = head_i ? said : said_q;
    // of an own token its index is left, bits above are the home's
    assign index = of.token ^ (48'(port_i) << common_i.token_shift);
    assign above = ~48'd0 << common_i.token_shift | ~48'd0 << Cfg.TokensLog2;

    always_ff @(posedge clk_i) begin
        entry_o.valid <= rst_ni && accept_i && of.reduce;
        entry_o.mine <= (index & above) == '0;
        entry_o.own <= of.own;
        entry_o.cnt <= of.cnt;
        entry_o.mask <= mask_i;
        entry_o.index <= Cfg.TokensLog2'(index);
        if (accept_i && of.row) cnt_q <= of.cnt;
    end

    `MW_NEXT(entry_o.valid, !entry_o.valid, "two entries in two cycles")
    `MW_CONTRACT(accept_i && head_i, code_o == ERR_NONE,
                 "a packet is accepted that must be rejected")
endmodule

`default_nettype wire
