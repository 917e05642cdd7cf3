// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The downlink brings results of any length at any rate. The adder takes flits of claimed packets
// at any time.
`default_nettype none
`include "bundles.svh"

module prove_sum_result #(
    parameter int unsigned FlitBytes = 16,
    localparam cfg_pkg::cfg_t Cfg = sizes()
) (
    input wire logic clk_i, watch_i, valid_i, last_i, mark_i, poison_i, bit_i, claim_i, ready_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = 2;
        c.FlitBytes = FlitBytes;
        return cfg_pkg::derived(c);
    endfunction

    localparam int unsigned Head = Cfg.HeadFlits, Queue = (FlitBytes < 16) ? 1 : 3;   // flits

    logic                 rst_n, res_ready, free, err;
    logic [Cfg.FlitW-1:0] in;
    `MW_RESULT(Cfg)       r;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    sum_result #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n),
        .res_i('{valid: valid_i, last: last_i, data: in}), .res_ready_o(res_ready),
        .res_bad_i(mark_i), .free_o(free), .claim_i, .r_o(r), .ready_i, .err_valid_o(err)
    );

    // ---- packets: a header, then at least one flit, represented by its bit 0 ----
    logic [1:0] at_q;           // flits of the packet, up to its header
    logic       take, header, bad, bad_q, notified_q;
    packet_pkg::header_low_t low;
    always_comb begin
        low        = '0;
        low.poison = poison_i;
        in         = Cfg.FlitW'(low) | Cfg.FlitW'(bit_i);
    end
    assign take   = valid_i && res_ready;
    assign header = 32'(at_q) < Head;
    assign bad    = mark_i || (at_q == '0 ? poison_i : bad_q);

    f_stream #(.Width(3), .Assume(1'b1)) i_in (
        .clk_i, .rst_ni(rst_n), .valid_i, .ready_i(res_ready),
        .data_i({mark_i, poison_i, bit_i}), .last_i, .inside_o()
    );
    always_comb begin
        if (!rst_n) assume (!valid_i);
        if (header) assume (!last_i);
    end

    // ---- the adder: takes all flits of the packets that it has claimed ----
    logic [4:0] here_q, claimed_q;   // packets with their header here, and not claimed; claimed,
                                     // and not ended
    logic       out, end_of, pending;
    assign out     = r.valid && ready_i;
    assign pending = claimed_q != '0;

    // last flag of each flit in the queue
    logic [15:0] lasts_q;
    logic [4:0]  inside_q;           // flits of payload between here and the adder
    assign end_of = (Queue == 1) ? last_i : lasts_q[0];
    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            at_q      <= '0;
            here_q    <= '0;
            claimed_q <= '0;
            inside_q  <= '0;
            notified_q <= 1'b0;
        end else begin
            if (take) at_q <= last_i ? '0 : header ? at_q + 2'd1 : at_q;
            here_q    <= here_q + 5'(take && 32'(at_q) == Head - 1) - 5'(claim_i);
            claimed_q <= claimed_q + 5'(claim_i) - 5'(out && end_of);
            inside_q  <= inside_q + 5'(take && !header) - 5'(out);
            notified_q <= take && bad && (at_q == '0 || !bad_q);
        end
        if (take) bad_q <= bad;
        for (int unsigned i = 0; i < 16; i++) begin
            if (take && !header && inside_q - 5'(out) == 5'(i)) lasts_q[i] <= last_i;
            else if (out && i < 15)                          lasts_q[i] <= lasts_q[(i + 1) % 16];
        end
    end
    always_comb begin
        if (!free || !rst_n) assume (!claim_i);
        if (!pending || !rst_n) assume (!ready_i);
    end

    // Each flit enters the adder once, unchanged and in order. Flits from the first bad one on are
    // marked.
    if (Queue > 1) begin : gen_queue
        f_queue #(.Width(2), .Depth(Queue)) i_queue (
            .clk_i, .rst_ni(rst_n), .watch_i, .push_i(take && !header), .in_i({bad, bit_i}),
            .accept_i(res_ready || header || inside_q == 5'(Queue)), .pop_i(out), .show_i(r.valid),
            .out_i({r.poison, r.data[0]}), .count_o()
        );
    end

    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            // a header does not wait; payload waits only for the adder
            a_header:  assert (!header || res_ready);
            a_payload: assert (header
                               || res_ready == ((Queue == 1) ? ready_i : inside_q < 5'(Queue)));
            a_free:    assert (free == (here_q != '0));
            a_direct:  assert (Queue > 1 || !r.valid
                               || (!header && valid_i && r.data[0] == bit_i && r.poison == bad));
            a_error:   assert (err == notified_q);
            // without a queue there is one packet at a time
            l_alone:   assert (Queue > 1 || here_q + claimed_q == 5'(!header));
            l_at:      assert (i_dut.beat_q == 2'(at_q) && 32'(at_q) <= Head);
            l_bad:     assert (at_q == '0 || i_dut.poison_q == bad_q);
            l_inside:  assert (Queue == 1 ? inside_q == '0 : inside_q <= 5'(Queue));
            c_two:     cover (Queue == 1 || here_q == 5'd2);
            c_full:    cover (Queue == 1 ? out && last_i : inside_q == 5'(Queue));
            c_turns:   cover (out && r.poison && !r.data[0]);
            c_error:   cover (err && !header);
        end
    end
    logic unused;
    assign unused = ^r.data;
endmodule

`default_nettype wire
