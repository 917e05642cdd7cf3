// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// RAM of reduce_serve: requests as they arrived, and the addresses of the terms of rows that are set up.
//
//   {context, request, beat}   word of the header's low half, word of the high half (one word if a flit holds both),
//   words of as many targets as a flit has
//   {context, row slot, term}  addresses of up to 16 terms, behind all requests
//
// A read's word is there one cycle later and stays until the next read. Order: one write and one read a cycle. An
// arriving flit has the write port: term_we_i waits (the writer sees in_valid_i). The set-up machine has the read port
// before row_sum: sum_valid_o says whether sum_re_i was done.
// Worst case for row_sum: two cycles in a row, when the machine begins with a request.
`default_nettype none
`include "bundles.svh"

module serve_ram #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned TgtW = 7,  // of a target
    parameter type low_t = logic,  // see reduce_serve
    parameter type high_t = logic
) (
    input  wire logic clk_i,

    // arriving flits
    input  wire logic                           in_valid_i,
    input  wire logic                           in_keep_i,
    input  wire logic [Cfg.GpuW-1:0]            in_ctx_i,
    input  wire logic [Cfg.OpenW-1:0]           in_slot_i,
    input  wire logic [Cfg.BeatW-1:0]           in_beat_i,
    input  wire low_t                           in_low_i,
    input  wire high_t                          in_high_i,
    input  wire red_pkg::red_t                  in_red_i,
    input  wire logic [Cfg.Lanes-1:0][TgtW-1:0] in_targets_i,

    // set-up of a row of this context
    input  wire logic [Cfg.GpuW-1:0]       ctx_i,
    input  wire logic                      re_i,       // reads a word of its request
    input  wire logic [Cfg.OpenW-1:0]      slot_i,
    input  wire logic [Cfg.BeatW-1:0]      beat_i,
    output low_t                           low_o,      // if it was word 0
    output red_pkg::red_t                  red_o,
    output high_t                          high_o,     // word 1, or 0 if that holds both halves
    output logic [Cfg.Lanes-1:0][TgtW-1:0] targets_o,  // one of the others
    input  wire logic                      term_we_i,  // not in a cycle with in_valid_i
    input  wire logic                      term_row_i, // row slot
    input  wire logic [3:0]                term_idx_i,
    input  wire logic [Cfg.AddrW-1:0]      term_addr_i,

    // row_sum
    input  wire logic                sum_re_i,
    input  wire logic [Cfg.GpuW-1:0] sum_ctx_i,
    input  wire logic                sum_row_i,
    input  wire logic [3:0]          sum_idx_i,
    output `MW_TERM(Cfg)             sum_o
);
    localparam int unsigned LowW  = $bits(low_t);
    localparam int unsigned HighW = $bits(high_t);
    localparam bit          Plain = red_pkg::plain(Cfg.RedTypes, Cfg.RedOps);
    localparam int unsigned RedW  = $bits(red_pkg::red_t);
    // type and operator stand above the rest of the first word
    localparam int unsigned RedAt = (Cfg.HeadFlits == 1) ? LowW + HighW : LowW;
    localparam int unsigned RedEnd = RedAt + (Plain ? 0 : RedW);
    localparam int unsigned HighAt = (Cfg.HeadFlits == 1) ? LowW : 0;
    localparam int unsigned HeadW = (RedEnd > HighW) ? RedEnd : HighW;
    localparam int unsigned WordW = (HeadW > Cfg.Lanes * TgtW) ? HeadW : Cfg.Lanes * TgtW;
    localparam int unsigned ReqWords = Cfg.N * Cfg.OpenRows * 2**Cfg.BeatW;
    localparam int unsigned RamDepth = ReqWords + Cfg.N * 32;
    localparam int unsigned RamAw    = $clog2(RamDepth);

    logic [WordW-1:0] in_word, rdata;

    function automatic logic [RamAw-1:0] req_addr(input logic [Cfg.GpuW-1:0] c, input logic [Cfg.OpenW-1:0] s,
                                                  input logic [Cfg.BeatW-1:0] b);
        return RamAw'({c, s, b});
    endfunction

    function automatic logic [RamAw-1:0] term_addr(input logic [Cfg.GpuW-1:0] c, input logic slot, input logic [3:0] t);
        return {(RamAw-5)'(c) + (RamAw-5)'(ReqWords / 32), slot, t};
    endfunction

    if (Cfg.HeadFlits == 1) begin : gen_header1
        assign in_word = (in_beat_i == '0) ? WordW'({in_red_i, in_high_i, in_low_i}) : WordW'(in_targets_i);
    end else begin : gen_header2
        assign in_word = (in_beat_i == '0) ? WordW'({in_red_i, in_low_i}) : (in_beat_i == Cfg.BeatW'(1))
                         ? WordW'(in_high_i) : WordW'(in_targets_i);
    end

    ram_sdp #(
        .Width(WordW),
        .Depth(RamDepth)
    ) i_ram (
        .clk_i, .we_i(in_valid_i ? in_keep_i : term_we_i),
        .waddr_i(in_valid_i ? req_addr(in_ctx_i, in_slot_i, in_beat_i) : term_addr(ctx_i, term_row_i, term_idx_i)),
        .wdata_i(in_valid_i ? in_word : WordW'(term_addr_i)), .wbe_i('1), .re_i(re_i || sum_re_i),
        .raddr_i(re_i ? req_addr(ctx_i, slot_i, beat_i) : term_addr(sum_ctx_i, sum_row_i, sum_idx_i)), .rdata_o(rdata)
    );

    assign low_o      = low_t'(rdata[LowW-1:0]);
    assign high_o     = high_t'(rdata[HighAt +: HighW]);
    assign targets_o  = rdata[Cfg.Lanes*TgtW-1:0];
    assign sum_o.addr = rdata[Cfg.AddrW-1:0];

    if (Plain) begin : gen_plain
        assign red_o = '0;
    end else begin : gen_red
        assign red_o = rdata[RedAt +: RedW];
    end

    always_ff @(posedge clk_i) sum_o.valid <= !re_i && sum_re_i;
endmodule

`default_nettype wire
