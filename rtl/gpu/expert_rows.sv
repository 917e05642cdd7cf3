// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Creates the work of expert.rows: scans the meta entries of received rows, and names every {row,
// list position} whose expert is on this GPU.
//
// Function: It reads only the flits that hold expert IDs, one flit ahead of the one in work.
// push_o.row = row << k_shift | position, push_o.le is the local expert. An ID that is not in the
// expert map, or lives on another GPU, is skipped, as the sender has checked the list. gt_base is a
// multiple of META_BYTES.
// - Range (with RowRanges, flags[0]): row_ranges names the rows of each source in turn, and reads
//   the flit with the token of each in advance. push_o.more marks its start.
// - Gathered tokens (with Gathered, flags[1]): rows are those of a range of tokens of all GPUs, and
//   entries those of the routing table, with IDs at their start.
// - Rows that are loaded (with MergeLoads, landed): none is named. The tracker lists them itself.
// - Rows of every home (with TileReductions, flags[2:1] both): those of a range of indices, of the
//   homes in turn. Each entry's row goes with its first flit.
// Order: Rows ascending, list positions ascending; of every home index by index. push_o.last rises
// after the last push was taken, and stays until the instruction ends.
// Latency: One ID per cycle. A row costs max(k, about 6 per flit) cycles, in a range some 14 more.
// Errors: BOUNDS, and no row: tokens of 2^token_shift or more, or gathered tokens beyond those of
// all GPUs.
`default_nettype none
`include "bundles.svh"

