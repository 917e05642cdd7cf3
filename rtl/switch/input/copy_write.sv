// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Writes the flits of a packet into the queues of its outputs.
//
// Function: The header goes into every queue, because its outputs are not known yet. Each target
// goes only into the queue of its own output, into the next free lane of the copy there (the trim).
// The payload goes into the queues of all outputs. The first target of each copy comes with the
// description that egress needs.
// Order: A flit is written in its cycle. A target flit takes one cycle per target.
// Back-pressure: None. Credits guarantee the room.
// Errors: end_o marks the last flit of the payload as the header defines it, or a flit that ends
// the packet early. A payload of another length is marked bad.
`default_nettype none
`include "bundles.svh"

module copy_write #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type link_t = `MW_LINK(Cfg),
    parameter type copy_t = `MW_COPY(Cfg)
) (
    input  wire logic       clk_i,
    input  wire logic [Cfg.PortW-1:0] port_i,  // constant: the number of this port

    input  wire link_t                flit_i,       // cls: of its packet
    input  wire bundle_pkg::parsed_t  parsed_i,
    input  wire logic                 refuse_i,     // with a header: nothing is written
    input  wire logic [Cfg.PayW-1:0]  flits_i,      // with a header: of the payload, less 1
    input  wire logic                 described_i,  // with a header: its target has been looked up

    // its target
    input  wire logic [15:0]         target_i,
    input  wire logic [Cfg.N-1:0]    sel_i,       // output, by header or list
    input  wire logic [Cfg.N-1:0]    list_sel_i,  // by list
    input  wire logic [Cfg.N-1:0]    all_i,       // with payload: the outputs of the packet
    input  wire bundle_pkg::before_t before_i,

    // to the queues
    output logic [Cfg.N-1:0]    wr_valid_o,
    output copy_t               wr_o,  // see voq; data: {bad, flit}
    output logic [Cfg.N-1:0]    desc_we_o,
    output logic [Cfg.PayW-1:0] desc_len_o,

    output logic end_o,   // the payload ends here
    output logic wrong_o  // and not as the header says; with end_o
);
    import packet_pkg::*;

    localparam int unsigned HeadW = Cfg.PayW - 1;  // a flit of header and targets

    logic [Cfg.PayW-1:0] flits_q, count_q;
    logic new_flit;  // the target begins a target flit of its copy
    logic [HeadW-1:0] flit_no;
    logic [Cfg.FlitW-1:0] flit;

    // ---- header and targets ----
    assign new_flit = before_i.earlier[Cfg.LaneW-1:0] == '0;

    always_comb begin
        wr_o.region = parsed_i.pay ? 2'd3 : flit_i.cls;
        flit_no = parsed_i.head ? HeadW'(Cfg.HeadFlits - 1) : '0;
        if (flit_i.cls == CLS_CTRL)
            flit_no = HeadW'(Cfg.HeadFlits + Cfg.ListFlits)
                      | (parsed_i.head ? HeadW'(Cfg.HeadFlits - 1) : '0);
        wr_o.lane = '1;
        wr_valid_o = '0;
        desc_we_o = '0;
        if (parsed_i.first || parsed_i.head) begin
            if (flit_i.valid && !refuse_i) wr_valid_o = '1;
            if (described_i && parsed_i.head) desc_we_o = sel_i;
        end else if (parsed_i.list) begin
            if (flit_i.valid) begin
                wr_valid_o = list_sel_i;
                desc_we_o = list_sel_i;
            end
            if (!before_i.again) begin
                flit_no = HeadW'(Cfg.HeadFlits - 1);
                wr_o.lane = Cfg.Lanes'(1) << (Cfg.Lanes - 1);
            end else begin
                flit_no = HeadW'(Cfg.HeadFlits) + HeadW'(before_i.earlier >> Cfg.LaneW);
                wr_o.lane = new_flit ? '1 : Cfg.Lanes'(1) << before_i.earlier[Cfg.LaneW-1:0];
            end
        end else if (parsed_i.pay) begin
            if (flit_i.valid) wr_valid_o = all_i;
        end
    end

    header_low_t head;
    attributes_t op;

    always_comb begin
        flit = flit_i.data;
        head = flit_i.data[63:0];
        op = attributes_of(head.opcode, Cfg.MergeLoads);
        if (parsed_i.list) begin
            // zeros behind the first target of a target flit
            for (int unsigned l = 0; l < Cfg.Lanes; l++)
            flit[16*l+:16] = (l != 0 && before_i.again && new_flit) ? '0 : target_i;
        end else if (parsed_i.first) begin
            head.src = port_i[NearBits-1:0];
            if (Cfg.N > PortsNear) head.src_far = (PortBits - NearBits)'(port_i >> NearBits);
            // the output fills it in
            if (op.targets == TARGETS_EXPERTS) head.cnt = '0;
            flit[63:0] = head;
        end
    end

    // ---- payload ----
    assign end_o = flit_i.valid && parsed_i.pay && (flit_i.last || count_q == flits_q);
    assign wrong_o = !flit_i.last || count_q != flits_q;

    // One that ends early gets its mark where the output expects the last flit.
    assign wr_o.line = parsed_i.pay ? {1'b0, flit_i.last ? flits_q : count_q}
                       : {1'b1, flit_i.cls == CLS_REQ, flit_no};
    assign wr_o.data = Cfg.WordW'({parsed_i.pay && (flit_i.err || wrong_o), flit});
    assign desc_len_o = parsed_i.head ? flits_i : flits_q;

    always_ff @(posedge clk_i) begin
        if (flit_i.valid && parsed_i.head) begin
            flits_q <= flits_i;
            count_q <= '0;
        end else if (flit_i.valid && parsed_i.pay) begin
            count_q <= count_q + 1'b1;
        end
    end
endmodule

`default_nettype wire
