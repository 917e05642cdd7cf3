// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// RAM of reduce_serve: requests as they arrived, and the addresses of the terms of rows that are
// set up.
//
// Function:
//
//   {context, request, beat}   word of the header's low half, word of the high half (one word if a
//                              flit holds both), words of as many targets as a flit has
//   {context, row slot, term}  addresses of up to 16 terms, after all requests
//
// Order: One write and one read per cycle. An arriving flit has the write port, and term_we_i waits
// (the writer sees in_valid_i). The set-up machine has the read port before row_sum. sum_valid_o
// reports whether sum_re_i was served.
// Latency: A read's word is available one cycle later and stays until the next read. row_sum waits
// two cycles in a row, when the machine starts a request.
`default_nettype none
`include "bundles.svh"

module serve_ram #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type request_bus_t = `MW_REQUEST(Cfg),
    parameter type arrival_t = `MW_ARRIVAL(Cfg),
    parameter type place_t = `MW_PLACE(Cfg),
    parameter type term_t = `MW_TERM(Cfg)
) (
    input  wire logic clk_i,

    // arriving flits
    input  wire arrival_t     in_i,
    input  wire request_bus_t in_word_i,

    // set-up of a row of this context
    input  wire logic [Cfg.GpuW-1:0]     ctx_i,
    input  wire place_t                  at_i,         // a word of its request that is read
    output request_bus_t                 word_o,       // words 0 and 1 have the header's
                                                       // halves, or 0 both
    input  wire bundle_pkg::term_write_t term_i,       // not in a cycle with in_i
    input  wire logic                    term_row_i,   // row slot
    input  wire logic [Cfg.AddrW-1:0]    term_addr_i,

    // row_sum
    input  wire bundle_pkg::term_req_t sum_i,
    input  wire logic [Cfg.GpuW-1:0]   sum_ctx_i,
    input  wire logic                  sum_row_i,
    output term_t                      sum_o
);
    localparam int unsigned TgtW = Cfg.ExpW + 1;
    localparam int unsigned LowW = $bits(bundle_pkg::request_t);
    localparam int unsigned HighW = TgtW + 1 + Cfg.MaddrW;
    localparam bit Plain = red_pkg::plain(Cfg.RedTypes, Cfg.RedOps);
    localparam int unsigned RedW = $bits(red_pkg::red_t);
    // type and operator stand above the rest of the first word
    localparam int unsigned RedAt = (Cfg.HeadFlits == 1) ? LowW + HighW : LowW;
    localparam int unsigned RedEnd = RedAt + (Plain ? 0 : RedW);
    localparam int unsigned HighAt = (Cfg.HeadFlits == 1) ? LowW : 0;
    localparam int unsigned HeadW = (RedEnd > HighW) ? RedEnd : HighW;
    localparam int unsigned WordW = (HeadW > Cfg.Lanes * TgtW) ? HeadW : Cfg.Lanes * TgtW;
    localparam int unsigned ReqWords = Cfg.N * Cfg.OpenRows * 2 ** Cfg.BeatW;
    localparam int unsigned RamDepth = ReqWords + Cfg.N * 32;
    localparam int unsigned RamAw = $clog2(RamDepth);

    logic [WordW-1:0] in_word, rdata;
    logic [HighW-1:0] in_high;

    assign in_high = {in_word_i.target, in_word_i.over, in_word_i.x};

    function automatic logic [RamAw-1:0] req_addr(
        input logic [Cfg.GpuW-1:0] c, input logic [Cfg.OpenW-1:0] s, input logic [Cfg.BeatW-1:0] b);
        return RamAw'({c, s, b});
    endfunction

    function automatic logic [RamAw-1:0] term_addr(input logic [Cfg.GpuW-1:0] c, input logic slot,
                                                   input logic [3:0] t);
        return {(RamAw - 5)'(c) + (RamAw - 5)'(ReqWords / 32), slot, t};
    endfunction

    if (Cfg.HeadFlits == 1) begin : gen_header1
        assign in_word = (in_i.beat == '0) ? WordW'({in_word_i.red, in_high, in_word_i.low})
                         : WordW'(in_word_i.targets);
    end else begin : gen_header2
        assign in_word = (in_i.beat == '0) ? WordW'({in_word_i.red, in_word_i.low})
                         : (in_i.beat == Cfg.BeatW'(1))
                         ? WordW'(in_high) : WordW'(in_word_i.targets);
    end

    logic [RamAw-1:0] waddr, raddr;

    always_comb begin
        if (in_i.valid) waddr = req_addr(in_i.ctx, in_i.slot, in_i.beat);
        else waddr = term_addr(ctx_i, term_row_i, term_i.idx);
        if (at_i.valid) raddr = req_addr(ctx_i, at_i.slot, at_i.beat);
        else raddr = term_addr(sum_ctx_i, sum_row_i, sum_i.idx);
    end

    ram_sdp #(
        .Width(WordW),
        .Depth(RamDepth)
    ) i_ram (
        .clk_i,
        .we_i(in_i.valid ? in_i.keep : term_i.we),
        .waddr_i(waddr),
        .wdata_i(in_i.valid ? in_word : WordW'(term_addr_i)),
        .wbe_i('1),
        .re_i(at_i.valid || sum_i.re),
        .raddr_i(raddr),
        .rdata_o(rdata)
    );

    assign word_o.low = rdata[LowW-1:0];
    assign word_o.targets = rdata[Cfg.Lanes*TgtW-1:0];
    assign sum_o.addr = rdata[Cfg.AddrW-1:0];
    assign {word_o.target, word_o.over, word_o.x} = rdata[HighAt+:HighW];

    if (Plain) begin : gen_plain
        assign word_o.red = '0;
    end else begin : gen_red
        assign word_o.red = rdata[RedAt+:RedW];
    end

    always_ff @(posedge clk_i) sum_o.valid <= !at_i.valid && sum_i.re;
endmodule

`default_nettype wire
