// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Rows that are set up for row_sum, two per context, and the destinations of own rows.
//
// Order: Rows of a context in the order of push_i, destinations in the order of dest_push_i. row_*
// shows the oldest row of context row_ctx_i, until row_pop_i.
// Back-pressure: push_i only where room_o allows it, dest_push_i only with dest_room_o.
// Latency: A context waits until row_sum has requested all terms of one of its two rows. The next
// row is set up while one is summed.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module serve_rows #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type setup_t = `MW_SETUP(Cfg),
    parameter type rows_t = `MW_ROWS(Cfg),
    parameter type row_t = `MW_ROW(Cfg),
    parameter type dest_t = `MW_DEST(Cfg)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire node_pkg::node_cfg_t cfg_i,

    output logic [Cfg.N-1:0] room_o,   // contexts with a place for a row
    output logic             dest_room_o,
    input  wire setup_t      setup_i,  // the row that is being set up
    output logic             slot_o,   // its place

    output rows_t                    rows_o,
    input  wire logic [Cfg.GpuW-1:0] row_ctx_i,
    output logic                     row_slot_o,  // place of the row below
    output row_t                     row_o,       // packets less 1
    input  wire logic                row_pop_i,
    output dest_t                    dest_o,
    input  wire logic                dest_ready_i
);

    logic [Cfg.N-1:0][1:0] set_q, sum_q;  // rows set up, rows summed, modulo 4
    logic [4:0] steps;  // less 1
    logic [14:0] length;
    logic [14-Cfg.FlitLog2:0] flits;  // less 1
    logic alone, extra;
    logic [1:0] own_r_q, own_again_q;
    logic [Cfg.N-1:0][1:0] one_q;  // by place

    always_comb begin
        for (int unsigned c = 0; c < Cfg.N; c++) begin
            rows_o.pend[c] = set_q[c] != sum_q[c];
            room_o[c] = (set_q[c] ^ sum_q[c]) != 2'd2;
            rows_o.one[c] = one_q[c][sum_q[c][0]];
        end
    end

    assign slot_o = set_q[setup_i.ctx][0];
    assign row_slot_o = sum_q[row_ctx_i][0];

    assign alone = setup_i.bad || setup_i.low.cnt == '0;  // no other term
    assign extra = setup_i.low.use_r || (setup_i.low.again && !setup_i.bad);
    assign steps = alone ? '0 : setup_i.low.cnt - 5'(!extra);
    assign length = (!(setup_i.own || setup_i.low.st) || setup_i.low.is_static)
                    ? {setup_i.low.len_high, setup_i.low.len_low} : cfg_i.row_bytes;
    assign flits = (15 - Cfg.FlitLog2)'((length - 15'd1) >> Cfg.FlitLog2);

    localparam int unsigned RowBits = 9 + 32'(Cfg.Gathered) + Cfg.AddrW + node_pkg::PktW + Cfg.PayW;
    logic [RowBits-1:0] row, row_read;

    if (Cfg.Gathered) begin : gen_dense
        logic dense;
        assign dense = setup_i.low.slots && setup_i.low.is_explicit
                       && !(Cfg.RowSparse && cfg_i.row_returns);
        assign row = {
            dense,
            steps,
            setup_i.low.use_r,
            setup_i.low.st,
            alone && !extra,
            setup_i.bad,
            setup_i.addr,
            flits
        };
        assign row_o.minus = row_read[RowBits-1];
    end else begin : gen_own
        assign row = {
            steps,
            setup_i.low.use_r,
            setup_i.low.st,
            alone && !extra,
            setup_i.bad,
            setup_i.addr,
            flits
        };
        assign row_o.minus = 1'b0;
    end
    assign {row_o.last, row_o.use_r, row_o.st, row_o.zero, row_o.poison, row_o.dest, row_o.last_pkt,
            row_o.last_len}
           = row_read[RowBits-1-32'(Cfg.Gathered):0];

    lutram #(
        .Width(RowBits),
        .Depth(2 ** (Cfg.GpuW + 1))
    ) i_rows (
        .clk_i,
        .we_i(setup_i.done),
        .waddr_i({setup_i.ctx, slot_o}),
        .wdata_i(row),
        .raddr_i({row_ctx_i, row_slot_o}),
        .rdata_o(row_read)
    );

    if (red_pkg::plain(Cfg.RedTypes, Cfg.RedOps)) begin : gen_plain
        assign row_o.red = '0;
    end else begin : gen_red
        lutram #(
            .Width($bits(red_pkg::red_t)),
            .Depth(2 ** (Cfg.GpuW + 1))
        ) i_red (
            .clk_i,
            .we_i(setup_i.done),
            .waddr_i({setup_i.ctx, slot_o}),
            .wdata_i(setup_i.red),
            .raddr_i({row_ctx_i, row_slot_o}),
            .rdata_o(row_o.red)
        );
    end

    assign rows_o.own_r = own_r_q[sum_q[Cfg.GpuW'(cfg_i.port)][0]];
    assign rows_o.own_again = own_again_q[sum_q[Cfg.GpuW'(cfg_i.port)][0]];

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            set_q <= '0;
            sum_q <= '0;
        end else begin
            if (setup_i.done) set_q[setup_i.ctx] <= set_q[setup_i.ctx] + 1'b1;
            if (row_pop_i) sum_q[row_ctx_i] <= sum_q[row_ctx_i] + 1'b1;
        end
        if (setup_i.done) one_q[setup_i.ctx][slot_o] <= steps == '0;
        if (setup_i.done && setup_i.own) begin
            own_r_q[slot_o] <= setup_i.low.use_r;
            // R of slots reads what rows before it have written there
            own_again_q[slot_o] <= (setup_i.low.again && !setup_i.bad)
                                   || (Cfg.RowSparse && cfg_i.row_returns && setup_i.low.slots
                                                               && !setup_i.low.is_explicit);
        end
    end

    promise_fifo #(
        .Width(Cfg.AddrW + 1)
    ) i_dest (
        .clk_i,
        .rst_ni,
        .promise_i(setup_i.dest),
        .room_o(dest_room_o),
        .push_i(setup_i.dest),
        .data_i({setup_i.low.more, setup_i.addr}),
        .valid_o(dest_o.valid),
        .ready_i(dest_ready_i),
        .data_o({dest_o.more, dest_o.addr})
    );

    `MW_CONTRACT(setup_i.done, (room_o & (Cfg.N'(1) << setup_i.ctx)) != '0, "a row without a place")
    `MW_CONTRACT(row_pop_i, (rows_o.pend & (Cfg.N'(1) << row_ctx_i)) != '0,
                 "a row ends that is not there")
    `MW_CONTRACT(setup_i.dest, dest_room_o, "a destination without a place")
endmodule

`default_nettype wire
