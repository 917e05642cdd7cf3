// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// rx_arrive between a link that sends what it likes, with any gaps, a local stream, and a reader that takes packets and frees slots in any order. Where each flit of a packet
// belongs is counted here anew.
`default_nettype none

module prove_rx_arrive #(
    parameter int unsigned FlitBytes = 8,
    localparam int unsigned FW         = 8 * FlitBytes,
    localparam int unsigned MAddrW     = 4,
    localparam int unsigned MaxExperts = 2,
    localparam int unsigned MaxTargets = FlitBytes / 2 + 1,   // a flit of them behind the first
    localparam int unsigned LinkPkts   = 2,
    localparam int unsigned LocPkts    = 1,
    localparam int unsigned Slots      = LinkPkts + LocPkts
) (
    input  wire logic          clk_i, st_valid_i, st_last_i, st_err_i, loc_valid_i, loc_last_i, pkt_ready_i, free_valid_i, watch_i,
    input  wire logic [FW-1:0] st_data_i,                                                                                  loc_data_i,
    input  wire logic [1:0]    epoch_i, hd_slot_i,                                                                         free_slot_i,
    input  wire logic [3:0]                                                                                                hd_tgt_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.FlitBytes = FlitBytes;
        c.MaxExperts = MaxExperts;
        c.RxStorePkts = LinkPkts;
        c.Reds = 1'b0;
        c = cfg_pkg::derived(c);
        c.MaddrW = MAddrW;
        return c;
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    import packet_pkg::*;

    localparam int unsigned HF    = 16 / FlitBytes;
    localparam int unsigned Lanes = FlitBytes / 2;
    localparam int unsigned PF    = 128 / FlitBytes;
    localparam int unsigned IdxW  = $clog2(PF);
    localparam int unsigned TgtW  = $clog2(MaxExperts) + 5;
    localparam logic [5:0]  Many  = 6'(HF + (15 + Lanes - 1) / Lanes + PF + 2);   // flits of a packet: the count stays there

    logic                rst_n, pkt_valid, pkt_bad, hd_bad, hd_far, crd, err, idle, loc_ready;
    logic                pay_we [2];
    logic [IdxW:0]       pay_addr [2];
    logic [1:0]          pkt_slot;
    logic [IdxW+1:0]     pkt_flits;
    opcode_e             hd_op;
    logic [4:0]          hd_src, hd_cnt;
    logic [7:0]          hd_len;
    logic [1:0]          hd_stage;
    logic [MAddrW-1:0]   hd_addr;
    logic [TgtW-1:0]     hd_tgt;

    f_reset i_reset (.clk_i, .rst_no(rst_n));

    rx_arrive #(.Cfg(Cfg), .LocPkts(LocPkts), .MaxTargets(MaxTargets)) i_dut (
        .clk_i, .rst_ni(rst_n), .epoch_i,
        .st_valid_i, .st_last_i, .st_err_i, .st_data_i, .loc_valid_i, .loc_ready_o(loc_ready), .loc_last_i, .loc_data_i,
        .pay_we_o(pay_we), .pay_link_addr_o(pay_addr[0]), .pay_loc_addr_o(pay_addr[1]),
        .pkt_valid_o(pkt_valid), .pkt_ready_i, .pkt_slot_o(pkt_slot), .pkt_bad_o(pkt_bad), .pkt_flits_o(pkt_flits),
        .hd_slot_i, .hd_tgt_i, .hd_bad_o(hd_bad), .hd_op_o(hd_op), .hd_src_o(hd_src), .hd_len_o(hd_len), .hd_cnt_o(hd_cnt),
        .hd_stage_o(hd_stage), .hd_addr_o(hd_addr), .hd_far_o(hd_far), .hd_tgt_o(hd_tgt),
        .free_valid_i, .free_slot_i, .crd_o(crd), .err_o(err), .idle_o(idle)
    );

    // ---- the packet under way of each source ----
    logic [FW-1:0]       data [2];
    logic [1:0]          comes, takes, last, begins, ends, bad;   // comes: a flit; takes: and it is let in
    logic [1:0][5:0]     beat_q;             // flits so far
    logic [1:0][2:0]     list_q, list;       // flits of its target list
    logic [1:0][5:0]     behind;             // header and list, in flits
    logic [1:0]          slot [2];
    logic [1:0]          slot_q [2];
    logic                drop_q, full;
    logic [3:0]          taken_q, out_q;     // slots of whole packets, and of those that were handed out
    logic [IdxW+1:0]     flits [2];

    assign data[0] = st_data_i;
    assign data[1] = loc_data_i;
    assign last    = {loc_last_i, st_last_i};
    assign full    = taken_q[LinkPkts-1:0] == '1;
    assign comes   = {loc_valid_i && loc_ready, st_valid_i};
    assign takes   = {comes[1], comes[0] && !(begins[0] ? full : drop_q)};
    assign ends    = takes & last;

    for (genvar s = 0; s < 2; s++) begin : gen_source
        logic [4:0] cnt;
        logic [5:0] place;                   // payload flits before this one
        assign cnt       = data[s][45:41];
        assign begins[s] = beat_q[s] == '0;
        assign list[s]   = begins[s] ? ((cnt <= 5'd1) ? 3'd0 : 3'((6'(cnt) - 6'd1 + 6'(Lanes - 1)) / 6'(Lanes))) : list_q[s];
        assign behind[s] = 6'(HF) + 6'(list[s]);
        assign place     = beat_q[s] - behind[s];
        assign bad[s]    = beat_q[s] + 6'd1 < behind[s] || (s == 0 && st_err_i);
        assign flits[s]  = (beat_q[s] < behind[s]) ? '0 : (place > 6'(PF + 1)) ? (IdxW+2)'(PF + 2) : (IdxW+2)'(place) + 1'b1;
        assign slot[s]   = {s == 1, pay_addr[s][IdxW]};

        always_ff @(posedge clk_i) begin
            if (!rst_n) beat_q[s] <= '0;
            else if (comes[s]) beat_q[s] <= last[s] ? '0 : (beat_q[s] == Many) ? Many : beat_q[s] + 6'd1;
            if (comes[s]) begin
                list_q[s] <= list[s];
                slot_q[s] <= slot[s];
            end
            if (rst_n) begin
                a_slot:  assert (!takes[s] || !taken_q[slot[s]]);                      // of nobody else
                a_stays: assert (!takes[s] || begins[s] || slot[s] == slot_q[s]);
                a_pay:   assert (pay_we[s] == (takes[s] && beat_q[s] >= behind[s] && place < 6'(PF)));
                a_place: assert (!pay_we[s] || 6'(pay_addr[s][IdxW-1:0]) == place);
                // how the parser counts, which the rest follows from
                a_list:  assert (begins[s] || list_q[s] <= 3'((15 + Lanes - 1) / Lanes));
                a_begin: assert ((i_dut.phase_q[s] == 2'd0) == begins[s]);
                if (!begins[s] && !(s == 0 && drop_q)) begin
                    a_high:    assert (i_dut.phase_q[s] != 2'd1 || (beat_q[s] < 6'(HF) && i_dut.left_q[s] == list_q[s] && i_dut.flits_q[s] == '0));
                    a_targets: assert (i_dut.phase_q[s] != 2'd2 || (beat_q[s] >= 6'(HF) && i_dut.left_q[s] != '0 && beat_q[s] + 6'(i_dut.left_q[s]) == behind[s]));
                    a_payload: assert (i_dut.phase_q[s] != 2'd3 || (beat_q[s] >= behind[s] && 6'(i_dut.flits_q[s]) == ((place > 6'(PF + 1)) ? 6'(PF + 1) : place)));
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
                    if ((ends[0] && slot[0] == 2'(i)) || (ends[1] && slot[1] == 2'(i))) taken_q[i] <= 1'b1;
                    if (pkt_valid && pkt_ready_i && pkt_slot == 2'(i)) out_q[i] <= 1'b1;
                end
            end
        end
        if (rst_n) begin
            a_one:   assert (ends != '1);
            a_err:   assert (err == (comes[0] && begins[0] && full));                  // a packet without credit
            a_crd:   assert (crd == (free_valid_i && !free_slot_i[1]));
            a_idle:  assert (idle == (taken_q == '0 && begins == '1));
            a_local: assert (loc_ready || st_valid_i || taken_q[LinkPkts]);
        end
    end
    always_comb if (free_valid_i) assume (out_q[free_slot_i]);

    // ---- whole packets, in the order in which they ended ----
    logic       from;
    logic [2:0] unused_count;
    assign from = ends[1];
    f_queue #(.Width(2 + 1 + IdxW + 2), .Depth(Slots)) i_queue (
        .clk_i, .rst_ni(rst_n), .watch_i, .push_i(ends != '0), .in_i({slot[from], bad[from], flits[from]}), .accept_i(1'b1),
        .pop_i(pkt_valid && pkt_ready_i), .show_i(pkt_valid), .out_i({pkt_slot, pkt_bad, pkt_flits}), .count_o(unused_count)
    );

    // what the assumptions leave
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_drop:  cover (comes[0] && drop_q);
            c_full:  cover (full && comes[0] && begins[0]);
            c_many:  cover (ends[0] && pay_we[0]);
            c_list:  cover (ends[1] && list_q[1] == 3'((15 + Lanes - 1) / Lanes));
            c_freed: cover (free_valid_i && full);
            c_both:  cover (comes == '1 && !begins[0] && !begins[1]);
        end
    end

    logic unused;
    assign unused = ^{hd_bad, hd_far, hd_op, hd_src, hd_len, hd_cnt, hd_stage, hd_addr, hd_tgt};
endmodule

`default_nettype wire
