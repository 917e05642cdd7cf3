// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Flit queue of one input of the switch, with the target to look up and the arrival time of the
// flit at its head.
//
// Function: The look-up is the longest path. The target of the flit in the queue's register is
// therefore selected one cycle earlier, and may be looked up in that cycle. It is the last lane of
// a header, or each lane of a list in turn. A header may come directly from the link, a list may
// not.
// Order: First in, first out.
// Back-pressure: almost_full_o, see flit_queue. Packets within credits and open
// reductions do not raise it.
// Latency: One flit per cycle in and out. A flit that finds the queue empty is shown in its own
// cycle, unless a list is being read (list_i). Other flits are shown at most 3 cycles later, or as
// soon as all earlier flits are taken.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module queue_head #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type link_t = `MW_LINK(Cfg)
) (
    input  wire logic                  clk_i,
    input  wire logic                  rst_ni,
    input  wire logic [Cfg.StampB-1:0] now_i,  // the time

    // what enters
    input  wire link_t in_i,
    input  wire logic  head_i,  // the last flit of a header

    // what the parser reads
    input  wire logic                 list_i,         // the flit is one of targets alone
    input  wire logic                 pause_i,        // nothing is taken and no target is
                                                      // done in this cycle
    input  wire logic [Cfg.LaneW-1:0] lane_i,         // of the target in its flit, with list_i
    input  wire logic                 begin_i,        // the flit begins a packet
    input  wire logic                 late_i,         // stamp_o is read for the packet before
    output link_t                     flit_o,
    output logic [15:0]               target_o,       // at lane_i, or of a header
    output bundle_pkg::lookup_t       lookup_o,       // held: always, with list_i
    output logic [Cfg.StampB-1:0]     stamp_o,        // when the packet's first flit came
    input  wire logic                 take_i,         // only with flit_o.valid
    output logic                      almost_full_o,  // one flit more may enter, then none
                                                      // until it falls
    output logic                      empty_o
);
    localparam int unsigned MaxPkt = Cfg.HeadFlits + Cfg.ListFlits + Cfg.PayFlits;
    // what has a credit or is an open reduction, and a packet whose credit went
    // back when it was rejected
    localparam int unsigned Most   = (Cfg.StorePkts + 1) * MaxPkt + Cfg.CtrlPkts * Cfg.HeadFlits
                                     + Cfg.OpenRows * (Cfg.HeadFlits + Cfg.ListFlits);
    localparam int unsigned Need = $clog2(Most + 5);  // see flit_queue
    localparam int unsigned DW = (Need < 9) ? 9 : Need;  // a block RAM has 512 words

    typedef struct packed {
        logic                 head;
        logic                 last;
        logic                 err;
        logic [1:0]           cls;
        logic [Cfg.FlitW-1:0] data;
    } flit_t;
    localparam int unsigned QueueW = $bits(flit_t) + Cfg.StampW;

    logic load;
    flit_t flit, held, load_flit;
    logic [QueueW-1:0] queued, register, loaded;

    assign flit = queued[$bits(flit_t)-1:0];
    assign held = register[$bits(flit_t)-1:0];
    assign load_flit = loaded[$bits(flit_t)-1:0];
    assign flit_o.last = flit.last;
    assign flit_o.err = flit.err;
    assign flit_o.cls = flit.cls;
    assign flit_o.data = flit.data;

    flit_queue #(
        .Width(QueueW),
        .DepthLog2(DW)
    ) i_queue (
        .clk_i,
        .rst_ni,
        .valid_i(in_i.valid),
        .data_i(QueueW'({
            now_i,
            flit_t
'{head: head_i, last: in_i.last, err: in_i.err, cls: in_i.cls, data: in_i.data}
        })),
        .direct_i(!list_i),
        .valid_o(flit_o.valid),
        .data_o(queued),
        .held_valid_o(lookup_o.held),
        .load_o(load),
        .load_data_o(loaded),
        .held_o(register),
        .take_i,
        .almost_full_o,
        .empty_o
    );

    // ---- target ----
    logic [15:0] held_target_q, lane_target;

    always_comb begin
        lane_target = '0;
        for (int unsigned l = 0; l < Cfg.Lanes; l++) begin
            if (lane_i + 1'b1 == Cfg.LaneW'(l)) lane_target = held.data[16*l+:16];
        end
    end
    assign lookup_o.next_we = load || (list_i && !pause_i);
    assign lookup_o.next = !load ? lane_target : load_flit.head ? load_flit.data[Cfg.FlitW-1 -: 16]
                           : load_flit.data[15:0];
    assign lookup_o.link = in_i.data[Cfg.FlitW-1-:16];
    assign target_o = lookup_o.held ? held_target_q : lookup_o.link;

    always_ff @(posedge clk_i) if (lookup_o.next_we) held_target_q <= lookup_o.next;

    // ---- when the packet came ----
    if (Cfg.StampW != 0) begin : gen_stamp
        logic [Cfg.StampW-1:0] stamp, stamp_q;

        assign stamp = queued[QueueW-1-:Cfg.StampW];
        assign stamp_o = (begin_i && !late_i) ? stamp : stamp_q;

        always_ff @(posedge clk_i) if (flit_o.valid && begin_i) stamp_q <= stamp;
    end else begin : gen_no_stamp
        assign stamp_o = '0;
    end

    `MW_CONTRACT(list_i && flit_o.valid, lookup_o.held,
                 "a flit of targets comes straight from the link")
    `MW_CONTRACT(take_i, flit_o.valid && !pause_i,
                 "a flit is taken that is not there, or in a pause")
endmodule

`default_nettype wire
