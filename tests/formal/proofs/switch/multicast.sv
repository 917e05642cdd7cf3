// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The whole switch has three ports. Port 0 sends dynamic multicasts of up to three targets back to
// back. Some are bad: an expert is listed twice, not mapped, or at home. Expert e is at port e
// modulo 4, and 3 is not mapped. A packet without targets has those of the open row. A good list
// opens this row, unless it is flat. Gate weights or a rejected packet close it. One packet
// (watch_i) carries a mark. An output sends the mark at most once, and only if the packet is good
// and has a target there. The copy has exactly the targets there, in order, or none if the packet
// had none. With Live output 2 gets its copy within Bound cycles, while output 1 may be blocked
// forever.
`default_nettype none
`include "bundles.svh"

module prove_multicast #(
    parameter bit Live = 1'b0,          // two packets, and the time to output 2
    parameter int unsigned Bound = 20,
    parameter int unsigned Window = 0
) (
    input  wire logic            clk_i, send_i, watch_i, crd1_i, crd2_i,
    input  wire logic [4:0]      cnt_i,
    input  wire logic [1:0]      stage_i,
    input  wire logic [2:0][3:0] expert_i
);
    localparam int unsigned N = 3;
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = N;
        c.FlitBytes = 16;
        c.MaxExperts = 16;
        c.Groups = 1;
        c.OpenRows = 1;
        c.StorePkts = 2;
        c.CtrlPkts = 1;
        c.Window = Window;
        c.PartPkts = 1;
        c.RxStorePkts = 1;
        c.RxResultPkts = 1;
        c.RxCtrlPkts = 1;
        c.Monitor = 1'b0;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    logic            rst_n;
    logic [3:0]      map_q = '0;
    `MW_LINK(Cfg)    up [N], dn [N];
    logic [3:0]      dn_crd [N];
    logic [1:0][1:0] used_q;            // downlink credits used, ports 1 and 2
    logic [1:0]      starts;

    f_reset #(.Cycles(16)) i_reset (.clk_i, .rst_no(rst_n));

    // ---- port 0: header, and the rest of the list in the next cycle ----
    logic            rest_q, header, watch, watched_q, ok;
    logic            row_open_q;        // there is a row,
    logic [N-1:0]    row_q, outputs;    // to these; those of the packet
    logic [2:0][3:0] expert_q;
    logic [4:0]      cnt_q;
    logic [3:0]      quiet_q;
    logic [1:0]      sends_q;
    logic [2:0]      held_q;            // STORE credits
    packet_pkg::header_t head;
    bundle_pkg::credit_t up_crd [N];

    assign header = send_i && quiet_q == 4'd8 && !(Live && sends_q == 2'd2) && !rest_q
                    && held_q != '0;
    assign watch  = header && watch_i && !watched_q;
    always_comb begin
        ok = cnt_i != '0 && cnt_i < 5'd4;
        for (int unsigned i = 0; i < 3; i++) begin
            if (5'(i) < cnt_i) begin
                if (!(expert_i[i][1:0] inside {2'd1, 2'd2})) ok = 1'b0;
                for (int unsigned j = 0; j < i; j++) if (expert_i[i] == expert_i[j]) ok = 1'b0;
            end
        end
        outputs = row_q;
        if (cnt_i != '0) begin
            for (int unsigned p = 0; p < N; p++) begin
                outputs[p] = 1'b0;
                for (int unsigned i = 0; i < 3; i++)
                    if (5'(i) < cnt_i && 32'(expert_i[i][1:0]) == p) outputs[p] = 1'b1;
            end
        end else begin
            ok = row_open_q && stage_i != packet_pkg::STAGE_FLAT;
        end
        head         = '0;
        head.opcode  = packet_pkg::OP_DYMULTIMEM_ST;
        head.cls     = packet_pkg::CLS_STORE;
        head.tag     = {7'd0, watch};
        head.stage   = packet_pkg::stage_e'(stage_i);
        head.cnt     = cnt_i;
        head.target0 = {8'd0, expert_i[0], 4'd0};
        for (int unsigned p = 1; p < N; p++) up[p] = '0;
        up[0] = '{valid: header || rest_q, last: rest_q || cnt_i < 5'd2, err: 1'b0,
                  cls: packet_pkg::CLS_STORE,
                  data: rest_q ? {96'd0, 8'd0, expert_q[2], 4'd2, 8'd0, expert_q[1], 4'd1} : head};
        assume (cnt_i < 5'd4);
        if (watched_q) assume (!watch_i);
        if (Live) assume (send_i);   // back to back
    end
    always_ff @(posedge clk_i) begin
        // The table of seen experts is cleared first.
        quiet_q   <= !rst_n ? '0 : (quiet_q == 4'd8) ? 4'd8 : quiet_q + 4'd1;
        rest_q    <= rst_n && header && cnt_i > 5'd1;
        watched_q <= rst_n && (watched_q || watch);
        held_q    <= rst_n ? held_q - 3'(header) + 3'(up_crd[0].cls[1]) : 3'd2;
        sends_q   <= rst_n ? sends_q + 2'(header && sends_q != 2'd2) : '0;
        if (header) expert_q <= expert_i;
        if (!rst_n) row_open_q <= 1'b0;
        else if (header && !ok) row_open_q <= 1'b0;
        else if (header && stage_i != packet_pkg::STAGE_FLAT) begin
            row_open_q <= stage_i != packet_pkg::STAGE_GATE;
            row_q      <= outputs;
        end
    end

    switch_top #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i(1'b0), .epoch_i(2'd0), .run_i(1'b0),
        .up_i(up), .up_crd_o(up_crd), .dn_o(dn),
        .dn_crd_i(dn_crd),
        .emap_i('{we: !rst_n, addr: 12'(map_q),
                  data: '{valid: map_q[1:0] != 2'd3, gpu: 5'(map_q[1:0]), local_expert: '0}}),
        .groups_i('0), .partition_i('1), .ctl_i('{window: 5'(Window), default: '0}),
        .enable_i('0), .disable_i('0),
        .quiet_i('1), .down_o(), .flush_o(), .sweep_i(1'b0), .sweep_busy_o(),
        .idle_o(), .cnt_data_o(),
        .mon_samples_o(), .mon_data_o(), .err_o(), .err_port_o()
    );
    // the map of experts is written during the reset
    always_ff @(posedge clk_i) map_q <= rst_n ? '0 : map_q + 4'd1;

    // ---- expected copies of the marked packet ----
    logic [2:0][3:0] list_q [3];       // [port] experts there, in order
    logic [1:0]      want_q [3];       // their number; 1 for a packet without targets
    logic            bare_q;           // it has no targets
    logic            sent_q [3];       // the mark has been seen
    logic [7:0]      age_q;

    always_ff @(posedge clk_i) begin
        age_q <= !rst_n || !watched_q ? '0 : age_q + 8'd1;
        if (watch) bare_q <= cnt_i == '0;
        for (int unsigned p = 0; p < N; p++) begin
            automatic logic [1:0] n = '0;
            automatic logic [2:0][3:0] l = '0;
            for (int unsigned i = 0; i < 3; i++) begin
                if (5'(i) < cnt_i && 32'(expert_i[i][1:0]) == p) begin
                    l[n] = expert_i[i];
                    n = n + 2'd1;
                end
            end
            if (!rst_n) want_q[p] <= '0;
            else if (watch) begin
                want_q[p] <= !ok ? '0 : (cnt_i == '0) ? 2'(outputs[p]) : n;
                list_q[p] <= l;
            end
        end
    end

    for (genvar p = 0; p < N; p++) begin : gen_out
        logic first_q, mark_q, marked;
        packet_pkg::header_t h;
        assign h      = dn[p].data;
        assign marked = dn[p].valid && first_q && dn[p].cls == packet_pkg::CLS_STORE && h.tag[0];
        always_ff @(posedge clk_i) begin
            if (!rst_n) begin
                first_q   <= 1'b1;
                mark_q    <= 1'b0;
                sent_q[p] <= 1'b0;
            end else begin
                if (dn[p].valid) begin
                    first_q <= dn[p].last;
                    mark_q  <= marked && !dn[p].last;
                end
                if (marked) sent_q[p] <= 1'b1;
                a_once:   assert (!marked || (!sent_q[p] && want_q[p] != '0));
                a_count:  assert (!marked || (h.cnt == (bare_q ? 5'd0 : 5'(want_q[p]))
                                             && dn[p].last == (want_q[p] == 2'd1)));
                a_first:  assert (!marked || bare_q || h.target0[7:4] == list_q[p][0]);
                a_second: assert (!mark_q || !dn[p].valid || dn[p].data[7:4] == list_q[p][1]);
                a_third:  assert (!mark_q || !dn[p].valid || want_q[p] != 2'd3
                                  || dn[p].data[23:20] == list_q[p][2]);
            end
        end
    end

    // ---- credits ----
    // Credits of port 1 return at any time or never. Those of port 2 return at any time, with Live
    // at once.
    for (genvar p = 0; p < 2; p++) begin : gen_credit
        logic back;
        assign starts[p] = dn[p+1].valid && gen_out[p+1].first_q
                           && dn[p+1].cls == packet_pkg::CLS_STORE;
        assign back      = used_q[p] != '0 && ((p == 0) ? crd1_i : Live || crd2_i);
        assign dn_crd[p+1] = {2'd0, back, 1'b0};
        always_ff @(posedge clk_i) used_q[p] <= rst_n ? used_q[p] + 2'(starts[p]) - 2'(back) : '0;
    end
    assign dn_crd[0] = '0;

    if (Live) begin : gen_live
        always_ff @(posedge clk_i) if (rst_n)
            a_soon: assert (sent_q[2] || want_q[2] == '0 || 32'(age_q) <= Bound);
    end

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_start: cover (header);
            c_three: cover (watched_q && want_q[1] != '0 && want_q[2] != '0);
            c_bad:   cover (watch && !ok);
            c_row:   cover (watch && ok && cnt_i == '0);
            c_none:  cover (watch && !ok && cnt_i == '0);
        end
    end
endmodule

`default_nettype wire
