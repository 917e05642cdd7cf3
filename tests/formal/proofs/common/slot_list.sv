// SPDX-License-Identifier: CERN-OHL-P-2.0
`default_nettype none

module prove_slot_list #(
    parameter int unsigned Slots = 4,
    localparam int unsigned W = (Slots > 1) ? $clog2(Slots) : 1
) (
    input wire logic clk_i, take_i, free_i,
    input wire logic [W-1:0] free_slot_i
);
    logic rst_n, avail, all_free;
    logic [W-1:0] slot;
    logic [Slots-1:0] out_q, took, freed;   // handed out and not freed

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    slot_list #(.Slots(Slots)) i_dut (
        .clk_i, .rst_ni(rst_n), .take_i, .avail_o(avail), .slot_o(slot),
        .free_i, .free_slot_i, .all_free_o(all_free)
    );

    assign took  = take_i ? Slots'(1) << slot : '0;
    assign freed = free_i ? Slots'(1) << free_slot_i : '0;
    always_ff @(posedge clk_i) out_q <= rst_n ? (out_q | took) & ~freed : '0;
    always_comb begin
        if (!rst_n || !avail) assume (!take_i);
        if (free_i) assume (rst_n && 32'(free_slot_i) < Slots && (out_q & freed) != '0);
    end

    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            a_slot:  assert (!avail || (32'(slot) < Slots && !out_q[slot]));   // no slot twice
            a_avail: assert (avail == (out_q != '1));                          // none is lost
            a_all:   assert (all_free == (out_q == '0));
        end
    end

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_none:  cover (!avail);
            c_freed: cover (free_i && !avail);
            c_both:  cover (Slots == 1 || (take_i && free_i));
            c_all:   cover (all_free && out_q == '0);
        end
    end
endmodule

`default_nettype wire
