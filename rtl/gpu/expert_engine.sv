// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Unit "expert" of the emulated GPU: runs the experts on rows as the row tracker reports them, Y = (x * c) * w, a tile at a time.
//
// expert_scan chooses tiles, expert_fetch turns them into rows with addresses and factors, expert_path moves the data and keeps the
// time, and when a tile is done (time over, results taken by memory) one signal per row leaves here, in the order of the tile's rows.
// With flags.0 nothing is signalled. expert.rows: expert_rows fills the tracker's lists from the meta table meanwhile; nothing is signalled either.
//
// Ahead of the engine: at most two tiles that have not started, whose rows and data are fetched meanwhile. Up to 15 started tiles may
// wait for their signals, with at most TokenDepth rows; signals are the only back-pressure from outside besides memory.
// Throughput: two flits per cycle across rows of 12 flits or more and tiles, if memory does not stall; shorter rows take 6 cycles.
// Retires when every expected row has been started, is done and its signal was taken.
// Memory needs: region bases aligned to 128 bytes, a row stride of two flits or more. The memory answers 3 cycles after the grant.
`default_nettype none

module expert_engine #(
    parameter int unsigned FlitBytes       = 8,
    parameter int unsigned MemBytesLog2    = 14,
    parameter int unsigned RowsLog2        = 10,
    parameter int unsigned MaxExperts      = 64,
    parameter int unsigned MaxLocalExperts = 16,
    localparam int unsigned FW     = 8 * FlitBytes,
    localparam int unsigned AddrW  = MemBytesLog2 - $clog2(FlitBytes),
    localparam int unsigned RowW   = node_pkg::RowW,
    localparam int unsigned LeW    = node_pkg::ExpertW,
    localparam int unsigned TokenW = node_pkg::TokenW
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire logic                cmd_valid_i,
    output logic                     cmd_ready_o,
    /* verilator lint_off UNUSEDSIGNAL */  // the instructions have one operand, a flag
    input  wire isa_pkg::instr_t     cmd_i,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic                     retire_o,

    // row tracker
    output logic [LeW-1:0]           stat_le_o,
    input  wire logic [RowW-1:0]     stat_complete_i,   // next cycle
    input  wire logic [RowW-1:0]     stat_expected_i,
    input  wire logic                counts_all_i,
    output logic                     list_valid_o,
    output logic [LeW-1:0]           list_le_o,
    output logic [RowW-1:0]          list_idx_o,
    input  wire logic                list_rvalid_i,     // in order
    input  wire logic [RowW-1:0]     list_row_i,
    input  wire logic [TokenW-1:0]   list_token_i,
    input  wire logic [3:0]          list_pos_i,
    output logic                     push_valid_o,
    input  wire logic                push_ready_i,
    output logic [LeW-1:0]           push_le_o,
    output logic [RowW-1:0]          push_row_o,
    output logic                     push_last_o,       // level, without push_valid_o: all rows were pushed
    input  wire logic [15:0]         recv_rows_i,       // received rows of st, from control

    // memory: MISC client, EXP0 and EXP1; results are whole flits
    output logic                     rd_valid_o,
    input  wire logic                rd_ready_i,
    output logic [AddrW-1:0]         rd_addr_o,
    input  wire logic                rd_rvalid_i,
    input  wire logic [FW-1:0]       rd_rdata_i,
    output logic                     exp_rd_valid_o  [2],
    input  wire logic                exp_rd_ready_i  [2],
    output logic [AddrW-1:0]         exp_rd_addr_o   [2],
    input  wire logic                exp_rd_rvalid_i [2],
    input  wire logic [FW-1:0]       exp_rd_rdata_i  [2],
    output logic                     exp_wr_valid_o  [2],
    input  wire logic                exp_wr_ready_i  [2],
    output logic [AddrW-1:0]         exp_wr_addr_o   [2],
    output logic [FW-1:0]            exp_wr_data_o   [2],

    output logic                     sig_valid_o,
    input  wire logic                sig_ready_i,
    output logic [TokenW-1:0]        sig_token_o,

    input  wire logic                emap_we_i,
    input  wire logic [11:0]         emap_addr_i,
    input  wire node_pkg::emap_t     emap_data_i,

    output logic                     stat_idle_o,       // to be counted: running, but no tile in the engine
    output logic                     stat_wait_o,       // a tile is open, but no flits move
    output logic                     stat_tile_o        // a tile starts
);
    localparam int unsigned CntW       = (RowsLog2 < RowW) ? RowsLog2 + 1 : RowW;
    localparam bit          AllRows    = RowsLog2 <= 6;  // the tokens of all rows are kept, in LUT RAM; else a part of them, in a block RAM
    localparam int unsigned TokenDepth = AllRows ? 2**RowsLog2 : 512;
    localparam int unsigned TokenSlack = 32;  // list answers under way, and more
    localparam int unsigned PairW      = AddrW - 1;

    // ---- instruction ----------------------------------------------------------------
    logic run_q, unicast_q, silent_q, all_started, finished;
    assign cmd_ready_o = !run_q;
    assign retire_o    = run_q && finished;
    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            run_q <= 1'b0;
        end else if (!run_q) begin
            run_q     <= cmd_valid_i;
            unicast_q <= cmd_i.op == isa_pkg::I_EXPERT_ROWS;
            silent_q  <= cmd_i.op == isa_pkg::I_EXPERT_ROWS || cmd_i.flags[0];
        end else if (finished) begin
            run_q <= 1'b0;
        end
    end

    // ---- tiles --------------------------------------------------------------------------
    logic            tile_valid, tile_ready, tile_begin, tile_start, path_idle, path_empty;
    logic [LeW-1:0]  tile_le;
    logic [CntW-1:0] tile_first;
    logic [7:0]      tile_rows;
    logic [1:0]      ahead_q;  // tiles fetched that have not started

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) ahead_q <= '0;
        else if (tile_begin != tile_start) ahead_q <= ahead_q + (tile_start ? '1 : 2'd1);
    end

    expert_scan #(
        .RowsLog2(RowsLog2), .MaxLocalExperts(MaxLocalExperts)
    ) i_scan (
        .clk_i, .rst_ni, .go_i, .cfg_i,
        .run_i(run_q), .engine_idle_i(path_idle && ahead_q == '0 && !tile_valid),
        .stat_le_o, .stat_complete_i, .stat_expected_i, .counts_all_i,
        .tile_valid_o(tile_valid), .tile_ready_i(tile_ready), .tile_le_o(tile_le), .tile_first_o(tile_first), .tile_rows_o(tile_rows),
        .all_started_o(all_started)
    );

    // ---- rows of expert.rows ------------------------------------------------------------
    logic             mux_valid [2], mux_ready [2], mux_rvalid [2];
    logic [AddrW-1:0] mux_addr [2];
    logic [FW-1:0]    mux_rdata;

    expert_rows #(
        .FlitBytes(FlitBytes), .MemBytesLog2(MemBytesLog2), .MaxExperts(MaxExperts)
    ) i_rows (
        .clk_i, .rst_ni, .cfg_i, .run_i(run_q && unicast_q), .recv_rows_i,
        .rd_valid_o(mux_valid[1]), .rd_ready_i(mux_ready[1]), .rd_addr_o(mux_addr[1]), .rd_rvalid_i(mux_rvalid[1]), .rd_rdata_i(mux_rdata),
        .push_valid_o, .push_ready_i, .push_le_o, .push_row_o, .push_last_o,
        .emap_we_i, .emap_addr_i, .emap_data_i
    );

    mem_rd_mux #(
        .FlitBytes(FlitBytes), .AddrW(AddrW), .Clients(2)
    ) i_rd_mux (
        .clk_i, .rst_ni, .go_i,
        .cl_valid_i(mux_valid), .cl_ready_o(mux_ready), .cl_addr_i(mux_addr), .cl_rvalid_o(mux_rvalid), .cl_rdata_o(mux_rdata),
        .rd_valid_o, .rd_ready_i, .rd_addr_o, .rd_rvalid_i, .rd_rdata_i
    );

    // ---- rows -------------------------------------------------------------------------------
    logic             x_valid, x_ready, row_valid, row_pop, row_last, list_last, hold;
    logic [PairW-1:0] x_addr, row_y;
    logic [31:0]      row_w;
    logic [15:0]      row_c;

    expert_fetch #(
        .FlitBytes(FlitBytes), .MemBytesLog2(MemBytesLog2), .CntW(CntW)
    ) i_fetch (
        .clk_i, .rst_ni, .go_i, .cfg_i, .unicast_i(unicast_q),
        .tile_valid_i(tile_valid), .tile_ready_o(tile_ready), .tile_allow_i(!ahead_q[1]), .tile_begin_o(tile_begin),
        .tile_le_i(tile_le), .tile_first_i(tile_first), .tile_rows_i(tile_rows),
        .list_valid_o, .list_le_o, .list_idx_o, .list_rvalid_i, .list_row_i, .list_pos_i, .hold_i(hold),
        .rd_valid_o(mux_valid[0]), .rd_ready_i(mux_ready[0]), .rd_addr_o(mux_addr[0]), .rd_rvalid_i(mux_rvalid[0]), .rd_rdata_i(mux_rdata),
        .list_last_o(list_last),
        .x_valid_o(x_valid), .x_ready_i(x_ready), .x_addr_o(x_addr),
        .row_valid_o(row_valid), .row_pop_i(row_pop), .row_y_o(row_y), .row_last_o(row_last), .row_w_o(row_w), .row_c_o(row_c)
    );

    // ---- data and time --------------------------------------------------------------------------
    logic done_valid, done_ready;
    expert_path #(
        .FlitBytes(FlitBytes), .MemBytesLog2(MemBytesLog2)
    ) i_path (
        .clk_i, .rst_ni, .go_i, .cfg_i,
        .tile_valid_i(ahead_q != '0), .tile_start_o(tile_start),
        .x_valid_i(x_valid), .x_ready_o(x_ready), .x_addr_i(x_addr),
        .row_valid_i(row_valid), .row_pop_o(row_pop), .row_y_i(row_y), .row_last_i(row_last), .row_w_i(row_w), .row_c_i(row_c),
        .rd_valid_o(exp_rd_valid_o), .rd_ready_i(exp_rd_ready_i), .rd_addr_o(exp_rd_addr_o), .rd_rvalid_i(exp_rd_rvalid_i),
        .rd_rdata_i(exp_rd_rdata_i),
        .wr_valid_o(exp_wr_valid_o), .wr_ready_i(exp_wr_ready_i), .wr_addr_o(exp_wr_addr_o), .wr_data_o(exp_wr_data_o),
        .done_valid_o(done_valid), .done_ready_i(done_ready), .idle_o(path_idle), .empty_o(path_empty), .wait_o(stat_wait_o)
    );

    // ---- signals -----------------------------------------------------------------------------------
    // Tokens of all rows that were fetched and not signalled.
    logic token_valid, token_last, token_pop, unused_ready;
    logic [$clog2(TokenDepth+1)-1:0] token_level;

    if (AllRows) begin : gen_all
        fifo #(
            .Width(1 + TokenW), .Depth(TokenDepth)
        ) i_tokens (
            .clk_i, .rst_ni,
            .valid_i(list_rvalid_i && !silent_q), .ready_o(unused_ready), .data_i({list_last, list_token_i}),
            .valid_o(token_valid), .ready_i(token_pop), .data_o({token_last, sig_token_o}), .level_o(token_level)
        );
        logic unused_level;
        assign unused_level = ^token_level;
        assign hold = 1'b0;
    end else begin : gen_part
        fifo_ram #(
            .Width(1 + TokenW), .Depth(TokenDepth)
        ) i_tokens (
            .clk_i, .rst_ni,
            .valid_i(list_rvalid_i && !silent_q), .ready_o(unused_ready), .data_i({list_last, list_token_i}),
            .valid_o(token_valid), .ready_i(token_pop), .data_o({token_last, sig_token_o}), .level_o(token_level)
        );
        assign hold = token_level >= ($clog2(TokenDepth+1))'(TokenDepth - TokenSlack);
    end

    assign sig_valid_o = token_valid && done_valid;
    assign token_pop   = done_valid && sig_ready_i;
    assign done_ready  = silent_q || (token_valid && token_last && sig_ready_i);

    assign finished    = all_started && !tile_valid && ahead_q == '0 && path_empty;
    assign stat_idle_o = run_q && path_idle;
    assign stat_tile_o = tile_start;
endmodule

`default_nettype wire
