// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Entries have any sectors. Each word of the RAM is its own position. The uplink may stall at any
// time.
`default_nettype none
`include "bundles.svh"

module prove_manager_send #(
    parameter int unsigned FlitBytes = 8,
    localparam cfg_pkg::cfg_t Cfg = sizes()
) (
    input wire logic       clk_i, come_i, hold_i, ready_i,
    input wire logic [3:0] mask_i,
    input wire logic       idx_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = 2;
        c.FlitBytes = FlitBytes;
        c.RpmEntries = 2;
        return cfg_pkg::derived(c);
    endfunction
    localparam int unsigned SlotW = Cfg.GpuW + Cfg.RpmW, SectorFlits = 32 / FlitBytes;

    logic                rst_n, take, free, re, head, valid_q, open;
    logic [SlotW-1:0]    slot;
    logic [Cfg.PayW-1:0] word;
    `MW_CLAIM(Cfg)       next, next_q;
    `MW_STREAM(Cfg)      st;

    f_reset i_reset (.clk_i, .rst_no(rst_n));

    // ---- claims stay until they are taken ----
    always_ff @(posedge clk_i) begin
        if (!rst_n) valid_q <= 1'b0;
        else if (!valid_q || take) valid_q <= come_i;
        if (!valid_q || take) begin
            next_q.part <= 1'b0;
            next_q.idx  <= idx_i;
            next_q.mask <= mask_i;
        end
    end
    always_comb begin
        next       = next_q;
        next.valid = valid_q;
        assume (mask_i != '0);
    end

    // ---- a word of the RAM ----
    // A header is all ones, so also its length and address. Any other word is its slot and number.
    logic [Cfg.FlitW-1:0] data_q;
    always_ff @(posedge clk_i) if (re) data_q <= head ? '1 : Cfg.FlitW'({slot, word});

    manager_send #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .next_i(next), .next_take_o(take), .hold_i,
        .free_valid_o(free), .free_slot_o(slot),
        .re_o(re), .head_o(head), .word_o(word), .data_i(data_q), .st_o(st), .st_ready_i(ready_i)
    );
    f_stream #(.Width(Cfg.FlitW)) i_out (
        .clk_i, .rst_ni(rst_n), .valid_i(st.valid), .ready_i, .data_i(st.data),
        .last_i(st.last), .inside_o(open)
    );

    // ---- what must leave ----
    // Of the current entry: the remaining sectors, the run, and the position in the packet.
    logic [3:0]          left_q;
    logic                busy_q, slot_q;
    logic [2:0]          first, count; // of the lowest run
    logic [5:0]          at_q, flits;
    always_comb begin
        first = '0;
        for (int unsigned s = 4; s > 0; s--) if (left_q[s-1]) first = 3'(s - 1);
        count = 3'd1;
        for (int unsigned s = 1; s < 4; s++) begin
            if (32'(first) + s < 4 && 32'(count) == s && left_q[2'(32'(first) + s)])
                count = 3'(s + 1);
        end
        flits = 6'(32'(count) * SectorFlits + Cfg.HeadFlits);
    end

    logic gone;  // a flit
    logic [14:0] len;
    logic [6:0]  offset;
    assign gone   = st.valid && ready_i;
    assign len    = st.data[40:26];
    assign offset = (Cfg.HeadFlits == 1) ? st.data[(64 % Cfg.FlitW) +: 7] : st.data[6:0];
    // The first word of an entry is read at least one cycle after take, and shown one cycle later.
    logic pend_q, pend_slot_q;
    logic [3:0] pend_mask_q;
    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            busy_q  <= 1'b0;
            pend_q  <= 1'b0;
            at_q    <= '0;
        end else begin
            if (gone) at_q <= st.last ? '0 : at_q + 6'd1;
            if (take && (!busy_q || (gone && st.last && left_q >> (first + count) == '0))) begin
                busy_q <= 1'b1;
                left_q <= next.mask;
                slot_q <= next.idx;
            end else if (take) begin
                pend_q      <= 1'b1;
                pend_slot_q <= next.idx;
                pend_mask_q <= next.mask;
                if (gone && st.last) left_q <= left_q & ~(4'((5'd1 << count) - 5'd1) << first);
            end else if (gone && st.last) begin
                if (left_q >> (first + count) != '0) begin
                    left_q <= left_q & ~(4'((5'd1 << count) - 5'd1) << first);
                end else begin
                    busy_q <= pend_q;
                    pend_q <= 1'b0;
                    left_q <= pend_mask_q;
                    slot_q <= pend_slot_q;
                end
            end
            // it takes no entry that is still being written, and at most one in advance
            a_hold:  assert (!(take && hold_i));
            a_two:   assert (!(take && pend_q));
            a_busy:  assert (!st.valid || busy_q);
            a_len:   assert (!(gone && at_q == '0) || len == 15'(32'(count) * 32));
            a_off:   assert (!(gone && at_q == 6'(Cfg.HeadFlits - 1))
                             || offset == 7'(32'(first) * 32));
            a_last:  assert (!gone || st.last == (at_q == flits - 6'd1));
            a_data:  assert (!(gone && at_q >= 6'(Cfg.HeadFlits))
                             || st.data == Cfg.FlitW'({1'b0, slot_q,
                                                       Cfg.PayW'(32'(first) * SectorFlits)}
                                                      + (SlotW
                                                         + Cfg.PayW)'(at_q - 6'(Cfg.HeadFlits))));
            c_runs:  cover (gone && st.last && first != '0 && count == 3'd1 && left_q == 4'b1000);
            c_next:  cover (take && free);
            c_wait:  cover (st.valid && !ready_i && at_q == 6'(Cfg.HeadFlits));
        end
    end
    wire unused = &{1'b0, open, next_q.valid};
endmodule

`default_nettype wire
