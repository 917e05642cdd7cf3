// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Guard of one port of the switch: isolates the faults of its endpoint from the other ports.
//
// Function: Every packet that starts reaches the input whole: one class, a flit in every cycle, a
// last flit. A packet with a gap is ended in that cycle by a flit that is marked bad, because a
// reader may be one cycle behind the writer. Its later flits are dropped.
// - Down: A port is marked down if a packet waits for its credit, its own packet is open, or a join
//   waits for its partial (late_i), longer than the time limit of the class (see stall_timer), or
//   if software requests it. report_o names the cause. A packet waits only for packets of earlier
//   classes, so the limits double with each class. If one port stops others, it is down before the
//   time of the others is over.
// - Shut: A cycle later its open packet is ended and nothing more enters. Another cycle later, when
//   everything that came is in its queue, down_o rises. The output then discards, and joins get
//   poisoned partials.
// - Enable: With enable_i, and when all packets of the port have left the switch (drained_i),
//   flush_o resets the port's input, its queues and its endpoint for 32 cycles or more, until
//   nothing is left from before (ready_i). Then the port is up as after power-up.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module port_guard #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type link_t = `MW_LINK(Cfg)
) (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    input  wire logic [2:0] tick_i,  // end of a period, of 2, of 4
    input  wire logic       step_i,  // every 32 cycles
    input  wire logic       enable_i,
    input  wire logic       disable_i,

    input  wire link_t up_i,    // of the link
    output link_t      in_o,    // to the input
    output logic       drop_o,  // a packet was cut short, or not let in

    // a packet of class CTRL, STORE, PART (in this order) waits for the endpoint's credit
    input  wire logic [2:0] starved_i,
    input  wire logic       late_i,     // a join has waited too long for a partial
    input  wire logic       written_i,  // partials that came are in their queues
    input  wire logic       drained_i,  // the input, its queues and kept rows are out
    input  wire logic       ready_i,
    output logic            down_o,
    output logic            flush_o,

    output logic            report_o,  // until report_take_i
    output error_pkg::err_e report_code_o,
    input  wire logic       report_take_i
);
    // {flush, down, marked, step}: the request of one of them has no time for more than a flip-flop
    typedef enum logic [4:0] {
        Up      = 5'b000_00,
        Marked  = 5'b001_00,
        Shut    = 5'b001_01,
        Down    = 5'b011_00,
        Drain   = 5'b011_01,
        Flush   = 5'b111_00,
        Flushed = 5'b111_01,
        Ready   = 5'b111_10
    } state_e;
    state_e state_q;
    logic open_q;  // the endpoint's packet has not ended
    logic drop_q;  // the rest of it is dropped
    logic [1:0] cls_q;
    logic shut_q;  // a cycle behind the state, for the input alone: much waits for it there
    logic passing, cut, sinks, overdue;
    logic [3:0] late;

    // ---- packets ----
    assign passing = open_q && !drop_q;
    assign cut = passing && (shut_q || !up_i.valid);
    assign in_o.data = up_i.data;
    assign in_o.valid = passing || (up_i.valid && !open_q && !shut_q);
    assign in_o.last = cut || up_i.last;
    assign in_o.err = cut || up_i.err;
    assign in_o.cls = open_q ? cls_q : up_i.cls;
    assign drop_o = cut || (up_i.valid && !open_q && shut_q);

    always_ff @(posedge clk_i) begin
        if (!rst_ni || flush_o) open_q <= 1'b0;
        else if (up_i.valid) open_q <= !up_i.last;
        shut_q <= rst_ni && state_q[2];
        if (!open_q) begin
            drop_q <= shut_q;
            cls_q <= up_i.cls;
        end else if (shut_q || !up_i.valid) begin
            drop_q <= 1'b1;
        end
    end

    // ---- time limits ----
    stall_timer #(
        .Count(4)
    ) i_timer (
        .clk_i,
        .rst_ni(rst_ni && !state_q[2]),
        .tick_i({tick_i[0], tick_i[2], tick_i[1], tick_i[0]}),
        .wait_i({open_q, starved_i}),
        .late_o(late)
    );

    assign sinks = late[2:0] != '0;
    assign overdue = late_i;

    // ---- state ----
    assign down_o = state_q[3];
    assign flush_o = state_q[4];

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= Up;
        end else begin
            unique case (state_q)
                Up:      if (sinks || overdue || late[3] || disable_i) state_q <= Marked;
                Marked:  state_q <= Shut;
                Shut:    if (written_i) state_q <= Down;
                Down:    if (enable_i) state_q <= Drain;
                Drain:   if (drained_i) state_q <= Flush;
                Flush:   if (step_i) state_q <= Flushed;    // may come at once
                Flushed: if (step_i) state_q <= Ready;
                default: if (ready_i) state_q <= Up;
            endcase
        end
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) report_o <= 1'b0;
        else if (state_q == Up && (sinks || overdue || late[3])) report_o <= 1'b1;
        else if (report_take_i) report_o <= 1'b0;
        if (state_q == Up)
            report_code_o <= sinks ? error_pkg::ERR_SINK : overdue ? error_pkg::ERR_LATE
                             : error_pkg::ERR_OPEN;
    end

    `MW_NEXT(in_o.valid && !in_o.last && !flush_o, in_o.valid && in_o.cls == $past(in_o.cls),
             "the input gets a packet with a gap, or of two classes")
    `MW_NEXT(report_o && !report_take_i, report_o && $stable(report_code_o),
             "a report changes before it is taken")
    `MW_CONTRACT(report_take_i, report_o, "a report is taken that is not there")
    `MW_CONTRACT(flush_o, down_o, "a port is flushed that is up")
    `MW_CONTRACT(down_o, !in_o.valid, "a packet enters from a port that is down")
endmodule

`default_nettype wire
