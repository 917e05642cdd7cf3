// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Dispatch throttle: lets dispatch and partial sums share an uplink so that both end together. Next
// to tx, for layers with uses.dispatch_throttle.
//
// Function: A token with remote targets takes Q + 1 packets of dispatch, and a partial sum takes P.
// Q is P, unless rows of dispatch have a size of their own. With D such tokens and B rows of
// partial sums (share_i), lead = (packets of dispatch sent) B P - (packets of partial sums sent) D
// (Q + 1). One row of dispatch is (Q + 1) B P.
// - If the lead is cfg.throttle_lead rows or more, partial sums go first. Otherwise
//   dispatch goes first (first_o).
// - If the lead is above cfg.throttle_ahead rows, dispatch waits (hold_o). If no flit has left for
//   cfg.throttle_idle cycles, the next Q + 1 packets of it may go. A tile that needs them then gets
//   its rows, and nothing waits for ever.
// - Packets without gate weights count like the others. When share_i is available, one adder
//   computes the constants, and earlier packets are added, one per cycle. Until then both outputs
//   are inactive (throttled_o and hold_o low), and dispatch and partial sums alternate.
// - A throttle_ahead of 2^(TokensLog2+1) or more is no limit. A throttle_lead above throttle_ahead
//   equals it. go_i restarts everything.
// Ports: A queue next to that of tx marks the stores that are dispatch (dymultimem.st with any
// flags). in_* are the flits that enter, and out_i is the last flit of a packet that leaves.
// throttled_o and hold_o refer to the packet at the front.
// Latency: A start is visible within two cycles, while packets start one at a time.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module dispatch_throttle #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type share_t = `MW_SHARE(Cfg),
    parameter int unsigned Packets = 16  // that the queue of stores holds, a power of two
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,
    input  wire share_t              share_i,

    input  wire logic       in_valid_i,   // a flit of a store goes into the queue
    input  wire logic       in_last_i,
    input  wire logic [5:0] in_opcode_i,  // if it is a packet's first
    input  wire logic       out_i,

    input  wire logic start_store_i,  // the packet in front starts
    input  wire logic start_part_i,   // a partial sum does
    input  wire logic used_i,         // a flit leaves

    output logic throttled_o,  // it is dispatch, and first_o counts
    output logic first_o,
    output logic hold_o        // it is dispatch, and waits
);
    localparam int unsigned CountW = Cfg.TokensLog2 + 1;  // D, and a limit in rows
    localparam int unsigned PktsW = 9;  // Q + 1: at most 257
    localparam int unsigned TimesW = CountW + PktsW;  // a multiplier
    localparam int unsigned StepW = Cfg.TokW + 1 + PktsW;  // B P, D (Q + 1)
    // signed, all of either and a row
    localparam int unsigned LeadW = StepW + CountW + PktsW + 1;
    localparam int unsigned SentW = Cfg.TokW + 1 + PktsW;  // packets of a layer
    localparam int unsigned PtrW = $clog2(Packets);

    // ---- which packets are dispatch -------------------------------------------------------------
    logic [PtrW:0] in_q, out_q;
    logic inside_q, kind_q, kind, front_kind, front, dispatch, partial;

    assign kind = inside_q ? kind_q : in_opcode_i == packet_pkg::OP_DYMULTIMEM_ST;

    lutram #(
        .Width(1),
        .Depth(Packets)
    ) i_kind (
        .clk_i,
        .we_i(in_valid_i && in_last_i),
        .waddr_i(in_q[PtrW-1:0]),
        .wdata_i(kind),
        .raddr_i(out_q[PtrW-1:0]),
        .rdata_o(front_kind)
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            inside_q <= 1'b0;
            in_q <= '0;
            out_q <= '0;
        end else begin
            if (in_valid_i) inside_q <= !in_last_i;
            if (in_valid_i && in_last_i) in_q <= in_q + 1'b1;
            if (out_i) out_q <= out_q + 1'b1;
        end
        if (in_valid_i) kind_q <= kind;
    end

    // An empty queue holds nothing: what an earlier layer left in the table never starts a wait.
    assign front = front_kind && in_q != out_q;
    assign dispatch = start_store_i && front;
    assign partial = start_part_i;

    // ---- constants, and the lead ----------------------------------------------------------------
    // lead_q accumulates one product after the other, high bit of the multiplier first. These are
    // X = B P, Y = D (Q + 1), and two numbers of rows times (Q + 1) times X. The first number is
    // how many rows more than cfg.throttle_lead may be ahead; its product goes to more_q. The
    // second is minus cfg.throttle_lead, so lead_q is then the lead less these rows.
    typedef enum logic [2:0] {
        Off,
        PartStep,
        SendStep,
        More,
        Limit,
        Lead,
        Start,
        Run
    } state_e;
    state_e state_q;
    logic [TimesW-1:0] times_q;
    logic [$clog2(TimesW)-1:0] bit_q;
    logic [PktsW-1:0] pkts, pkts_1;  // P, Q + 1
    logic [14:0] sent_bytes;
    logic [CountW-1:0] ahead, lead;
    logic last, limited, up, down;
    logic [StepW-1:0] part_step_q, send_step_q;
    logic signed [LeadW-1:0] lead_q, more_q, operand, sum;
    logic [SentW-1:0] dispatch_q, partial_q;  // sent and not added up

    assign pkts = PktsW'((16'(cfg_i.row_bytes) + 16'd127) >> 7);
    assign sent_bytes = node_pkg::dispatch_row(Cfg.RowTypes, cfg_i);
    assign pkts_1 = PktsW'((16'(sent_bytes) + 16'd127) >> 7) + 1'b1;
    assign limited = cfg_i.throttle_ahead != '0 && (cfg_i.throttle_ahead >> CountW) == '0;
    assign ahead = cfg_i.throttle_ahead[CountW-1:0];
    assign lead = (limited && cfg_i.throttle_lead > cfg_i.throttle_ahead) ? ahead
                  : (cfg_i.throttle_lead >> CountW) == '0 ? cfg_i.throttle_lead[CountW-1:0] : '1;
    assign last = bit_q == $clog2(TimesW)'(TimesW - 1);
    assign up = state_q == Run && dispatch_q != '0;
    assign down = state_q == Run && !up && partial_q != '0;

    always_comb begin
        unique case (state_q)
            PartStep:   operand = LeadW'(share_i.rows);
            SendStep:   operand = LeadW'(share_i.tokens);
            More, Lead: operand = LeadW'(pkts_1);
            Start:      operand = -LeadW'(part_step_q);
            Run:        operand = up ? LeadW'(part_step_q) : -LeadW'(send_step_q);
            default:    operand = LeadW'(part_step_q);
        endcase
        if (state_q == Run) sum = (up || down) ? lead_q + operand : lead_q;
        else sum = (lead_q <<< 1) + (times_q[TimesW-1] ? operand : '0);
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            state_q <= Off;
        end else begin
            unique case (state_q)
                Off:      if (share_i.valid && cfg_i.dispatch_throttle) state_q <= PartStep;
                PartStep: if (last) state_q <= SendStep;
                SendStep: if (last) state_q <= More;
                More:     if (last) state_q <= Limit;
                Limit:    if (last) state_q <= Lead;
                Lead:     if (last) state_q <= Start;
                Start:    if (last) state_q <= Run;
                default:  ;
            endcase
        end
        if (state_q == Off || last) bit_q <= '0;
        else bit_q <= bit_q + 1'b1;
        if (state_q == Off) times_q <= TimesW'(pkts);
        else if (!last) times_q <= times_q << 1;
        else begin
            unique case (state_q)
                PartStep: times_q <= TimesW'(pkts_1);
                SendStep: times_q <= TimesW'(CountW'(ahead - lead));
                Limit:    times_q <= TimesW'(lead);
                default:  times_q <= sum[TimesW-1:0];
            endcase
        end
        if (state_q == Off || (last && !(state_q inside {Start, Run}))) lead_q <= '0;
        else lead_q <= sum;
        if (state_q == PartStep && last) part_step_q <= sum[StepW-1:0];
        if (state_q == SendStep && last) send_step_q <= sum[StepW-1:0];
        if (state_q == Limit && last) more_q <= sum;
    end

    // ---- what was sent --------------------------------------------------------------------------
    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            dispatch_q <= '0;
            partial_q <= '0;
        end else if (cfg_i.dispatch_throttle) begin
            if (dispatch != up) dispatch_q <= dispatch_q + (dispatch ? SentW'(1) : '1);
            if (partial != down) partial_q <= partial_q + (partial ? SentW'(1) : '1);
        end
    end

    // ---- what it means --------------------------------------------------------------------------
    logic notified_q;  // all that was sent by the time of Run is added up
    logic [15:0] idle_q;
    logic [PktsW-1:0] free_q;  // packets that may go whatever the lead

    assign throttled_o = notified_q && front;
    assign first_o = lead_q < 0;
    assign hold_o = notified_q && front && limited && lead_q > more_q && free_q == '0;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            notified_q <= 1'b0;
            idle_q <= '0;
            free_q <= '0;
        end else begin
            if (state_q == Run && dispatch_q == '0 && partial_q == '0) notified_q <= 1'b1;
            if (used_i || !notified_q) idle_q <= '0;
            else if (idle_q != '1) idle_q <= idle_q + 1'b1;
            if (dispatch && free_q != '0) free_q <= free_q - 1'b1;
            else if (hold_o && !used_i && idle_q >= cfg_i.throttle_idle) free_q <= pkts_1;
        end
    end

    `MW_CONTRACT(hold_o, throttled_o && limited, "a packet waits that is not dispatch")
endmodule

`default_nettype wire
