// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Front of packet_manager: classifies each packet by its header.
//
// Function: Flits wait in a queue while their packet's header is read. Classes:
// - Keep: a store of one target, whole sectors of 32 bytes (mask) of one line of 128.
// - BehindLine: another store to one line of one target. It passes after all kept stores of that
//   line.
// - BehindGpu: passes after all kept stores for its GPU: flags, fences, counts, stores that cross a
//   line.
// - BehindAll: multicasts, packets of an open row, and everything else.
// The key is the same for stores that may be merged. It starts with the order in which entries
// leave: normal stores before .nop, then by line, which is by row and offset where the address is a
// token's. Rows that share a line are not merged if the receiver finds the row by its token. The
// other fields of a merged packet are common to all packets of a key: src, epoch, and dst, which
// has no meaning with a target.
// Ports: desc_o is available from the cycle after the header's last flit, and stays with the
// packet's flits until desc_take_i, which comes with the last of them.
// Order: First in, first out.
// Back-pressure: in_ready_o, from registers only.
// Latency: Two cycles.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module manager_parse #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type stream_t = `MW_STREAM(Cfg),
    parameter type merge_t = `MW_MERGE(Cfg)
) (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    // constant during a layer
    input  wire logic       target_list_cache_i,  // rows of dymultimem.st are open: their
                                                  // packets keep their order
    input  wire logic [3:0] row_shift_i,

    input  wire bundle_pkg::emap_write_t emap_i,

    input  wire stream_t in_i,
    output logic         in_ready_o,

    output stream_t   flit_o,
    input  wire logic flit_take_i,
    output merge_t    desc_o,
    input  wire logic desc_take_i
);
    import packet_pkg::*;
    localparam int unsigned Descs = 4, Flits = 16, LevelW = $clog2(Descs + 1);
    localparam int unsigned SectorW = 5, LineW = 7;  // bits of a byte in a sector, in a line

    logic flits_room, descs_room, push, first_q, got_q;
    logic [LevelW-1:0] level;
    header_t header_q;

    // one header is on its way between the queues
    assign in_ready_o = flits_room && level <= LevelW'(Descs - 2);
    assign push = in_i.valid && in_ready_o;

    fifo #(
        .Width(Cfg.FlitW + 1),
        .Depth(Flits)
    ) i_flits (
        .clk_i,
        .rst_ni,
        .valid_i(push),
        .ready_o(flits_room),
        .data_i({in_i.last, in_i.data}),
        .valid_o(flit_o.valid),
        .ready_i(flit_take_i),
        .data_o({flit_o.last, flit_o.data}),
        .level_o()
    );

    if (Cfg.HeadFlits == 1) begin : gen_whole
        always_ff @(posedge clk_i) begin
            if (push && first_q) header_q <= header_t'(in_i.data);
            got_q <= rst_ni && push && first_q;
        end
    end else begin : gen_halves
        logic second_q;
        always_ff @(posedge clk_i) begin
            if (push && first_q) header_q[Cfg.FlitW-1:0] <= in_i.data;
            if (push && second_q) header_q[2*Cfg.FlitW-1:Cfg.FlitW] <= in_i.data;
            got_q <= rst_ni && push && second_q;
            if (!rst_ni) second_q <= 1'b0;
            else if (push) second_q <= first_q;
        end
    end
    always_ff @(posedge clk_i) begin
        if (!rst_ni) first_q <= 1'b1;
        else if (push) first_q <= in_i.last;
    end

    // ---- the header -----------------------------------------------------------------------------
    logic map_valid, to_port, st, dyn, rowsp, nop, here, single, plain, one_line, sectors;
    attributes_t op;
    logic [Cfg.GpuW-1:0] map_gpu;
    port_t dst;
    logic [3:0] ports_far;  // zero where ports have no upper bits
    logic [LineW:0] behind;  // the line's byte behind the packet's last one
    logic [Cfg.MergeRowW-1:0] row;  // of a token, in its line
    merge_t desc;

    lutram #(
        .Width(1 + Cfg.GpuW),
        .Depth(Cfg.MaxExperts)
    ) i_emap (
        .clk_i,
        .we_i(emap_i.we),
        .waddr_i(emap_i.addr[Cfg.ExpW-1:0]),
        .wdata_i({emap_i.data.valid, emap_i.data.gpu[Cfg.GpuW-1:0]}),
        .raddr_i(header_q.target0[4+:Cfg.ExpW]),
        .rdata_o({map_valid, map_gpu})
    );

    assign op = attributes_of(header_q.opcode, 1'b0);
    assign to_port = op.cls == CLS_STORE && op.targets == TARGETS_PORT;
    assign st = header_q.opcode == OP_ST && header_q.cnt == '0;
    assign dyn = header_q.opcode == OP_DYMULTIMEM_ST
                 && header_q.cnt == 5'd1 && !target_list_cache_i;
    assign nop = header_q.opcode == OP_ST_ROWSP_NOP;
    assign rowsp = op.needs == NEEDS_ROW_SPARSE && header_q.cnt == 5'd1;
    assign dst = cfg_pkg::port_of(Cfg, header_q.dst_far, header_q.dst);
    assign here = 32'(dst) < Cfg.N;
    assign single = st ? here : (dyn || rowsp) && map_valid;
    assign ports_far = (Cfg.N > PortsNear) ? '0 : {header_q.src_far, header_q.dst_far};
    // nothing in it that the key does not have
    assign plain = single && (header_q.target0 >> (Cfg.ExpW + 4)) == '0
                   && (header_q.addr >> Cfg.MaddrW) == '0
                   && {header_q.tag, header_q.dtype, header_q.redop, header_q.poison,
                       header_q.reduce, header_q.own, ports_far} == '0;
    assign behind = {1'b0, header_q.addr[LineW-1:0]} + header_q.len[LineW:0];
    assign one_line = (header_q.len >> (LineW + 1)) == '0 && header_q.len != '0
                      && (!behind[LineW] || behind[LineW-1:0] == '0)
                      && (!header_q.len[LineW] || header_q.len[LineW-1:0] == '0);
    assign sectors = {header_q.addr[SectorW-1:0], header_q.len[SectorW-1:0]} == '0;

    for (genvar b = 0; b < Cfg.MergeRowW; b++) begin : gen_row
        assign row[b] = (dyn || rowsp) && header_q.addr[SectorW+b]
                        && row_shift_i <= 4'(SectorW + b);
    end

    always_comb begin
        desc = '0;
        desc.valid = got_q;
        if (plain && one_line) desc.kind = sectors ? bundle_pkg::Keep : bundle_pkg::BehindLine;
        else if (to_port && here) desc.kind = bundle_pkg::BehindGpu;
        else desc.kind = bundle_pkg::BehindAll;
        desc.part = (desc.kind == bundle_pkg::BehindAll) ? '0 : (dyn || rowsp) ? map_gpu
                    : dst[Cfg.GpuW-1:0];
        for (int unsigned s = 0; s < 4; s++) begin
            desc.mask[s] = header_q.addr[LineW-1:SectorW] <= 2'(s)
                           && {1'b0, behind} > 9'(s << SectorW);
        end
        desc.key = {
            nop,
            header_q.addr[Cfg.MaddrW-1:LineW],
            row,
            rowsp,
            dyn,
            header_q.stage,
            header_q.target0[Cfg.ExpW+3:0]
        };
    end

    fifo #(
        .Width($bits(desc) - 1),
        .Depth(Descs)
    ) i_descs (
        .clk_i,
        .rst_ni,
        .valid_i(desc.valid),
        .ready_o(descs_room),
        .data_i({desc.kind, desc.part, desc.mask, desc.key}),
        .valid_o(desc_o.valid),
        .ready_i(desc_take_i),
        .data_o({desc_o.kind, desc_o.part, desc_o.mask, desc_o.key}),
        .level_o(level)
    );

    `MW_ASSERT(!got_q || descs_room, "a header without a place")
    `MW_CONTRACT(flit_take_i, flit_o.valid, "a flit is taken that is not there")
    `MW_CONTRACT(desc_take_i, desc_o.valid, "a description is taken that is not there")
endmodule

`default_nettype wire
