// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Assigns rows of a list to own tokens, in layers with source_lists: rows of an expert follow the
// order of an instruction's entries.
//
// Ports: begin_i starts an instruction. row_o is the row of the entry at look_*, in the same cycle,
// and take_i counts it. notified_rows_o is the number of rows for the expert at notified_*. A list
// that does not exist aliases another.
// Back-pressure: None. Without SourceLists all rows are 0.
`default_nettype none

module list_rows #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    localparam int unsigned RowW = packet_pkg::RowBits
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire logic                         begin_i,
    input  wire logic [Cfg.GpuW-1:0]          look_gpu_i,
    input  wire logic [node_pkg::ExpertW-1:0] look_local_i,
    input  wire logic                         take_i,
    output logic [RowW-1:0]                   row_o,

    input  wire logic [Cfg.GpuW-1:0]          notified_gpu_i,
    input  wire logic [node_pkg::ExpertW-1:0] notified_local_i,
    output logic [RowW-1:0]                   notified_rows_o
);
    if (Cfg.SourceLists) begin : gen_rows
        logic [Cfg.LocalW-1:0] looked, notified;
        logic [2**Cfg.LocalW-1:0] known_q;  // lists that have some
        logic [RowW-1:0] rows, notified_rows, next;

        assign looked = Cfg.LocalW'(node_pkg::list_of(
            1'b1, cfg_i, look_local_i, packet_pkg::port_t'(look_gpu_i)
        ));
        assign notified = Cfg.LocalW'(node_pkg::list_of(
            1'b1, cfg_i, notified_local_i, packet_pkg::port_t'(notified_gpu_i)
        ));
        assign row_o = known_q[looked] ? rows : '0;
        assign notified_rows_o = known_q[notified] ? notified_rows : '0;
        assign next = row_o + 1'b1;

        lutram #(
            .Width(RowW),
            .Depth(2 ** Cfg.LocalW)
        ) i_rows (
            .clk_i,
            .we_i(take_i),
            .waddr_i(looked),
            .wdata_i(next),
            .raddr_i(looked),
            .rdata_o(rows)
        );
        lutram #(
            .Width(RowW),
            .Depth(2 ** Cfg.LocalW)
        ) i_notified (
            .clk_i,
            .we_i(take_i),
            .waddr_i(looked),
            .wdata_i(next),
            .raddr_i(notified),
            .rdata_o(notified_rows)
        );
        always_ff @(posedge clk_i) begin
            if (!rst_ni || begin_i) known_q <= '0;
            else if (take_i) known_q[looked] <= 1'b1;
        end
    end else begin : gen_none
        assign {row_o, notified_rows_o} = '0;
    end
endmodule

`default_nettype wire
