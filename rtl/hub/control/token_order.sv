// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The order in which dymultimem.st sends own tokens. It spreads the tokens for hot GPUs evenly.
// These are the Hot GPUs that get most copies.
//
// Function: `order` (unit control) reads the routing table, and puts each token of its range into
// the list of its class. The class is the set of hot GPUs that hold one of its experts. sort_i
// starts a range, tok_i brings token by token, and sorted_i comes with or after the last one. Unit
// send starts a range in this order (begin_i) and takes token by token (pick_o, take_i). Until
// lists of the same range are complete, it gets tokens in the order of their numbers. From then on
// it gets the next one of the class that order_choice names. Tokens that it has taken by then are
// at the front of their lists and are dropped first, once while others are taken, and once while
// none is.
// Ports: Lists count from the cycle after sorted_i. pick_o.valid may fall without take_i. Lists
// serve one begin_i. A sort_i while they are used makes none. go_i clears lists and ranges.
// Order: Each token of the range is issued once, whatever `order` does: without lists of this
// range, in the order of numbers.
// Back-pressure: sort_i only with ready_o, which comes 2^Hot cycles after the previous one. Tokens
// are always taken.
// Latency: A token is available 2^Hot + Hot + 5 cycles after the previous one was taken. The first
// of the choice waits 2^Hot + 2 Hot + 6 cycles, and two for each token that was taken while others
// were dropped.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module token_order #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type range_t = `MW_RANGE(Cfg),
    parameter type places_t = `MW_PLACES(Cfg),
    parameter type pick_t = `MW_PICK(Cfg),
    parameter int unsigned Hot = 5
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire logic [Cfg.GpuW-1:0] hot_i [Hot],

    input  wire range_t  sort_i,
    output logic         ready_o,
    input  wire places_t tok_i,
    input  wire logic    sorted_i,

    input  wire range_t begin_i,  // not before all tokens of the one before were taken
    output pick_t       pick_o,
    input  wire logic   take_i
);
    localparam int unsigned T = Cfg.TokensLog2;

    // Number: in the order of numbers. Drop: what was taken leaves the lists; Settle:
    // once more, while none is given.
    // Choose: by choice, until all are taken.
    typedef enum logic [2:0] {
        Number,
        Drop,
        Settle,
        Begin,
        Choose,
        Take,
        Wait
    } state_e;
    state_e state_q;

    // ---- `order` --------------------------------------------------------------------------------
    logic sorting_q, made_q, busy, add;
    logic [T:0] sort_first_q, sort_stop_q, token_q;
    logic [Hot-1:0] places;  // the class of the token that comes

    assign busy = state_q != Number;
    assign add = sorting_q && tok_i.valid;
    for (genvar i = 0; i < Hot; i++) begin : gen_place
        assign places[i] = tok_i.gpus[hot_i[i]];
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            sorting_q <= 1'b0;
            made_q <= 1'b0;
        end else if (sort_i.valid) begin
            sorting_q <= !busy;
            made_q <= 1'b0;
        end else begin
            if (sorted_i) sorting_q <= 1'b0;
            if (sorted_i && sorting_q) made_q <= 1'b1;
            else if (busy) made_q <= 1'b0;
        end
        if (sort_i.valid && !busy) begin
            sort_first_q <= sort_i.first;
            sort_stop_q <= sort_i.stop;
        end
        if (sort_i.valid) token_q <= sort_i.first;
        else if (add) token_q <= token_q + 1'b1;
    end

    // ---- lists ----------------------------------------------------------------------------------
    logic some, drop, lists_ready, lists_busy, old, choice_valid, visit_last;
    logic [Hot-1:0] at, visit_q, choice;
    logic [T-1:0] front;
    logic [T:0] next_q, stop_q, left;  // the next one by its number; while tokens are
                                       // chosen: how many are taken

    assign old = {1'b0, front} < next_q;
    assign drop = (state_q inside {Drop, Settle} && lists_ready && some && old) || state_q == Take;
    assign at = add ? places : (state_q inside {Drop, Settle}) ? visit_q : choice;
    assign visit_last = lists_ready && visit_q == '1 && !drop;

    order_lists #(
        .TokensLog2(T),
        .ClassW(Hot)
    ) i_lists (
        .clk_i,
        .rst_ni,
        .clear_i(sort_i.valid && !busy),
        .busy_o(lists_busy),
        .class_i(at),
        .some_o(some),
        .front_o(front),
        .add_i(add),
        .token_i(token_q[T-1:0]),
        .drop_i(drop),
        .ready_o(lists_ready)
    );
    assign ready_o = !lists_busy;

    // ---- tokens with each bit -------------------------------------------------------------------
    logic [T:0] total_q[Hot];

    always_ff @(posedge clk_i) begin
        for (int unsigned i = 0; i < Hot; i++) begin
            if (sort_i.valid && !busy) total_q[i] <= '0;
            else if (add && places[i]) total_q[i] <= total_q[i] + 1'b1;
            else if (drop && visit_q[i] && state_q != Take) total_q[i] <= total_q[i] - 1'b1;
        end
    end

    order_choice #(
        .TokensLog2(T),
        .M(Hot)
    ) i_choice (
        .clk_i,
        .rst_ni(rst_ni && !go_i && state_q inside {Begin, Choose, Take, Wait}),
        .start_i(state_q == Begin),
        .tokens_i(left),
        .totals_i(total_q),
        .valid_o(choice_valid),
        .take_i(state_q == Take),
        .class_o(choice),
        .some_i(some)
    );

    // ---- tokens for send ------------------------------------------------------------------------
    logic match, open, chosen_q;
    logic [T:0] first_q, more_q;
    logic [T-1:0] pick_q;

    assign left = stop_q - next_q;
    assign open = next_q != stop_q;
    assign match = made_q && open && sort_first_q == first_q && sort_stop_q == stop_q;
    assign pick_o = '{
            valid: (state_q inside {Number, Drop}) ? open : chosen_q,
            token: (state_q inside {Number, Drop}) ? next_q[T-1:0] : pick_q
        };

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            state_q <= Number;
            chosen_q <= 1'b0;
            next_q <= '0;
            stop_q <= '0;
        end else begin
            unique case (state_q)
                Number:  if (match && !begin_i.valid && !sort_i.valid) state_q <= Drop;
                // not open: all are taken, and the lists are of no use any more
                Drop:    if (!open) state_q <= Number;
                         else if (visit_last) state_q <= Settle;
                Settle:  if (!open) state_q <= Number;
                         else if (visit_last) state_q <= Begin;
                Begin:   state_q <= Choose;
                Choose:  if (choice_valid && (!chosen_q || take_i)) state_q <= Take;
                Take:    state_q <= Wait;
                // the last one is given: what is taken is counted, and nothing chosen any more
                Wait:    if (more_q != '0) state_q <= Choose;
                         else if (take_i) state_q <= Number;
                default: state_q <= Number;
            endcase
            if (begin_i.valid) begin
                next_q <= begin_i.first;
                stop_q <= begin_i.stop;
            end else if (state_q == Wait && more_q == '0) begin
                next_q <= stop_q;
            end else if (take_i && state_q inside {Number, Drop}) begin
                next_q <= next_q + 1'b1;
            end
            if (state_q == Take) chosen_q <= 1'b1;
            else if (take_i) chosen_q <= 1'b0;
        end
        if (begin_i.valid) first_q <= begin_i.first;
        if (state_q inside {Drop, Settle}) begin
            if (lists_ready && !drop) visit_q <= visit_q + 1'b1;
        end else begin
            visit_q <= '0;
        end
        if (state_q == Begin) more_q <= left;
        else if (state_q == Take) more_q <= more_q - 1'b1;
        if (state_q == Take) pick_q <= front;
    end

    `MW_CONTRACT(sort_i.valid, ready_o, "a list is made before there is room for it")
    `MW_CONTRACT(add, !drop, "two operations on the lists in one cycle")
    `MW_CONTRACT(begin_i.valid, !open || state_q inside {Choose, Take, Wait},
                 "a range begins before the one before was taken")
endmodule

`default_nettype wire
