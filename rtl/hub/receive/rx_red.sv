// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Read-modify-write of red packets, before a write port of memory.
//
// Function: Flits of a write worker pass through. For a flit of a red, the module reads memory,
// reduces the contents with the flit, and writes the result with the flit's byte enables. Every
// step rounds elements of 8 and 16 bits, because memory holds no wider ones.
// added_o reports the contributions of a packet in the cycle in which its last flit is written.
// Order: Flits of reds change memory atomically, in the order of arrival: a flit is not read while
// an earlier one with the same address is inside. Other flits may overtake flits of reds.
// Back-pressure: in_ready_o. The read port waits for rd_ready_i. Its answers come in order at any
// later time, and have room. The write port waits for wr_ready_i, and the last flit of a packet
// with contributions also for added_ready_i.
// Latency: A flit waits for an earlier flit with its address, which takes a read and a write of
// memory and fp_pkg::FpAddLatency + 4 cycles of the lane. With different addresses, the rate is one
// flit per cycle while memory answers within Depth - 10 cycles.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module rx_red #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type store_t = `MW_STORE(Cfg),
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type write_t = `MW_WRITE(Cfg),
    parameter int unsigned Depth = 16  // flits inside, a power of two
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire store_t               in_i,  // what is no red passes
    output logic                      in_ready_o,
    input  wire logic [Cfg.FlitW-1:0] in_data_i,

    output read_t        rd_o,
    input  wire logic    rd_ready_i,
    input  wire answer_t rd_i,

    output write_t    wr_o,
    input  wire logic wr_ready_i,

    output bundle_pkg::added_t added_o,        // contributions that are in memory
    input  wire logic          added_ready_i,

    output logic busy_o  // a red is inside
);
    localparam int unsigned PtrW = $clog2(Depth);
    localparam int unsigned Stages = fp_pkg::FpAddLatency + 1;

    if (2 ** PtrW != Depth) begin : gen_check
        $error("rx_red: Depth must be a power of two");
    end

    // A ring of flits. A flit is requested at in_q, enters the lanes at op_q, is finished at
    // res_q, and is written at out_q.
    logic [PtrW-1:0] in_q, op_q, res_q, out_q;
    logic [Depth-1:0] inside_q;
    logic [Depth-1:0][Cfg.AddrW-1:0] addr_q;
    logic hazard, room, take, written, pass, hold_q, res_valid, held;

    always_comb begin
        hazard = 1'b0;
        if (in_i.valid && in_i.red) begin
            for (int unsigned i = 0; i < Depth; i++)
            hazard |= inside_q[i] && addr_q[i] == in_i.addr;
        end
    end

    assign room = !inside_q[in_q];
    assign rd_o.valid = in_i.valid && in_i.red && room && !hazard;
    assign rd_o.addr = in_i.addr;
    assign take = rd_o.valid && rd_ready_i;
    assign busy_o = inside_q != '0;

    // An offer to memory is stable until it is taken.
    logic emit_q, full_q;  // full_q: every flit inside is finished

    assign res_valid = out_q != res_q || (inside_q[out_q] && full_q);
    assign pass = in_i.valid && !in_i.red && (hold_q || !res_valid);
    assign in_ready_o = in_i.red ? take : pass && wr_ready_i;
    assign wr_o.valid = pass || (res_valid && !held);
    assign written = res_valid && !held && !pass && wr_ready_i;

    // ---- contributions: reported with the last flit of a packet ----
    if (Cfg.SumEntries != 0) begin : gen_counted
        logic [Cfg.GpuW:0] adds;
        logic [Cfg.TokensLog2-1:0] row;

        lutram #(
            .Width(Cfg.GpuW + 1 + Cfg.TokensLog2),
            .Depth(Depth)
        ) i_adds (
            .clk_i,
            .we_i(take),
            .waddr_i(in_q),
            .wdata_i({in_i.adds, in_i.row}),
            .raddr_i(out_q),
            .rdata_o({adds, row})
        );
        assign held = adds != '0 && !added_ready_i;
        assign added_o = '{
                valid: written && adds != '0,
                row: node_pkg::TokenW'(row),
                adds: 8'(adds)
            };
    end else begin : gen_not_counted
        assign held = 1'b0;
        assign added_o = '0;
    end

    // ---- the lanes ----
    logic [Stages-1:0] valid_q;
    red_pkg::red_t kind;
    red_pkg::red_t [Stages-1:0] kind_q;
    logic [Cfg.FlitW-1:0] operand, result, res_data;
    logic [Cfg.AddrW-1:0] res_addr;
    logic [Cfg.FlitBytes-1:0] res_be;

    lutram #(
        .Width($bits(red_pkg::red_t) + Cfg.FlitW),
        .Depth(Depth)
    ) i_operand (
        .clk_i,
        .we_i(take),
        .waddr_i(in_q),
        .wdata_i({in_i.kind, in_data_i}),
        .raddr_i(op_q),
        .rdata_o({kind, operand})
    );
    lutram #(
        .Width(Cfg.FlitBytes + Cfg.AddrW),
        .Depth(Depth)
    ) i_place (
        .clk_i,
        .we_i(take),
        .waddr_i(in_q),
        .wdata_i({in_i.be, in_i.addr}),
        .raddr_i(out_q),
        .rdata_o({res_be, res_addr})
    );
    lutram #(
        .Width(Cfg.FlitW),
        .Depth(Depth)
    ) i_result (
        .clk_i,
        .we_i(emit_q),
        .waddr_i(res_q),
        .wdata_i(result),
        .raddr_i(out_q),
        .rdata_o(res_data)
    );

    reduce_flit #(
        .Words(Cfg.Words),
        .RedTypes(Cfg.RedTypes),
        .RedOps(Cfg.RedOps)
    ) i_lanes (
        .clk_i,
        .take_i(rd_i.rvalid),
        .first_i(1'b1),
        .pair_i(1'b1),
        .red_i(kind),
        .acc_i('0),
        .a_i(rd_i.rdata),
        .b_i(operand),
        .valid_i(valid_q[0]),
        .red_q_i(kind_q[0]),
        .half_i(kind_q[Stages-2].dtype == packet_pkg::DTYPE_BF16),
        .sum_o(),
        .emit_i(valid_q[Stages-1]),
        .red_end_i(kind_q[Stages-1]),
        .data_o(result)
    );

    assign wr_o.addr = pass ? in_i.addr : res_addr;
    assign wr_o.data = pass ? in_data_i : res_data;
    assign wr_o.be = pass ? in_i.be : res_be;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            in_q <= '0;
            op_q <= '0;
            res_q <= '0;
            out_q <= '0;
            inside_q <= '0;
            valid_q <= '0;
            emit_q <= 1'b0;
            full_q <= 1'b0;
            hold_q <= 1'b0;
        end else begin
            hold_q <= pass && !wr_ready_i;
            valid_q <= {valid_q[Stages-2:0], rd_i.rvalid};
            emit_q <= valid_q[Stages-1];
            if (take) in_q <= in_q + 1'b1;
            if (rd_i.rvalid) op_q <= op_q + 1'b1;
            if (emit_q) res_q <= res_q + 1'b1;
            if (written) out_q <= out_q + 1'b1;
            if (take) inside_q[in_q] <= 1'b1;
            if (written) inside_q[out_q] <= 1'b0;
            if (written) full_q <= 1'b0;
            else if (emit_q) full_q <= res_q + 1'b1 == out_q;
        end
        if (take) addr_q[in_q] <= in_i.addr;
        if (rd_i.rvalid || valid_q != '0) kind_q <= {kind_q[Stages-2:0], kind};
    end

    `MW_CONTRACT(rd_i.rvalid, inside_q[op_q], "an answer that was not requested")
    `MW_STABLE(rd_o.valid, rd_ready_i, rd_o.addr, "a read changes before memory takes it")
    `MW_STABLE(wr_o.valid, wr_ready_i, wr_o, "a write changes before memory takes it")
endmodule

`default_nettype wire
