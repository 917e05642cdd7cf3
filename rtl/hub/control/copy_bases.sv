// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Computes where this GPU's copies start at each GPU, from the copy counts that all GPUs exchange
// before a phase of unicast.
//
// Function: Counts are added as they come: base[g] = copies of GPUs 0 .. p - 1 for GPU g, the
// number of the first row of p at g. recv_rows_o = copies for p, src_rows_o those of src_i. After
// all of them have arrived, keep_i stores base[p] (own_base_o). From then on send increments
// base[]. go_i clears everything except own_base_o, so copy counts work once per layer. again_i
// (with CachedHandle) takes back the increments alone, so the counts work once more.
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
    input  wire logic              again_i,
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

    logic base_we, sum_we, received, count;
    logic [Cfg.GpuW-1:0] base_at, read_at[2];
    logic [BaseW-1:0] row[2], base_row, base_next, recv_q, own_base_q;
    logic [Cfg.N-1:0] known_q, taken;  // of base[]: sums; and, with CachedHandle, rows taken

    assign bad_o = cnt_valid_i && (32'(cnt_idx_i) >= Cfg.N
                                   || (cnt_val_i >> (Cfg.TokensLog2 + 1)) != '0);
    assign count = cnt_valid_i && !bad_o;
    assign received = count && cnt_idx_i == port_i;
    assign base_at = cnt_valid_i ? cnt_idx_i[Cfg.GpuW-1:0] : keep_i ? port_i[Cfg.GpuW-1:0]
                     : base_q_i;
    assign base_we = (count && cnt_src_i < port_i) || base_take_i;
    assign base_row = row[0];
    assign base_next = base_row + (cnt_valid_i ? cnt_val_i[BaseW-1:0] : BaseW'(1));
    assign base_row_o = node_pkg::RowW'(base_row);
    assign notified_row_o = node_pkg::RowW'(row[1]);
    assign recv_rows_o = node_pkg::RowW'(recv_q);
    assign own_base_o = node_pkg::RowW'(own_base_q);

    // The next row at a GPU, for its two readers. With CachedHandle a table of its own has the rows
    // behind those that were taken, so that the sums remain.
    assign read_at = '{base_at, notified_q_i};

    for (genvar u = 0; u < 2; u++) begin : gen_row
        if (u == 0 || Cfg.RowRanges) begin : gen_read
            logic [BaseW-1:0] sum;

            lutram #(
                .Width(BaseW),
                .Depth(Cfg.N)
            ) i_base (
                .clk_i,
                .we_i(sum_we),
                .waddr_i(base_at),
                .wdata_i(base_next),
                .raddr_i(read_at[u]),
                .rdata_o(sum)
            );
            if (Cfg.CachedHandle) begin : gen_taken
                logic [BaseW-1:0] next;

                lutram #(
                    .Width(BaseW),
                    .Depth(Cfg.N)
                ) i_taken (
                    .clk_i,
                    .we_i(base_take_i),
                    .waddr_i(base_at),
                    .wdata_i(base_next),
                    .raddr_i(read_at[u]),
                    .rdata_o(next)
                );
                assign row[u] = taken[read_at[u]] ? next : known_q[read_at[u]] ? sum : '0;
            end else begin : gen_sum
                assign row[u] = known_q[read_at[u]] ? sum : '0;
            end
        end else begin : gen_none
            assign row[u] = '0;
        end
    end

    if (Cfg.CachedHandle) begin : gen_handle
        logic [Cfg.N-1:0] taken_q;

        assign {sum_we, taken} = {base_we && !base_take_i, taken_q};
        always_ff @(posedge clk_i) begin
            if (!rst_ni || go_i || again_i) taken_q <= '0;
            else if (base_take_i) taken_q[base_at] <= 1'b1;
        end
    end else begin : gen_no_handle
        assign {sum_we, taken} = {base_we, Cfg.N'(0)};
    end

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

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) known_q <= '0;
        else if (sum_we) known_q[base_at] <= 1'b1;
        if (!rst_ni || go_i) recv_q <= '0;
        else if (received) recv_q <= recv_q + cnt_val_i[BaseW-1:0];
        if (keep_i) own_base_q <= base_row;
    end

    `MW_CONTRACT(1'b1, $onehot0({cnt_valid_i, keep_i, base_take_i}), "two operations in one cycle")
    `MW_CONTRACT(received, recv_q <= recv_q + cnt_val_i[BaseW-1:0],
                 "a sum of counts that overflows")
endmodule

`default_nettype wire
