// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Makes the request for partial sums of each row that a GRANT names, from the target list that
// list_keep has written.
//
// Function: The request is a DYMULTIMEM_LD_REDUCE of the row's home, as if it had come from the
// wire, for reduce_serve. Its address is the token's number, not shifted. Lists are read ahead:
// Cfg.Lanes of them may be in flight. A list is read only after all lists are written that were
// pending when its lane was taken (keep_*).
// - With tile reductions there are no lists: each request has one target, which nothing reads.
// Order: Requests in the order of lanes.
// Back-pressure: A lane waits for memory only. reduce_serve always takes a request, as its window
// guarantees a place.
// Latency: A list takes two cycles and a read for each of its flits (with tile reductions none), or
// three and more for its request. A list that was never written has undefined targets, which are an
// error later.
`default_nettype none
`include "bundles.svh"

module grant_lists #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type marked_t = `MW_MARKED(Cfg),
    localparam int unsigned KeepW = $clog2(Cfg.Lanes + 1)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire logic                      lane_valid_i,
    output logic                           lane_ready_o,
    input  wire logic [Cfg.GpuW-1:0]       home_i,   // another GPU
    input  wire logic [Cfg.TokensLog2-1:0] index_i,  // below 2^token_shift

    input  wire logic [KeepW-1:0] keep_level_i,  // lists that are to be written
    input  wire logic             keep_done_i,   // the oldest is

    output read_t        rd_o,
    input  wire logic    rd_ready_i,
    input  wire answer_t rd_i,

    output marked_t req_o,
    output logic    idle_o
);
    import packet_pkg::*;

    localparam int unsigned Slots = Cfg.Lanes;  // 16 flits of 32-byte lists
    localparam int unsigned SlotW = $clog2(Slots);
    localparam int unsigned FlitW = 5 - Cfg.FlitLog2;  // index of a flit of a list
    localparam int unsigned UsedW = $clog2(Slots + 1);

    // ---- what is read ---------------------------------------------------------------------------
    logic tiles, ask_q, asked, take, got, sent, wait_done;
    logic [Cfg.TokW-1:0] token;
    logic [Cfg.AddrW-1:0] addr_q;
    logic [FlitW-1:0] ask_flit_q, got_flit_q, last_flit;
    logic [KeepW-1:0] wait_q;
    logic [SlotW-1:0] ask_slot_q, got_slot_q, out_slot_q;
    logic [UsedW-1:0] used_q, whole_q;  // lists under way, of them those that are here

    assign tiles = Cfg.TileReductions && cfg_i.tile_reductions;
    assign last_flit = FlitW'((cfg_i.k - 5'd1) >> Cfg.LaneW);
    assign token = (Cfg.TokW'(home_i) << cfg_i.token_shift) | Cfg.TokW'(index_i);
    assign lane_ready_o = !ask_q && used_q != UsedW'(Slots);
    assign take = lane_valid_i && lane_ready_o;
    assign rd_o.valid = ask_q && wait_q == '0 && !tiles;
    assign rd_o.addr = addr_q;
    assign asked = tiles ? ask_q : rd_o.valid && rd_ready_i && ask_flit_q == last_flit;
    assign got = tiles ? ask_q : rd_i.rvalid && got_flit_q == last_flit;
    assign wait_done = keep_done_i && wait_q != '0;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            ask_q <= 1'b0;
            ask_flit_q <= '0;
            got_flit_q <= '0;
            ask_slot_q <= '0;
            got_slot_q <= '0;
            used_q <= '0;
            whole_q <= '0;
        end else begin
            if (take) ask_q <= 1'b1;
            else if (asked) ask_q <= 1'b0;
            if (rd_o.valid && rd_ready_i) ask_flit_q <= asked ? '0 : ask_flit_q + 1'b1;
            if (asked) ask_slot_q <= ask_slot_q + 1'b1;
            if (rd_i.rvalid) got_flit_q <= got ? '0 : got_flit_q + 1'b1;
            if (got) got_slot_q <= got_slot_q + 1'b1;
            if (take != sent) used_q <= used_q + (take ? UsedW'(1) : '1);
            if (got != sent) whole_q <= whole_q + (got ? UsedW'(1) : '1);
        end
        if (take) begin
            addr_q <= cfg_i.rl_base[Cfg.MemBytesLog2-1:Cfg.FlitLog2]
                      + Cfg.AddrW'({token, FlitW'(0)});
            wait_q <= keep_level_i - KeepW'(keep_done_i);
        end else begin
            if (wait_done) wait_q <= wait_q - 1'b1;
            if (rd_o.valid && rd_ready_i) addr_q <= addr_q + 1'b1;
        end
    end

    // ---- lists that are here --------------------------------------------------------------------
    // After the header a list continues with its second target. Lane l of a flit is lane l + 1 of
    // the list's flit, and the last lane is the first of the list's next flit.
    logic [FlitW-1:0] out_flit_q;
    logic head, half_q;
    logic [Cfg.GpuW-1:0] home;
    logic [Cfg.TokensLog2-1:0] index;
    logic [Cfg.TokW-1:0] out_token;
    logic [Cfg.Lanes-1:0][15:0] kept, targets;

    lutram #(
        .Width(Cfg.GpuW + Cfg.TokensLog2),
        .Depth(Slots)
    ) i_rows (
        .clk_i,
        .we_i(take),
        .waddr_i(ask_slot_q),
        .wdata_i({home_i, index_i}),
        .raddr_i(out_slot_q),
        .rdata_o({home, index})
    );
    for (genvar l = 0; l < Cfg.Lanes; l++) begin : gen_lane
        lutram #(
            .Width(16),
            .Depth(Slots << FlitW)
        ) i_targets (
            .clk_i,
            .we_i(rd_i.rvalid),
            .waddr_i({got_slot_q, got_flit_q}),
            .wdata_i(rd_i.rdata[16*l+:16]),
            .raddr_i({out_slot_q, (l == 0 && !head) ? out_flit_q + 1'b1 : out_flit_q}),
            .rdata_o(kept[l])
        );
        assign targets[l] = kept[(l+1)%Cfg.Lanes];
    end

    // ---- requests -------------------------------------------------------------------------------
    logic head_q, here, last;
    logic [3:0] more_q, more;  // targets behind the first
    header_t header;
    logic [Cfg.FlitW-1:0] flit;

    assign out_token = (Cfg.TokW'(home) << cfg_i.token_shift) | Cfg.TokW'(index);

    assign head = !head_q;
    assign here = whole_q != '0;
    assign more = tiles ? '0 : head ? kept[0][3:0] : more_q;
    assign last = head ? (Cfg.HeadFlits == 1 || half_q) && more == '0 : more <= 4'(Cfg.Lanes);
    assign sent = here && last;

    always_comb begin
        header = '0;
        header.opcode = OP_DYMULTIMEM_LD_REDUCE;
        header.cls = CLS_REQ;
        {header.src_far, header.src} = packet_pkg::port_t'(home);
        header.len = cfg_i.row_bytes;
        header.cnt = 5'(more) + 5'd1;
        header.epoch = cfg_i.epoch;
        header.stage = STAGE_COMBINE;
        header.addr = 48'(out_token);
        header.target0 = tiles ? '0 : {kept[0][15:4], 4'd0};
        flit = head ? Cfg.FlitW'(header >> ((Cfg.HeadFlits == 2 && half_q) ? Cfg.FlitW
                                            : 0)) : targets;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            req_o.valid <= 1'b0;
            head_q <= 1'b0;
            half_q <= 1'b0;
            out_slot_q <= '0;
            out_flit_q <= '0;
        end else begin
            req_o.valid <= here;
            if (here) begin
                head_q <= !last && (!head || Cfg.HeadFlits == 1 || half_q);
                half_q <= Cfg.HeadFlits == 2 && head && !half_q;
                out_flit_q <= (last || head) ? '0 : out_flit_q + 1'b1;
            end
            if (sent) out_slot_q <= out_slot_q + 1'b1;
        end
        if (here) begin
            req_o.data <= flit;
            req_o.last <= last;
            if (head) more_q <= kept[0][3:0];
            else more_q <= more_q - 4'(Cfg.Lanes);
        end
    end

    assign req_o.err = 1'b0;
    assign idle_o = used_q == '0 && !req_o.valid;

endmodule

`default_nettype wire
