// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// One operand of the row sums: turns blocks {first flit address, length} into reads of a memory
// port, and passes on the flits in order.
//
// Function: Blocks follow each other without a gap, so reads run ahead of the sums. The two
// operands of an addition are requested independently, so a bank conflict of one does not delay the
// other. A block without this operand takes a cycle.
// Back-pressure: A read is requested only if the queue of flits has a place for its answer.
// Latency: As long as the memory port delays the reads.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module sum_operand #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic                 blk_valid_i,
    input  wire logic                 blk_need_i,  // has a part in it
    input  wire logic [Cfg.AddrW-1:0] blk_addr_i,
    input  wire logic [Cfg.PayW-1:0]  blk_last_i,  // flits less 1
    output logic                      blk_next_o,  // block done
    output logic                      at_end_o,    // of a block of 16 flits at most 2 are
                                                   // still to be granted

    output read_t        rd_o,
    input  wire logic    rd_ready_i,
    input  wire answer_t rd_i,

    output logic                 valid_o,
    input  wire logic            ready_i,
    output logic [Cfg.FlitW-1:0] data_o
);
    logic grant, room, last;
    logic [Cfg.PayW-1:0] idx_q;

    assign rd_o.valid = blk_valid_i && blk_need_i && room;
    assign rd_o.addr = blk_addr_i + Cfg.AddrW'(idx_q);
    assign grant = rd_o.valid && rd_ready_i;
    assign last = idx_q == blk_last_i;
    assign at_end_o = Cfg.PayW == 4 && idx_q[Cfg.PayW-1:1] == '1 && blk_last_i == '1;
    assign blk_next_o = blk_valid_i && (!blk_need_i || (grant && last));

    always_ff @(posedge clk_i) begin
        if (!rst_ni) idx_q <= '0;
        else if (grant) idx_q <= last ? '0 : idx_q + 1'b1;
    end

    promise_fifo #(
        .Width(Cfg.FlitW),
        .Depth(16)
    ) i_data (
        .clk_i,
        .rst_ni,
        .promise_i(grant),
        .room_o(room),
        .push_i(rd_i.rvalid),
        .data_i(rd_i.rdata),
        .valid_o,
        .ready_i,
        .data_o
    );

    `MW_STABLE(rd_o.valid, rd_ready_i, rd_o.addr, "a read changes before memory takes it")
    `MW_CONTRACT(ready_i, valid_o, "a flit is taken that is not there")
endmodule

`default_nettype wire
