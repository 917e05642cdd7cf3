// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Takes a packet's terms one after the other and makes the passes that reduce it.
//
// Function: Steps are the terms, and R as the last. The first two make one pass, and each further
// one a pass. A single term passes through, as does R alone. No term gives zeros (-0 for dense
// rows, as packet_acc keeps a lone term). A pass for the bypass (copy_i: one of these three) reads
// by the bypass's port. The adder's single terms use its two ports alternately, because one port
// would have to win every conflict. Every context has one row in flight, whose next packet number
// is kept here.
// Ports: Terms come by their index in the row (term_*), as addresses of the row's packet 0.
// Order: A row's packets from the first to the last, passes in the order of the terms.
// Back-pressure: pass_room_i low, or term_i.valid low, delays the packet. A choice is taken when
// the previous packet has all its passes (choice_ready_o).
// Latency: A packet of t terms takes 1 + t cycles after its choice, plus those in which
// term_i.valid or pass_room_i is low.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module sum_passes #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type row_t = `MW_ROW(Cfg),
    parameter type term_t = `MW_TERM(Cfg),
    parameter type operands_t = `MW_OPERANDS(Cfg),
    parameter type pass_t = logic,  // see row_sum
    parameter type tag_t = logic,
    parameter int unsigned TurnW = 1
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic go_i,

    input  wire logic                choice_valid_i,
    output logic                     choice_ready_o,
    input  wire logic [Cfg.GpuW-1:0] ctx_i,    // from the cycle behind on
    input  wire logic                own_i,
    input  wire logic                copy_i,   // it is for the adder bypass
    output logic                     begin_o,  // its packet begins
    output logic                     claim_o,  // and takes a packet of R
    input  wire logic [TurnW-1:0]    turn_i,   // see sum_up_join

    // row of ctx_i
    input  wire row_t             row_i,      // packets less 1
    output logic                  row_pop_o,  // its last packet is under way
    output bundle_pkg::term_req_t term_o,
    input  wire term_t            term_i,     // requested in the last cycle

    output logic      pass_push_o,
    input  wire logic pass_room_i,  // the adder's queue: push only then
    output pass_t     pass_o,
    output operands_t operands_o
);
    typedef enum logic [1:0] {
        Pick,
        Load,
        Terms
    } state_e;
    state_e state_q;

    logic [Cfg.N-1:0] started_q;  // the packet number of the context's row is in the memory
    logic [node_pkg::PktW-1:0] pkt, pkt_mem, pkt_q;
    logic row_last, zero_q, minus_q, use_r_q, copy_q, final_step, is_term, advance;
    tag_t tag_q;
    logic [4:0] step_q, last_q;
    logic [Cfg.AddrW-1:0] addr, addr_q;
    logic by_b_q;  // the second port reads the next single term

    assign choice_ready_o = state_q == Pick;
    assign begin_o = state_q == Load;
    assign claim_o = begin_o && own_i && row_i.use_r;
    assign pkt = started_q[ctx_i] ? pkt_mem : '0;
    assign row_last = pkt == row_i.last_pkt;

    lutram #(
        .Width(node_pkg::PktW),
        .Depth(Cfg.N)
    ) i_pkt_mem (
        .clk_i,
        .we_i(begin_o),
        .waddr_i(ctx_i),
        .wdata_i(pkt + 1'b1),
        .raddr_i(ctx_i),
        .rdata_o(pkt_mem)
    );

    // The first two steps make one pass (with R alone or one term: one step, one pass).
    assign final_step = step_q == last_q;
    assign is_term = !(use_r_q && final_step) && !zero_q;
    assign advance = state_q == Terms && (pass_room_i || copy_q) && (term_i.valid || !is_term);
    assign pass_push_o = advance && (step_q != '0 || final_step);
    assign addr = term_i.addr + Cfg.AddrW'({pkt_q, {Cfg.PayW{1'b0}}});

    assign term_o.re = begin_o || state_q == Terms;
    assign term_o.idx = begin_o ? '0 : step_q[3:0] + 4'(advance);
    assign row_pop_o = advance && final_step && tag_q.row_last;

    always_comb begin
        pass_o.pair = step_q == 5'd1;
        pass_o.need_a = is_term && (pass_o.pair || copy_q || !by_b_q);
        pass_o.need_b = pass_o.pair || (is_term && !copy_q && by_b_q);
        pass_o.need_r = use_r_q && final_step;
        pass_o.first = step_q[4:1] == '0;
        pass_o.last = final_step;
        pass_o.copy = copy_q;
        pass_o.minus = Cfg.Gathered && minus_q;
        pass_o.tag = tag_q;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= Pick;
            started_q <= '0;
        end else begin
            unique case (state_q)
                Pick:    if (choice_valid_i) state_q <= Load;
                Load:    state_q <= Terms;
                default: if (advance && final_step) state_q <= Pick;
            endcase
            if (begin_o) started_q[ctx_i] <= !row_last;
        end
        if (go_i) by_b_q <= 1'b0;
        else if (pass_push_o && is_term && !pass_o.pair && !copy_q) by_b_q <= !by_b_q;
        if (begin_o) begin
            tag_q.own <= own_i && !row_i.st;
            tag_q.st <= row_i.st;
            tag_q.dst <= ctx_i;
            tag_q.addr <= row_i.dest + Cfg.AddrW'({pkt, {Cfg.PayW{1'b0}}});
            tag_q.poison <= row_i.poison;
            tag_q.row_last <= row_last;
            tag_q.turn <= turn_i;
            tag_q.count <= row_last ? row_i.last_len : '1;
            last_q <= row_i.last;
            use_r_q <= row_i.use_r;
            zero_q <= row_i.zero;
            minus_q <= row_i.minus;
            copy_q <= copy_i;
            pkt_q <= pkt;
            step_q <= '0;
        end else if (advance) begin
            step_q <= step_q + 1'b1;
            addr_q <= addr;
        end
    end

    red_pkg::red_t red;

    if (red_pkg::plain(Cfg.RedTypes, Cfg.RedOps)) begin : gen_plain
        assign red = '0;
    end else begin : gen_red
        red_pkg::red_t red_q;
        always_ff @(posedge clk_i) if (begin_o) red_q <= row_i.red;
        assign red = red_q;
    end

    assign operands_o = '{a: addr, b: pass_o.pair ? addr_q : addr, red: red};

    `MW_CONTRACT(pass_push_o && !copy_q, pass_room_i, "a pass without a place")
    `MW_CONTRACT(pass_push_o && pass_o.copy, pass_o.first && pass_o.last && !pass_o.pair,
                 "an addition in the bypass")
    `MW_CONTRACT(state_q == Terms, step_q <= last_q, "a step behind the last one")
endmodule

`default_nettype wire