module expert_rows #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic go_i,
    /* verilator lint_off UNUSEDSIGNAL */  // a unit uses a part of the configuration
    input  wire node_pkg::node_cfg_t cfg_i,
    /* verilator lint_on UNUSEDSIGNAL */

    input  wire logic run_i,       // high while the instruction runs
    input  wire logic ranged_i,    // it is one of a range
    output logic      gathered_o,  // it is one of gathered tokens
    /* verilator lint_off UNUSEDSIGNAL */  // fields of no use here
    input  wire bundle_pkg::rows_instr_t cmd_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input  wire logic [15:0]               recv_rows_i,
    output logic [Cfg.GpuW-1:0]            row_src_o,   // of this GPU
    input  wire bundle_pkg::src_rows_t     src_rows_i,
    input  wire logic [node_pkg::RowW-1:0] own_base_i,  // first row of the own copies
    output logic                           err_valid_o,
    output logic                           outside_o,  // the instruction is of too many rows

    output read_t        rd_o,
    input  wire logic    rd_ready_i,
    input  wire answer_t rd_i,

    output bundle_pkg::push_t push_o,  // see expert_engine
    input  wire logic         push_ready_i,

    input  wire bundle_pkg::emap_write_t emap_i
);
    localparam int unsigned HalfW = $clog2(isa_pkg::MetaBytes / 2);  // half words of an entry
    localparam int unsigned MetaLog2 = $clog2(isa_pkg::MetaBytes);
    localparam int unsigned MetaFl = isa_pkg::MetaBytes / Cfg.FlitBytes;
    localparam int unsigned MetaW = $clog2(MetaFl);
    // memory holds no more rows
    localparam int unsigned LineW  = (node_pkg::RowW < Cfg.MemBytesLog2) ? node_pkg::RowW
                                     : Cfg.MemBytesLog2;

    // ---- gathered tokens ----------------------------------------------------------
    // How many there may be: rows of st are numbered in 16 bits.
    localparam int unsigned NumW = (Cfg.Gathered && Cfg.TokW > 16) ? Cfg.TokW : 16;

    isa_pkg::instr_t cmd;
    logic outside, start, gathered, homes;  // homes: rows of every home in turn
    logic [NumW-1:0] from, stop;  // rows of the instruction: the first, behind the last
    logic [LineW-1:0] from_base;  // the first one << k_shift

    assign cmd = cmd_i.instr;
    assign start = cmd_i.valid && cmd.op == isa_pkg::I_EXPERT_ROWS;
    assign gathered_o = run_i && gathered;
    assign outside_o = outside;

    if (Cfg.Gathered) begin : gen_gathered
        logic none, gathered_q, by_home, homes_q;
        logic [Cfg.TokW:0] range_end;
        logic [NumW-1:0] stop_q;

        cmd_range #(
            .Cfg(Cfg),
            .TokensW(Cfg.TokW)
        ) i_range (
            .first_i({cmd.a_high, cmd.a}),
            .count_i(cmd.b),
            .shift_i(5'(cfg_i.token_shift) + (by_home ? '0 : 5'(cfg_i.n_shift))),
            .end_o(range_end),
            .no_tokens_o(none),
            .no_bytes_o()
        );
        assign gathered = run_i ? gathered_q : cmd.flags[1];
        assign by_home = Cfg.TileReductions && cmd.flags[2:1] == 2'b11;
        assign homes = Cfg.TileReductions && homes_q;
        assign outside = start && cmd.flags[1] && none;
        assign from = (cmd.flags[1] && !none && !cmd_i.landed) ? NumW'(cmd.a) : '0;
        assign from_base = LineW'(from) << cfg_i.k_shift;
        assign stop = gathered_q ? stop_q : NumW'(recv_rows_i);
        always_ff @(posedge clk_i)
            if (!run_i) begin
                gathered_q <= cmd.flags[1];
                homes_q <= by_home;
                stop_q <= (none || cmd_i.landed) ? '0 : NumW'(range_end);
            end
    end else begin : gen_received
        assign {gathered, homes, outside, from, from_base} = '0;
        assign stop = recv_rows_i;
    end

    // IDs are the half words 2 + 2k .. 1 + 3k of an entry, or 0 .. k - 1.
    logic [HalfW-1:0] first_half, last_half;
    assign first_half = gathered ? '0 : HalfW'(2) + {cfg_i.k, 1'b0};
    assign last_half = first_half + HalfW'(cfg_i.k) - HalfW'(1);

    // ---- reads ----------------------------------------------------------------
    logic [NumW-1:0] row_q;  // row and flit of the next read
    logic [MetaW-1:0] flit_q;
    logic asked_q, next_valid_q, load, started_q;
    logic [Cfg.FlitW-1:0] next_q;
    // flits with IDs are wanted; with its token is
    logic ids_here, row_read, named, token_ask, token_q;
    /* verilator lint_off UNUSEDSIGNAL */  // memory holds fewer
    logic [NumW-1:0] read_row;
    /* verilator lint_on UNUSEDSIGNAL */

    logic item, row_first;  // of a range: there is a row
    logic ended;  // no row of another kind is left to be read
    logic [NumW-1:0] row_next;
    logic [LineW-1:0] row_base;

    // One read is under way: of IDs when the place behind the flit in work is free.
    assign ids_here = run_i && started_q && !next_valid_q && (ranged_i ? item : !ended);
    assign rd_o.valid = (ids_here || token_ask) && !asked_q;
    assign rd_o.addr = {
        cfg_i.gt_base[Cfg.MemBytesLog2-1:MetaLog2] + (Cfg.AddrW - MetaW)'(read_row),
        token_ask ? MetaW'(0) : flit_q
    };
    assign row_read = rd_o.valid && rd_ready_i && !token_ask
                      && flit_q == last_half[HalfW-1:Cfg.LaneW];

    always_ff @(posedge clk_i) begin
        if (!rst_ni || !run_i) begin
            started_q <= 1'b0;
            row_q <= from;
            asked_q <= 1'b0;
            next_valid_q <= 1'b0;
            flit_q <= first_half[HalfW-1:Cfg.LaneW];
        end else begin
            started_q <= 1'b1;
            if (rd_o.valid && rd_ready_i) begin
                if (!token_ask) flit_q <= row_read ? first_half[HalfW-1:Cfg.LaneW] : flit_q + 1'b1;
                if (row_read) row_q <= row_next;
                asked_q <= 1'b1;
            end
            if (rd_i.rvalid) asked_q <= 1'b0;
            if (rd_i.rvalid && !token_q) next_valid_q <= 1'b1;
            else if (load) next_valid_q <= 1'b0;
        end
        if (rd_i.rvalid && !token_q) next_q <= rd_i.rdata;
    end

    // ---- rows of every home: the same index of the next home, or the next index of the first ----
    if (Cfg.TileReductions) begin : gen_homes
        logic [Cfg.GpuW-1:0] home_q;
        logic [NumW-1:0] next_index_q;
        logic last_home;

        assign last_home = !homes || home_q == Cfg.GpuW'(Cfg.N - 1);
        assign row_next = !homes ? row_q + 1'b1 : last_home ? next_index_q
                          : row_q + (NumW'(1) << cfg_i.token_shift);
        assign ended = row_q == stop && home_q == '0;

        always_ff @(posedge clk_i) begin
            if (!rst_ni || !run_i) begin
                home_q <= '0;
                next_index_q <= from + 1'b1;
            end else if (row_read) begin
                home_q <= last_home ? '0 : home_q + 1'b1;
                if (last_home) next_index_q <= next_index_q + 1'b1;
            end
        end
    end else begin : gen_one_home
        assign row_next = row_q + 1'b1;
        assign ended = row_q == stop;
    end

    // ---- rows of a range --------------------------------------------------------
    // The row whose IDs are read goes with its first flit to where it is worked on.
    if (Cfg.RowRanges) begin : gen_ranges
        logic walk, walk_err, walked_q, retire, ready, entry, got_q, first_q, next_first_q;
        logic [Cfg.LineW-1:0] entry_row, row_begun_q;

        assign walk = start && cmd.flags[0] && !(Cfg.TileReductions && cmd.flags[1]);
        assign push_o.more = start && (cmd.flags[0] || gathered);
        assign err_valid_o = walk_err || outside;
        assign named = ranged_i ? walked_q : ended;
        assign token_ask = ranged_i && entry;
        assign read_row = ranged_i ? NumW'(entry_row) : row_q;
        assign row_first = (ranged_i || homes) && next_first_q;
        assign row_base = LineW'(row_begun_q) << cfg_i.k_shift;

        row_ranges #(
            .Cfg(Cfg),
            .Own(1'b1)
        ) i_ranges (
            .clk_i,
            .rst_ni(rst_ni && !go_i),
            .go_i,
            .cfg_i,
            .cmd_valid_i(walk),
            .cmd_ready_o(ready),
            .cmd_i(cmd),
            .retire_o(retire),
            .err_valid_o(walk_err),
            .src_o(row_src_o),
            .src_rows_i,
            .own_base_i,
            .entry_o({entry, entry_row}),
            .entry_ready_i(token_ask && rd_o.valid && rd_ready_i),
            .entry_i(
            '{first: rd_i.rvalid && token_q, got: got_q, token: rd_i.rdata[Cfg.TokensLog2-1:0]}
            ),
            .item_valid_o(item),
            .item_token_o(),
            .item_done_i(item && row_read),
            .quiet_i(1'b1)
        );

        always_ff @(posedge clk_i) begin
            got_q <= rst_ni && rd_i.rvalid && token_q;
            if (!rst_ni || walk) walked_q <= 1'b0;
            else if (retire) walked_q <= 1'b1;
            if (rd_o.valid && rd_ready_i) begin
                token_q <= token_ask;
                first_q <= flit_q == first_half[HalfW-1:Cfg.LaneW];
                if (!token_ask)
                    row_begun_q <= Cfg.TileReductions ? Cfg.LineW'(read_row) : entry_row;
            end
            if (rd_i.rvalid && !token_q) next_first_q <= first_q;
        end
    end else begin : gen_all
        assign {token_ask, token_q, item, row_first} = '0;
        assign push_o.more = start && gathered;
        assign err_valid_o = outside;
        assign {row_src_o, row_base} = '0;
        assign named = ended;
        assign read_row = row_q;
    end

    // ---- IDs --------------------------------------------------------------------
    logic [Cfg.FlitW-1:0] cur_q;
    logic cur_valid_q, step, row_end;
    logic [HalfW-1:0] half_q;
    logic [3:0] pos_q;
    logic [LineW-1:0] base_q;  // row << k_shift
    logic [15:0] id;

    always_comb begin
        id = cur_q[15:0];
        for (int unsigned i = 1; i < Cfg.Lanes; i++) begin
            if (half_q[Cfg.LaneW-1:0] == Cfg.LaneW'(i)) id = cur_q[16*i+:16];
        end
    end

    // A look-up is in the table's output register when look_q is high; it moves on when
    // the push before it is taken.
    logic look_q, look_go, out_of_map_q, mine, push_q;
    logic [LineW-1:0] look_row_q;
    logic [Cfg.LocalW-1:0] le;

    assign push_o.valid = push_q;
    assign look_go = !push_q || push_ready_i;
    assign step = cur_valid_q && look_go;
    assign row_end = half_q == last_half;
    assign load = next_valid_q
                  && (!cur_valid_q || (step && (row_end || half_q[Cfg.LaneW-1:0] == '1)));

    table_ram #(
        .Width(1 + Cfg.LocalW),
        .Depth(Cfg.MaxExperts)
    ) i_emap (
        .clk_i,
        .we_i(emap_i.we),
        .waddr_i(emap_i.addr[Cfg.ExpW-1:0]),
        .wdata_i({
            emap_i.data.valid && emap_i.data.gpu == cfg_i.port,
            emap_i.data.local_expert[Cfg.LocalW-1:0]
        }),
        .re_i(step),
        .raddr_i(id[Cfg.ExpW-1:0]),
        .rdata_o({mine, le})
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni || !run_i) begin
            cur_valid_q <= 1'b0;
            look_q <= 1'b0;
            push_q <= 1'b0;
            half_q <= first_half;
            pos_q <= '0;
            base_q <= from_base;
        end else begin
            if (load) begin
                cur_valid_q <= 1'b1;
            end else if (step && (row_end || half_q[Cfg.LaneW-1:0] == '1)) begin
                cur_valid_q <= 1'b0;
            end
            if (step) begin
                half_q <= row_end ? first_half : half_q + 1'b1;
                pos_q <= row_end ? '0 : pos_q + 1'b1;
                if (row_end) base_q <= base_q + (LineW'(1) << cfg_i.k_shift);
            end
            if (load && row_first) base_q <= row_base;
            if (look_go) begin
                look_q <= step;
                push_q <= look_q && mine && !out_of_map_q;
            end
        end
        if (load) cur_q <= next_q;
        if (step) begin
            look_row_q <= base_q | LineW'(pos_q);
            out_of_map_q <= (id >> Cfg.ExpW) != '0;
        end
        if (look_go && look_q) begin
            push_o.row <= node_pkg::RowW'(look_row_q);
            push_o.le <= node_pkg::ExpertW'(le);
        end
    end

    assign push_o.last = run_i && started_q && named && !asked_q && !next_valid_q && !cur_valid_q
                         && !look_q && !push_q;
endmodule

`default_nettype wire
