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
// Errors: If an expert is not mapped, its token requests nothing, its row is not written, and it
// counts as finished. These instructions request nothing at all:
// - INSTR: one of another unit.
// - REDUCTION: an unsupported type or operator.
// - WINDOW: a static group in a layer with switch-initiated reductions.
// - UNMAPPED: a group that cannot exist.
// - BOUNDS: tokens of 2^token_shift or more; a static range or result that is outside memory, or
//   not aligned to flits, or to the stride of rows that lie apart.
`default_nettype none
`include "bundles.svh"

module combine #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type item_t = `MW_ITEM(Cfg),
    parameter type items_t = `MW_ITEMS(Cfg),
    parameter type route_entry_t = `MW_ROUTE_ENTRY(Cfg)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire logic            cmd_valid_i,
    output logic                 cmd_ready_o,
    input  wire isa_pkg::instr_t cmd_i,
    output logic                 retire_o,

    input  wire bundle_pkg::token_t          rdy_i,  // an own token whose experts have finished:
                                                     // index at home
    output logic                             rdy_ready_o,
    output logic                             tok_done_o,
    input  wire logic [node_pkg::RowW-1:0]   own_base_i,   // unicast: first row of the own copies

    output route_entry_t entry_o,  // to entry_reader
    input  wire logic    entry_ready_i,
    input  wire logic    entry_got_i,

    output item_t                         item_o,  // the oldest one
    output items_t                        items_o,
    input  wire bundle_pkg::built_t       built_i,
    input  wire bundle_pkg::summed_row_t  row_i,

    output bundle_pkg::error_t err_o
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
    logic copies_q;  // items_o.copy counts
    logic apart_in, apart_q, uneven;  // static rows lie 2^row_shift apart; but end between two
    logic
        dense_in,
        every_in,
        every_off;  // see items_o.dense, items_o.every; tokens from c on are not there

    logic [4:0] all_shift;  // log2 of the tokens of all GPUs
    assign all_shift = Cfg.Gathered ? 5'(cfg_i.token_shift) + 5'(cfg_i.n_shift) : '0;
    assign cmd_ready_o = !busy_q;
    assign take = cmd_valid_i && cmd_ready_o;
    assign outside = (mode_in == Static)
                     ? no_from || no_to || uneven
                         || Cfg.FlitLog2'(cmd_i.a | cmd_i.b | cmd_i.c) != '0
                     : no_tokens || (every_in && every_off);
    assign lost = mode_in == Static && cmd_i.imm[7:0] >= 8'(Cfg.Groups);
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
            dtype: dtype_e'(cmd_i.imm[11:8]),
            redop: redop_e'(cmd_i.imm[14:12])
        };
    assign offered = red_pkg::has(Cfg.RedTypes, Cfg.RedOps, red_in);
    assign strange = (mode_in != Sum && cmd_i.imm[15]) || !offered
                     || (by_switch && mode_in == Dynamic && red_in != '0);

    if (red_pkg::plain(Cfg.RedTypes, Cfg.RedOps)) begin : gen_plain
        assign items_o.red = '0;
    end else begin : gen_red
        red_pkg::red_t red_q;
        always_ff @(posedge clk_i) if (take) red_q <= red_pkg::kept(Cfg.RedTypes, red_in);
        assign items_o.red = red_q;
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
            items_o.group <= cmd_i.imm[Cfg.GroupW-1:0];
            items_o.delta <= Cfg.AddrW'(to >> Cfg.FlitLog2)
                              - Cfg.AddrW'({cmd_i.a_high, cmd_i.a} >> Cfg.FlitLog2);
        end
        if (take && every_in) items_o.copy <= Cfg.LineW'(cmd_i.c);
        else if (take && !copies_q) items_o.copy <= Cfg.LineW'(own_base_i);
        else if (built_i.copied) items_o.copy <= items_o.copy + 1'b1;
    end

    if (Cfg.Gathered) begin : gen_gathered
        logic dense_q, fill_q, every_q;
        always_ff @(posedge clk_i)
            if (take)
                {apart_q, dense_q, fill_q, every_q} <= {
                    apart_in, dense_in, cmd_i.flags[2], every_in
                };
        assign {items_o.dense, items_o.fill, items_o.every} = {dense_q, fill_q, every_q};
    end else begin : gen_own
        assign {apart_q, items_o.dense, items_o.fill, items_o.every} = '0;
    end

    assign items_o.is_static = mode_q == Static;
    assign items_o.sum = mode_q == Sum;
    assign items_o.own = mode_q != Sum || option_q || returns;
    assign tok_done_o = row_i.done && !row_i.more && mode_q != Static;

    // ---- items --------------------------------------------------------------------
    // cur_q: token, or byte address of a static row; left_q: as many still to be named, or bytes.
    logic [Cfg.ItemW-1:0] cur_q, item_in;
    logic [Cfg.ItemW:0] left_q, step;
    logic [Cfg.ItemW+1:0] rest;
    logic last_in, reading_q, room, from_ready, start, got;
    logic [1:0] full_q;
    logic wpar_q, rpar_q;

    assign step = apart_q ? (Cfg.ItemW+1)'(1) << cfg_i.row_shift
                  : items_o.is_static ? (Cfg.ItemW+1)'(cfg_i.row_bytes) : (Cfg.ItemW+1)'(1);
    assign rest = {1'b0, left_q} - {1'b0, step};
    assign last_in = rest[Cfg.ItemW+1] || rest[Cfg.ItemW:0] == '0;
    assign from_ready = (option_q || by_switch) && (mode_q == Dynamic
                                                    || (mode_q == Sum && returns));
    assign room = !reading_q && left_q != '0 && !full_q[wpar_q];
    assign item_in = from_ready ? Cfg.ItemW'(rdy_i.token) : cur_q;

    assign entry_o.valid = room && !items_o.is_static && !tiles && (!from_ready || rdy_i.valid);
    assign entry_o.gathered = items_o.dense;
    assign entry_o.slot = wpar_q;
    assign entry_o.token = Cfg.LineW'(item_in);
    assign rdy_ready_o = room && from_ready && (tiles || entry_ready_i);
    assign start = items_o.is_static ? room : tiles ? room && rdy_i.valid
                   : entry_o.valid && entry_ready_i;
    assign got = (items_o.is_static || tiles) ? start : entry_got_i;

    lutram #(
        .Width(Cfg.ItemW + 1),
        .Depth(2)
    ) i_item (
        .clk_i,
        .we_i(start),
        .waddr_i(wpar_q),
        .wdata_i({last_in, item_in}),
        .raddr_i(rpar_q),
        .rdata_o({item_o.last, item_o.x})
    );

    assign item_o.valid = full_q[rpar_q];
    assign item_o.slot = rpar_q;
    assign finish = busy_q && left_q == '0 && !reading_q && full_q == '0 && built_i.quiet;
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
            if (built_i.done) begin
                full_q[rpar_q] <= 1'b0;
                rpar_q <= !rpar_q;
            end
            if (take) left_q <= refused ? '0 : (Cfg.ItemW + 1)'(cmd_i.b);
            else if (start) left_q <= last_in ? '0 : rest[Cfg.ItemW:0];
        end
        if (take) begin
            cur_q <= Cfg.ItemW'({cmd_i.a_high, cmd_i.a});
        end else if (start) begin
            cur_q <= cur_q + Cfg.ItemW'(step);
            items_o.last_flits <= (15 - Cfg.FlitLog2)'(
                (apart_q ? (Cfg.ItemW+1)'(cfg_i.row_bytes) : left_q) >> Cfg.FlitLog2);
        end
    end

    // ---- errors -------------------------------------------------------------------
    always_ff @(posedge clk_i) begin
        err_o.valid <= rst_ni && (built_i.unmapped || (take && refused));
        err_o.code <= busy_q ? ERR_UNMAPPED : !known ? ERR_INSTR : strange ? ERR_REDUCTION
                      : closed ? ERR_WINDOW : lost ? ERR_UNMAPPED
                      : ERR_BOUNDS;
    end

endmodule

`default_nettype wire
