// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The proof follows one packet (watch_i), and one line of it (line_i), through a queue of the
// switch. With FlitBytes 32 a payload has four flits. Nothing in the module depends on the number.
// The input writes header, targets and description of a packet, pushes it or not, and then writes
// its payload. The output takes a packet, reads it behind the writer, and frees it. Credits and
// windows bound what is inside.
`default_nettype none
`include "bundles.svh"

module prove_voq #(
    parameter int unsigned StorePkts = 2,
    parameter bit          SharedRam = 1'b0, // another queue uses the same RAM; the proof follows
                                             // one word of it (word_i)
    // Words come one cycle after their addresses. A word that is written is read two cycles later
    // at the earliest.
    parameter bit          Late = 1'b0,
    localparam cfg_pkg::cfg_t Cfg = sizes()
) (
    input  wire logic                  clk_i, watch_i, wr_valid_i, data_i, lane_i,
    desc_we_i, push_i, arrive_i,
    input  wire logic [1:0]            region_i, cls_i,
    input  wire logic [Cfg.PayW:0]     wline_i, rd_line_i, line_i,
    input  wire `MW_DESC(Cfg)          desc_i,
    input  wire logic                  pop_i, re_i, end_i, shared_we_i, shared_re_i,
    input  wire logic                  others_i,   // the other queues of the input have room
    input  wire logic [Cfg.SharedRamW-1:0] shared_waddr_i, shared_raddr_i, word_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.FlitBytes = 32;
        c.OpenRows = 2;
        c.StorePkts = StorePkts;
        c.CtrlPkts = 2;
        c.Window = 0;
        c.PartSharedRam = SharedRam;
        c.Monitor = 1'b0;
        c = cfg_pkg::derived(c);
        c.Late = Late;
        // two more places
        if (SharedRam)
            {c.SlotW, c.DescW, c.SharedRamW} = {c.SlotW + 1, c.DescW + 1, c.SharedRamW + 1};
        return c;
    endfunction

    logic                 rst_n, room, urgent, issue, ends, busy_q, mine_q;
    logic                 known_q, written_q;   // the line of the followed packet is written,
                                                // and a cycle has passed
    logic [2:0]           has;
    logic [Cfg.PayW:0]    line_q;
    logic [Cfg.DescW-1:0] desc;
    logic [Cfg.FlitW:0]   rdata;
    logic [Cfg.WordW-1:0] shared_rdata;
    logic                 wr_valid, wr_valid_q, data, data_q, lane, lane_q;
    logic [1:0]           rcls_q;
    logic [Cfg.SlotW-1:0] slot_q;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    voq #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .put_i('{wr: wr_valid, desc: desc_we_i, push: push_i}),
        .wr_i('{region: region_i, line: wline_i, lane: Cfg.Lanes'(lane), data: Cfg.WordW'(data)}),
        .desc_i, .scarce_i(1'b0), .limit_i('0), .win_i('0), .here_o(), .sent_i(1'b0),
        .steps_i('{arrive: arrive_i, issue: issue}), .room_o(room), .state_o({urgent, has}),
        .pop_i('{valid: pop_i, cls: cls_i}), .desc_o(desc),
        .free_i(ends && rcls_q == 2'd1),
        .rd_i('{re: re_i, line: rd_line_i, slot: slot_q}), .rdata_o(rdata),
        .shared_i('{we: shared_we_i, waddr: shared_waddr_i, re: shared_re_i,
                    raddr: shared_raddr_i}), .shared_rdata_o(shared_rdata)
    );
    always_ff @(posedge clk_i) {wr_valid_q, data_q, lane_q} <= {wr_valid_i || shared_we_i, data_i,
                                                                lane_i};
    assign {wr_valid, data, lane} = Late ? {wr_valid_q && rst_n, data_q, lane_q}
                                    : {wr_valid_i || shared_we_i, data_i, lane_i};
    assign issue = room && others_i;
    assign ends  = busy_q && end_i;

    // ---- input and output ----
    logic [2:0][2:0] count_q, inside_q;    // packets by class: pushed and not taken,
                                           // pushed and not freed
    logic [2:0]      held_q;               // STORE credits that the sender holds
    logic            missed_q;             // a packet went elsewhere in the cycle before: its slot
                                           // is free from now on
    logic            paying_q;             // the payload of the last STORE packet may be written
    logic            coming;               // a packet comes
    assign coming = wr_valid_i || push_i || desc_we_i;

    always_comb begin
        if (!rst_n || !SharedRam || wr_valid_i || !lane_i) assume (!shared_we_i);
        if (!rst_n || !SharedRam || re_i) assume (!shared_re_i);
        if (rst_n) assume (line_i == line_q);
        if (!rst_n) assume (!coming && !arrive_i && !pop_i && !re_i);
        if (region_i == 2'd3)
            assume (!push_i && !desc_we_i && (!wr_valid_i || (paying_q && !wline_i[2] && lane_i)));
        if (region_i == 2'd0) assume (wline_i == 3'b101 && (!coming || inside_q[0] < 3'd2));
        if (region_i == 2'd1) assume (wline_i == 3'b100 && (!coming || held_q != '0));
        if (region_i == 2'd2) assume (wline_i[2:1] == 2'b11 && (!coming || inside_q[2] < 3'd2));
        if (held_q == '0) assume (!arrive_i);
        if (region_i == 2'd1 && push_i) assume (arrive_i);
        else if (push_i) assume (!arrive_i);
        assume (cls_i != 2'd3);
        if (!has[cls_i] || (busy_q && !ends)) assume (!pop_i);
        if (!busy_q) assume (!re_i);
        if (mine_q && rd_line_i == line_i && !(known_q && (written_q || !Late))) assume (!re_i);
    end
    always_ff @(posedge clk_i) begin
        line_q   <= line_i;
        missed_q <= rst_n && arrive_i && !push_i;
        if (!rst_n) begin
            count_q  <= '0;
            inside_q <= '0;
            held_q   <= 3'(StorePkts);
            paying_q <= 1'b0;
            busy_q   <= 1'b0;
        end else begin
            for (int unsigned c = 0; c < 3; c++) begin
                count_q[c]  <= count_q[c] + 3'(push_i && region_i == 2'(c))
                               - 3'(pop_i && cls_i == 2'(c));
                inside_q[c] <= inside_q[c] + 3'(push_i && region_i == 2'(c))
                               - 3'(ends && rcls_q == 2'(c));
            end
            held_q   <= held_q - 3'(arrive_i) + 3'(issue);
            if (region_i == 2'd1) paying_q <= push_i;
            busy_q <= pop_i || (busy_q && !ends);
            if (pop_i) begin
                rcls_q <= cls_i;
                slot_q <= desc[8+:Cfg.SlotW];
            end
        end
    end

    // ---- the word of the other queue ----
    logic [Cfg.SharedRamW-1:0] word_q;
    logic                  read_q, shared_read_q;
    logic                  shared_known_q, shared_val_q, shared_ask_q, shared_want_q,
                           shared_new_q, shared_new;

    assign shared_new = shared_we_i && shared_waddr_i == word_i;
    always_comb if (rst_n) assume (word_i == word_q);
    always_ff @(posedge clk_i) begin
        word_q       <= word_i;
        shared_new_q <= shared_new;
        read_q       <= re_i;
        shared_read_q <= shared_re_i;
        written_q    <= known_q;
        if (!rst_n) begin
            shared_known_q <= 1'b0;
            shared_ask_q  <= 1'b0;
        end else begin
            if (shared_new) begin
                shared_known_q <= 1'b1;
                shared_val_q  <= data_i;
            end
            shared_ask_q <= shared_re_i && shared_raddr_i == word_i && shared_known_q && !shared_new
                            && !(Late && shared_new_q);
            shared_want_q <= shared_val_q;
            a_shared: assert (!shared_ask_q || shared_rdata[0] == shared_want_q);
            a_zero:  assert ((read_q || rdata == '0) && (shared_read_q || shared_rdata == '0));
        end
    end

    // ---- the followed packet, and the last values written for the next one of each class ----
    logic [2:0]   next_known_q, next_known, next_val_q, next_val, notified_q, notified;
    `MW_DESC(Cfg) next_desc_q [3], next_desc [3], desc_q;
    logic         in_q, val_q, dknown_q, writing_q, ask_q, want_q;
    logic [1:0]   wcls_q;
    logic [2:0]   ahead_q;
    logic         mine;

    always_comb begin
        next_known = next_known_q;
        next_val   = next_val_q;
        notified   = notified_q;
        next_desc  = next_desc_q;
        if (region_i != 2'd3) begin
            if (wr_valid_i && lane_i && wline_i == line_i) begin
                next_known[region_i] = 1'b1;
                next_val[region_i]   = data_i;
            end
            if (desc_we_i) begin
                notified[region_i]  = 1'b1;
                next_desc[region_i] = desc_i;
            end
        end
    end
    assign mine = in_q && ahead_q == '0 && pop_i && cls_i == wcls_q;
    // A flit of a payload is written once.
    always_comb if (Late && writing_q && known_q && wr_valid_i && wline_i == line_i)
        assume (region_i != 2'd3);

    always_ff @(posedge clk_i) begin
        next_val_q  <= next_val;
        next_desc_q <= next_desc;
        if (!rst_n) begin
            next_known_q <= '0;
            notified_q   <= '0;
            in_q         <= 1'b0;
            mine_q       <= 1'b0;
            writing_q    <= 1'b0;
            ask_q        <= 1'b0;
            known_q      <= 1'b0;
        end else begin
            next_known_q <= next_known;
            notified_q   <= notified;
            if (push_i) begin
                next_known_q[region_i] <= 1'b0;
                notified_q[region_i]   <= 1'b0;
            end
            if (region_i == 2'd1) writing_q <= 1'b0;
            if (push_i && watch_i && !in_q && !mine_q) begin
                in_q      <= 1'b1;
                wcls_q    <= region_i;
                ahead_q   <= count_q[region_i] - 3'(pop_i && cls_i == region_i);
                known_q   <= next_known[region_i];
                val_q     <= next_val[region_i];
                dknown_q  <= notified[region_i];
                desc_q    <= next_desc[region_i];
                writing_q <= region_i == 2'd1;
            end else begin
                if (in_q && pop_i && cls_i == wcls_q) begin
                    if (ahead_q == '0) in_q <= 1'b0;
                    else ahead_q <= ahead_q - 3'd1;
                end
                if (writing_q && wr_valid_i && region_i == 2'd3 && wline_i == line_i) begin
                    known_q <= 1'b1;
                    val_q   <= data_i;
                end
            end
            mine_q <= mine || (mine_q && !ends);
            ask_q  <= re_i && mine_q && rd_line_i == line_i;
            want_q <= val_q;

            a_has:    assert (has == {count_q[2] != '0, count_q[1] != '0, count_q[0] != '0});
            a_desc:   assert (!mine || !dknown_q
                              || desc[7:0] == ((cls_i == 2'd0) ? 8'd0
                                               : (cls_i == 2'd2) ? {desc_q[7:3], 3'd0}
                                               : desc_q[7:0]));
            a_flit:   assert (!ask_q || rdata[0] == want_q);
            a_credit: assert (held_q + inside_q[1] <= 3'(StorePkts)
                              && room == (held_q + inside_q[1] + 3'(missed_q) < 3'(StorePkts)));
        end
    end

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_full:   cover (count_q[1] == 3'(StorePkts) && held_q == '0);
            c_ctrl:   cover (inside_q[0] == 3'd2);
            c_req:    cover (inside_q[2] == 3'd2);
            c_missed: cover (missed_q && room);
            c_known:  cover (ask_q && known_q);
            c_late:   cover (wr_valid_i && region_i == 2'd3 && busy_q);
        end
    end
    if (SharedRam) begin : gen_c_shared_ram
        always_ff @(posedge clk_i) if (rst_n) c_shared: cover (shared_ask_q);
    end
endmodule

`default_nettype wire
