// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Parses reduction requests, flit by flit on arrival, for reduce_serve's RAM: from the wire (req_i)
// and from row_build (own_i, whose tag is described in reduce_serve).
//
// Function: The context of a request is its requester, for row_build its home. With tile reductions
// a request names a row, at whose list position 0 the term is.
// Order: As they come. Flits of the two sources may alternate, as each has its own state.
// Back-pressure: None for req_i. own_ready_o is low in a cycle with a flit of req_i.
// Latency: own_i waits while requests come without gaps. Their window bounds that.
// Errors: A request without a place in its queue (full_i), or whose header has no valid requester
// or length, is dropped and reported. Other faults are passed on with a mark (over, bad). A request
// that ends wrongly has no experts in its last flit, as its row must be answered.
`default_nettype none
`include "bundles.svh"

module serve_arrive #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type marked_t = `MW_MARKED(Cfg),
    parameter type own_row_t = `MW_OWN_ROW(Cfg),
    parameter type request_bus_t = `MW_REQUEST(Cfg)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire marked_t  req_i,
    input  wire own_row_t own_i,
    output logic          own_ready_o,

    output logic                 valid_o,  // a flit
    output logic [Cfg.GpuW-1:0]  ctx_o,    // of its request
    input  wire logic            full_i,   // the queue of ctx_o, at a request's first flit
    output logic                 keep_o,   // it is not dropped
    output logic                 push_o,   // and the last of its request
    output logic [Cfg.BeatW-1:0] beat_o,   // its number
    output request_bus_t         word_o,   // what it says, as a header or targets

    output bundle_pkg::error_t err_o  // a request is dropped
);
    import packet_pkg::*;
    import error_pkg::*;

    logic last, first, is_static, drop, stray;
    logic [Cfg.FlitW-1:0] data;
    logic [Cfg.BeatW-1:0] rq_beat_q, own_beat_q;
    logic [Cfg.GpuW-1:0] rq_ctx_q, own_ctx, own_ctx_q;
    logic rq_static_q, rq_drop_q;
    header_t header;
    port_t src, dst;

    assign own_ready_o = !req_i.valid;
    assign valid_o = req_i.valid || own_i.valid;
    assign data = req_i.valid ? req_i.data : own_i.data;
    assign last = req_i.valid ? req_i.last : own_i.last;
    assign beat_o = req_i.valid ? rq_beat_q : own_beat_q;
    assign first = beat_o == '0;
    assign own_ctx = !first ? own_ctx_q : Cfg.GpuW'(dst);
    assign ctx_o = !req_i.valid ? own_ctx : first ? Cfg.GpuW'(src) : rq_ctx_q;
    assign drop = req_i.valid && (first ? stray || full_i : rq_drop_q);
    assign src = cfg_pkg::port_of(Cfg, header.src_far, header.src);
    assign dst = cfg_pkg::port_of(Cfg, header.dst_far, header.dst);
    assign stray = 32'(src) >= Cfg.N || src == cfg_i.port || header.len == '0;
    assign keep_o = !drop;
    assign push_o = valid_o && last && !drop;
    assign err_o.valid = req_i.valid && first && drop;
    assign err_o.code = stray ? ERR_LENGTH : ERR_WINDOW;

    if (Cfg.HeadFlits == 1) begin : gen_header1
        assign header = data;
        assign is_static = req_i.valid ? header.opcode == OP_MULTIMEM_LD_REDUCE : own_i.is_static;
    end else begin : gen_header2
        assign header = {data, data};
        assign is_static = !req_i.valid ? own_i.is_static
                           : first ? header.opcode == OP_MULTIMEM_LD_REDUCE : rq_static_q;
    end

    localparam bit Plain = red_pkg::plain(Cfg.RedTypes, Cfg.RedOps);
    red_pkg::red_t red;
    assign red = '{dtype: header.dtype, redop: header.redop};
    assign word_o.red = Plain ? '0 : red_pkg::kept(Cfg.RedTypes, red);

    always_comb begin
        word_o.low.len_low = header.len[9:0];
        word_o.low.len_high = header.len[14:10];
        word_o.low.is_static = is_static;
        word_o.low.cnt = (req_i.valid && is_static) ? 5'd1 : header.cnt;
        word_o.low.more = header.tag[1];
        word_o.low.use_r = header.tag[2] && !req_i.valid;
        word_o.low.is_explicit = req_i.valid ? Cfg.TileReductions && cfg_i.tile_reductions
                                 : header.tag[3];
        word_o.low.slots = header.tag[4] && !req_i.valid;
        word_o.low.bad = req_i.valid ? header.poison || req_i.err : header.tag[5];
        word_o.low.again = header.tag[6] && !req_i.valid;
        word_o.low.st = header.tag[7] && !req_i.valid;
        word_o.low.over = req_i.valid && (cfg_i.row_bytes < header.len
                                          || header.len[Cfg.FlitLog2-1:0] != '0
                                          || !red_pkg::has(Cfg.RedTypes, Cfg.RedOps, red) ||
            (!is_static && (header.cnt == '0 || header.cnt > 5'(TargetsMax))));
        word_o.x = header.addr[Cfg.MaddrW-1:0];
        word_o.over = req_i.valid && (req_i.err || header.addr[47:Cfg.MaddrW] != '0
                      || (is_static && ((word_o.x >> (Cfg.MemBytesLog2)) != '0
                                        || header.addr[Cfg.FlitLog2-1:0] != '0)));
        word_o.target = {(header.target0 >> (4 + Cfg.ExpW)) != '0, header.target0[4+:Cfg.ExpW]};
        for (int unsigned l = 0; l < Cfg.Lanes; l++) begin
            word_o.targets[l] = {
                data[16*l+4+Cfg.ExpW+:12-Cfg.ExpW] != '0 || (req_i.valid && req_i.err),
                data[16*l+4+:Cfg.ExpW]
            };
        end
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            rq_beat_q <= '0;
            own_beat_q <= '0;
        end else begin
            if (req_i.valid) rq_beat_q <= req_i.last ? '0 : rq_beat_q + 1'b1;
            else if (own_i.valid) own_beat_q <= own_i.last ? '0 : own_beat_q + 1'b1;
        end
        if (req_i.valid && first) begin
            rq_ctx_q <= ctx_o;
            rq_drop_q <= drop;
            rq_static_q <= is_static;
        end
        if (!req_i.valid && own_i.valid) own_ctx_q <= own_ctx;
    end

endmodule

`default_nettype wire
