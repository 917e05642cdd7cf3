// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Rows of two kinds alternate, each with its own mask and length. A flit of a partial sum is a word
// of 4 bits {member, packet modulo 2, flit modulo 2}. The model of the adder records what it adds.
// The result must be the words of all members of the row, each once, in the order of the mask.
`default_nettype none
`include "bundles.svh"

module prove_reduce_join #(
    parameter int unsigned Members = 3,
    parameter int unsigned Mask0 = 7,      // of the rows of each kind
    parameter int unsigned Mask1 = 5,
    parameter int unsigned Bytes0 = 16,
    parameter int unsigned Bytes1 = 40
) (
    input  wire logic                    clk_i, open_i, start_i,
    input  wire logic [Members-1:0]      has_i,         hold_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = Members + 1;
        c.FlitBytes = 16;
        c.OpenRows = 2;
        c.Monitor = 1'b0;
        c.RedTypes = 8'h01;
        c.RedOps = 8'h01;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    localparam logic [1:0][Members-1:0] Mask  = {Members'(Mask1), Members'(Mask0)};
    localparam logic [1:0][14:0]        Bytes = {15'(Bytes1 - 1), 15'(Bytes0 - 1)};
    logic                    rst_n, full, res_err, idle;
    `MW_TAKE(Cfg)            take;
    `MW_JOINED(Cfg)          res;
    logic [127:0]            res_data;
    logic                    kind_q;                      // kind of the next row to open
    logic [Members-1:0]      has_q, in_par_q, out_par_q;  // packets taken from a member and seen in
                                                          // results, modulo 2
    logic [129:0]            data_q;
    logic [3:0]              word;
    logic                    start, busy_q, read, end_read, out_kind_q, pkt_q, last_pkt, poison_q;
    logic [2:0]              flit_q, flits_q;
    logic [11:0]             expected;
    logic [6:0]              length, length_q;

    f_reset i_reset (.clk_i, .rst_no(rst_n));

    // ---- open rows, and the members' queues ----
    always_ff @(posedge clk_i) begin
        kind_q   <= rst_n && (kind_q ^ open_i);
        has_q    <= rst_n ? has_i & ~take.done : '0;
        in_par_q <= rst_n ? in_par_q ^ take.done : '0;
        data_q <= (take.re == '0) ? '0 : {1'b0, take.done != '0, 124'd0, word};
    end
    always_comb begin
        word = '0;
        for (int unsigned m = 0; m < Members; m++)
            if (take.re[m]) word = {2'(m + 1), in_par_q[m], take.idx[0]};
        if (full || !rst_n) assume (!open_i);
        assume ((has_q & ~has_i) == '0);
    end

    reduce_join #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n),
        .open_i('{valid: open_i, mask: Mask[kind_q], bytes: Bytes[kind_q], red: '0, stamp: '0}),
        .open_full_o(full), .away_i('0),
        .q_has_i(has_i), .q_hold_i(hold_i), .q_want_o(), .q_may_i('1), .q_o(take),
        .q_data_i(data_q), .q_wait_o(), .row_done_o(), .level_o(),
        .res_o(res), .res_start_i(start),
        .res_i('{read: read, first: flit_q == '0, last: flit_q == flits_q}), .res_data_o(res_data),
        .res_err_o(res_err), .idle_o(idle)
    );

    // ---- the output: header, then the flits one by one ----
    assign end_read = read && flit_q == flits_q;
    assign start    = start_i && res.valid && (!busy_q || end_read);
    assign last_pkt = pkt_q == Bytes[out_kind_q][7];
    assign length   = last_pkt ? Bytes[out_kind_q][6:0] : 7'd127;
    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            busy_q     <= 1'b0;
            read       <= 1'b0;
            pkt_q      <= 1'b0;
            out_kind_q <= 1'b0;
            out_par_q  <= '0;
        end else begin
            if (start) busy_q <= 1'b1;
            else if (end_read) busy_q <= 1'b0;
            read <= busy_q && !end_read;
            if (start) begin
                flit_q   <= '0;
                flits_q  <= res.len[6:4];
                length_q <= res.len;
                poison_q <= res.poison;
            end else if (read) flit_q <= flit_q + 1'b1;
            if (end_read) begin
                pkt_q <= !last_pkt;
                if (last_pkt) out_kind_q <= !out_kind_q;
                out_par_q <= out_par_q ^ Mask[out_kind_q];
            end
        end
    end
    always_comb begin
        expected = '0;
        for (int unsigned m = 0; m < Members; m++)
            if (Mask[out_kind_q][m]) expected = {expected[7:0], 2'(m + 1), out_par_q[m], flit_q[0]};
    end

    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            a_order:  assert (!read || res_data[11:0] == expected);
            a_clean:  assert (!read || !res_err);
            a_length: assert (!read || length_q == length);
            a_poison: assert (!read || poison_q == (Mask[out_kind_q] == '0));
            a_asked:  assert ((take.re & ~has_i) == '0
                             && (take.re & (take.re - 1'b1)) == '0);
        end
    end

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_start:  cover (open_i);
            c_first:  cover (end_read);
            c_full:   cover (full);
            c_waits:  cover (read && has_i == '0);
            c_next:   cover (start && busy_q);
        end
    end
endmodule

`default_nettype wire
