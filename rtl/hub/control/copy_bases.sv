// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Computes where this GPU's copies start at each GPU, from the copy counts that all GPUs exchange
// before a phase of unicast.
//
// Function: Counts are added as they come: base[g] = copies of GPUs 0 .. p - 1 for GPU g, the
// number of the first row of p at g. recv_rows_o = copies for p, src_rows_o those of src_i. After
// all of them have arrived, keep_i stores base[p] (own_base_o). From then on send increments
// base[]. go_i clears everything except own_base_o, so copy counts work once per layer.
// Order: A count, keep_i and base_take_i take effect in the next cycle. Never two of them in one
// cycle.
// Back-pressure: None.
// Errors: bad_o, and not added: a count for a GPU that does not exist, or larger than the tokens of
// any GPU. No sum of counts therefore needs more bits than base[].
`default_nettype none
`include "assert.svh"

module copy_bases #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic              clk_i,
    input  wire logic              rst_ni,
    input  wire logic              go_i,
    input  wire packet_pkg::port_t port_i,

    input  wire logic              cnt_valid_i,  // a word of copy counts
    input  wire packet_pkg::port_t cnt_src_i,    // of this GPU
    input  wire packet_pkg::port_t cnt_idx_i,    // for this one
    input  wire logic [31:0]       cnt_val_i,
    output logic                   bad_o,        // it cannot be
    input  wire logic              keep_i,

    input  wire logic [Cfg.GpuW-1:0]  base_q_i,      // the next row at this GPU
    output logic [node_pkg::RowW-1:0] base_row_o,
    input  wire logic                 base_take_i,   // and count it
    output logic [node_pkg::RowW-1:0] recv_rows_o,
    input  wire logic [Cfg.GpuW-1:0]  notified_q_i,  // the next row at this GPU, with RowRanges
    output logic [node_pkg::RowW-1:0] notified_row_o,
    input  wire logic [Cfg.GpuW-1:0]  src_i [2],     // the second one with RowRanges
    output logic [node_pkg::RowW-1:0] src_rows_o [2],
    output logic [node_pkg::RowW-1:0] own_base_o
);
    // every token of every GPU
    localparam int unsigned BaseW = (Cfg.GpuW + Cfg.TokensLog2 + 1 < node_pkg::RowW)
                                    ? Cfg.GpuW + Cfg.TokensLog2 + 1 : node_pkg::RowW;

    logic base_we, known, received, count;
    logic [Cfg.GpuW-1:0] base_at;
    logic [BaseW-1:0] base_word, base_row, recv_q, own_base_q;
    logic [Cfg.N-1:0] known_q;

    assign bad_o = cnt_valid_i && (32'(cnt_idx_i) >= Cfg.N
                                   || (cnt_val_i >> (Cfg.TokensLog2 + 1)) != '0);
    assign count = cnt_valid_i && !bad_o;
    assign received = count && cnt_idx_i == port_i;
    assign base_at = cnt_valid_i ? cnt_idx_i[Cfg.GpuW-1:0] : keep_i ? port_i[Cfg.GpuW-1:0]
                     : base_q_i;
    assign base_we = (count && cnt_src_i < port_i) || base_take_i;
    assign known = known_q[base_at];
    assign base_row = known ? base_word : '0;
    assign base_row_o = node_pkg::RowW'(base_row);
    assign recv_rows_o = node_pkg::RowW'(recv_q);
    assign own_base_o = node_pkg::RowW'(own_base_q);

    lutram #(
        .Width(BaseW),
        .Depth(Cfg.N)
    ) i_base (
        .clk_i,
        .we_i(base_we),
        .waddr_i(base_at),
        .wdata_i(base_row + (cnt_valid_i ? cnt_val_i[BaseW-1:0] : BaseW'(1))),
        .raddr_i(base_at),
        .rdata_o(base_word)
    );

    // Every source's count is here before it is read.
    for (genvar s = 0; s < 2; s++) begin : gen_src
        if (s == 0 || Cfg.RowRanges) begin : gen_read
            logic [BaseW-1:0] rows;

            lutram #(
                .Width(BaseW),
                .Depth(Cfg.N)
            ) i_src (
                .clk_i,
                .we_i(received),
                .waddr_i(cnt_src_i[Cfg.GpuW-1:0]),
                .wdata_i(cnt_val_i[BaseW-1:0]),
                .raddr_i(src_i[s]),
                .rdata_o(rows)
            );
            assign src_rows_o[s] = node_pkg::RowW'(rows);
        end else begin : gen_none
            assign src_rows_o[s] = '0;
        end
    end

    if (Cfg.RowRanges) begin : gen_notified
        logic [BaseW-1:0] word;

        lutram #(
            .Width(BaseW),
            .Depth(Cfg.N)
        ) i_notified (
            .clk_i,
            .we_i(base_we),
            .waddr_i(base_at),
            .wdata_i(base_row + (cnt_valid_i ? cnt_val_i[BaseW-1:0] : BaseW'(1))),
            .raddr_i(notified_q_i),
            .rdata_o(word)
        );
        assign notified_row_o = known_q[notified_q_i] ? node_pkg::RowW'(word) : '0;
    end else begin : gen_none_notified
        assign notified_row_o = '0;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) known_q <= '0;
        else if (base_we) known_q[base_at] <= 1'b1;
        if (!rst_ni || go_i) recv_q <= '0;
        else if (received) recv_q <= recv_q + cnt_val_i[BaseW-1:0];
        if (keep_i) own_base_q <= base_row;
    end

    `MW_CONTRACT(1'b1, $onehot0({cnt_valid_i, keep_i, base_take_i}), "two operations in one cycle")
    `MW_CONTRACT(received, recv_q <= recv_q + cnt_val_i[BaseW-1:0],
                 "a sum of counts that overflows")
endmodule

`default_nettype wire
