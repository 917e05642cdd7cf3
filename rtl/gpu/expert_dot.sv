// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Dot product of two rows of bf16, in one order of additions: the gradient of a gate weight.
//
// Function: A product of two elements is exact in fp32, and flushes as those of expert_lanes do.
// Element i of a row joins sum i modulo 32, from +0, in ascending order. Then sum j and sum j + 16
// are added, j and j + 8, and so on, to one. All additions are those of fp32_add. Flits of 8 and of
// 16 bytes give the same bits.
// Ports: A step brings two flits of each row, in the order of expert_path: flits 0 and 2 of a group
// of four, then 1 and 3. The second step of a group may follow at once, and behind it two cycles
// are free. keep_i says which of the two exist. last_i is high in a row's last step, the second of
// a group, whose flits may all be missing. start_i announces a row, in its first step or before,
// and only while ready_o is high.
// Order: Results in the order of the rows.
// Back-pressure: A result waits in the tree of sums. A second row may wait in front of it, and then
// ready_o is low. Steps of a row that has started are never refused.
// Latency: A group in four cycles. A result is there 44 cycles after the last step of its row
// if the tree is idle. Rows of 46 cycles or more never wait if results leave at once.
`default_nettype none
`include "assert.svh"

module expert_dot #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic start_i,  // a row
    output logic      ready_o,

    input  wire logic                   valid_i,  // a step of the oldest row that has not ended
    input  wire logic                   last_i,
    input  wire logic [1:0]             keep_i,
    input  wire logic [Cfg.FlitW-1:0] a_i [2],
    input  wire logic [Cfg.FlitW-1:0] b_i [2],

    output logic        dot_valid_o,
    input  wire logic   dot_ready_i,
    output logic [31:0] dot_o,
    output logic        idle_o
);
    localparam int unsigned Sums = 32;
    localparam int unsigned Slots = Sums / Cfg.Lanes;  // flits of a pass over all sums
    localparam int unsigned SlotW = $clog2(Slots);
    localparam int unsigned AddLat = fp_pkg::FpAddLatency;

    typedef logic [Cfg.Lanes-1:0][15:0] flit_t;
    typedef logic [Cfg.Lanes-1:0][31:0] words_t;

    function automatic logic [31:0] multiply(input logic [15:0] a, input logic [15:0] b);
        logic a_top, b_top, a_zero, b_zero, sign;
        logic [15:0] product;
        logic [9:0] exp;
        logic [14:0] frac;
        a_top = a[14:7] == '1;
        b_top = b[14:7] == '1;
        a_zero = a[14:7] == '0;
        b_zero = b[14:7] == '0;
        sign = a[15] ^ b[15];
        product = 16'({1'b1, a[6:0]}) * 16'({1'b1, b[6:0]});  // from [1, 4)
        exp = 10'(a[14:7]) + 10'(b[14:7]) + 10'(product[15]);  // 127 above the result's
        frac = product[15] ? product[14:0] : {product[13:0], 1'b0};
        if ((a_top && (a[6:0] != '0 || b_zero)) || (b_top && (b[6:0] != '0 || a_zero)))
            return fp_pkg::NaN32;
        if (a_top || b_top) return {sign, 8'hff, 23'd0};
        if (a_zero || b_zero || exp <= 10'd127) return {sign, 31'd0};
        if (exp >= 10'd382) return {sign, 8'hff, 23'd0};
        return {sign, 8'(exp - 10'd127), frac, 8'd0};
    endfunction

    // ---- products: the first flit of a step, then the second -------------------------------
    // A second step that follows the first at once waits for a cycle (wait_q).
    // Flit 4g + 2h + o of a row, of step {g, o}, belongs to slot {g, h, o} modulo Slots.
    logic [1:0] at_q;  // {number of the group, odd}, modulo 4: of the next step, or of this one
    logic wait_q, begins, valid_q, keep_q, last_q, last;
    logic [1:0] wait_keep_q, keep;
    logic wait_last_q;
    flit_t a_q, b_q, a, b;
    flit_t [1:0] wait_a_q, wait_b_q, a_both, b_both;
    logic add_q, over_q;  // a product is there; the row's last flit, there or missing, is
    logic [SlotW-1:0] slot_q;
    words_t product_q;

    assign begins = wait_q || (valid_i && !valid_q);
    assign a_both = wait_q ? wait_a_q : {a_i[1], a_i[0]};
    assign b_both = wait_q ? wait_b_q : {b_i[1], b_i[0]};
    assign keep = wait_q ? wait_keep_q : keep_i;
    assign last = wait_q ? wait_last_q : last_i;
    assign a = begins ? a_both[0] : a_q;
    assign b = begins ? b_both[0] : b_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            wait_q <= 1'b0;
            valid_q <= 1'b0;
            add_q <= 1'b0;
            over_q <= 1'b0;
            at_q <= '0;
        end else begin
            wait_q <= valid_i && valid_q;
            valid_q <= begins;
            add_q <= begins ? keep[0] : valid_q && keep_q;
            over_q <= valid_q && last_q;
            if (valid_q) at_q <= last_q ? '0 : at_q + 1'b1;
        end
        if (valid_i && valid_q) begin
            wait_a_q <= {a_i[1], a_i[0]};
            wait_b_q <= {b_i[1], b_i[0]};
            wait_keep_q <= keep_i;
            wait_last_q <= last_i;
        end
        if (begins) begin
            {a_q, b_q} <= {a_both[1], b_both[1]};
            keep_q <= keep[1];
            last_q <= last;
        end
        if (begins || valid_q) begin
            slot_q <= SlotW'({at_q[1], !begins, at_q[0]});
            for (int unsigned l = 0; l < Cfg.Lanes; l++) product_q[l] <= multiply(a[l], b[l]);
        end
    end

    // ---- sums ---------------------------------------------------------------------------------
    // A sum is in its register from the cycle after its adder's result. touched_q: this row has
    // an element in the slot. The other sums of a row that has ended count as zeros (none_q). The
    // next row may end as early as the cycle before they are copied, so the mask is a cycle late.
    words_t sum_q[Slots], result, operand;
    logic [Slots-1:0] touched_q, touched, ended_q, none_q;
    logic [AddLat-1:0] adding_q;
    logic [SlotW-1:0] into_q[AddLat];

    always_comb begin
        touched = touched_q;
        if (add_q) touched[slot_q] = 1'b1;
        operand = sum_q[slot_q];
        if (adding_q[AddLat-1] && into_q[AddLat-1] == slot_q) operand = result;
        if (!touched_q[slot_q]) operand = '0;
    end

    for (genvar l = 0; l < Cfg.Lanes; l++) begin : gen_lane
        fp32_add #(
            .Picks(1'b0)
        ) i_add (
            .clk_i,
            .valid_i(add_q),
            .pick_i(1'b0),
            .max_i(1'b0),
            .a_i(operand[l]),
            .b_i(product_q[l]),
            .half_i(1'b0),
            .over_i(1'b0),
            .over_data_i('0),
            .res_o(result[l])
        );
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            touched_q <= '0;
            adding_q <= '0;
        end else begin
            touched_q <= over_q ? '0 : touched;
            adding_q <= {adding_q[AddLat-2:0], add_q};
        end
        into_q[0] <= slot_q;
        for (int unsigned i = 1; i < AddLat; i++) into_q[i] <= into_q[i-1];
        for (int unsigned s = 0; s < Slots; s++) begin
            if (adding_q[AddLat-1] && into_q[AddLat-1] == SlotW'(s)) sum_q[s] <= result;
        end
        if (over_q) ended_q <= ~touched;
        none_q <= ended_q;
    end

    // ---- tree: two pairs of a level per cycle, then the next level ------------------------------
    // Pair j of a level is {low_q[j], high_q[j]}. Of m pairs the first m / 2 make the lower halves
    // of the next level's pairs, in one adder, and the others the upper halves, in another one.
    logic [AddLat:0] over_d;  // the last: all sums of the row are in their registers
    logic waits_q, copy, busy_q, pair_valid, pair_done;
    logic [3:0] half_q, next_q, got_q;  // pairs of the level for each adder, 0: the last one;
                                        // its next one; results
    logic [15:0][31:0] low_q, high_q;
    logic [Sums-1:0][31:0] sums;
    logic [AddLat-1:0] pair_q;
    logic [1:0][31:0] pair_sum;
    logic one_q;  // the last pair is in the adder

    for (genvar s = 0; s < Slots; s++) begin : gen_sums
        assign sums[Cfg.Lanes*s+:Cfg.Lanes] = none_q[s] ? '0 : sum_q[s];
    end

    assign copy = (over_d[AddLat] || waits_q) && !busy_q;
    assign pair_valid = busy_q && ((half_q == '0) ? !one_q : next_q != half_q);
    assign pair_done = pair_q[AddLat-1];

    for (genvar h = 0; h < 2; h++) begin : gen_half
        logic [3:0] pair;
        assign pair = (h == 0) ? next_q : next_q | half_q;
        fp32_add #(
            .Picks(1'b0)
        ) i_pair (
            .clk_i,
            .valid_i(pair_valid),
            .pick_i(1'b0),
            .max_i(1'b0),
            .a_i(low_q[pair]),
            .b_i(high_q[pair]),
            .half_i(1'b0),
            .over_i(1'b0),
            .over_data_i('0),
            .res_o(pair_sum[h])
        );
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            over_d <= '0;
            waits_q <= 1'b0;
            busy_q <= 1'b0;
            pair_q <= '0;
            dot_valid_o <= 1'b0;
        end else begin
            over_d <= {over_d[AddLat-1:0], over_q};
            waits_q <= (over_d[AddLat] || waits_q) && !copy;
            if (copy) busy_q <= 1'b1;
            else if (dot_valid_o && dot_ready_i) busy_q <= 1'b0;
            pair_q <= {pair_q[AddLat-2:0], pair_valid};
            if (pair_done && half_q == '0) dot_valid_o <= 1'b1;
            else if (dot_ready_i) dot_valid_o <= 1'b0;
        end
        if (copy) begin
            {high_q, low_q} <= sums;
            half_q <= 4'd8;
            next_q <= '0;
            got_q <= '0;
            one_q <= 1'b0;
        end else begin
            if (pair_valid) next_q <= next_q + 1'b1;
            if (pair_valid && half_q == '0) one_q <= 1'b1;
            if (pair_done) begin
                low_q[got_q] <= pair_sum[0];
                high_q[got_q] <= pair_sum[1];
                got_q <= got_q + 1'b1;
                if (got_q + 4'd1 == half_q) begin
                    half_q <= half_q >> 1;
                    next_q <= '0;
                    got_q <= '0;
                end
                dot_o <= pair_sum[0];
            end
        end
    end

    // ---- rows that have started, and whose results were not taken -------------------------------
    logic [1:0] rows_q;
    logic taken;

    assign taken = dot_valid_o && dot_ready_i;
    assign ready_o = !rows_q[1];
    assign idle_o = rows_q == '0;

    always_ff @(posedge clk_i)
        if (!rst_ni) rows_q <= '0;
        else rows_q <= rows_q + 2'(start_i) - 2'(taken);

    `MW_CONTRACT(start_i, ready_o, "a row starts that has no place")
    `MW_CONTRACT(valid_i, !wait_q && !(valid_q && at_q[0]), "a step comes too early")
    `MW_CONTRACT(valid_i && last_i, at_q[0] != valid_q, "a row ends inside a group")
    `MW_CONTRACT(valid_i, start_i || rows_q != '0, "a step of no row")
    `MW_CONTRACT(over_d[AddLat], !waits_q, "a row ends behind one that waits")
    `MW_STABLE(dot_valid_o, dot_ready_i, dot_o, "a result changes before it is taken")
endmodule

`default_nettype wire
