// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces rtl/hub/receive/rx_arrive.sv, with what its proof guarantees. A packet is shown in a
// slot that no other packet has, and stays until it is taken. A slot is freed once, after that,
// which is asserted. Slots and times are free choices (st_i.data). Packets have up to 4 targets.
`default_nettype none
`include "bundles.svh"

module rx_arrive #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type whole_t = logic,
    parameter int unsigned LocPkts = 2,
    parameter int unsigned MaxTargets = 4,
    localparam int unsigned SlotW = $clog2(Cfg.RxStorePkts + LocPkts),
    localparam int unsigned LinkW = cfg_pkg::index_w(Cfg.RxStorePkts),
    localparam int unsigned LocW = (LocPkts > 1) ? $clog2(LocPkts) : 1
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire `MW_MARKED(Cfg) st_i,

    input  wire `MW_STREAM(Cfg) loc_i,
    output logic                loc_ready_o,

    output logic                      pay_we_o [2],
    output logic [LinkW+Cfg.PayW-1:0] pay_link_addr_o,
    output logic [LocW+Cfg.PayW-1:0]  pay_loc_addr_o,

    output whole_t    pkt_o,
    input  wire logic pkt_ready_i,

    input  wire logic [SlotW-1:0] hd_slot_i,
    input  wire logic [3:0]       hd_tgt_i,
    output `MW_ARRIVED(Cfg)       hd_o,

    input  wire logic             free_valid_i,
    input  wire logic [SlotW-1:0] free_slot_i,
    output logic                  crd_o,
    output logic                  err_o,
    output logic                  idle_o
);
    localparam int unsigned Slots = Cfg.RxStorePkts + LocPkts;

    logic [2**SlotW-1:0] used_q;    // shown, and not freed
    logic                valid_q, come;
    logic [SlotW-1:0]    slot_q, slot;
    logic [4:0]          cnt_q;

    assign slot = st_i.data[SlotW-1:0];
    assign come = st_i.data[8] && (!valid_q || pkt_ready_i) && 32'(slot) < Slots && !used_q[slot];

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            used_q  <= '0;
            valid_q <= 1'b0;
        end else begin
            valid_q <= come || (valid_q && !pkt_ready_i);
            if (free_valid_i) used_q[free_slot_i] <= 1'b0;
            if (come) used_q[slot] <= 1'b1;
        end
        if (come) begin
            slot_q <= slot;
            cnt_q  <= (5'(st_i.data[13:12]) < 5'(MaxTargets)) ? 5'(st_i.data[13:12]) + 5'd1
                      : 5'(MaxTargets);
        end
    end

    always_comb begin
        if (rst_ni) begin
            a_shown: assert (!valid_q
                             || (used_q[slot_q] && cnt_q != '0 && cnt_q <= 5'(MaxTargets)));
            for (int unsigned s = Slots; s < 2**SlotW; s++) a_slots: assert (!used_q[s]);
            a_free: assert (!free_valid_i
                            || (used_q[free_slot_i] && !(valid_q && slot_q == free_slot_i)));
        end
    end

    assign pkt_o       = '{valid: valid_q, slot: slot_q, bad: 1'b0, flits: '0};
    assign crd_o       = free_valid_i && free_slot_i < SlotW'(Cfg.RxStorePkts);
    assign idle_o      = used_q == '0;

    assign loc_ready_o = 1'b0;
    assign pay_we_o    = '{1'b0, 1'b0};
    assign err_o       = 1'b0;
    assign {pay_link_addr_o, pay_loc_addr_o} = '0;
    always_comb begin
        hd_o     = '0;
        hd_o.op  = packet_pkg::OP_ST;
        hd_o.cnt = cnt_q;
    end

    logic unused;
    assign unused = ^{cfg_i, st_i, loc_i, hd_slot_i, hd_tgt_i};
endmodule

`default_nettype wire
