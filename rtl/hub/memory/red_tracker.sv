// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Counts the contributions of merged reds to own rows, and reports complete rows in order.
//
// Function: added_i adds contributions to the count of a row. A row with red_count contributions is
// complete. done_o is one pulse for each complete row, in the order of their indices from red_first
// on. Rows may be completed in any order. Counts of another epoch are 0. sweep_i clears the counts
// of 2^token_shift rows, one per cycle. It comes before the first layer, and when the epoch wraps
// or the sizes change. added_i is not valid while sweep_busy_o, nor with red_count 0.
// Order: Rows by index. done_o follows the write of the last contribution to memory.
// Back-pressure: added_ready_o falls for one cycle after each added_i, for no other reason.
// Latency: A row is reported 3 cycles after its last contribution, if all rows before it have been
// reported and no added_i follows. Rows that were complete before follow, one in two cycles without
// added_i.
// Errors: COUNT: a row has more than red_count contributions. The row is complete once.
`default_nettype none

module red_tracker #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,
    input  wire logic                sweep_i,
    output logic                     sweep_busy_o,

    input  wire bundle_pkg::added_t added_i,
    output logic                    added_ready_o,

    output logic               done_o,
    output bundle_pkg::error_t err_o
);
    typedef logic [Cfg.TokensLog2-1:0] index_t;
    typedef struct packed {
        logic [1:0]  epoch;
        logic [15:0] count;
    } word_t;

    // ---- sweep ----
    logic sweep_q;
    index_t at_q, mask_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) sweep_q <= 1'b0;
        else sweep_q <= sweep_q ? at_q != mask_q : sweep_i;
        at_q <= sweep_q ? at_q + 1'b1 : '0;
        if (sweep_i) mask_q <= ~index_t'('1 << cfg_i.token_shift);
    end
    assign sweep_busy_o = sweep_q;

    // ---- read of a row to which added_i adds, or of the head: the first row not reported ----
    logic take, take_q, look, look_q, changed_q, over, whole;
    logic [7:0] adds_q;
    index_t index_q;
    logic [Cfg.TokensLog2:0] head_q;  // 2^TokensLog2: all rows are reported
    word_t word;
    logic [15:0] count;
    logic [16:0] sum;

    assign added_ready_o = !take_q;
    assign take = added_i.valid && added_ready_o;
    // the head is read when nothing is added
    assign look = changed_q && !take && !take_q && !look_q && !head_q[Cfg.TokensLog2];

    table_ram #(
        .Width($bits(word_t)),
        .Depth(2 ** Cfg.TokensLog2)
    ) i_counts (
        .clk_i,
        .we_i(take_q || sweep_q),
        .waddr_i(sweep_q ? at_q : index_q),
        .wdata_i(sweep_q ? '0 : {cfg_i.epoch, over ? cfg_i.red_count : sum[15:0]}),
        .re_i(take || look),
        .raddr_i(take ? index_t'(added_i.row) : head_q[Cfg.TokensLog2-1:0]),
        .rdata_o(word)
    );
    assign count = (word.epoch == cfg_i.epoch) ? word.count : '0;
    assign sum = {1'b0, count} + 17'(adds_q);
    assign over = sum > {1'b0, cfg_i.red_count};
    assign whole = look_q && count == cfg_i.red_count;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            take_q <= 1'b0;
            look_q <= 1'b0;
            changed_q <= 1'b0;
            head_q <= (Cfg.TokensLog2 + 1)'(cfg_i.red_first);
        end else begin
            take_q <= take;
            look_q <= look;
            // after a change the head is read until it is not complete
            if (take_q) changed_q <= 1'b1;
            else if (look_q) changed_q <= whole;
            if (whole) head_q <= head_q + 1'b1;
        end
        if (take) begin
            adds_q <= added_i.adds;
            index_q <= index_t'(added_i.row);
        end
    end

    assign done_o = whole;
    assign err_o = '{valid: take_q && over, code: error_pkg::ERR_COUNT};
endmodule

`default_nettype wire
