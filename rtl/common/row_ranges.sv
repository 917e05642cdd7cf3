// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Names the received rows of st by ranges of their tokens: for unit push (sum.st) those whose sums
// belong to other homes, and with Own, for expert.rows, also its own rows.
//
// Function: Received rows are grouped by source, each source's in the order of its tokens. An
// instruction takes the rows of tokens below a + b from where the previous one stopped (cleared by
// go_i). It takes one row of each source in turn, p + 1 first (with Own p). A range of tokens
// therefore ends at all homes at about the same time, and traffic is spread over all homes' links.
// If whole ranges went home by home, two GPUs that met at one home would stay together to the end.
// The copy counts give the first row of a source: src_rows_i of source src_o. If a source has
// reported before which row its rows are present, no row from there on is examined. A row's meta
// entry holds its token. The first one of a + b or more ends the source's turn in this instruction.
// Order: One row at a time. The next entry is read when the user is done with this one.
// Latency: It retires when all rows are done (quiet_i; for push: when the last row has left for the
// uplink).
// Errors: A range with tokens of 2^token_shift or more: BOUNDS, no row.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module row_ranges #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type meta_entry_t = `MW_META_ENTRY(Cfg),
    parameter type meta_t = `MW_META(Cfg),
    parameter bit Own = 1'b0
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire logic            cmd_valid_i,
    output logic                 cmd_ready_o,
    input  wire isa_pkg::instr_t cmd_i,
    output logic                 retire_o,
    output logic                 err_valid_o,  // BOUNDS

    output logic [Cfg.GpuW-1:0]            src_o,
    input  wire bundle_pkg::src_rows_t     src_rows_i,  // rows received from it
    input  wire logic [node_pkg::RowW-1:0] own_base_i,  // first row of the own copies

    output meta_entry_t      entry_o,  // to who reads entries
    input  wire logic        entry_ready_i,
    input  wire meta_t       entry_i,

    output logic                      item_valid_o,  // row entry_o.row of GPU src_o,
                                                     // its entry is here
    output logic [Cfg.TokensLog2-1:0] item_token_o,  // its token at home
    input  wire logic                 item_done_i,
    input  wire logic                 quiet_i        // none is on its way
);
    typedef enum logic [2:0] {
        Idle,
        Bounds,
        Source,
        Row,
        Read,
        Build,
        Drain
    } state_e;
    state_e state_q;

    logic take, stop, source_end, taken, no_tokens;
    logic [Cfg.TokensLog2:0] range_end;
    logic [Cfg.GpuW-1:0] src_q, src_next, port;
    logic begun_q;  // the tables of rows are filled
    logic [Cfg.N-1:0] over_q;  // nothing of the source is left in the range
    logic [Cfg.LineW-1:0] base_q, base_end, row_q, end_q, next_row, end_row, end_here;
    logic no_more;  // rows of the source that are here
    logic [Cfg.TokensLog2:0] limit_q;
    logic [Cfg.TokensLog2-1:0] token_q;

    assign port = Cfg.GpuW'(cfg_i.port);
    assign src_next = (src_q == Cfg.GpuW'(Cfg.N - 1)) ? '0 : src_q + 1'b1;
    assign cmd_ready_o = state_q == Idle;
    assign take = cmd_valid_i && cmd_ready_o;
    assign err_valid_o = take && no_tokens;
    assign src_o = src_q;
    assign base_end = base_q + Cfg.LineW'(src_rows_i.rows);
    assign stop = {1'b0, token_q} >= limit_q;
    assign taken = entry_i.got && !stop;
    assign source_end = (state_q == Row && no_more) || (entry_i.got && stop);
    assign retire_o = state_q == Drain && quiet_i;

    assign entry_o.valid = state_q == Row && !no_more;
    assign entry_o.row = row_q;
    assign item_valid_o = state_q == Build;
    assign item_token_o = token_q;

    cmd_range #(
        .Cfg(Cfg)
    ) i_range (
        .first_i({cmd_i.a_high, cmd_i.a}),
        .count_i(cmd_i.b),
        .shift_i({1'b0, cfg_i.token_shift}),
        .end_o(range_end),
        .no_tokens_o(no_tokens),
        .no_bytes_o()
    );

    lutram #(
        .Width(Cfg.LineW),
        .Depth(Cfg.N)
    ) i_next (
        .clk_i,
        .we_i(state_q == Bounds || taken),
        .waddr_i(src_q),
        .wdata_i((state_q == Bounds) ? base_q : row_q + 1'b1),
        .raddr_i(src_q),
        .rdata_o(next_row)
    );
    lutram #(
        .Width(Cfg.LineW),
        .Depth(Cfg.N)
    ) i_end (
        .clk_i,
        .we_i(state_q == Bounds),
        .waddr_i(src_q),
        .wdata_i(base_end),
        .raddr_i(src_q),
        .rdata_o(end_row)
    );

    // A report of a source may be anything.
    if (Cfg.RowRanges) begin : gen_notified
        assign end_here = (src_rows_i.notified && src_rows_i.row < node_pkg::RowW'(end_row))
            ? Cfg.LineW'(src_rows_i.row)
                          : end_row;
        assign no_more = row_q >= end_q;
    end else begin : gen_none_notified
        assign end_here = end_row;
        assign no_more = row_q == end_q;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= Idle;
            begun_q <= 1'b0;
        end else begin
            unique case (state_q)
                Idle:    if (take) state_q <= no_tokens ? Drain : begun_q ? Source : Bounds;
                Bounds:  if (src_next == port) state_q <= Source;
                Source:  state_q <= (over_q == '1) ? Drain : over_q[src_q] ? Source : Row;
                Row:     if (source_end) state_q <= Source;
                         else if (entry_ready_i) state_q <= Read;
                Read:    if (entry_i.got) state_q <= stop ? Source : Build;
                Build:   if (item_done_i) state_q <= Source;
                default: if (quiet_i) state_q <= Idle;
            endcase
            if (go_i) begun_q <= 1'b0;
            else if (state_q == Bounds) begun_q <= 1'b1;
        end

        // Rows of the source behind begin where one's end, those of source 0 at 0. The own ones are
        // first, but over from the start.
        if (take) begin
            limit_q <= range_end;
            src_q <= port;
            base_q <= Cfg.LineW'(own_base_i);
        end else if (state_q == Bounds || (state_q == Source && over_q[src_q]) || source_end
                     || item_done_i) begin
            src_q <= src_next;
            if (state_q == Bounds) base_q <= (src_q == Cfg.GpuW'(Cfg.N - 1)) ? '0 : base_end;
        end
        for (int unsigned s = 0; s < Cfg.N; s++) begin
            if (take) over_q[s] <= !Own && cfg_i.port == packet_pkg::port_t'(s);
            else if (source_end && src_q == Cfg.GpuW'(s)) over_q[s] <= 1'b1;
        end
        if (state_q == Source) begin
            row_q <= next_row;
            end_q <= end_here;
        end
        if (entry_i.first) begin
            for (int unsigned b = 0; b < Cfg.TokensLog2; b++)
            token_q[b] <= entry_i.token[b] && 4'(b) < cfg_i.token_shift;
        end
    end

    `MW_STABLE(entry_o.valid, entry_ready_i, entry_o.row,
               "a request of an entry ends before it is taken")
    `MW_STABLE(item_valid_o, item_done_i, item_token_o,
               "a row goes before its user is done with it")
    `MW_CONTRACT(entry_i.got, state_q == Read, "an entry that was not requested")
    `MW_CONTRACT(item_valid_o, {1'b0, item_token_o} < limit_q, "a token behind the range")
endmodule

`default_nettype wire
