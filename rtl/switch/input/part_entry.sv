// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Moves packets of class PART from the link into the queue of their requester.
//
// Function: Partials bypass the flit queue, so that they never wait for the parser.
// Order: In the cycle of the flit.
// Back-pressure: None. A packet without room in the requester's queue, or without a valid
// requester, is dropped.
// Errors: A packet that the join cannot use (opcode, epoch) enters poisoned, to keep its place in
// the order. A packet that is longer than allowed is cut.
`default_nettype none

module part_entry #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic       clk_i,
    input  wire logic [Cfg.PortW-1:0] port_i,  // constant: the number of this port
    input  wire logic [1:0] epoch_i,

    // of the link, all classes
    input  wire logic                 valid_i,
    input  wire logic                 first_i,   // the flit begins a packet
    input  wire logic                 second_i,  // it is the second half of a header
    input  wire logic                 last_i,
    input  wire logic                 err_i,
    input  wire logic [1:0]           cls_i,
    input  wire logic [Cfg.FlitW-1:0] data_i,

    // to the queues of partials
    output logic [Cfg.N-1:0]      we_o,    // by requester
    output logic [Cfg.PayW-1:0]   idx_o,   // of the flit in its packet
    output logic [Cfg.FlitW+1:0]  data_o,  // {poison, last, flit}
    input  wire logic [Cfg.N-1:0] full_i,

    output error_pkg::err_e code_o  // what is wrong with this flit, ERR_NONE: nothing
);
    import packet_pkg::*;
    import error_pkg::*;

    logic [Cfg.N-1:0] to_q, to;  // requester; none: the packet is dropped
    logic begins, pay, bare, poison_q, over_q;
    header_t head;  // its low half
    port_t dst;

    assign begins = valid_i && first_i;
    assign head = {64'd0, data_i[63:0]};
    assign dst = cfg_pkg::port_of(Cfg, head.dst_far, head.dst);
    assign bare = valid_i && cls_i == CLS_PART && last_i && (first_i || second_i);  // no payload
    assign pay = valid_i && cls_i == CLS_PART && !first_i && !second_i;
    assign to = (idx_o == '0 && !over_q) ? to_q & ~full_i : to_q;
    assign we_o = (pay && !over_q) ? to : '0;
    assign data_o = {poison_q || (last_i && err_i), last_i, data_i};

    always_comb begin
        code_o = ERR_NONE;
        if (begins && cls_i == CLS_PART) begin
            if (head.opcode != OP_PARTIAL) code_o = ERR_OPCODE;
            else if (head.epoch != epoch_i) code_o = ERR_EPOCH;
            else if (dst == port_t'(port_i) || 32'(dst) >= Cfg.N) code_o = ERR_UNMAPPED;
        end else if (pay && idx_o == '0 && !over_q && (to_q & full_i) != '0) begin
            code_o = ERR_CREDIT;
        end
        if (bare) code_o = ERR_LENGTH;
    end

    always_ff @(posedge clk_i) begin
        if (begins) begin
            for (int unsigned i = 0; i < Cfg.N; i++)
            to_q[i] <= dst == port_t'(i) && dst != port_t'(port_i);
            poison_q <= head.poison || head.epoch != epoch_i || head.opcode != OP_PARTIAL;
            idx_o <= '0;
            over_q <= 1'b0;
        end else if (pay) begin
            to_q <= to;
            idx_o <= idx_o + 1'b1;
            if (idx_o == '1) over_q <= 1'b1;
        end
    end

endmodule

`default_nettype wire
