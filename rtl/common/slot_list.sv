// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Free list of Slots packet slots, which may be freed in any order.
//
// Ports: slot_o is the next free slot while avail_o. take_i uses it. A freed slot is the last to be
// used again. After reset all slots are free. The first round hands them out by counting, so the
// list needs no initialisation.
`default_nettype none
`include "assert.svh"

module slot_list #(
    parameter int unsigned Slots = 16,
    localparam int unsigned SlotW = (Slots > 1) ? $clog2(Slots) : 1
) (
    input  wire logic             clk_i,
    input  wire logic             rst_ni,
    input  wire logic             take_i,
    output logic                  avail_o,
    output logic [SlotW-1:0]      slot_o,
    input  wire logic             free_i,
    input  wire logic [SlotW-1:0] free_slot_i,
    output logic                  all_free_o
);
    localparam int unsigned LevelW = $clog2(Slots + 1);
    localparam logic [SlotW-1:0] Last = SlotW'(Slots - 1);

    logic [SlotW-1:0] rptr_q, wptr_q, listed;
    logic [LevelW-1:0] used_q;
    logic counting_q, full_q;

    lutram #(
        .Width(SlotW),
        .Depth(Slots)
    ) i_list (
        .clk_i,
        .we_i(free_i),
        .waddr_i(wptr_q),
        .wdata_i(free_slot_i),
        .raddr_i(rptr_q),
        .rdata_o(listed)
    );

    assign avail_o = !full_q;
    assign slot_o = counting_q ? rptr_q : listed;
    assign all_free_o = used_q == '0;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            rptr_q <= '0;
            wptr_q <= '0;
            used_q <= '0;
            counting_q <= 1'b1;
            full_q <= 1'b0;
        end else begin
            if (take_i) begin
                rptr_q <= (rptr_q == Last) ? '0 : rptr_q + 1'b1;
                if (rptr_q == Last) counting_q <= 1'b0;
            end
            if (free_i) wptr_q <= (wptr_q == Last) ? '0 : wptr_q + 1'b1;
            if (take_i != free_i) begin
                used_q <= used_q + (free_i ? '1 : LevelW'(1));
                full_q <= take_i && used_q == LevelW'(Slots - 1);
            end
        end
    end

    `MW_ASSERT(!take_i || avail_o, "no slot is free")
    `MW_ASSERT(!free_i || used_q != '0, "a slot is freed that nobody has")
    `MW_CONTRACT(1'b1, avail_o == (used_q != LevelW'(Slots)),
                 "avail_o contradicts the slots in use")
    `MW_CONTRACT(avail_o, slot_o <= Last, "a slot that does not exist")
    `MW_CONTRACT(free_i, free_slot_i <= Last, "a slot that does not exist is freed")
endmodule

`default_nettype wire
