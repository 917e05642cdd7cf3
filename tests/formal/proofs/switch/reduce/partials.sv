// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Partial sums cannot deadlock. Ports 0 and 2 request rows all the time. The hubs of ports 1 and 3
// send both of them a packet for each row, and begin in any order. Each hub has one credit per
// requester. Port 0 adds hub 1 first, port 2 hub 3. In any order every requester gets a result
// within Bound cycles, again and again.
`default_nettype none
`include "bundles.svh"

module prove_partials #(
    parameter int unsigned Bound = 30
) (
    input  wire logic       clk_i,
    input  wire logic [1:0] first_i, // which requester each hub serves first: any
    input  wire logic [1:0] lazy_i   // a hub does nothing in this cycle; not twice in a row
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

    logic                rst_n;
    logic [1:0]          turn_q, was_q;
    logic [1:0][1:0]     credit_q, send, done, hold;   // [hub][requester]
    bundle_pkg::credit_t crd [2];
    logic [1:0]          res;
    logic [7:0]          since_q [2];

    f_reset i_reset (.clk_i, .rst_no(rst_n));

    for (genvar h = 0; h < 2; h++) begin : gen_hub
        logic [1:0] can;
        assign can     = credit_q[h];
        // Requesters take turns. If the next one has no credit, the other one is served.
        assign send[h] = (!rst_n || lazy_i[h]) ? 2'd0 : can[turn_q[h]] ? 2'd1 << turn_q[h] : can;

        credit_return #(.Cfg(CfgHubs)) i_credits (
            .clk_i, .rst_ni(rst_n), .room_i('0),
            .ctrl_free_i('0), .ctrl_drop_i(1'b0), .part_done_i(done[h]),
            .part_hold_o(hold[h]), .crd_o(crd[h]), .idle_o()
        );
        always_ff @(posedge clk_i) begin
            was_q[h] <= lazy_i[h];
            if (!rst_n) begin
                turn_q[h]   <= first_i[h];
                credit_q[h] <= '1;
            end else begin
                if (send[h] != '0) turn_q[h] <= !send[h][1];
                credit_q[h] <= (credit_q[h] & ~send[h])
                               | (crd[h].cls[3] ? 2'd1 << crd[h].part[0] : 2'd0);
            end
        end
        always_comb if (was_q[h]) assume (!lazy_i[h]);
    end

    for (genvar r = 0; r < 2; r++) begin : gen_requester
        logic [1:0]   has;
        logic         full, busy_q, read_q;
        `MW_TAKE(Cfg) take;
        `MW_JOINED(Cfg) joined;
        logic [129:0] term [2];

        for (genvar h = 0; h < 2; h++) begin : gen_queue
            localparam int unsigned D = (r == 0) ? h : 1 - h;   // place in the order of additions
            part_queue #(.Cfg(Cfg)) i_queue (
                .clk_i, .rst_ni(rst_n), .come_i(send[h][r]), .we_i(send[h][r]), .widx_i(3'd0),
                .wdata_i({2'b01, 128'd0}), .full_o(), .has_o(has[D]), .re_i(take.re[D]),
                .ridx_i(take.idx), .done_i(take.done[D]),
                .rdata_o(term[h]), .waddr_o(), .raddr_o()
            );
            assign done[h][r] = take.done[D];
        end
        // Rows have one flit. A new row is requested as soon as the window allows it.
        reduce_join #(.Cfg(Cfg)) i_join (
            .clk_i, .rst_ni(rst_n),
            .open_i('{valid: rst_n && !full, mask: 2'b11, bytes: 15'd15, red: '0, stamp: '0}),
            .open_full_o(full), .away_i('0),
            .q_has_i(has), .q_hold_i((r == 0) ? {hold[1][r], hold[0][r]}
                                     : {hold[0][r], hold[1][r]}), .q_want_o(),
            .q_may_i('1), .q_o(take),
            .q_data_i(term[0] | term[1]), .q_wait_o(),
            .row_done_o(), .level_o(),
            .res_o(joined), .res_start_i(res[r]),
            .res_i('{read: read_q, first: 1'b1, last: 1'b1}), .res_data_o(),
            .res_err_o(), .idle_o()
        );
        assign res[r] = joined.valid && !busy_q;
        always_ff @(posedge clk_i) begin
            busy_q <= rst_n && res[r];
            read_q <= rst_n && busy_q;
            since_q[r] <= (!rst_n || res[r]) ? '0 : since_q[r] + 8'd1;
            if (rst_n) a_served: assert (32'(since_q[r]) <= Bound);
        end
    end

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_start:  cover (send != '0);
            c_both:   cover (lazy_i == '1);
            c_served: cover (res == '1);
        end
    end
endmodule

`default_nettype wire
