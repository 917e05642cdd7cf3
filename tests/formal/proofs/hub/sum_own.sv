// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Own rows of any length come with any gaps. The memory refuses writes, and the place of a row is
// missing, for at most Refuse cycles in a row.
`default_nettype none
`include "bundles.svh"

module prove_sum_own #(
    parameter int unsigned Refuse = 2   // cycles in a row in which memory refuses, or in which a
                                        // place is missing
) (
    input wire logic       clk_i, valid_i, bit_i, last_i, row_last_i,
    poison_i, dest_i, more_i, grant_i,
    input wire logic [3:0] place_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = 2;
        c.FlitBytes = 16;
        c.MemBytesLog2 = 11;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    typedef struct packed {
        logic                 valid;
        logic                 last;
        logic                 row_last;
        logic                 poison;
        logic [Cfg.FlitW-1:0] data;
    } own_t;

    logic          rst_n, ready, dest_ready, pkt_done, row_done, row_more;
    own_t          own;
    `MW_DEST(Cfg)  dest;
    `MW_WRITE(Cfg) wr;

    assign dest = '{valid: dest_i, more: more_i, addr: Cfg.AddrW'(place_i)};
    assign own  = '{valid: valid_i, last: last_i, row_last: row_last_i, poison: poison_i,
                    data: Cfg.FlitW'(bit_i)};
    f_reset i_reset (.clk_i, .rst_no(rst_n));
    sum_own #(.Cfg(Cfg), .own_t(own_t)) i_dut (
        .clk_i, .rst_ni(rst_n), .own_i(own), .ready_o(ready),
        .dest_i(dest), .dest_ready_o(dest_ready),
        .out_wr_o(wr), .out_wr_ready_i(grant_i), .pkt_done_o(pkt_done),
        .row_done_o(row_done), .row_more_o(row_more)
    );

    // ---- a flit stays until it is taken ----
    logic out, stay_q;
    logic [3:0] was_q;
    assign out = valid_i && ready;
    always_ff @(posedge clk_i) begin
        stay_q <= rst_n && valid_i && !ready;
        was_q  <= {last_i, row_last_i, poison_i, bit_i};
    end
    always_comb if (stay_q) assume (valid_i && {last_i, row_last_i, poison_i, bit_i} == was_q);

    // ---- memory, and the places of rows ----
    logic [2:0]           refused_q, unnotified_q, waits_q;
    logic                 row_q, more_q, ended_q, ended_more_q;
    logic [Cfg.AddrW-1:0] at_q;     // where the row's next flit goes
    always_ff @(posedge clk_i) begin
        refused_q <= (rst_n && wr.valid && !grant_i) ? refused_q + 3'd1 : '0;
        unnotified_q <= (rst_n && dest_ready && !dest_i) ? unnotified_q + 3'd1 : '0;
    end
    always_comb begin
        if (32'(refused_q) == Refuse) assume (grant_i);
        if (32'(unnotified_q) == Refuse) assume (dest_i);
    end

    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            row_q   <= 1'b0;
            ended_q <= 1'b0;
            waits_q <= '0;
        end else begin
            if (dest_ready) row_q <= dest_i;
            ended_q <= out && last_i && row_last_i;
            waits_q <= (valid_i && !out) ? waits_q + 3'd1 : '0;
        end
        ended_more_q <= more_q;
        if (dest_ready) more_q <= more_i;
        at_q <= dest_ready ? Cfg.AddrW'(place_i) : at_q + Cfg.AddrW'(out);
        if (rst_n) begin
            // valid flits are written to the place of their row, poisoned ones nowhere
            a_write:  assert (wr.valid == (valid_i && row_q && !poison_i));
            a_where:  assert (!wr.valid || (wr.addr == at_q && wr.be == '1 && wr.data == own.data));
            a_taken:  assert (out == (valid_i && row_q && (poison_i || grant_i)));
            a_next:   assert (dest_ready == (!row_q || (out && last_i && row_last_i)));
            a_packet: assert (pkt_done == (out && last_i));
            a_done:   assert (row_done == ended_q && (!row_done || row_more == ended_more_q));
            // a flit waits only for memory and for the place of its row
            a_soon:   assert (32'(waits_q) <= 2 * Refuse + 1);
            l_row:    assert (i_dut.dest_q == row_q);
            l_wait:   assert (row_q ? 32'(waits_q) <= Refuse + 1 + 32'(refused_q)
                              : 32'(waits_q) <= 32'(unnotified_q));
            c_poison: cover (out && poison_i && !last_i);
            c_rows:   cover (row_done && row_more && out);
        end
    end
endmodule

`default_nettype wire
