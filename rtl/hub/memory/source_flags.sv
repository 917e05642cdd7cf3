// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Evaluates what FLAGs report of rows of their sources, in layers with source_lists.
//
// Function: LIST: all rows of a list were sent. The row tracker gets it as their count. TILE: all
// rows of a tile have returned. It is compared here with what has landed in slots. landed_i are
// bytes in memory of slots that rows return to, by their source. Each row_bytes of them, whatever
// rows they belong to, are a row. A TILE subtracts its number of rows. Rows of the next tile may
// have arrived already.
// Order: The order of the FLAGs. A FLAG acts when all earlier stores are in memory and reported.
// landed_i never comes with it, nor, after it, with bytes that were stored before.
// Back-pressure: None.
// Latency: The count of a list is reported two cycles after its FLAG, when the row tracker has
// counted its last row.
// Errors: COUNT for a TILE with more rows than have landed.
`default_nettype none
`include "assert.svh"

module source_flags #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire bundle_pkg::source_flag_t said_i,
    input  wire bundle_pkg::slot_bytes_t  landed_i,  // in the cycle in which they are taken

    input  wire bundle_pkg::count_t cnt_i,  // words of COUNTS, none in layers with source_lists
    output bundle_pkg::count_t      cnt_o,  // and what LISTs say
    output logic                    cnt_list_o,

    output bundle_pkg::error_t err_o,
    output logic               idle_o
);
    if (Cfg.SourceLists) begin : gen_lists
        localparam int unsigned RowsW = 12;  // all that may be sent in front of a tile's FLAG

        typedef struct packed {
            logic [RowsW-1:0] rows;
            logic [14:0]      bytes;  // of the next row
        } landed_t;

        bundle_pkg::source_flag_t said_q, notified_q;
        landed_t landed, next;
        logic [15:0] sum;
        logic [RowsW-1:0] rows;
        logic tile, full, early;
        logic [Cfg.N-1:0] known_q;  // sources with an entry
        logic [Cfg.GpuW-1:0] src;

        assign tile = said_i.valid && said_i.tile;
        assign src = said_i.valid ? said_i.src[Cfg.GpuW-1:0] : landed_i.src[Cfg.GpuW-1:0];
        assign sum = 16'(known_q[src] ? landed.bytes : '0) + 16'(landed_i.bytes);
        assign full = sum >= 16'(cfg_i.row_bytes);

        always_comb begin
            next.bytes = tile ? (known_q[src] ? landed.bytes : '0)
                         : full ? 15'(sum - 16'(cfg_i.row_bytes)) : 15'(sum);
            next.rows = tile ? (early ? '0 : rows - RowsW'(said_i.rows)) : rows + RowsW'(full);
        end

        lutram #(
            .Width($bits(landed_t)),
            .Depth(Cfg.N)
        ) i_landed (
            .clk_i,
            .we_i(landed_i.valid || tile),
            .waddr_i(src),
            .wdata_i(next),
            .raddr_i(src),
            .rdata_o(landed)
        );

        always_ff @(posedge clk_i) begin
            if (!rst_ni || go_i) known_q <= '0;
            else if (landed_i.valid || tile) known_q[src] <= 1'b1;
            said_q <= said_i;
            notified_q <= said_q;
            if (!rst_ni || go_i) {said_q.valid, notified_q.valid} <= '0;
        end

        assign rows = known_q[src] ? landed.rows : '0;
        assign early = 16'(rows) < said_i.rows;
        assign err_o.valid = tile && early;
        assign err_o.code = error_pkg::ERR_COUNT;
        assign cnt_list_o = notified_q.valid && !notified_q.tile;
        assign idle_o = !said_q.valid && !notified_q.valid;

        always_comb begin
            cnt_o = cnt_i;
            if (cnt_list_o)
                cnt_o = '{
                    valid: 1'b1,
                    kind: 1'b0,
                    halves: '0,
                    part: '0,
                    src: notified_q.src,
                    idx: packet_pkg::port_t'(notified_q.list),
                    val: 32'(notified_q.rows),
                    last: 1'b1
                };
        end
    end else begin : gen_none
        assign cnt_o = cnt_i;
        assign {cnt_list_o, err_o.valid} = '0;
        assign err_o.code = error_pkg::ERR_NONE;
        assign idle_o = 1'b1;
    end

    `MW_CONTRACT(said_i.valid && said_i.tile, !landed_i.valid, "a FLAG and bytes in one cycle")
    `MW_CONTRACT(cnt_list_o, !cnt_i.valid, "a word of COUNTS is lost to a list")
endmodule

`default_nettype wire
