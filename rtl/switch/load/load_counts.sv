// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Counters of a merge_table, in this order: loads, FETCHs, FETCHs that bypass the table, evicted
// kept rows, maximum of entries in use, sum and maximum of an entry's spread, and loads that kept
// rows answered. The spread is the number of cycles from the first to the last load of an entry,
// modulo 2^16.
//
// Ports: count_o: the counter with number idx_i in the order above, or 0 if it does not exist.
// Latency: An event counts from the next cycle on.
`default_nettype none

module load_counts (
    input  wire logic        clk_i,
    input  wire logic        clear_i,
    input  wire logic        load_i,
    input  wire logic        fetch_i,
    input  wire logic        bypass_i,
    input  wire logic        evict_i,
    input  wire logic        kept_i,
    input  wire logic [8:0]  used_i,
    input  wire logic        free_i,   // an entry ends, and its spread is
    input  wire logic [15:0] spread_i,
    input  wire logic [3:0]  idx_i,
    output logic [31:0]      count_o
);
    logic [31:0] loads_q, fetches_q, bypasses_q, sum_q, evicted_q, kept_q;
    logic [15:0] spread_q;
    logic [8:0] used_q;

    always_ff @(posedge clk_i) begin
        if (clear_i) begin
            {loads_q, fetches_q, bypasses_q, sum_q, evicted_q, kept_q} <= '0;
            {used_q, spread_q} <= '0;
        end else begin
            if (load_i) loads_q <= loads_q + 32'd1;
            if (fetch_i) fetches_q <= fetches_q + 32'd1;
            if (bypass_i) bypasses_q <= bypasses_q + 32'd1;
            if (evict_i) evicted_q <= evicted_q + 32'd1;
            if (kept_i) kept_q <= kept_q + 32'd1;
            if (used_i > used_q) used_q <= used_i;
            if (free_i) begin
                sum_q <= sum_q + 32'(spread_i);
                if (spread_i > spread_q) spread_q <= spread_i;
            end
        end
    end

    always_comb begin
        unique case (idx_i)
            4'd0:    count_o = loads_q;
            4'd1:    count_o = fetches_q;
            4'd2:    count_o = bypasses_q;
            4'd3:    count_o = evicted_q;
            4'd4:    count_o = 32'(used_q);
            4'd5:    count_o = sum_q;
            4'd6:    count_o = 32'(spread_q);
            4'd7:    count_o = kept_q;
            default: count_o = '0;
        endcase
    end
endmodule

`default_nettype wire
