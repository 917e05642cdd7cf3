// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Checks the credits of the packets that enter one input of the switch.
//
// Function: Counts the STORE and CTRL credits that the sender holds. A packet of these classes
// without a credit does not enter. REQ has no credits, as the open reductions have their own limit.
// PART bypasses the queue (see part_entry).
// Order: Admitted flits are those of the link, in their cycle.
// Back-pressure: None. A packet without credit is dropped whole, and code_o reports it with its
// first flit. No packet is admitted while the queue is almost full. A packet that is being admitted
// then ends with the flit of that cycle, marked bad unless it is the last one. The queue therefore
// never overflows. Only a sender that breaks its limits reaches this state: more requests than its
// window, or packets that are too long, faster than they are rejected. A packet refused in this
// state has used no credit.
// Latency: A credit sent to the sender (crd_i) may be used from the next cycle on.
// Errors: CREDIT, or WINDOW for a request.
`default_nettype none
`include "assert.svh"

module credit_gate #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic       valid_i,        // of the link
    input  wire logic       last_i,
    input  wire logic [1:0] cls_i,
    input  wire logic       err_i,
    input  wire logic [1:0] crd_i,          // {STORE, CTRL} credit on its way to the sender
    input  wire logic       almost_full_i,  // of the queue, see flit_queue
    input  wire logic       kept_use_i,     // a kept answer takes a STORE credit

    output logic            first_o,   // the next flit of the link begins a packet
    output logic            second_o,  // it is the second half of a header
    output logic            enters_o,  // this flit goes into the queue
    output logic            last_o,    // it is the last one that does of its packet,
    output logic            err_o,     // and marked bad
    output error_pkg::err_e code_o,    // why a packet that begins is refused; ERR_NONE: none is
    output logic            scarce_o,  // the sender has few STORE credits left
    output logic            left_o,    // one is left for a kept answer
    output logic            store_begins_o
);
    import packet_pkg::*;

    localparam int unsigned StoreW = $clog2(Cfg.StorePkts + 1);
    localparam int unsigned CtrlW = $clog2(Cfg.CtrlPkts + 1);

    logic [StoreW-1:0] store_used;
    logic store_left, ctrl_left;  // the sender holds a credit
    logic open_q;  // the packet is let in
    logic begins, store_begins, ctrl_begins, lets, open, cut;

    assign scarce_o = store_used > StoreW'(Cfg.StorePkts - (Cfg.StorePkts + 3) / 4);
    assign begins = valid_i && first_o;
    assign store_begins = begins && cls_i == CLS_STORE;
    assign ctrl_begins = begins && cls_i == CLS_CTRL;
    assign enters_o = valid_i && open;
    assign left_o = store_left;
    assign store_begins_o = store_begins;

    credit_use #(
        .Max(Cfg.StorePkts)
    ) i_store (
        .clk_i,
        .rst_ni,
        .clear_i(1'b0),
        .limit_i(StoreW'(Cfg.StorePkts)),
        .take_i((store_begins && lets) || kept_use_i),
        .back_i(crd_i[1]),
        .ready_o(store_left),
        .used_o(store_used)
    );
    credit_use #(
        .Max(Cfg.CtrlPkts)
    ) i_ctrl (
        .clk_i,
        .rst_ni,
        .clear_i(1'b0),
        .limit_i(CtrlW'(Cfg.CtrlPkts)),
        .take_i(ctrl_begins && lets),
        .back_i(crd_i[0]),
        .ready_o(ctrl_left),
        .used_o()
    );

    // checked at the first flit alone: those behind it go where it went
    assign lets = !almost_full_i
                  && (cls_i == CLS_REQ || (cls_i == CLS_CTRL && ctrl_left)
                      || (cls_i == CLS_STORE && store_left));
    assign open = first_o ? lets : open_q;
    assign cut = !first_o && almost_full_i && !last_i;
    assign last_o = last_i || cut;
    assign err_o = err_i || cut;
    assign code_o = (!begins || lets || cls_i == CLS_PART) ? error_pkg::ERR_NONE
                    : (cls_i == CLS_REQ) ? error_pkg::ERR_WINDOW : error_pkg::ERR_CREDIT;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            first_o <= 1'b1;
            second_o <= 1'b0;
        end else if (valid_i) begin
            first_o <= last_i;
            second_o <= Cfg.HeadFlits == 2 && first_o && !last_i;
        end
        if (valid_i) open_q <= open && !last_o;
    end

    `MW_CONTRACT(code_o != error_pkg::ERR_NONE, begins && !enters_o,
                 "a packet is refused, and enters")
    `MW_CONTRACT(enters_o && almost_full_i, last_o && !first_o,
                 "a queue that is almost full lets a packet in, or go on")
    `MW_CONTRACT(kept_use_i, store_left && !store_begins, "a kept answer without a credit")
    `MW_CONTRACT(second_o, !first_o, "a flit is both the first and the second one")
endmodule

`default_nettype wire
