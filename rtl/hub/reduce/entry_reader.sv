// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Reads entries of the routing table (for unit combine) and of the meta table (for unit push) ahead
// of row_build, and shows their expert IDs.
//
// Function: It reads the flits of an entry that hold expert IDs, and of a meta entry also the first
// one, with the token. It keeps two routing entries and one meta entry.
// Ports: A user requests an entry (*_i.valid, *_ready_o) when its place is free. got reports that
// the entry is complete.
// Order: One entry at a time. While none is read, the users alternate, so ready depends on
// registers only.
// Latency: An entry takes as many cycles as it has flits, and the wait for memory. A user waits for
// one entry of the other at most.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module entry_reader #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type route_entry_t = `MW_ROUTE_ENTRY(Cfg),
    parameter type meta_entry_t = `MW_META_ENTRY(Cfg),
    parameter type meta_t = `MW_META(Cfg)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire route_entry_t route_i,
    output logic              route_ready_o,
    output logic              route_got_o,

    input  wire meta_entry_t meta_i,
    output logic             meta_ready_o,
    output meta_t            meta_o,

    output read_t        rd_o,
    input  wire logic    rd_ready_i,
    input  wire answer_t rd_i,

    input  wire bundle_pkg::id_req_t id_i,
    input  wire logic                id_slot_i,  // where its routing entry is
    output logic [15:0]              id_o
);
    // flits kept of a meta entry: at most 8 of 8 bytes or 4 of 16; half as many of a routing entry
    localparam int unsigned EntryW = 6 - Cfg.FlitLog2;
    localparam int unsigned HalfW = EntryW + Cfg.LaneW;

    // turn_q: the meta table's turn, or its entry
    logic turn_q, reading_q, asked_q, start, got_last;
    logic at_gt;  // the entry lies behind gt_base
    logic [Cfg.LineW-1:0] line_q;
    logic [EntryW-1:0] ask_q, got_q, last_flit;
    logic [5:0] id_half;  // halfword of a meta entry in which the
                          // expert IDs begin
    // halfwords of it are numbered as kept: its first flit, then those that hold IDs
    logic [HalfW-1:0] first_half, half;
    logic [6-Cfg.FlitLog2:0] flit_off;
    logic [Cfg.FlitW-1:0] flit;

    assign route_ready_o = !reading_q && !turn_q;
    assign meta_ready_o = !reading_q && turn_q;
    assign start = !reading_q && (turn_q ? meta_i.valid : route_i.valid);

    assign id_half = 6'd2 + {cfg_i.k, 1'b0};
    assign first_half = HalfW'(Cfg.Lanes) + HalfW'(id_half[Cfg.LaneW-1:0]);
    assign last_flit = EntryW'(((turn_q ? first_half : '0) + HalfW'(cfg_i.k) - 1'b1) >> Cfg.LaneW);
    assign flit_off = (!turn_q || ask_q == '0) ? (7-Cfg.FlitLog2)'(ask_q)
                      : (7-Cfg.FlitLog2)'(ask_q) - 1'b1 + (7-Cfg.FlitLog2)'(id_half >> Cfg.LaneW);
    assign rd_o.valid = reading_q && !asked_q;
    assign at_gt = turn_q || (Cfg.Gathered && route_i.gathered);
    assign rd_o.addr = Cfg.AddrW'((at_gt ? cfg_i.gt_base : cfg_i.rt_base) >> Cfg.FlitLog2)
                       + {line_q, flit_off};
    assign got_last = reading_q && rd_i.rvalid && got_q == last_flit;

    assign route_got_o = got_last && !turn_q;
    assign meta_o.got = got_last && turn_q;
    assign meta_o.first = turn_q && rd_i.rvalid && got_q == '0;
    assign meta_o.token = rd_i.rdata[Cfg.TokensLog2-1:0];

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            turn_q <= 1'b0;
            reading_q <= 1'b0;
        end else begin
            if (start) reading_q <= 1'b1;
            else if (got_last) reading_q <= 1'b0;
            if ((!reading_q && !start) || got_last) turn_q <= !turn_q;
        end
        if (!reading_q) begin
            line_q <= turn_q ? meta_i.row : route_i.token;
            ask_q <= '0;
            got_q <= '0;
            asked_q <= 1'b0;
        end else begin
            if (rd_o.valid && rd_ready_i) begin
                ask_q <= ask_q + 1'b1;
                asked_q <= ask_q == last_flit;
            end
            if (rd_i.rvalid) got_q <= got_q + 1'b1;
        end
    end

    assign half = id_i.meta ? first_half + HalfW'(id_i.idx) : HalfW'(id_i.idx);

    lutram #(
        .Width(Cfg.FlitW),
        .Depth(2 * 2 ** EntryW)
    ) i_flits (
        .clk_i,
        .we_i(rd_i.rvalid),
        .waddr_i({turn_q, turn_q ? got_q[EntryW-1] : route_i.slot, got_q[EntryW-2:0]}),
        .wdata_i(rd_i.rdata),
        .raddr_i({id_i.meta, id_i.meta ? half[HalfW-1] : id_slot_i, half[HalfW-2:Cfg.LaneW]}),
        .rdata_o(flit)
    );

    always_comb id_o = flit[16*32'(half[Cfg.LaneW-1:0])+:16];

    `MW_NEXT(rd_o.valid && !go_i && !rd_ready_i, rd_o.valid && $stable(rd_o.addr),
             "a read changes before memory takes it")
    `MW_CONTRACT(rd_i.rvalid, reading_q, "an answer that was not requested")
    `MW_CONTRACT(meta_o.first || meta_o.got, !route_got_o, "an answer for both tables")
endmodule

`default_nettype wire
