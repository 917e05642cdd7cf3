// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// A hub that stops sending blocks no requester. Ports 0 and 2 request rows all the time. Hubs 1 and
// 3 must send both of them a packet for each requested row. From any cycle on a hub may send
// nothing. Every requester still gets a result within Bound cycles, again and again. Results are
// right until a hub is down, and poisoned soon after. A hub that only pauses is never marked down.
//
// Software may enable a hub that is down in any cycle. After the flush the hub is as after a reset,
// and later rows are right again. No earlier row takes a packet that the hub sends for a later one.
// Otherwise the later row would miss it, and the hub would be marked down.
`default_nettype none
`include "bundles.svh"

module prove_port_down #(
    parameter int unsigned Period = 5,    // of the time limit of partials
    parameter int unsigned Bound = 48
) (
    input  wire logic       clk_i,
    input  wire logic [1:0] first_i,  // which requester each hub serves first: any
    input  wire logic [1:0] lazy_i,   // a hub does nothing in this cycle; not twice in a row
    input  wire logic [1:0] silent_i, // a hub sends nothing from now on, up to a flush
    input  wire logic [1:0] enable_i,
    input  wire logic       step_i    // step of a flush, which may take any time
);
    function automatic cfg_pkg::cfg_t sizes(input int unsigned n);
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = n;
        c.FlitBytes = 16;
        c.OpenRows = 2;
        c.CtrlPkts = 1;
        c.PartPkts = 1;
        c.Monitor = 1'b0;
        c.RedTypes = 8'h01;
        c.RedOps = 8'h01;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes(3), CfgHubs = sizes(2);
    localparam int unsigned Slots = 2; // of the join's ring

    logic                rst_n, tick_q;
    logic [1:0]          turn_q, was_q, silent_q, down, down_q, flush;
    // [hub][requester]; late: [requester][hub]
    logic [1:0][1:0]     credit_q, send, enters, done, hold, late;
    logic [1:0][1:0][1:0] owed_q;                                    // [hub][requester]: rows
    bundle_pkg::credit_t crd [2];
    logic [1:0]          res, old, came_q;
    logic [7:0]          since_q [2], down_since_q [2];
    logic [2:0]          fresh_q [2]; // results since all hubs are up
    logic [2:0]          period_q;

    f_reset i_reset (.clk_i, .rst_no(rst_n));

    always_ff @(posedge clk_i) begin
        period_q <= (!rst_n || 32'(period_q) == Period - 1) ? '0 : period_q + 3'd1;
        tick_q   <= rst_n && 32'(period_q) == Period - 1;
        down_q   <= down;
    end

    for (genvar h = 0; h < 2; h++) begin : gen_hub
        logic [1:0]   can;
        `MW_LINK(Cfg) in;
        assign can       = credit_q[h] & {owed_q[h][1] != '0, owed_q[h][0] != '0};
        assign send[h]   = (!rst_n || flush[h] || lazy_i[h] || silent_i[h] || silent_q[h]) ? 2'd0
                           : can[turn_q[h]] ? 2'd1 << turn_q[h] : can;
        assign enters[h] = in.valid ? send[h] : '0;

        port_guard #(.Cfg(Cfg)) i_guard (
            .clk_i, .rst_ni(rst_n), .tick_i({3{tick_q}}), .step_i,
            .enable_i(enable_i[h]), .disable_i(1'b0),
            .up_i('{valid: send[h] != '0, last: 1'b1, cls: packet_pkg::CLS_PART, default: '0}),
            .in_o(in), .drop_o(),
            .starved_i('0), .late_i(late[0][h] || late[1][h]), .written_i(1'b1), .drained_i(1'b1),
            .ready_i(old == '0), .down_o(down[h]), .flush_o(flush[h]),
            .report_o(), .report_code_o(),
            .report_take_i(1'b0)
        );
        credit_return #(.Cfg(CfgHubs)) i_credits (
            .clk_i, .rst_ni(rst_n && !flush[h]), .room_i('0), .ctrl_free_i('0), .ctrl_drop_i(1'b0),
            .part_done_i(done[h]), .part_hold_o(hold[h]), .crd_o(crd[h]), .idle_o()
        );
        always_ff @(posedge clk_i) begin
            was_q[h]    <= lazy_i[h];
            silent_q[h] <= rst_n && !flush[h] && (silent_q[h] || silent_i[h]);
            if (!rst_n || flush[h]) begin
                turn_q[h]   <= first_i[h];
                credit_q[h] <= '1;
                owed_q[h]   <= '0;
            end else begin
                if (send[h] != '0) turn_q[h] <= !send[h][1];
                credit_q[h] <= (credit_q[h] & ~send[h])
                               | (crd[h].cls[3] ? 2'd1 << crd[h].part[0] : 2'd0);
                for (int unsigned r = 0; r < 2; r++)
                    owed_q[h][r] <= owed_q[h][r] + 2'(came_q[r] && !down[h]) - 2'(send[h][r]);
            end
            down_since_q[h] <= (rst_n && down[h]) ? down_since_q[h] + 8'd1 : '0;
            if (rst_n) begin
                a_lazy: assert (!down[h] || down_q[h] || silent_q[h]);
                c_lazy: cover (was_q[h]);
                c_down: cover (down[h] && down_since_q[h] != '0);
            end
        end
        always_comb if (was_q[h]) assume (!lazy_i[h]);
    end

    for (genvar r = 0; r < 2; r++) begin : gen_requester
        logic [1:0]   has, re, q_done, j_has, j_wait, j_late, j_down;
        logic         ever_q;      // a hub was down
        logic         full, row_done, busy_q, read_q;
        logic [1:0]   level;
        `MW_TAKE(Cfg) take;
        `MW_JOINED(Cfg) joined;
        logic [129:0] term [2], j_term;

        for (genvar h = 0; h < 2; h++) begin : gen_queue
            localparam int unsigned D = (r == 0) ? h : 1 - h;   // place in the order of additions
            part_queue #(.Cfg(Cfg)) i_queue (
                .clk_i, .rst_ni(rst_n && !flush[h]), .come_i(enters[h][r]),
                .we_i(enters[h][r]), .widx_i(3'd0),
                .wdata_i({2'b01, 128'd0}), .full_o(), .has_o(has[D]), .re_i(re[D]),
                .ridx_i(take.idx), .done_i(q_done[D]),
                .rdata_o(term[h]), .waddr_o(), .raddr_o()
            );
            assign done[h][r] = q_done[D];
            assign j_down[D]  = down[h];
            assign late[r][h] = j_late[D];
        end
        dummy_partial #(.Cfg(Cfg), .Width(130)) i_dummy (
            .clk_i, .rst_ni(rst_n), .tick_i(tick_q), .down_i(j_down),
            .mark_i((down & ~down_q) != '0),
            .wait_i(j_wait), .row_done_i(row_done), .level_i(level),
            .late_o(j_late), .old_o(old[r]),
            .re_i(take.re), .done_i(take.done), .has_o(j_has), .term_o(j_term),
            .has_i(has), .term_i(term[0] | term[1]), .re_o(re), .done_o(q_done)
        );
        // Rows have one flit. A new row is requested as soon as the window allows it.
        reduce_join #(.Cfg(Cfg)) i_join (
            .clk_i, .rst_ni(rst_n),
            .open_i('{valid: rst_n && !full, mask: '1, bytes: 15'd15, red: '0, stamp: '0}),
            .open_full_o(full), .away_i(j_down),
            .q_has_i(j_has), .q_hold_i((r == 0) ? {hold[1][r], hold[0][r]}
                                       : {hold[0][r], hold[1][r]}), .q_want_o(),
            .q_may_i('1), .q_o(take),
            .q_data_i(j_term), .q_wait_o(j_wait),
            .row_done_o(row_done), .level_o(level),
            .res_o(joined), .res_start_i(res[r]),
            .res_i('{read: read_q, first: 1'b1, last: 1'b1}), .res_data_o(), .res_err_o(),
            .idle_o()
        );
        assign res[r] = joined.valid && !busy_q;
        always_ff @(posedge clk_i) begin
            busy_q <= rst_n && res[r];
            read_q <= rst_n && busy_q;
            came_q[r] <= rst_n && !full;
            since_q[r] <= (!rst_n || res[r]) ? '0 : since_q[r] + 8'd1;
            if (!rst_n || down != '0)            fresh_q[r] <= '0;
            else if (res[r] && fresh_q[r] != '1) fresh_q[r] <= fresh_q[r] + 3'd1;
            ever_q <= rst_n && (ever_q || down != '0);
            if (rst_n) begin
                a_served:   assert (32'(since_q[r]) <= Bound);
                a_right:    assert (!res[r] || ever_q || down != '0 || !joined.poison);
                // rows that were open or in the ring when the last hub came up may be poisoned
                a_again:    assert (!res[r] || down != '0 || 32'(fresh_q[r]) < Cfg.OpenRows + Slots
                                    || !joined.poison);
                c_again:    cover (res[r] && ever_q && down == '0
                                   && 32'(fresh_q[r]) == Cfg.OpenRows + Slots);
                c_back:     cover (ever_q && down == '0);
                a_poisoned: assert (!res[r] || (down_since_q[0] < 8'd15 && down_since_q[1] < 8'd15)
                                    || joined.poison);
                // rows from before the mark end
                a_old:      assert (!old[r] || (down_since_q[0] < 8'd40 && down_since_q[1] < 8'd40)
                                    || (down_since_q[0] < 8'd40 && down[0])
                                    || (down_since_q[1] < 8'd40 && down[1]));
            end
        end
    end
    always_ff @(posedge clk_i) if (rst_n) c_start: cover (send != '0);
endmodule

`default_nettype wire
