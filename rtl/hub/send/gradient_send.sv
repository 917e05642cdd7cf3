// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Sends gradients of gate weights home: each is an ST of 4 bytes.
//
// Function: The gradient goes to dw_base + 4 (i << k_shift | j) at the home of its token. i is the
// token's index there, and j the position of the expert in its list. tx takes it past its queue of
// stores, in which dispatch may be held. That of an own token joins control's packets on the local
// stream. The receiver checks the place. Home and index of a gathered token (dense) come from
// subtractions of tokens, a cycle for each GPU before its home. At go a packet that has begun ends
// first.
// Order: Gradients in the order of arrival. loc_merge states that of the local stream.
// Back-pressure: dw_ready_o, with the last flit of the packet: a gradient that was taken is on the
// link, or in a queue of own stores, in front of a later fence. A local packet of control waits for
// one gradient.
// Latency: The first flit is offered 3 cycles after the gradient, or up to N - 1 more. The others
// follow as fast as they are taken.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module gradient_send #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type stream_t = `MW_STREAM(Cfg)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic go_i,
    /* verilator lint_off UNUSEDSIGNAL */  // a unit uses a part of the configuration
    input  wire node_pkg::node_cfg_t cfg_i,
    /* verilator lint_on UNUSEDSIGNAL */

    input  wire bundle_pkg::gradient_t dw_i,
    output logic                       dw_ready_o,

    input  wire stream_t clo_i,  // packets of control for this GPU
    output logic         clo_ready_o,

    output stream_t   st_o,  // gradients for the uplink
    input  wire logic st_ready_i,
    output stream_t   lo_o,  // all packets for this GPU
    input  wire logic lo_ready_i,

    output logic idle_o
);
    import packet_pkg::*;

    localparam int unsigned Last = Cfg.HeadFlits;  // the flit of the payload

    typedef enum logic [1:0] {
        Idle,
        Find,   // home and index
        Place,  // the address is made
        Send
    } state_e;

    state_e state_q;
    logic [$clog2(Last+1)-1:0] flit_q;
    logic own_q, taken, last, beyond;  // beyond: another GPU's token is dense
    logic begun;  // a flit has left
    port_t home_q;
    logic [node_pkg::TokenW-1:0] index_q;  // at its home
    logic [35:0] addr_q;
    header_t header;
    stream_t packet, own;
    logic own_ready;

    assign beyond = dw_i.dense && index_q >= node_pkg::TokenW'(cfg_i.tokens)
                    && home_q != port_t'(Cfg.N - 1);
    assign dw_ready_o = state_q == Send && taken && last && dw_i.valid;
    assign idle_o = state_q == Idle;
    assign last = flit_q == ($clog2(Last + 1))'(Last);
    assign taken = own_q ? own_ready : st_ready_i;
    assign begun = state_q == Send && (flit_q != '0 || taken);

    always_ff @(posedge clk_i) begin
        if (!rst_ni || (go_i && !begun)) begin
            state_q <= Idle;
        end else begin
            unique case (state_q)
                Idle:    if (dw_i.valid) state_q <= Find;
                Find:    if (!beyond) state_q <= Place;
                Place:   state_q <= Send;
                default: if (taken && last) state_q <= Idle;
            endcase
        end
        if (state_q == Idle) begin
            home_q <= dw_i.dense ? '0 : port_t'(Cfg.GpuW'(dw_i.token[Cfg.TokW-1:0]
                                                          >> cfg_i.token_shift));
            index_q <= dw_i.token;
            if (!dw_i.dense) index_q <= dw_i.token & ~(~node_pkg::TokenW'(0) << cfg_i.token_shift);
        end
        if (state_q == Find) begin
            if (beyond) begin
                home_q <= home_q + 1'b1;
                index_q <= index_q - node_pkg::TokenW'(cfg_i.tokens);
            end
            addr_q <= (36'(index_q) << cfg_i.k_shift | 36'(dw_i.pos)) << 2;
        end
        if (state_q == Place) begin
            addr_q <= addr_q + cfg_i.dw_base;
            own_q <= home_q == cfg_i.port;
            flit_q <= '0;
        end
        if (state_q == Send && taken) flit_q <= flit_q + 1'b1;
    end

    always_comb begin
        header = '0;
        header.opcode = OP_ST;
        header.cls = CLS_STORE;
        {header.src_far, header.src} = cfg_i.port;
        {header.dst_far, header.dst} = home_q;
        header.len = 15'd4;
        header.epoch = cfg_i.epoch;
        header.addr = 48'(addr_q);
        packet.valid = state_q == Send;
        packet.last = last;
        // a payload's lane follows from its address; the others count for nothing
        packet.data = {(Cfg.FlitBytes / 4) {dw_i.value}};
        if (!last) packet.data = Cfg.FlitW'(header >> (flit_q == '0 ? 0 : Cfg.FlitW));
        own = packet;
        own.valid = packet.valid && own_q;
        st_o = packet;
        st_o.valid = packet.valid && !own_q;
    end

    loc_merge #(
        .Cfg(Cfg)
    ) i_own (
        .clk_i,
        .rst_ni,
        .go_i,
        .loc_i(own),
        .loc_ready_o(own_ready),
        .clo_i,
        .clo_ready_o,
        .loc_o(lo_o),
        .loc_ready_i(lo_ready_i)
    );

    `MW_STABLE(st_o.valid, st_ready_i, {st_o.last, st_o.data},
               "a flit for the uplink changes before it is taken")
    `MW_STABLE(lo_o.valid, lo_ready_i, {lo_o.last, lo_o.data},
               "a flit for this GPU changes before it is taken")
    `MW_CONTRACT(dw_ready_o, dw_i.valid, "a gradient is taken that is not there")
endmodule

`default_nettype wire
