// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Returns credits of one input of the switch to its hub.
//
// Function: STORE: one credit per cycle in which each queue of the input has room for another
// packet. CTRL: one for each packet that left or was rejected. PART: one for each packet that the
// join has read, with the name of its requester.
// Order: PART credits go to the lowest requester first.
// Back-pressure: None. The join does not start the next packet of a queue before the credit of the
// previous one has left (part_hold_o).
// Latency: At most one credit of each class per cycle. A PART credit waits as many cycles as others
// are ready.
`default_nettype none
`include "assert.svh"

module credit_return #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic [Cfg.N-1:0] room_i,  // queues of this input
    input  wire logic [Cfg.N-1:0] ctrl_free_i,
    input  wire logic             ctrl_drop_i,
    input  wire logic [Cfg.N-1:0] part_done_i,
    output logic [Cfg.N-1:0]      part_hold_o,

    output bundle_pkg::credit_t crd_o,
    output logic                idle_o
);
    localparam int unsigned W = $clog2(Cfg.CtrlPkts + 1);

    logic [W-1:0] ctrl_q;
    logic [Cfg.N-1:0] grant;

    assign grant = part_hold_o & (~part_hold_o + 1'b1);
    assign crd_o.cls = {part_hold_o != '0, 1'b0, room_i == '1, ctrl_q != '0};
    assign idle_o = crd_o.cls == '0;

    always_comb begin
        crd_o.part = '0;
        if (part_hold_o != '0) begin
            for (int unsigned i = 0; i < Cfg.N; i++) begin
                if (grant[i]) crd_o.part |= packet_pkg::port_t'(i);
            end
        end
    end

    function automatic logic [W-1:0] ones(input logic [Cfg.N:0] set);
        ones = '0;
        for (int unsigned i = 0; i <= Cfg.N; i++) ones = ones + W'(set[i]);
    endfunction

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            ctrl_q <= '0;
            part_hold_o <= '0;
        end else begin
            if (crd_o.cls[0] || ctrl_drop_i || ctrl_free_i != '0)
                ctrl_q <= ctrl_q + ones({ctrl_drop_i, ctrl_free_i}) - W'(crd_o.cls[0]);
            part_hold_o <= (part_hold_o & ~grant) | part_done_i;
        end
    end

    `MW_CONTRACT(1'b1, (part_done_i & part_hold_o) == '0,
                 "two packets of a requester before a credit leaves")
    `MW_CONTRACT(1'b1, ctrl_q <= W'(Cfg.CtrlPkts), "more CTRL credits than there are")
    `MW_CONTRACT(crd_o.cls[packet_pkg::CLS_PART], (part_hold_o & (Cfg.N'(1) << crd_o.part)) != '0,
                 "a PART credit of a requester that has none")
endmodule

`default_nettype wire
