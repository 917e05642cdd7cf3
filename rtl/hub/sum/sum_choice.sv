// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Selects the packet that row_sum reduces next, and counts packets between their choice and their
// last flit: the requesters' credits, packets of own rows, packets for the uplink.
//
// Order: Contexts of a lane are served round robin, one packet each. The lanes (adder and bypass)
// alternate if both can proceed. While the uplink is saturated, every second packet of a lane comes
// from the local context. With cfg_i.balance_rows contexts that are behind (see row_balance) and
// those that have waited throughout a period of 4 x 2^GpuW packets are served first in their lane,
// in turn with the own context. With cfg_i.own_by_adder own rows without an addition go by the
// adder while it has room and no context has a row with an addition. Others then have the bypass
// alone.
// Back-pressure: A packet is selected only if no other hub can delay it: with the requester's
// credit, with its packet of R present, and with room in its lane. The uplink gets only enough
// packets to stay busy. More would starve the home's own sums. An ST packet in flight holds one
// credit of its destination until it has left.
// Ports: valid_o: some context can be served. With ready_i one is selected, and ctx_o, own_o and
// copy_o show it from the next cycle on. Its packet counts with begin_i, one cycle later, before
// another choice.
// Latency: While its lane has room, a context waits for one packet of every other context of its
// lane, and for as many own packets. One packet of the other lane may come before each of these and
// before its own. With cfg_i.balance_rows others than the own context wait for two periods more at
// most: 8 x 2^GpuW packets.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module sum_choice #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type rows_t = `MW_ROWS(Cfg)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire rows_t rows_i,
    input  wire logic  lanes_i,     // the layer uses the adder bypass
    input  wire logic  add_room_i,  // the lanes take a packet
    input  wire logic  copy_room_i,
    input  wire logic  res_free_i,  // an unclaimed packet of R is here

    output logic                valid_o,
    input  wire logic           ready_i,
    output logic [Cfg.GpuW-1:0] ctx_o,
    output logic                own_o,   // it is the own one
    output logic                copy_o,  // its packet is for the bypass

    input  wire logic                begin_i,    // a packet of ctx_o begins
    input  wire logic                own_out_i,  // one of an own row is in memory
    input  wire logic                up_out_i,   // one has left for the uplink
    input  wire logic                up_st_i,    // which is an ST packet
    input  wire logic [Cfg.GpuW-1:0] up_dst_i,   // to this port
    input  wire bundle_pkg::port_t   part_crd_i,  // a credit of PART comes back

    input  wire logic [Cfg.N-1:0] behind_i  // contexts that are served first
);
    // for the uplink, between their choice and their last flit: with the adder alone,
    // and with the adder bypass
    localparam int unsigned AddPkts = (Cfg.FlitBytes < 16) ? 4 : 7;
    localparam int unsigned LanePkts = (Cfg.FlitBytes < 16) ? 6 : 12;
    localparam int unsigned CrdW = $clog2(Cfg.PartPkts + 1);

    // As many as inside_q and up_q can count: packets on their way to memory, and
    // short ones for the uplink.
    localparam int unsigned OwnPkts = 31;
    localparam int unsigned ShortPkts = 15;

    // may: but for its lane's room
    logic [Cfg.N-1:0] may, lane_ctx, add_ctx, grant, take, give, st_left, own_bit;
    logic [Cfg.N-1:0] copy_rows;  // contexts whose row is for the adder bypass
    logic [Cfg.GpuW-1:0] turn, add_turn;
    logic copies, served, own_chosen, own_last;  // the turn is one of the adder bypass
    logic [Cfg.N-1:0][CrdW-1:0] used_q;  // PART credits in use
    logic [CrdW-1:0] limit;
    logic own_ready, own_first, own_begin, up_begin, up_room;
    logic own_copy, own_adds, own_stays;  // the own row is for the adder bypass, for the adder
    logic [4:0] inside_q;  // packets of own rows between their choice and memory
    logic [3:0] up_q;  // the same of packets for the uplink

    assign own_bit = Cfg.N'(1) << cfg_i.port[Cfg.GpuW-1:0];
    assign own_o = packet_pkg::port_t'(ctx_o) == cfg_i.port;
    assign own_begin = begin_i && own_o;
    assign up_begin = begin_i && !own_o;
    assign limit = (cfg_i.part_credits == '0 || 32'(cfg_i.part_credits) > Cfg.PartPkts)
                   ? CrdW'(Cfg.PartPkts) : CrdW'(cfg_i.part_credits);
    // The row before has as many packets: with fewer inside, the one with this number is in memory.
    assign own_ready = (!rows_i.own_r || res_free_i) && inside_q < 5'(OwnPkts)
                       && (!rows_i.own_again || inside_q == '0
                           || node_pkg::PktW'(inside_q) < cfg_i.row_bytes[14:7]);

    // As many as keep the uplink busy: more would only wait for it in front of own packets, and the
    // adder with them. Short ones are many.
    assign up_room = up_q < ((cfg_i.row_bytes[14:7] == '0) ? 4'(ShortPkts) : lanes_i ? 4'(LanePkts)
                             : 4'(AddPkts));

    // Waiting additions keep the adder: an own row there would take their time. An own row that the
    // bypass has kept waiting stays there, or it would lose its turn with each change of lane.
    assign own_adds = cfg_i.own_by_adder && add_room_i && !own_stays
                      && (rows_i.pend & ~rows_i.one) == '0;
    assign own_copy = (may & copy_rows & own_bit) != '0;

    always_comb begin
        for (int unsigned c = 0; c < Cfg.N; c++) begin
            copy_rows[c] = lanes_i && rows_i.one[c]
                           && !(own_adds && packet_pkg::port_t'(c) == cfg_i.port);
            may[c] = rows_i.pend[c]
                     && ((packet_pkg::port_t'(c) == cfg_i.port) ? own_ready
                         : used_q[c] != limit && up_room);
            take[c] = up_begin && ctx_o == Cfg.GpuW'(c);
            give[c] = part_crd_i.valid && part_crd_i.port[Cfg.GpuW-1:0] == Cfg.GpuW'(c);
            st_left[c] = up_out_i && up_st_i && up_dst_i == Cfg.GpuW'(c);
        end
    end

    // Own rows wait only for this unit, and combine has more rows than any requester. So every
    // second packet of their lane is theirs while the uplink has enough to send.
    assign own_first = lane_ctx[Cfg.GpuW'(cfg_i.port)] && !own_last
                       && up_q >= (lanes_i ? 4'(LanePkts - 2) : 4'(AddPkts - 2));
    assign own_chosen = own_first || turn == Cfg.GpuW'(cfg_i.port);
    assign served = ready_i && valid_o && !own_first;

    // ---- contexts that are served first ---------------------------------------------------------
    logic [Cfg.N-1:0] urgent;

    // The own context takes its turns among those that are served first: their rows would keep it
    // waiting, and the rows of its home with it.
    function automatic logic [Cfg.N-1:0] first_of(
        input logic [Cfg.N-1:0] lane, input logic [Cfg.N-1:0] first, input logic [Cfg.N-1:0] own);
        return ((lane & first) != '0) ? lane & (first | own) : lane;
    endfunction

    if (Cfg.BalanceRows) begin : gen_urgent
        // A context that waits throughout a period of packets is served first, too. Its bit of
        // waits_q stays set until then.
        logic [Cfg.GpuW+1:0] packet_q;
        logic [Cfg.N-1:0] waits_q, overdue_q, chosen;
        logic period;

        assign period = begin_i && packet_q == '1;
        assign chosen = begin_i ? Cfg.N'(1) << ctx_o : '0;
        assign urgent = cfg_i.balance_rows ? behind_i | overdue_q : '0;

        always_ff @(posedge clk_i) begin
            if (!rst_ni || go_i) begin
                packet_q <= '0;
                waits_q <= '0;
                overdue_q <= '0;
            end else begin
                if (begin_i) packet_q <= packet_q + 1'b1;
                waits_q <= (period ? rows_i.pend : waits_q) & ~chosen;
                overdue_q <= (period ? waits_q : overdue_q) & ~chosen;
            end
        end
    end else begin : gen_turns
        assign urgent = '0;
    end

    rr_arb #(
        .N(Cfg.N)
    ) i_arb (
        .clk_i,
        .rst_ni,
        .clear_i(go_i),
        .req_i(add_ctx),
        .grant_o(grant),
        .idx_o(add_turn),
        .advance_i(served && !copies)
    );

    if (Cfg.AdderBypass) begin : gen_lanes
        // Contexts of a lane wait for its room in a turn of their own: the other
        // lane's packets do not move it.
        logic [Cfg.GpuW-1:0] copy_turn;
        logic [Cfg.N-1:0] copy_ctx, copy_grant;
        logic last_q;  // the packet before was for the adder bypass
        logic [1:0] own_last_q;  // by lane: its packet before was an own one

        assign add_ctx = first_of(may & ~copy_rows & {Cfg.N{add_room_i}}, urgent, own_bit);
        assign copy_ctx = first_of(may & copy_rows & {Cfg.N{copy_room_i}}, urgent, own_bit);
        assign valid_o = (add_ctx | copy_ctx) != '0;
        assign lane_ctx = copies ? copy_ctx : add_ctx;
        assign own_last = own_last_q[copies];
        assign copies = copy_ctx != '0 && (!last_q || add_ctx == '0);
        assign turn = copies ? copy_turn : add_turn;

        rr_arb #(
            .N(Cfg.N)
        ) i_copies (
            .clk_i,
            .rst_ni,
            .clear_i(go_i),
            .req_i(copy_ctx),
            .grant_o(copy_grant),
            .idx_o(copy_turn),
            .advance_i(served && copies)
        );
        always_ff @(posedge clk_i) begin
            if (go_i) begin
                last_q <= 1'b0;
                own_last_q <= '0;
                own_stays <= 1'b0;
            end else if (ready_i && valid_o) begin
                last_q <= copies;
                own_last_q[copies] <= own_chosen;
                own_stays <= own_copy && !own_chosen;
                copy_o <= copies;
            end
        end
    end else begin : gen_adder
        assign {lane_ctx, add_ctx} = {2{first_of(may, urgent, own_bit)}};
        assign valid_o = may != '0;
        assign own_last = own_o;
        assign turn = add_turn;
        assign {copies, copy_o, own_stays} = '0;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            used_q <= '0;
            inside_q <= '0;
            up_q <= '0;
        end else begin
            for (int unsigned c = 0; c < Cfg.N; c++) begin
                if (take[c] != give[c] || st_left[c])
                    used_q[c] <= used_q[c] + CrdW'(take[c]) - CrdW'(give[c]) - CrdW'(st_left[c]);
            end
            if (up_begin != up_out_i) up_q <= up_q + (up_out_i ? '1 : 4'd1);
            if (own_begin != own_out_i) inside_q <= inside_q + (own_out_i ? '1 : 5'd1);
        end
        if (go_i) ctx_o <= '0;
        else if (ready_i && valid_o) ctx_o <= own_first ? Cfg.GpuW'(cfg_i.port) : turn;
    end

    wire unused = &{1'b0, grant, own_copy, own_chosen};

    `MW_CONTRACT(take != '0, (take & ~rows_i.pend) == '0, "a packet of a row that is not there")
    `MW_CONTRACT(give != '0, used_q[Cfg.GpuW'(part_crd_i.port)] != '0,
                 "a credit of a partial that was not sent")
    `MW_CONTRACT(own_out_i, inside_q != '0, "an own packet leaves that was not chosen")
    `MW_CONTRACT(up_out_i, up_q != '0, "a packet leaves for the uplink that was not chosen")
    `MW_CONTRACT(own_begin, inside_q != '1 || own_out_i, "more own packets than can be counted")
endmodule

`default_nettype wire
