// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Unit combine of a GPU: requests the reduced rows of its tokens.
//
// Function: This file holds the command and its items (token or static row). Two items are named
// ahead of row_build, which makes the packets. entry_reader reads the routing entry of a token. A
// static row has none.
//
//   dymultimem.ld_reduce   per token: request with the remote targets to the switch, row of the own
//                          targets (+ R) to reduce_serve
//   multimem.ld_reduce     per row of up to row_bytes: request for the static group, own memory's
//                          row (+ R) (both with the type and operator of the instruction)
//   sum                    per token: R = slots of the remote GPUs p+1, p+2, .. modulo N, to
//                          the output row; or (flags.0) rows of the own experts and that row;
//                          of gathered tokens (flags.1) their dense rows
//   sum where rows return  per token, with flags.0 as they become ready: the slots of remote GPUs'
//                          rows, summed and rounded GPU by GPU, then their sums, then rows of the
//                          own experts and that
//
// In layers with switch-initiated reductions nothing is requested. Tokens come in the order of
// their GRANTs, only for sums of bf16, and there are no static rows. With tile reductions a token
// has no routing entry: it is its number that is an item.
// Order: Items as the command names them, or as their tokens become ready.
// Errors: An expert that is not mapped: no request, and the token's row is not written. The token
// counts as finished. No request at all: an instruction of another unit (INSTR), an unsupported
// type or operator (REDUCTION), a static group in layers with switch-initiated reductions (WINDOW),
// a group that cannot exist (UNMAPPED), tokens of 2^token_shift or more (BOUNDS), and a static
// range or result that is outside memory or not aligned to flits, or to the stride of rows that lie
// apart (BOUNDS).
`default_nettype none

module combine #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    // own token, or byte address
    localparam int unsigned ItemW = (Cfg.MemBytesLog2 > Cfg.TokensLog2) ? Cfg.MemBytesLog2
                                    : Cfg.TokensLog2
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire logic            cmd_valid_i,
    output logic                 cmd_ready_o,
    input  wire isa_pkg::instr_t cmd_i,
    output logic                 retire_o,

    input  wire logic                        rdy_valid_i,  // own tokens whose experts have finished
    output logic                             rdy_ready_o,
    input  wire logic [node_pkg::TokenW-1:0] rdy_token_i,  // index at home
    output logic                             tok_done_o,
    input  wire logic [node_pkg::RowW-1:0]   own_base_i,   // unicast: first row of the own copies

    output logic                 entry_valid_o,  // to entry_reader
    input  wire logic            entry_ready_i,
    output logic [Cfg.LineW-1:0] entry_token_o,
    output logic                 entry_slot_o,
    input  wire logic            entry_got_i,

    // the oldest item, and what the command says of all
    output logic                     item_valid_o,
    output logic                     item_slot_o,
    output logic [ItemW-1:0]         item_o,
    output logic                     item_last_o,
    output logic                     static_o,
    output logic                     sum_o,
    output logic                     own_o,           // rows of own experts, or of own memory,
                                                      // are among the terms
    output logic                     dense_o,         // sum: tokens are gathered ones, sums go
                                                      // to their dense rows
    output logic                     fill_o,          // and none of them counts as
                                                      // having own experts
    output logic                     every_o,         // sum: every own token has a place in
                                                      // copy_o, not those alone
    output logic [3:0]               group_o,
    output red_pkg::red_t            red_o,
    output logic [14-Cfg.FlitLog2:0] last_flits_o,    // of the last static row
    output logic [Cfg.AddrW-1:0]     static_delta_o,  // flits from a static row to where it goes
    output logic [Cfg.LineW-1:0]     copy_o,          // next row of the own copies
    input  wire logic                copy_next_i,
    input  wire logic                item_done_i,
    input  wire logic                unmapped_i,      // an item has an expert that is not there
    input  wire logic                quiet_i,         // no own row is outstanding
    input  wire logic                row_done_i,
    input  wire logic                row_more_i,      // of its token another row follows

    output bundle_pkg::error_t err_o,
    output logic               idle_o
);
    import packet_pkg::*;
    import isa_pkg::*;
    import error_pkg::*;

    if (Cfg.TokensLog2 > 15) begin : gen_check
        $error("combine: TokensLog2 must be at most 15");
    end

    // of a token: with gathered ones, of any GPU
    localparam int unsigned TokensW = Cfg.Gathered ? Cfg.TokW : Cfg.TokensLog2;

    typedef enum logic [1:0] {
        Dynamic,
        Static,
        Sum
    } mode_e;

    // ---- command ------------------------------------------------------------------
    logic returns;
    logic tiles;  // no item has a routing entry
    logic offered;  // by the hubs and the switch
    logic by_switch, busy_q, take, known, outside, strange, closed, lost, refused, finish;
    logic no_tokens, no_from, no_to;
    red_pkg::red_t red_in;
    mode_e mode_q, mode_in;
    logic option_q;  // flags.0 of the command: tokens as they get ready; sum: the own rows
    logic copies_q;  // copy_o counts
    logic apart_in, apart_q, uneven;  // static rows lie 2^row_shift apart; but end between two
    logic dense_in, every_in, every_off;  // see dense_o, every_o; tokens from c on are not there

    logic [4:0] all_shift;  // log2 of the tokens of all GPUs
    assign all_shift = Cfg.Gathered ? 5'(cfg_i.token_shift) + 5'(cfg_i.n_shift) : '0;
    assign cmd_ready_o = !busy_q;
    assign take = cmd_valid_i && cmd_ready_o;
    assign outside = (mode_in == Static)
                     ? no_from || no_to || uneven
                         || Cfg.FlitLog2'(cmd_i.a | cmd_i.b | cmd_i.c) != '0
                     : no_tokens || (every_in && every_off);
    assign lost = mode_in == Static && cmd_i.imm[7:0] >= 8'(StaticGroups);
    assign by_switch = Cfg.SwitchReductions && cfg_i.switch_reductions;
    assign tiles = Cfg.TileReductions && cfg_i.tile_reductions && mode_q == Dynamic;
    assign returns = Cfg.RowSparse && cfg_i.row_returns;
    assign closed = by_switch && known && mode_in == Static;
    assign refused = !known || strange || closed || lost || outside;

    node_pkg::byte_t to;  // of a static range, where its result goes
    based_address #(
        .Cfg(Cfg)
    ) i_result (
        .base_i(apart_in ? cfg_i.out_base : '0),
        .address_i({cmd_i.c_high, cmd_i.c}),
        .address_o(to)
    );
    cmd_range #(
        .Cfg(Cfg),
        .TokensW(TokensW)
    ) i_from (
        .first_i({cmd_i.a_high, cmd_i.a}),
        .count_i(cmd_i.b),
        .shift_i(dense_in ? all_shift : {1'b0, cfg_i.token_shift}),
        .end_o(),
        .no_tokens_o(no_tokens),
        .no_bytes_o(no_from)
    );
    cmd_range #(
        .Cfg(Cfg),
        .TokensW(TokensW)
    ) i_to (
        .first_i(to),
        .count_i(cmd_i.b),
        .shift_i(all_shift),
        .end_o(),
        .no_tokens_o(every_off),
        .no_bytes_o(no_to)
    );

    always_comb begin
        known = 1'b1;
        mode_in = Static;
        unique case (cmd_i.op)
            I_DYMULTIMEM_LD_REDUCE: mode_in = Dynamic;
            I_MULTIMEM_LD_REDUCE:   ;
            I_SUM:                  mode_in = Sum;
            default:                known   = 1'b0;
        endcase
    end

    // Of rows that lie apart a whole number, 2^row_shift bytes for each.
    assign apart_in = Cfg.Gathered && mode_in == Static && cmd_i.flags[0];
    assign dense_in = Cfg.Gathered && mode_in == Sum && cmd_i.flags[1];
    assign every_in = Cfg.Gathered && mode_in == Sum && cmd_i.flags[2:1] == 2'b10;
    assign uneven = apart_in && (cmd_i.b[14:0] & ~(15'h7fff << cfg_i.row_shift)) != '0;

    // sum is of bf16; the others say it in imm.
    assign red_in = (mode_in == Sum) ? '0 : '{
            dtype: dtype_e'(cmd_i.imm[10:8]),
            redop: redop_e'(cmd_i.imm[14:12])
        };
    assign offered = red_pkg::has(Cfg.RedTypes, Cfg.RedOps, red_in);
    assign strange = (mode_in != Sum && (cmd_i.imm[11] || cmd_i.imm[15])) || !offered
                     || (by_switch && mode_in == Dynamic && red_in != '0);

    if (red_pkg::plain(Cfg.RedTypes, Cfg.RedOps)) begin : gen_plain
        assign red_o = '0;
    end else begin : gen_red
        red_pkg::red_t red_q;
        always_ff @(posedge clk_i) if (take) red_q <= red_in;
        assign red_o = red_q;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            busy_q <= 1'b0;
            copies_q <= 1'b0;
        end else begin
            if (take) busy_q <= 1'b1;
            else if (finish) busy_q <= 1'b0;
            if (go_i) copies_q <= 1'b0;
            else if (take && mode_in == Sum && !dense_in && !every_in) copies_q <= 1'b1;
        end
        if (take) begin
            mode_q <= mode_in;
            option_q <= cmd_i.flags[0];
            group_o <= cmd_i.imm[3:0];
            static_delta_o <= Cfg.AddrW'(to >> Cfg.FlitLog2)
                              - Cfg.AddrW'({cmd_i.a_high, cmd_i.a} >> Cfg.FlitLog2);
        end
        if (take && every_in) copy_o <= Cfg.LineW'(cmd_i.c);
        else if (take && !copies_q) copy_o <= Cfg.LineW'(own_base_i);
        else if (copy_next_i) copy_o <= copy_o + 1'b1;
    end

    if (Cfg.Gathered) begin : gen_gathered
        logic dense_q, fill_q, every_q;
        always_ff @(posedge clk_i)
            if (take)
                {apart_q, dense_q, fill_q, every_q} <= {
                    apart_in, dense_in, cmd_i.flags[2], every_in
                };
        assign {dense_o, fill_o, every_o} = {dense_q, fill_q, every_q};
    end else begin : gen_own
        assign {apart_q, dense_o, fill_o, every_o} = '0;
    end

    assign static_o = mode_q == Static;
    assign sum_o = mode_q == Sum;
    assign own_o = mode_q != Sum || option_q || returns;
    assign tok_done_o = row_done_i && !row_more_i && mode_q != Static;

    // ---- items --------------------------------------------------------------------
    // cur_q: token, or byte address of a static row; left_q: as many still to be named, or bytes.
    logic [ItemW-1:0] cur_q, item_in;
    logic [ItemW:0] left_q, step;
    logic [ItemW+1:0] rest;
    logic last_in, reading_q, room, from_ready, start, got;
    logic [1:0] full_q;
    logic wpar_q, rpar_q;

    assign step = apart_q ? (ItemW+1)'(1) << cfg_i.row_shift
                  : static_o ? (ItemW+1)'(cfg_i.row_bytes) : (ItemW+1)'(1);
    assign rest = {1'b0, left_q} - {1'b0, step};
    assign last_in = rest[ItemW+1] || rest[ItemW:0] == '0;
    assign from_ready = (option_q || by_switch) && (mode_q == Dynamic
                                                    || (mode_q == Sum && returns));
    assign room = !reading_q && left_q != '0 && !full_q[wpar_q];
    assign item_in = from_ready ? ItemW'(rdy_token_i) : cur_q;

    assign entry_valid_o = room && !static_o && !tiles && (!from_ready || rdy_valid_i);
    assign entry_token_o = Cfg.LineW'(item_in);
    assign entry_slot_o = wpar_q;
    assign rdy_ready_o = room && from_ready && (tiles || entry_ready_i);
    assign start = static_o ? room : tiles ? room && rdy_valid_i : entry_valid_o && entry_ready_i;
    assign got = (static_o || tiles) ? start : entry_got_i;

    lutram #(
        .Width(ItemW + 1),
        .Depth(2)
    ) i_item (
        .clk_i,
        .we_i(start),
        .waddr_i(wpar_q),
        .wdata_i({last_in, item_in}),
        .raddr_i(rpar_q),
        .rdata_o({item_last_o, item_o})
    );

    assign item_valid_o = full_q[rpar_q];
    assign item_slot_o = rpar_q;
    assign finish = busy_q && left_q == '0 && !reading_q && full_q == '0 && quiet_i;
    assign retire_o = finish;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            reading_q <= 1'b0;
            full_q <= '0;
            wpar_q <= 1'b0;
            rpar_q <= 1'b0;
            left_q <= '0;
        end else begin
            if (got) reading_q <= 1'b0;
            else if (start) reading_q <= 1'b1;
            if (got) begin
                full_q[wpar_q] <= 1'b1;
                wpar_q <= !wpar_q;
            end
            if (item_done_i) begin
                full_q[rpar_q] <= 1'b0;
                rpar_q <= !rpar_q;
            end
            if (take) left_q <= refused ? '0 : (ItemW + 1)'(cmd_i.b);
            else if (start) left_q <= last_in ? '0 : rest[ItemW:0];
        end
        if (take) begin
            cur_q <= ItemW'({cmd_i.a_high, cmd_i.a});
        end else if (start) begin
            cur_q <= cur_q + ItemW'(step);
            last_flits_o <= (15-Cfg.FlitLog2)'((apart_q ? (ItemW+1)'(cfg_i.row_bytes) : left_q)
                                               >> Cfg.FlitLog2);
        end
    end

    // ---- errors -------------------------------------------------------------------
    always_ff @(posedge clk_i) begin
        err_o.valid <= rst_ni && (unmapped_i || (take && refused));
        err_o.code <= busy_q ? ERR_UNMAPPED : !known ? ERR_INSTR : strange ? ERR_REDUCTION
                      : closed ? ERR_WINDOW : lost ? ERR_UNMAPPED
                      : ERR_BOUNDS;
    end

    assign idle_o = !busy_q;

endmodule

`default_nettype wire
