// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// One operand of the row sums: turns blocks {first flit address, length} into reads of a memory port and hands the flits on in order.
//
// Blocks follow each other without a gap, so that reads run ahead of the sums; the two operands of an addition are asked for
// independently, so that a bank conflict of one does not hold up the other. A read is asked for only when the
// queue of flits has a place for its answer.
// Back-pressure: cmd_ready_o falls when CmdDepth blocks wait. Worst case: as long as the memory port makes the reads wait.
`default_nettype none

module sum_operand #(
    parameter int unsigned FlitBytes = 8,
    parameter int unsigned AddrW     = 11,
    parameter int unsigned CmdDepth  = 8,
    localparam int unsigned FW   = 8 * FlitBytes,
    localparam int unsigned IdxW = $clog2(128 / FlitBytes)
) (
    input  wire logic             clk_i,
    input  wire logic             rst_ni,

    input  wire logic             cmd_valid_i,
    output logic                  cmd_ready_o,
    input  wire logic [AddrW-1:0] cmd_addr_i,
    input  wire logic [IdxW-1:0]  cmd_last_i,   // flits less 1

    output logic                  rd_valid_o,
    input  wire logic             rd_ready_i,
    output logic [AddrW-1:0]      rd_addr_o,
    input  wire logic             rd_rvalid_i,
    input  wire logic [FW-1:0]    rd_rdata_i,

    output logic                  valid_o,
    input  wire logic             ready_i,
    output logic [FW-1:0]         data_o
);
    localparam int unsigned Depth = 16;  // covers the memory's latency at one flit per cycle
    localparam int unsigned FreeW = $clog2(Depth + 1);

    logic             cmd_valid, grant, pop, last;
    logic [AddrW-1:0] cmd_addr;
    logic [IdxW-1:0]  cmd_last, idx_q;
    logic [FreeW-1:0] free_q;  // places neither filled nor promised

    logic [$clog2(CmdDepth+1)-1:0] unused_cmd_level;
    fifo #(
        .Width(AddrW + IdxW),
        .Depth(CmdDepth)
    ) i_cmd (
        .clk_i,
        .rst_ni,
        .valid_i (cmd_valid_i),
        .ready_o (cmd_ready_o),
        .data_i  ({cmd_last_i, cmd_addr_i}),
        .valid_o (cmd_valid),
        .ready_i (grant && last),
        .data_o  ({cmd_last, cmd_addr}),
        .level_o (unused_cmd_level)
    );

    assign rd_valid_o = cmd_valid && free_q != '0;
    assign rd_addr_o  = cmd_addr + AddrW'(idx_q);
    assign grant      = rd_valid_o && rd_ready_i;
    assign last       = idx_q == cmd_last;
    assign pop        = valid_o && ready_i;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            idx_q  <= '0;
            free_q <= FreeW'(Depth);
        end else begin
            if (grant) idx_q <= last ? '0 : idx_q + 1'b1;
            if (grant != pop) free_q <= free_q + (grant ? '1 : FreeW'(1));
        end
    end

    logic [FreeW-1:0] unused_data_level;
    logic unused_data_ready;
    fifo #(
        .Width(FW),
        .Depth(Depth)
    ) i_data (
        .clk_i,
        .rst_ni,
        .valid_i (rd_rvalid_i),
        .ready_o (unused_data_ready),
        .data_i  (rd_rdata_i),
        .valid_o,
        .ready_i,
        .data_o,
        .level_o (unused_data_level)
    );
endmodule

`default_nettype wire
