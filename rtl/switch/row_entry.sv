// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// What the packets of an input say of rows whose reduction the switch is to open: the last one of a row, with stage
// GATE and `reduce`, makes an entry of port's table (want_table) when it is accepted.
//
// Of a packet without targets members and number of targets are those of the open row (row_outputs), which the list
// that opened it left here. Order: that of the packets; an entry is there in the cycle behind its packet's acceptance.
// Back-pressure: none; entries are two cycles apart, as a packet with one has a payload.
// Errors: a list for the token of the row that is open already (TARGETS); `reduce` without gate weights (LENGTH): such
// a packet is to be rejected. An entry of a token of another GPU, or that no table has a place for, goes out without
// entry_o.mine.
`default_nettype none
`include "bundles.svh"

module row_entry #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic           clk_i,
    input  wire logic           rst_ni,
    input  wire logic [4:0]     port_i,   // constant: the number of this port
    input  wire `MW_COMMON(Cfg) common_i,

    // of the parser, see row_outputs
    input  wire logic                head_i,
    input  wire packet_pkg::header_t header_i,
    input  wire logic                follow_i,
    input  wire logic                open_i,   // a row is open
    input  wire logic                accept_i,
    input  wire logic [Cfg.N-1:0]    mask_i,

    output error_pkg::err_e code_o, // with head_i: what is wrong with it; ERR_NONE: nothing
    output `MW_ENTRY(Cfg)   entry_o
);
    import packet_pkg::*;
    import error_pkg::*;

    typedef struct packed {
        logic        row;    // of a row, with its targets
        logic        reduce;
        logic        own;
        logic [4:0]  cnt;    // its own targets
        logic [47:0] token;  // of all GPUs
    } said_t;

    said_t       said, said_q;
    logic [4:0]  cnt_q;        // targets of the open row
    logic [47:0] token_q;      // and its token
    logic [47:0] index, above;
    logic        gate;

    assign gate        = header_i.opcode == OP_DYMULTIMEM_ST && header_i.stage == STAGE_GATE;
    assign said.row    = cfg_pkg::stores_row(Cfg.RowSparse, header_i.opcode) && header_i.stage != STAGE_FLAT
                         && header_i.cnt != '0;
    assign said.reduce = common_i.asks && gate && header_i.reduce;
    assign said.own    = header_i.own;
    assign said.cnt    = (head_i && follow_i) ? cnt_q : header_i.cnt;
    assign said.token  = header_i.addr >> common_i.row_shift;

    always_comb begin
        code_o = ERR_NONE;
        if (common_i.asks && said.row && open_i && said.token == token_q) code_o = ERR_TARGETS;
        else if (said.reduce && header_i.len == '0)                       code_o = ERR_LENGTH;
    end

    always_ff @(posedge clk_i) if (head_i) said_q <= said;

    // ---- with its last target the packet is accepted ----
    said_t of;
    assign of   = head_i ? said : said_q;
    // of an own token its index is left, bits above are the home's
    assign index = of.token ^ (48'(port_i) << common_i.token_shift);
    assign above = ~48'd0 << common_i.token_shift | ~48'd0 << Cfg.TokensLog2;

    always_ff @(posedge clk_i) begin
        entry_o.valid <= rst_ni && accept_i && of.reduce;
        entry_o.mine  <= (index & above) == '0;
        entry_o.own   <= of.own;
        entry_o.cnt   <= of.cnt;
        entry_o.mask  <= mask_i;
        entry_o.index <= Cfg.TokensLog2'(index);
        if (accept_i && of.row) {cnt_q, token_q} <= {of.cnt, of.token};
    end

    wire unused = &{1'b0, header_i, common_i};
endmodule

`default_nettype wire
