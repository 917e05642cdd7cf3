// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// For test_lanes: what sim/lanes/lanes.py has to translate, each construct with an output of its
// own. All outputs are registers.
`default_nettype none

module lanes_sample (
    input  wire logic         clk_i,
    input  wire logic         rst_ni,
    input  wire logic [7:0]   op_i,
    input  wire logic [31:0]  a_i,
    input  wire logic [31:0]  b_i,
    input  wire logic [63:0]  c_i,
    input  wire logic [127:0] w_i,

    output logic [31:0]       sum_o,      // arithmetic under nested conditions
    output logic [63:0]       long_o,     // 64 bits, shifts by any distance
    output logic [5:0]        first_o,    // a loop that is left early
    output logic [31:0]       early_o,    // a function that returns early, called under a condition
    output logic [127:0]      wide_o,     // moving part select and shift of a wide register
    output logic [15:0]       word_o,     // moving part select read from it
    output logic [31:0]       small_o,    // small array
    output logic [79:0]       few_o,      // small array of wide elements
    output logic [99:0]       ram_o,      // memory of wide elements
    output logic [63:0]       queue_o,    // memory of 64-bit elements
    output logic [15:0]       slice_o,    // moving part of a memory's element
    output logic [7:0]        table_o,    // table of constants
    output logic              parity_o,
    output logic [31:0]       count_o,    // a loop whose length moves
    output logic [31:0]       part_o,     // constant parts of it, written under conditions
    output logic [68:0]       parts_o,    // of a wide one
    output logic [7:0]        ones_o,     // ones, counted
    output logic [5:0]        only_o,     // at most one, exactly one
    output logic [31:0]       ratio_o,    // quotient and remainder
    output logic [63:0]       ratio64_o,
    output logic [31:0]       signed_o,   // numbers with a sign: shifted
    output logic [63:0]       signed64_o,
    output logic [31:0]       product_o,  // multiplied
    output logic [63:0]       product64_o,
    output logic [11:0]       order_o,    // compared, wide ones too
    output logic [99:0]       total_o,    // wide ones added
    output logic [99:0]       rest_o,     // and subtracted
    output logic [31:0]       bits_o,     // variables of one bit: with each other, with
                                          // numbers, and as numbers
    output logic [63:0]       high_o,     // at the high end of one of 64 bits
    output logic [15:0]       marks_o,    // small arrays of them
    output logic [71:0]       hits_o      // a number, compared with many constants
);
    typedef struct packed {
        logic [15:0] high;
        logic [15:0] low;
    } pair_t;

    pair_t        pair_q;
    logic [31:0]  small_q [6];
    logic [79:0]  few_q [4];
    logic [99:0]  ram_q [64];
    logic [63:0]  queue_q [40];
    logic [127:0] wide_q;

    function automatic logic [31:0] pick(input logic [31:0] x, input logic [31:0] y);
        if (x == 32'd0) return y;
        if (x[7:0] == y[7:0]) return x ^ y;
        for (int unsigned i = 0; i < 4; i++) begin
            if (x[8*i+:8] > y[8*i+:8]) return 32'(i) + x;
        end
        return x - y;
    endfunction

    function automatic logic [7:0] square(input logic [4:0] x);
        case (x)
            5'd0: square = 8'd1;
            5'd1: square = 8'd200;
            5'd2: square = 8'd7;
            5'd3: square = 8'd99;
            5'd5: square = 8'd13;
            5'd8: square = 8'd250;
            5'd13: square = 8'd3;
            5'd21: square = 8'd77;
            5'd30: square = 8'd31;
            default: square = {3'd0, x} * 8'd5;
        endcase
    endfunction

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            sum_o    <= '0;
            long_o   <= '0;
            first_o  <= '0;
            early_o  <= '0;
            wide_q   <= '0;
            pair_q   <= '0;
            word_o   <= '0;
            small_o  <= '0;
            table_o  <= '0;
            parity_o <= 1'b0;
            count_o  <= '0;
            part_o   <= '0;
            parts_o  <= '0;
            for (int unsigned i = 0; i < 6; i++) small_q[i] <= '0;
        end else begin
            if (op_i[0]) begin
                if (op_i[1]) sum_o <= sum_o + a_i * b_i;
                else if (op_i[2]) sum_o <= sum_o - (a_i > b_i ? a_i : b_i);
                else begin
                    sum_o  <= {pair_q.low, pair_q.high};
                    pair_q <= pair_t'(a_i);
                end
            end

            case (op_i[2:1])
                2'd0: long_o <= c_i << a_i[6:0];
                2'd1: long_o <= c_i >> a_i[6:0];
                2'd2: long_o <= (c_i < {b_i, a_i}) ? c_i - 64'(b_i) : c_i + long_o;
                default: long_o <= {long_o[31:0], a_i} ^ (64'd1 << b_i[5:0]);
            endcase

            if (op_i[3]) begin
                first_o <= 6'd63;
                for (int unsigned i = 0; i < 32; i++) begin
                    if (a_i[i] && b_i[i]) begin
                        first_o <= 6'(i);
                        break;
                    end
                end
            end

            if (op_i[4]) early_o <= pick(a_i, b_i);

            if (op_i[5]) wide_q[a_i[6:0]] <= b_i[0];
            else if (op_i[6]) wide_q[16*a_i[2:0]+:16] <= b_i[15:0];
            else if (op_i[7]) wide_q <= b_i[8] ? w_i << b_i[7:0] : w_i >> b_i[7:0];
            word_o <= wide_q[16*b_i[2:0]+:16];

            if (a_i[2:0] < 3'd6) small_q[a_i[2:0]] <= b_i;
            small_o <= (b_i[2:0] < 3'd6) ? small_q[b_i[2:0]] : small_q[5];

            table_o  <= square(a_i[4:0]);
            parity_o <= ^a_i[15:0] ^ ^b_i;

            if (op_i[1]) begin
                if (a_i[15:0] != '0 && !op_i[2]) begin
                    part_o[9:8]    <= part_o[9:8] + 2'd1;
                    parts_o[41:40] <= parts_o[41:40] + 2'd1;
                end
                part_o[31:10]  <= '0;
                parts_o[67:42] <= '0;
            end
            if (op_i[3]) begin
                part_o[20:15]  <= part_o[20:15] + b_i[5:0];
                parts_o[66:58] <= parts_o[66:58] + b_i[8:0];
            end

            begin
                automatic logic [31:0] n = '0;
                for (int unsigned i = 0; i < 32 && 5'(i) < a_i[4:0]; i++) n += 32'(b_i[i]);
                count_o <= n;
            end
        end
    end
    assign wide_o = wide_q;

    always_ff @(posedge clk_i) begin
        ones_o      <= 8'($countones(a_i)) + 8'($countones(c_i)) + 8'($countones(w_i));
        only_o      <= {$onehot(a_i), $onehot0(a_i), $onehot(c_i), $onehot0(c_i), $onehot(w_i),
                        $onehot0(w_i)};
        ratio_o     <= op_i[0] ? a_i / b_i : a_i % b_i;
        ratio64_o   <= op_i[1] ? c_i / {32'd0, b_i} : c_i % {32'd0, b_i};
        signed_o    <= op_i[2] ? $signed(a_i) >>> b_i[5:0] : 32'($signed(a_i[10:0]) >>> b_i[3:0]);
        signed64_o  <= op_i[3] ? $signed(c_i) >>> b_i[6:0] : 64'($signed(a_i));
        product_o   <= op_i[4] ? 32'($signed(a_i[15:0]) * $signed(b_i[15:0]))
                       : 32'($signed(a_i) * $signed(b_i));
        product64_o <= 64'($signed(a_i)) * 64'($signed(b_i));
        order_o     <= {$signed(a_i) < $signed(b_i), $signed(a_i[6:0]) <= $signed(b_i[6:0]),
                        $signed(c_i) > $signed({a_i, b_i}),
                        $signed(c_i[39:0]) >= $signed({a_i[7:0], b_i}),
                        w_i < {w_i[127:64], a_i, b_i}, w_i <= {w_i[127:64], c_i},
                            w_i > {w_i[127:32], b_i},
                        w_i >= {a_i, w_i[95:0]}, w_i == {w_i[127:64], c_i}, ^c_i, ^w_i, &w_i[99:0]};
        total_o     <= w_i[99:0] + {c_i[35:0], b_i, a_i};
        rest_o      <= w_i[99:0] - {c_i[35:0], b_i, a_i};
    end

    logic is_q, was_q, odd_q, kept_q;
    always_ff @(posedge clk_i) begin
        if (!rst_ni) {is_q, was_q, odd_q, kept_q} <= 4'b0010;
        else begin
            is_q  <= op_i[0] ? a_i < b_i : was_q ^ op_i[4];
            was_q <= is_q && !(odd_q || op_i[1]) || (a_i[3] & ~b_i[7]);
            odd_q <= ~(is_q ^ b_i[0]) & (was_q | ~a_i[31]);
            if (op_i[5]) kept_q <= is_q == odd_q;
            else if (op_i[6] != was_q) kept_q <= 1'(a_i + b_i);
        end
        bits_o <= {is_q ? a_i[7:0] : {8{was_q}}, {3{odd_q}} & b_i[4:2], is_q, 4'(is_q) + 4'(was_q)
                   + 4'(odd_q), a_i[5'(was_q)], 1'(b_i >> is_q), ~kept_q, ^{is_q, was_q, odd_q},
                   &{is_q, b_i[1:0]}, was_q > odd_q,
                   {is_q, was_q} < {odd_q, kept_q}, (is_q ? was_q : a_i[9]), 8'(kept_q)
                   << b_i[2:0]};
        high_o <= {is_q, kept_q, 28'd0, ~was_q, c_i[30:0], odd_q & c_i[40], 1'b1}
                  ^ {64{c_i[63] & is_q}};
    end

    logic mark_q [11];
    logic grid_q [3][4];
    always_ff @(posedge clk_i) begin
        if (op_i[7]) mark_q[4'(a_i[3:0] % 4'd11)] <= b_i[4];
        else if (op_i[6]) mark_q[3] <= ~mark_q[2];
        if (op_i[5] && a_i[9:8] != 2'd3) grid_q[a_i[9:8]][a_i[7:6]] <= ^b_i[2:0];
        if (!rst_ni) for (int unsigned i = 0; i < 11; i++) mark_q[i] <= 1'b0;
        if (!rst_ni) grid_q[1] <= grid_q[2];
        marks_o <= {mark_q[10], mark_q[4'(b_i[7:4] % 4'd11)], mark_q[2] & mark_q[5],
                    grid_q[0][3], 10'd0,
                    grid_q[2][b_i[1:0]], b_i[9:8] != 2'd3 && grid_q[b_i[9:8]][b_i[7:6]]};
    end

    // of such comparisons Verilator makes a table
    logic [71:0] hit;
    for (genvar i = 0; i < 72; i++) begin : gen_hit
        assign hit[i] = a_i[6:0] == 7'(i);
    end
    always_ff @(posedge clk_i) hits_o <= hit & w_i[71:0];

    // an assertion, as assert.svh makes them
    always_ff @(posedge clk_i) if (rst_ni && !(op_i != 8'hff || a_i != 32'hdead))
        $fatal(1, "a forbidden operand");

    always_ff @(posedge clk_i) begin
        if (op_i[3]) few_q[a_i[1:0]] <= w_i[79:0];
        few_o <= few_q[b_i[1:0]];
        if (op_i[0]) ram_q[a_i[5:0]] <= w_i[99:0];
        if (op_i[1]) ram_o <= ram_q[b_i[5:0]];
        if (op_i[2] && a_i[5:0] < 6'd40) queue_q[a_i[5:0]] <= c_i;
        if (b_i[5:0] < 6'd40) queue_o <= queue_q[b_i[5:0]];
        slice_o <= ram_q[c_i[5:0]][16*c_i[7:6]+:16];
    end
endmodule

`default_nettype wire
