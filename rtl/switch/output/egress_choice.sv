// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Selects the next packet of an output of the switch.
//
// Order: Classes in the order CTRL (an ERROR packet first), REQ (a GRANT first), RESULT, STORE.
// Inside a class round robin over the inputs. With a look-ahead window, seven of eight stores
// prefer inputs whose packet prevents others of the same input from advancing: the oldest of its
// window, or one in a full queue. An input with nothing for the other outputs leaves them idle. The
// eighth store is selected among all.
// Back-pressure: A packet waits for open_i and for its credit. REQ needs no credit. While open_i is
// high and a packet can go, one starts.
// Latency: In every 16 packets each of the three lower classes has one slot in which it goes first.
// A packet with credit therefore lets at most 16 others of higher classes pass. A store waits for
// at most 8 N - 1 others of its class. Each class selects its input while the class is being
// selected, in one combinational path.
`default_nettype none
`include "assert.svh"

module egress_choice #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic go_i,    // all turns begin anew
    input  wire logic open_i,  // a packet may start

    // inputs with a packet of the class
    input  wire logic [Cfg.N-1:0] has_ctrl_i,
    input  wire logic [Cfg.N-1:0] has_req_i,
    input  wire logic [Cfg.N-1:0] has_store_i,
    input  wire logic [Cfg.N-1:0] urgent_i,     // that STORE packet keeps others of its
                                                // input from moving up
    input  wire logic             has_error_i,  // packets made here: CTRL, REQ, RESULT
    input  wire logic             has_grant_i,
    input  wire logic             has_result_i,

    input  wire bundle_pkg::credit_classes_t crd_i,  // a credit of the receiver is left

    output logic             start_o,
    output logic [1:0]       cls_o,          // of the packet that starts
    output logic [Cfg.N-1:0] pop_o,          // its input; none: it is made here
    output logic             grant_start_o,  // it is the GRANT
    output bundle_pkg::credit_classes_t takes_o  // it takes a credit of that class
);
    import packet_pkg::*;

    // ---- class ----
    logic can_ctrl, can_req, can_part, can_store;
    logic [3:0] turn_q;  // packets sent, modulo 16
    logic turn_req_q, turn_part_q, turn_store_q;  // 5, 10, 15: the turn of that
                                                  // class, if it waits

    assign can_ctrl = (has_ctrl_i != '0 || has_error_i) && crd_i.ctrl;
    assign can_req = has_req_i != '0 || has_grant_i;
    assign can_part = has_result_i && crd_i.part;
    assign can_store = has_store_i != '0 && crd_i.store;
    assign start_o = open_i && (can_ctrl || can_req || can_part || can_store);

    // Each class decides by itself whether it goes: turn_*_q exclude each other.
    // ctrl, req, part, store: one of them if anything can
    logic req_turn, part_turn, store_turn, ctrl, req, part, store;

    assign req_turn = can_req && turn_req_q;
    assign part_turn = can_part && turn_part_q;
    assign store_turn = can_store && turn_store_q;
    assign ctrl = can_ctrl && !(req_turn || part_turn || store_turn);
    assign req = can_req && (turn_req_q || !(can_ctrl || part_turn || store_turn));
    assign part = can_part && (turn_part_q || !(can_ctrl || can_req || store_turn));
    assign store = can_store && (turn_store_q || !(can_ctrl || can_req || can_part));

    // else CLS_CTRL, which is 0
    assign cls_o = ({2{req}} & CLS_REQ) | ({2{part}} & CLS_PART) | ({2{store}} & CLS_STORE);
    assign takes_o.ctrl = open_i && ctrl;
    assign takes_o.store = open_i && store;
    assign takes_o.part = open_i && part;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            turn_q <= '0;
            turn_req_q <= 1'b0;
            turn_part_q <= 1'b0;
            turn_store_q <= 1'b0;
        end else if (start_o) begin
            turn_q <= turn_q + 4'd1;
            turn_req_q <= turn_q == 4'd4;
            turn_part_q <= turn_q == 4'd9;
            turn_store_q <= turn_q == 4'd14;
        end
    end

    // ---- input ----
    logic take_ctrl, take_req, take_store;
    logic urgent;  // only those that are in the way are chosen from
    logic [Cfg.N-1:0] ctrl_from, req_from, store_from, any_store;

    assign take_ctrl = takes_o.ctrl && !has_error_i;
    assign take_req = open_i && req && !has_grant_i;
    assign grant_start_o = open_i && req && has_grant_i;
    assign take_store = takes_o.store;
    assign pop_o = ({Cfg.N{take_ctrl}} & ctrl_from) | ({Cfg.N{take_req}} & req_from)
                   | ({Cfg.N{take_store}} & store_from);

    rr_arb #(
        .N(Cfg.N),
        .Fast(1'b1)
    ) i_ctrl (
        .clk_i,
        .rst_ni,
        .clear_i(go_i),
        .req_i(has_ctrl_i),
        .grant_o(ctrl_from),
        .idx_o(),
        .advance_i(take_ctrl)
    );
    rr_arb #(
        .N(Cfg.N),
        .Fast(1'b1)
    ) i_req (
        .clk_i,
        .rst_ni,
        .clear_i(go_i),
        .req_i(has_req_i),
        .grant_o(req_from),
        .idx_o(),
        .advance_i(take_req)
    );
    rr_arb #(
        .N(Cfg.N),
        .Fast(1'b1)
    ) i_store (
        .clk_i,
        .rst_ni,
        .clear_i(go_i),
        .req_i(has_store_i),
        .grant_o(any_store),
        .idx_o(),
        .advance_i(take_store && !urgent)
    );

    if (Cfg.Window != 0) begin : gen_urgent
        logic [Cfg.N-1:0] urgent_store;
        logic [2:0] choice_q;  // STORE packets chosen, modulo 8

        rr_arb #(
            .N(Cfg.N),
            .Fast(1'b1)
        ) i_urgent (
            .clk_i,
            .rst_ni,
            .clear_i(go_i),
            .req_i(has_store_i & urgent_i),
            .grant_o(urgent_store),
            .idx_o(),
            .advance_i(take_store && urgent)
        );
        assign urgent = choice_q != '1 && (has_store_i & urgent_i) != '0;
        assign store_from = urgent ? urgent_store : any_store;

        always_ff @(posedge clk_i) begin
            if (!rst_ni || go_i) choice_q <= '0;
            else if (take_store) choice_q <= choice_q + 3'd1;
        end
    end else begin : gen_no_urgent
        assign urgent = 1'b0;
        assign store_from = any_store;
    end

    `MW_CONTRACT(start_o, $onehot({ctrl, req, part, store}), "packets of two classes start")
    `MW_CONTRACT(pop_o != '0, start_o && (pop_o & (pop_o - 1'b1)) == '0,
                 "packets of two inputs start")
    `MW_CONTRACT(1'b1, $onehot0({turn_req_q, turn_part_q, turn_store_q}), "the turn of two classes")
endmodule

`default_nettype wire
