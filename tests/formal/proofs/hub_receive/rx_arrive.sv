// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The link sends anything, with any gaps, and so does a local stream. The reader takes packets and
// frees slots in any order. The proof counts independently where each flit of a packet belongs.
`default_nettype none
`include "bundles.svh"

module prove_rx_arrive #(
    parameter int unsigned FlitBytes = 8,
    localparam int unsigned LinkPkts = 2,
    localparam int unsigned LocPkts  = 1,
    localparam int unsigned Slots    = LinkPkts + LocPkts,
    localparam cfg_pkg::cfg_t Cfg = sizes()
) (
    input  wire logic           clk_i, pkt_ready_i, free_valid_i, watch_i,
    input  wire `MW_MARKED(Cfg) st_i,
    input  wire `MW_STREAM(Cfg) loc_i,
    input  wire logic [1:0]     epoch_i, hd_slot_i, free_slot_i,
    input  wire logic [3:0]     hd_tgt_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.FlitBytes = FlitBytes;
        c.MaxExperts = 2;
        c.RxStorePkts = LinkPkts;
        c.Reds = 1'b0;
        c.SourceLists = 1'b0;
        c = cfg_pkg::derived(c);
        c.MaddrW = 4;
        return c;
    endfunction

    // Flits of a packet, where the count saturates.
    localparam logic [5:0] Many = 6'(Cfg.HeadFlits + Cfg.ListFlits + Cfg.PayFlits + 2);

    typedef struct packed {
        logic                valid;
        logic [1:0]          slot;
        logic                bad;
        logic [Cfg.PayW+1:0] flits;
    } whole_t;
    whole_t              pkt;
    node_pkg::node_cfg_t cfg;
    logic                rst_n, crd, err, idle, loc_ready;
    logic                pay_we [2];
    logic [Cfg.PayW:0]   pay_addr [2];
    `MW_ARRIVED(Cfg)     hd;

    always_comb begin
        cfg       = '0;
        cfg.epoch = epoch_i;
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));

    // The target of the header, and one flit of other targets.
    rx_arrive #(.Cfg(Cfg), .LocPkts(LocPkts), .MaxTargets(Cfg.Lanes + 1), .whole_t(whole_t)) i_dut (
        .clk_i, .rst_ni(rst_n), .cfg_i(cfg), .st_i, .loc_i,
        .loc_ready_o(loc_ready),
        .pay_we_o(pay_we), .pay_link_addr_o(pay_addr[0]), .pay_loc_addr_o(pay_addr[1]),
        .pkt_o(pkt), .pkt_ready_i,
        .hd_slot_i, .hd_tgt_i, .hd_o(hd), .free_valid_i, .free_slot_i, .crd_o(crd),
        .err_o(err), .idle_o(idle)
    );

    // ---- the current packet of each source ----
    logic [Cfg.FlitW-1:0] data [2];
    logic [1:0]          comes, takes, last, begins, ends, bad;   // comes: a flit; takes: it is
                                                                  // accepted
    logic [1:0][5:0]     beat_q;             // flits so far
    logic [1:0][2:0]     list_q, list;       // flits of its target list
    logic [1:0][5:0]     behind;             // header and list, in flits
    logic [1:0]          slot [2];
    logic [1:0]          slot_q [2];
    logic                drop_q, full;
    logic [3:0]          taken_q, out_q;     // slots of whole packets; of these, slots handed out
    logic [Cfg.PayW+1:0] flits [2];

    assign data[0] = st_i.data;
    assign data[1] = loc_i.data;
    assign last    = {loc_i.last, st_i.last};
    assign full    = taken_q[LinkPkts-1:0] == '1;
    assign comes   = {loc_i.valid && loc_ready, st_i.valid};
    assign takes   = {comes[1], comes[0] && !(begins[0] ? full : drop_q)};
    assign ends    = takes & last;

    for (genvar s = 0; s < 2; s++) begin : gen_source
        logic [4:0] cnt;
        logic [5:0] place;                   // payload flits before this one
        assign cnt       = data[s][45:41];
        assign begins[s] = beat_q[s] == '0;
        assign list[s]   = !begins[s] ? list_q[s]
                           : (cnt <= 5'd1) ? 3'd0
                           : 3'((6'(cnt) - 6'd1 + 6'(Cfg.Lanes - 1)) / 6'(Cfg.Lanes));
        assign behind[s] = 6'(Cfg.HeadFlits) + 6'(list[s]);
        assign place     = beat_q[s] - behind[s];
        assign bad[s]    = beat_q[s] + 6'd1 < behind[s] || (s == 0 && st_i.err);
        assign flits[s]  = (beat_q[s] < behind[s]) ? '0
                           : (place > 6'(Cfg.PayFlits + 1)) ? (Cfg.PayW+2)'(Cfg.PayFlits + 2)
                           : (Cfg.PayW+2)'(place) + 1'b1;
        assign slot[s]   = {s == 1, pay_addr[s][Cfg.PayW]};

        always_ff @(posedge clk_i) begin
            if (!rst_n) beat_q[s] <= '0;
            else if (comes[s])
                beat_q[s] <= last[s] ? '0 : (beat_q[s] == Many) ? Many : beat_q[s] + 6'd1;
            if (comes[s]) begin
                list_q[s] <= list[s];
                slot_q[s] <= slot[s];
            end
            if (rst_n) begin
                // no other packet has the slot
                a_slot:  assert (!takes[s] || !taken_q[slot[s]]);
                a_stays: assert (!takes[s] || begins[s] || slot[s] == slot_q[s]);
                a_pay:   assert (pay_we[s] == (takes[s] && beat_q[s] >= behind[s]
                                               && place < 6'(Cfg.PayFlits)));
                a_place: assert (!pay_we[s] || 6'(pay_addr[s][Cfg.PayW-1:0]) == place);
                // state of the parser, from which the rest follows
                a_list:  assert (begins[s] || list_q[s] <= 3'(Cfg.ListFlits));
                a_begin: assert ((i_dut.phase_q[s] == 2'd0) == begins[s]);
                if (!begins[s] && !(s == 0 && drop_q)) begin
                    a_high:    assert (i_dut.phase_q[s] != 2'd1
                                       || (beat_q[s] < 6'(Cfg.HeadFlits)
                                           && i_dut.left_q[s] == list_q[s]
                                           && i_dut.flits_q[s] == '0));
                    a_targets: assert (i_dut.phase_q[s] != 2'd2
                                       || (beat_q[s] >= 6'(Cfg.HeadFlits) && i_dut.left_q[s] != '0
                                           && beat_q[s] + 6'(i_dut.left_q[s]) == behind[s]));
                    a_payload: assert (i_dut.phase_q[s] != 2'd3
                                       || (beat_q[s] >= behind[s]
                                           && 6'(i_dut.flits_q[s])
                                              == ((place > 6'(Cfg.PayFlits + 1))
                                                  ? 6'(Cfg.PayFlits + 1) : place)));
                end
            end
        end
        always_comb if (comes[s] && begins[s]) assume (cnt <= 5'd16);
    end

    always_ff @(posedge clk_i) begin
        if (comes[0]) drop_q <= comes[0] && !takes[0];
        if (!rst_n) begin
            taken_q <= '0;
            out_q   <= '0;
        end else begin
            for (int unsigned i = 0; i < Slots; i++) begin
                if (free_valid_i && free_slot_i == 2'(i)) {taken_q[i], out_q[i]} <= '0;
                else begin
                    if ((ends[0] && slot[0] == 2'(i)) || (ends[1] && slot[1] == 2'(i)))
                        taken_q[i] <= 1'b1;
                    if (pkt.valid && pkt_ready_i && pkt.slot == 2'(i)) out_q[i] <= 1'b1;
                end
            end
        end
        if (rst_n) begin
            a_one:   assert (ends != '1);
            // a packet without a credit
            a_err:   assert (err == (comes[0] && begins[0] && full));
            a_crd:   assert (crd == (free_valid_i && !free_slot_i[1]));
            a_idle:  assert (idle == (taken_q == '0 && begins == '1));
            a_local: assert (loc_ready || st_i.valid || taken_q[LinkPkts]);
        end
    end
    always_comb if (free_valid_i) assume (out_q[free_slot_i]);

    // ---- whole packets, in the order in which they ended ----
    logic       from;
    logic [2:0] unused_count;
    assign from = ends[1];
    f_queue #(.Width(2 + 1 + Cfg.PayW + 2), .Depth(Slots)) i_queue (
        .clk_i, .rst_ni(rst_n), .watch_i, .push_i(ends != '0),
        .in_i({slot[from], bad[from], flits[from]}),
        .accept_i(1'b1), .pop_i(pkt.valid && pkt_ready_i), .show_i(pkt.valid),
        .out_i({pkt.slot, pkt.bad, pkt.flits}), .count_o(unused_count)
    );

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_drop:  cover (comes[0] && drop_q);
            c_full:  cover (full && comes[0] && begins[0]);
            c_many:  cover (ends[0] && pay_we[0]);
            c_list:  cover (ends[1] && list_q[1] == 3'(Cfg.ListFlits));
            c_freed: cover (free_valid_i && full);
            c_both:  cover (comes == '1 && !begins[0] && !begins[1]);
        end
    end

    logic unused;
    assign unused = ^hd;
endmodule

`default_nettype wire
