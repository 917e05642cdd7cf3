// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Gradients, packets of control, and streams may wait at any time. Each accepted gradient leaves
// once, as a whole packet, for its place at its home. No other flit leaves. With Go layers are
// aborted at any time, and no packet of the uplink is cut.
`default_nettype none
`include "bundles.svh"

module prove_gradient_send #(
    parameter int unsigned FlitBytes = 16,
    parameter bit Go = 1'b0
) (
    input  wire logic        clk_i, go_i, dw_valid_i, dense_i, clo_valid_i, clo_last_i, clo_word_i,
    input  wire logic        st_ready_i, lo_ready_i,
    input  wire logic [4:0]  token_i,
    input  wire logic [3:0]  pos_i, value_i,
    input  wire logic [1:0]  port_i, shift_i, base_i,
    input  wire logic [2:0]  tokens_i, k_shift_i
);
    import packet_pkg::*;
    localparam int unsigned N = 3;
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = N;
        c.FlitBytes = FlitBytes;
        c.TokensLog2 = 3;
        c.GateGradients = 1'b1;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();
    localparam int unsigned HF = Cfg.HeadFlits;

    logic                  rst_n, go, dw_ready, clo_ready, idle;
    node_pkg::node_cfg_t   cfg;
    bundle_pkg::gradient_t dw;
    `MW_STREAM(Cfg)        clo, st, lo;

    assign go  = Go && go_i;
    assign dw  = '{valid: dw_valid_i, token: node_pkg::TokenW'(token_i), dense: dense_i,
                   pos: pos_i, value: {4'hc, 24'd0, value_i}};
    assign clo = '{valid: clo_valid_i, last: clo_last_i, data: Cfg.FlitW'(clo_word_i)};
    always_comb begin
        cfg             = '0;
        cfg.port        = port_t'(port_i);
        cfg.epoch       = 2'd2;
        cfg.tokens      = 16'(tokens_i);
        cfg.token_shift = 4'(shift_i);
        cfg.k_shift     = 3'(k_shift_i);
        cfg.dw_base     = 36'({base_i, 8'd0});
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    gradient_send #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i(go), .cfg_i(cfg), .dw_i(dw), .dw_ready_o(dw_ready),
        .clo_i(clo), .clo_ready_o(clo_ready), .st_o(st), .st_ready_i, .lo_o(lo), .lo_ready_i,
        .idle_o(idle)
    );

    // ---- what is offered stays; the configuration is constant ----
    logic                  wait_q, clo_wait_q;
    logic [1:0]            port_q, shift_q, base_q;
    logic [2:0]            tokens_q, k_shift_q;
    bundle_pkg::gradient_t dw_q;
    `MW_STREAM(Cfg)        clo_q;

    always_ff @(posedge clk_i) begin
        wait_q     <= rst_n && dw.valid && !dw_ready && !go;
        clo_wait_q <= rst_n && clo.valid && !clo_ready && !go;
        dw_q       <= dw;
        clo_q      <= clo;
        {port_q, shift_q, base_q, tokens_q, k_shift_q} <= {port_i, shift_i, base_i, tokens_i,
                                                           k_shift_i};
    end
    always_comb begin
        if (wait_q) assume (dw == dw_q);
        if (clo_wait_q) assume (clo == clo_q);
        if (rst_n)
            assume ({port_i, shift_i, base_i, tokens_i, k_shift_i} == {port_q, shift_q, base_q,
                                                                       tokens_q, k_shift_q});
        assume (port_i < 2'(N) && tokens_i != '0 && k_shift_i < 3'd5
                && 5'(pos_i) < 5'd1 << k_shift_i);
        if (dense_i) assume (32'(token_i) < N * 32'(tokens_i));
        else assume (32'(token_i) < N << shift_i);
        if (!rst_n) assume (!dw_valid_i && !clo_valid_i);
    end

    // ---- the packet that must leave ----
    logic [1:0] home;
    logic [4:0] index;
    header_t    want;
    always_comb begin
        home = dense_i ? 2'(token_i >= 5'(tokens_i)) + 2'(token_i >= {1'b0, tokens_i, 1'b0})
               : 2'(token_i >> shift_i);
        index = dense_i ? token_i - (home[1] ? {1'b0, tokens_i, 1'b0} : home[0] ? 5'(tokens_i)
                                     : 5'd0)
                : token_i & ~(5'h1f << shift_i);
        want = '0;
        want.opcode = OP_ST;
        want.cls = CLS_STORE;
        {want.src_far, want.src} = port_t'(port_i);
        {want.dst_far, want.dst} = port_t'(home);
        want.len = 15'd4;
        want.epoch = 2'd2;
        want.addr = 48'({base_i, 8'd0}) + (((48'(index) << k_shift_i) + 48'(pos_i)) << 2);
    end

    // ---- the flits that leave: those of gradients, and those of control ----
    logic [1:0]      flit_q;  // of the gradient that leaves
    logic            own_q, far, near, took, wanted, open_q;
    logic [2:0]      hidden_q;

    assign far  = st.valid && st_ready_i;
    assign near = lo.valid && lo_ready_i && !(clo_valid_i && clo_ready);
    assign took = far || near;
    always_comb begin
        wanted = (far ? st.last : lo.last) == (flit_q == 2'(HF));
        for (int unsigned f = 0; f < HF; f++)
            if (flit_q == 2'(f))
                wanted = wanted && (far ? st.data : lo.data) == want[Cfg.FlitW * f +: Cfg.FlitW];
        // the value is in the lane that the address selects
        if (flit_q == 2'(HF))
            for (int unsigned l = 0; l < FlitBytes / 4; l++)
                if (want.addr[$clog2(FlitBytes) - 1:2] == ($clog2(FlitBytes) - 2)'(l))
                    wanted = wanted
                             && (far ? st.data[32*l +: 32] : lo.data[32*l +: 32]) == dw.value;
    end
    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            flit_q   <= '0;
            hidden_q <= '0;
        end else begin
            if (took) flit_q <= (flit_q == 2'(HF)) ? '0 : flit_q + 1'b1;
            if (took) own_q <= near;
            hidden_q <= (!dw.valid || st.valid || i_dut.own.valid) ? '0 : hidden_q + 1'b1;
        end
        if (rst_n && !Go) begin
            a_flit:   assert (!took || (dw.valid && wanted));
            a_one:    assert (!(far && near));
            a_home:   assert (!took || near == (home == port_i));
            a_stream: assert (!took || flit_q == '0 || near == own_q);
            a_taken:  assert (dw_ready == (took && flit_q == 2'(HF)));
            a_clo:    assert (!(clo_valid_i && clo_ready)
                              || (lo.valid && lo_ready_i && lo.last == clo.last
                                  && lo.data == clo.data));
            a_soon:   assert (hidden_q <= 3'(2 + N - 1 + 1));
            a_idle:   assert (!idle || !(st.valid || i_dut.own.valid));
            c_far:    cover (dw_ready && home == 2'd2 && dense_i && port_i == 2'd0);
            c_own:    cover (dw_ready && home == 2'd1 && port_i == 2'd1 && clo_wait_q);
        end
        if (rst_n && Go) begin
            a_cut: assert (!open_q || st.valid);
            c_go:  cover (go && open_q);
        end
        if (!rst_n) open_q <= 1'b0;
        else if (far) open_q <= !st.last;
    end
    if (!Go) begin : gen_stream
        f_stream #(.Width(Cfg.FlitW), .Whole(1'b1)) i_out (
            .clk_i, .rst_ni(rst_n), .valid_i(st.valid), .ready_i(st_ready_i), .data_i(st.data),
            .last_i(st.last), .inside_o()
        );
    end
endmodule

`default_nettype wire
